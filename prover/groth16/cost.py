"""The cost of a statement's keys, setup and proofs: bytes exactly, memory by formula, seconds by measurement.

``speed`` measures the kernels on this machine for some milliseconds; the stages scale these times to a
statement's sizes by the number of operations of the algorithms (docs/kernels.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from zenserve.base import container
from zenserve.kernels import Group, g1, g2
from zenserve.prover.groth16.proving_key import MOST_MULTIPLIED, MULTIPLIERS, SECTIONS
from zenserve.prover.size import Size
from zenserve.verifier.groth16.proof import PLAIN_BYTES
from zenserve.verifier.groth16.verifying_key import development_key_bytes
from zenserve.verifier.points import G1_BYTES
from zenserve.verifier.preamble import PREAMBLE_BYTES


def in_g1(size: Size) -> int:
    """Points of the key there that are multiples of the generator."""
    witness = size.in_a + size.in_b + size.private + 2 * size.committed + size.linked
    return witness + size.rows + multiples(size) + size.inputs


def multiples(size: Size) -> int:
    """Points of the key that are there to make a sum faster."""
    return len(MULTIPLIERS) * size.rows if size.rows <= MOST_MULTIPLIED else 0


def verifying_key_bytes(size: Size) -> int:
    return development_key_bytes(size.inputs, size.segments, size.links, folds=size.folds)


def proof_bytes(size: Size) -> int:
    """The length of its file."""
    others = 2 * size.segments + size.links
    return PLAIN_BYTES + (PREAMBLE_BYTES + 2 + G1_BYTES * others if size.segments else 0)


def proving_key_bytes(size: Size) -> int:
    """The length of its file, if no coefficients of a variable cancel out in A or B."""
    counts = {
        "verifying_key": verifying_key_bytes(size),
        "beta_g1": 1,
        "delta_g1": 1,
        "a_columns": size.in_a,
        "a": size.in_a,
        "b_columns": size.in_b,
        "b_g1": size.in_b,
        "b_g2": size.in_b,
        "absent": size.absent,
        "private": size.private,
        "quotient": size.rows,
        "segments": size.committed,
        "knowledge": size.committed,
        "links": size.linked,
        "quotient_multiples": multiples(size),
    }
    return container.file_bytes(SECTIONS, counts)


@dataclass(frozen=True)
class Speed:
    """``product``: seconds that one product in Fp takes within a sum over G1, on ``threads`` threads."""

    threads: int
    product: float


_NARROW, _WIDE = 8, 254
"""Bits of scalars: most values of a witness are bits and bytes, those of the quotient fill the field."""
_POINTS: Final = 256
"""Summed to learn the speed: in a few milliseconds, and most of what setup and proofs do is like it."""

# What the other operations take, in such products (python -m bench.estimates).
_FIELD: Final = 0.4
_BUTTERFLY: Final = 0.7
_GATHERED: Final = 1.7
_SCATTERED: Final = 3.0
"""An entry of a matrix, that being made included."""
_FILLED: Final = 0.5
"""An entry's share in the witness."""
_NARROW_G1: Final = 2.0
_NARROW_G2: Final = 1.6
_FIXED_G1: Final = 5.5
_FIXED_G2: Final = 17.0
_MULTIPLIED_G1: Final = 900.0
_STORED: Final = 0.03
"""A byte of the key, written and hashed."""
_SETUP, _PROOF = 1.1e6, 0.5e6
"""The costs that do not grow with the statement."""


def speed(threads: int, clock: Callable[[], float] = time.perf_counter) -> Speed:
    """Measure the kernels here and now, in the seconds of this clock."""
    draw = np.random.default_rng(1)
    wide = draw.integers(0, 1 << 62, (_POINTS, 4), dtype=np.uint64)
    points = g1.fixed_base(g1.generator, wide, threads=threads)
    taken = _seconds(lambda: g1.msm(points, wide, threads=threads), clock)
    return Speed(threads, taken / msm_products(g1, _POINTS, _WIDE))


def setup_seconds(size: Size, speed: Speed) -> float:
    """An estimate of all stages of setup, and of writing the key."""
    return sum(setup_stages(size, speed).values())


def setup_stages(size: Size, speed: Speed) -> dict[str, float]:
    """Seconds by stage: two Lagrange bases, one product of all coefficients, the points of the key; and the
    points that values are committed with elsewhere, each times a secret of the link.
    """
    # A basis takes its points, differences, a batched inversion and two products: 8 products a row. The
    # columns take three more for each variable.
    products = {
        "lagrange": _FIELD * 2 * 8 * size.rows,
        "columns": _SETUP + _SCATTERED * size.nonzeros + _FIELD * 3 * size.variables,
        "key_g2": _FIXED_G2 * _fixed_additions(size.in_b),
        "key_g1": _FIXED_G1 * _fixed_additions(in_g1(size)),
        "key_links": _MULTIPLIED_G1 * size.linked,
        "store": _STORED * proving_key_bytes(size),
    }
    return {stage: speed.product * count for stage, count in products.items()}


def proving_stages(size: Size, speed: Speed) -> dict[str, float]:
    """Seconds by stage: the witness, the constraints, six transforms, and the multi-scalar multiplications:
    over the quotient of wide scalars, over private variables of wide ones for two thirds, over what A reads
    for a half, and elsewhere of narrow ones.
    """
    products = {
        "load key": 0.0,
        "witness": _FILLED * size.nonzeros,
        "commit": _narrow(2 * size.committed + size.linked),
        "constraints": _PROOF + _GATHERED * size.nonzeros,
        "quotient": 6 * _BUTTERFLY * _butterflies(size.rows),
        "msm_quotient": _wide(size.rows),
        "msm_private": _wide(size.private * 2 // 3) + _narrow(size.private // 3),
        "msm_a": _wide(size.in_a // 2) + _narrow(size.in_a // 2),
        "msm_b_g1": _narrow(size.in_b),
        "msm_b_g2": _NARROW_G2 * msm_products(g2, size.in_b, _NARROW),
        "self-check": 0.0,
    }
    return {stage: speed.product * count for stage, count in products.items()}


def _wide(count: int) -> float:
    return msm_products(g1, count, _WIDE) if count else 0.0


def _narrow(count: int) -> float:
    return _NARROW_G1 * msm_products(g1, count, _NARROW) if count else 0.0


def msm_products(group: Group, size: int, bits: int) -> int:
    """Products in Fp that Pippenger's method needs at its best window.

    For each window an affine addition a point, and two for each of 2^(c - 1) buckets. A product in Fp2 is
    three in Fp, a square two.
    """
    addition = 6 if group.name == "g1" else 5 * 3 + 2
    return min((bits // c + 1) * addition * (size + (1 << c)) for c in range(2, 21))


def fixed_base_windows(count: int) -> tuple[int, int]:
    """Return the number of windows of ``Group.fixed_base`` for ``count`` scalars, and their bits."""
    cost = {c: (_WIDE // c + 1) * (count + (1 << (c - 1))) for c in range(2, 17)}
    width = min(cost, key=cost.__getitem__)
    return _WIDE // width + 1, width


def _fixed_additions(count: int) -> int:
    """One a window for each scalar, and one for each entry of the table."""
    windows, width = fixed_base_windows(count)
    return windows * (count + (1 << (width - 1)))


def _butterflies(size: int) -> int:
    return size // 2 * (size.bit_length() - 1)


def _seconds(call: Callable[[], object], clock: Callable[[], float]) -> float:
    """The least of five, after one to warm up: whatever else goes on only adds to it."""
    call()
    return min(_once(call, clock) for _ in range(5))


def _once(call: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    call()
    return clock() - start
