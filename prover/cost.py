"""What keys, setup and proofs of a statement take: bytes exactly, memory by formula, seconds by measurement.

``speed`` measures the kernels on this machine for about two seconds; ``seconds`` scales that to a statement's
sizes by the operations that the algorithms make (docs/kernels.md). It leaves out reading and writing files.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

import kernels
from kernels import FrArray, Group, fr, g1, g2
from prover import container, qap
from prover.proving_key import SECTIONS
from prover.statement import Csr, Statement
from prover.verifying_key import development_key_bytes


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
    def of(cls, statement: Statement) -> Size:
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
    """Seconds for one unit of each kernel, with ``threads`` threads."""

    threads: int
    butterfly: float
    product: float
    gathered: float
    scattered: float
    wide_g1: float
    narrow_g1: float
    narrow_g2: float
    fixed_g1: float
    fixed_g2: float
    multiplied_g1: float


_LOG_SIZE: Final = 13
_NARROW, _WIDE = 8, 254
"""Bits of scalars: most values of a witness are bits and bytes, those of the quotient fill the field."""


def speed(threads: int) -> Speed:
    """Measure the kernels here and now."""
    size = 1 << _LOG_SIZE
    draw = np.random.default_rng(1)
    wide = draw.integers(0, 1 << 62, (size, 4), dtype=np.uint64)
    narrow = fr.from_int64(draw.integers(0, 1 << _NARROW, size))
    points_g1 = g1.fixed_base(g1.generator, wide, threads=threads)
    points_g2 = g2.fixed_base(g2.generator, wide, threads=threads)
    domain = kernels.Domain(_LOG_SIZE)
    matrix = _random_matrix(size, draw)
    terms = len(matrix.columns)

    def sums(group: Group, points: FrArray, scalars: FrArray, bits: int) -> float:
        taken = _seconds(lambda: group.msm(points, scalars, threads=threads))
        return taken / msm_products(group, size, bits)

    def fixed(group: Group) -> float:
        taken = _seconds(lambda: group.fixed_base(group.generator, wide, threads=threads))
        return taken / _fixed_additions(size)

    return Speed(
        threads=threads,
        butterfly=_seconds(lambda: domain.ntt(wide, order="to_bit_reversed", threads=threads))
        / _butterflies(size),
        product=_seconds(lambda: fr.mul(wide, wide)) / size,
        gathered=_seconds(lambda: matrix.multiply(wide, threads)) / terms,
        scattered=_seconds(lambda: matrix.add_transposed(wide, np.zeros_like(wide))) / terms,
        wide_g1=sums(g1, points_g1, wide, _WIDE),
        narrow_g1=sums(g1, points_g1, narrow, _NARROW),
        narrow_g2=sums(g2, points_g2, narrow, _NARROW),
        fixed_g1=fixed(g1),
        fixed_g2=fixed(g2),
        multiplied_g1=_seconds(lambda: g1.mul(points_g1, wide[0], threads=threads)) / size,
    )


def setup_seconds(size: Size, speed: Speed) -> float:
    """An estimate: points of the key, two Lagrange bases, one product of all coefficients; and the points
    that values are committed with elsewhere, each times a secret of the link."""
    # A basis takes its points, differences, a batched inversion and two products: 8 products a row. The
    # columns take three more for each variable.
    field = 2 * 8 * size.rows + 3 * size.variables
    return (
        speed.fixed_g1 * _fixed_additions(size.in_g1)
        + speed.multiplied_g1 * size.linked
        + speed.fixed_g2 * _fixed_additions(size.in_b)
        + speed.product * field
        + speed.scattered * size.nonzeros
    )


def proving_seconds(size: Size, speed: Speed) -> float:
    """An estimate, from the witness on: the constraints, six transforms, and the multi-scalar
    multiplications, over the quotient of wide scalars and elsewhere of narrow ones."""
    narrow_g1 = sum(
        msm_products(g1, count, _NARROW)
        for count in (size.private, size.in_a, size.in_b, size.committed, size.committed)
    )
    return (
        speed.gathered * size.nonzeros
        + 6 * speed.butterfly * _butterflies(size.rows)
        + speed.product * 2 * size.rows
        + speed.wide_g1 * msm_products(g1, size.rows, _WIDE)
        + speed.narrow_g1 * narrow_g1
        + speed.narrow_g2 * msm_products(g2, size.in_b, _NARROW)
    )


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


def _random_matrix(size: int, draw: np.random.Generator) -> Csr:
    """``size`` rows of 64 entries, over ``size`` variables."""
    entries = 64 * size
    columns, values = draw.integers(0, size, entries), draw.integers(-128, 128, entries)
    return Csr.from_entries(size, np.repeat(np.arange(size), 64), columns, values)


def _seconds(call: Callable[[], object]) -> float:
    """The median of three, after one to warm up."""
    call()
    return statistics.median(_once(call) for _ in range(3))


def _once(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
