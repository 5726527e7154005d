"""The cost of a constraint system's proofs: bytes, memory, and seconds by the kernels' speed here."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import numpy as np

from zenserve.kernels import fr
from zenserve.kernels.hashing import CHUNK_BYTES
from zenserve.prover.size import Size
from zenserve.prover.spartan import layout
from zenserve.prover.spartan.commitment import HELD_BYTES, SLAB_BYTES
from zenserve.prover.spartan.layout import rows_for
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.field import FR
from zenserve.verifier.spartan.shape import Segment, Shape

KEY_BYTES: Final = 1 << 10
"""A key is numbers; of many segments it is longer."""
_ENTRY_BYTES: Final = 8
_ROW_BYTES: Final = 24
"""Of a circuit's file: a column and a coefficient for each entry, three offsets for each row."""
_LOG_DEGREES: Final = range(10, 19)
_MEASURED: Final = 1 << 14
_CHUNK_ROWS: Final = CHUNK_BYTES // FR.element_bytes
_BETWEEN: Final = 16
"""Of what a proof takes, as much as one in so many lies between arrays of a heap that is held."""
_FOLDING: Final = 12
"""Numbers for each of the row that is folded: itself, its weights, the first level's code words and tree."""

# Products for each variable, row, place or entry, as shallownet and two LeNets took them once, on two cores:
# within a factor of two.
_STAGE: Final = 1e6
_COMMITTED: Final = 80.0
_SUMMED_ROW: Final = 36.0
_SUMMED_PLACE: Final = 40.0
_ENTRY: Final = 2.0
_OPENED: Final = 12.0
_FOLDED: Final = 150.0
"""For each number of the row that a proof folds."""
_WRITTEN: Final = 0.3
"""For each byte of a file that is written and hashed."""


def key_bytes(size: Size) -> int:
    """Of a proving key: the circuit with the key."""
    return 2 * KEY_BYTES + _ENTRY_BYTES * size.nonzeros + _ROW_BYTES * size.rows


def setup(size: Size, product: float) -> float:
    """Seconds: the key is written, and nothing computed."""
    return product * _WRITTEN * key_bytes(size)


def proof_bytes(size: Size) -> int:
    """In the mean: paths meet here and there."""
    return size.links + layout.proof_bytes(_shape(size))


def _shape(size: Size) -> Shape:
    """About that of proofs: what is linked stands in one segment, all else is private; others take a row."""
    if size.links:
        rows = rows_for(size.linked)
        return _shape_of(size, rows.code, rows.tail)
    return layout.shortest(_shape_of(size, layout.code_of(log), 0) for log in _LOG_DEGREES)


def _shape_of(size: Size, code: Code, tail: int) -> Shape:
    linked = (Segment(size.linked, tail), *(Segment(1, tail),) * (size.links - 1)) if size.links else ()
    segments = linked + (Segment(1),) * (size.segments - len(linked))
    code, private = code.of_proofs(size.links), size.variables - size.linked
    return Shape(code, 0, 0, segments, private, size.rows.bit_length() - 1)


def memory(size: Size) -> int:
    """The peak beside the constraint system and the witness: a copy of that, which challenges complete; rows,
    where a root was made of them code words and trees; over these the tables of either sum-check, which lie
    in one place, and some numbers of the witness; or as commitments are opened, what they are folded to, and
    of those that were made before the code words, some at a time, their hashes and tree.
    """
    shape = _shape(size)
    code, places = shape.code, 1 << shape.variables
    rows = sum(shape.opened_rows)
    linked = sum(part.rows for part in shape.parts if part.linked)
    own = size.segments + 1 - size.links
    words = min((rows - linked) * code.length, own * HELD_BYTES // FR.element_bytes)
    kept = rows * code.degree + words + (3 * own + size.links) * code.length
    summed = max(3 << (size.rows - 1).bit_length(), 3 * places // 2) + size.variables // 8
    chunks = -(-linked // _CHUNK_ROWS)
    slab = min(linked, _CHUNK_ROWS * max(1, SLAB_BYTES // (CHUNK_BYTES * code.length)))
    opened = _FOLDING * code.degree + ((slab + chunks + 3) * code.length if size.links else 0)
    taken = FR.element_bytes * (size.variables + kept + max(summed, opened))
    return taken + taken // _BETWEEN


def speed(threads: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds that a product takes on so many threads, measured here and now."""
    values = fr.from_int64(np.arange(1, _MEASURED + 1))
    taken = []
    for _ in range(5):
        start = clock()
        fr.mul(values, values)
        taken.append(clock() - start)
    return min(taken) / _MEASURED / threads


def stages(size: Size, product: float) -> dict[str, float]:
    """Seconds by stage, in order."""
    shape = _shape(size)
    products = {
        "load key": 0.0,
        "witness": _ENTRY / 4 * size.nonzeros,
        "commit": _STAGE + _COMMITTED * (size.variables - size.linked),
        "outer": _STAGE + _ENTRY * size.nonzeros + _SUMMED_ROW * size.rows,
        "inner": _STAGE + _ENTRY * size.nonzeros + _SUMMED_PLACE * (1 << shape.variables),
        "open": _STAGE + _OPENED * size.variables + _COMMITTED * size.linked + _FOLDED * shape.code.degree,
    }
    return {stage: product * count for stage, count in products.items()}
