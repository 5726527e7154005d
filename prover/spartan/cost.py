"""What proofs of a constraint system take: bytes, memory, and seconds by the kernels' speed here."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Final

import numpy as np

from kernels import fr
from prover.size import Size
from prover.spartan.layout import rows_for
from verifier.spartan.code import LOG_BLOWUP, Code
from verifier.spartan.field import FR
from verifier.spartan.merkle import DIGEST_BYTES
from verifier.spartan.shape import Pads

KEY_BYTES: Final = 1 << 10
"""A key is numbers; of many segments it is longer."""
_ENTRY_BYTES: Final = 8
_ROW_BYTES: Final = 24
"""Of a circuit's file: a column and a coefficient for each entry, three offsets for each row."""
_LOG_DEGREES: Final = range(10, 17)
_MEASURED: Final = 1 << 14

# Products for each variable, row, place or entry, as shallownet and two LeNets took them once, on two cores:
# within a factor of two.
_STAGE: Final = 1e6
_COMMITTED: Final = 80.0
_SUMMED_ROW: Final = 36.0
_SUMMED_PLACE: Final = 40.0
_ENTRY: Final = 2.0
_OPENED: Final = 12.0
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
    return _proof_bytes(size, _code(size))


def _code(size: Size) -> Code:
    """Of the commitments, or that of the shortest proofs."""
    if size.links:
        return rows_for(size.linked).code
    codes = (Code(FR, log, log + LOG_BLOWUP) for log in _LOG_DEGREES)
    return min(codes, key=lambda code: _proof_bytes(size, code))


def _rows(size: Size, code: Code) -> int:
    """Those of commitments have longer tails."""
    tail = rows_for(size.linked).tail if size.links else 0
    once = -(-(size.variables - size.linked) // (code.degree - code.queries))
    return -(-size.linked // (code.degree - tail)) + once + size.segments + 1


def _proof_bytes(size: Size, code: Code) -> int:
    parts, rows = size.segments + 1, _rows(size, code)
    log_rows, variables = size.rows.bit_length() - 1, code.log_degree + rows.bit_length()
    pads = Pads(code, log_rows, variables)
    numbers = 3 * log_rows + 2 * variables + 7 + code.degree + pads.code.degree
    opened = FR.element_bytes * (code.queries * rows + 2 * pads.code.queries)
    hashes = parts * (1 + _opening_hashes(code)) + 1 + _opening_hashes(pads.code)
    return size.links + FR.element_bytes * numbers + opened + DIGEST_BYTES * hashes


def _opening_hashes(code: Code) -> int:
    """Salts, and the hashes of paths, expected of random places."""
    known = [(1 << log) * (1 - (1 - 2.0**-log) ** code.queries) for log in range(code.log_length + 1)]
    path = sum(2 * above - below for above, below in itertools.pairwise(known))
    return code.queries + round(path)


def memory(size: Size) -> int:
    """The peak beside the constraint system and the witness, as the second sum-check begins: rows, code
    words and trees over these; the constraints' weights, and those times a factor; the combined matrices by
    variable and by place, and the witness by place.
    """
    code = _code(size)
    committed = _rows(size, code) * (code.degree + code.length)
    trees = (size.segments + 1) * 3 * code.length
    return FR.element_bytes * (committed + trees + 2 * size.rows + size.variables + 2 * _places(size))


def _places(size: Size) -> int:
    code = _code(size)
    return code.degree << (_rows(size, code) - 1).bit_length()


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
    products = {
        "load key": 0.0,
        "witness": _ENTRY / 4 * size.nonzeros,
        "commit": _STAGE + _COMMITTED * size.variables,
        "outer": _STAGE + _ENTRY * size.nonzeros + _SUMMED_ROW * size.rows,
        "inner": _STAGE + _ENTRY * size.nonzeros + _SUMMED_PLACE * _places(size),
        "open": _STAGE + _OPENED * size.variables,
    }
    return {stage: product * count for stage, count in products.items()}
