"""What keys, setup and proofs of a statement take: bytes exactly, memory by formula, seconds by measurement.

``speed`` measures the kernels on this machine for some milliseconds; the stages scale that to a statement's
sizes by the operations that the algorithms make (docs/kernels.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from base import container
from kernels import Group, g1, g2
from prover.constraint_system import ConstraintSystem
from prover.groth16 import qap
from prover.groth16.proving_key import SECTIONS
from verifier.groth16.proof import PLAIN_BYTES
from verifier.groth16.verifying_key import development_key_bytes
from verifier.points import G1_BYTES
from verifier.preamble import PREAMBLE_BYTES


@dataclass(frozen=True)
class Size:
    """What the cost of a statement depends on.

    ``rows``: n, a power of two; ``inputs``: public ones and challenges; ``in_a``, ``in_b``: variables that A
    and B read; ``private``, ``committed``: private variables, and those of all segments with the blinding
    ones, less the ``absent`` ones, which occur in no row; ``linked``: points of the links; ``nonzeros``,
    ``largest``: entries of all blocks, and of the largest one.
    """

    rows: int
    variables: int
    inputs: int
    private: int
    in_a: int
    in_b: int
    nonzeros: int
    absent: int
    largest: int
    segments: int
    committed: int
    links: int
    linked: int

    @classmethod
    def of(cls, statement: ConstraintSystem) -> Size:
        survey = statement.survey
        absent, absent_committed = survey.absent, int(np.searchsorted(survey.absent, statement.first_private))
        links = [segment.size + 2 for segment in statement.segments if segment.linked]
        return cls(
            rows=1 << qap.log_domain_size(statement),
            variables=statement.variables,
            inputs=statement.instance - 1,
            private=statement.variables - statement.first_private - len(absent) + absent_committed,
            in_a=survey.in_a,
            in_b=survey.in_b,
            nonzeros=int(survey.nonzeros.sum()),
            absent=len(absent),
            largest=int(survey.nonzeros.sum(axis=1).max(initial=0)),
            segments=len(statement.segments),
            committed=statement.first_private - statement.instance - absent_committed,
            links=len(links),
            linked=sum(links),
        )

    @property
    def in_g1(self) -> int:
        """Points of the key there that are multiples of the generator."""
        witness = self.in_a + self.in_b + self.private + 2 * self.committed + self.linked
        return witness + self.rows + self.inputs

    @property
    def verifying_key_bytes(self) -> int:
        return development_key_bytes(self.inputs, self.segments, self.links)

    @property
    def proof_bytes(self) -> int:
        """The length of its file."""
        others = 2 * self.segments + self.links
        return PLAIN_BYTES + (PREAMBLE_BYTES + 2 + G1_BYTES * others if self.segments else 0)

    @property
    def proving_key_bytes(self) -> int:
        """The length of its file, if no coefficients of a variable cancel out in A or B."""
        counts = {
            "verifying_key": self.verifying_key_bytes,
            "beta_g1": 1,
            "delta_g1": 1,
            "a_columns": self.in_a,
            "a": self.in_a,
            "b_columns": self.in_b,
            "b_g1": self.in_b,
            "b_g2": self.in_b,
            "absent": self.absent,
            "private": self.private,
            "quotient": self.rows,
            "segments": self.committed,
            "knowledge": self.committed,
            "links": self.linked,
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
"""What does not grow with the statement."""


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
        "key_g1": _FIXED_G1 * _fixed_additions(size.in_g1),
        "key_links": _MULTIPLIED_G1 * size.linked,
        "store": _STORED * size.proving_key_bytes,
    }
    return {stage: speed.product * count for stage, count in products.items()}


def proving_seconds(size: Size, speed: Speed) -> float:
    """An estimate of all stages of a proof, the witness included."""
    return sum(proving_stages(size, speed).values())


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
    """How many windows ``Group.fixed_base`` takes for ``count`` scalars, and of how many bits."""
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
