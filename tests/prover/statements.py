"""Statements to prove: one small running example, and random satisfiable ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from zenserve import kernels
from zenserve.kernels import FrArray, fr, g1, g2
from zenserve.prover.blocks import Csr, ProductBlock, SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem, Segment
from zenserve.prover.groth16 import CommitmentKey, Opening, Proof, ProvingKey, VerifyingKey
from zenserve.verifier.groth16.verifying_key import SegmentKey
from zenserve.verifier.system import CEREMONY, DEVELOPMENT

R = kernels.fr.modulus


class Example(NamedTuple):
    """A statement, all its variables ``z``, its public inputs, a key and a proof."""

    system: ConstraintSystem
    z: list[int]
    public: list[int]
    key: ProvingKey
    proof: Proof

    @property
    def witness(self) -> FrArray:
        return kernels.fr.from_ints(self.z)

    @property
    def verifying_key(self) -> VerifyingKey:
        return self.key.verifying_key


def cubic_statement() -> ConstraintSystem:
    """x³ + x + 5 = y and x + 1 = w. Variables: 1 | y, w | x, x², x³."""
    one, y, w, x, x2, x3 = range(6)
    square = ProductBlock("square", np.array([x]), np.array([x]), np.array([x2]))
    cube = SparseBlock("cube", csr([{x2: 1}]), csr([{x: 1}]), csr([{x3: 1}]))
    sums = SparseBlock(
        "sums", csr([{x3: 1, x: 1, one: 5}, {x: 1, one: 1}]), csr([{one: 1}, {one: 1}]), csr([{y: 1}, {w: 1}])
    )
    return ConstraintSystem(2, 3, (square, cube, sums))


CUBIC_Z = [1, 35, 4, 3, 9, 27]


def committed_statement(*, linked: bool = True, lasting: bool = False) -> ConstraintSystem:
    """w_0 x = p_0, w_1 x = p_1 and p_0 + p_1 = y, the two products checked at once at a challenge c:
    (w_0 + c w_1) x = p_0 + c p_1.

    Variables: 1 | y | c | model: w_0, w_1 | input: x | products: p_0, p_1 | c w_1, c p_1; after each segment
    the one that blinds it.
    """
    one, y, c, w0, w1, _, x, _, p0, p1, _, cw1, cp1 = range(13)
    return ConstraintSystem(
        1,
        2,
        (
            ProductBlock("weighted", np.array([c, c]), np.array([w1, p1]), np.array([cw1, cp1])),
            SparseBlock("product", csr([{w0: 1, cw1: 1}]), csr([{x: 1}]), csr([{p0: 1, cp1: 1}])),
            SparseBlock("sum", csr([{p0: 1, p1: 1}]), csr([{one: 1}]), csr([{y: 1}])),
        ),
        challenges=1,
        segments=(Segment("model", 2, linked, lasting), Segment("input", 1, linked), Segment("products", 2)),
    )


def idle_statement() -> ConstraintSystem:
    """x² = y, with variables that no row reads: 1 | c | s: x, idle, y, its blinding | idle, u = x, idle."""
    square = ProductBlock("square", np.array([2]), np.array([2]), np.array([4]))
    same = SparseBlock("same", csr([{2: 1, 7: -1}]), csr([{0: 1}]), csr([{}]))
    return ConstraintSystem(0, 3, (square, same), challenges=1, segments=(Segment("s", 3),))


IDLE_Z = [1, 0, 9, 1234, 81, 0, 5678, 9, R - 1]

COMMITTED_Z = [1, 56, 0, 3, 5, 0, 7, 0, 21, 35, 0, 0, 0]


def complete_committed(z: FrArray, challenges: FrArray) -> None:
    """Completes the witness of ``committed_statement``."""
    z[11:13] = kernels.fr.mul(z[[4, 9]], challenges[0])


def commitment_basis(length: int, tau: int = 0x5EED) -> CommitmentKey:
    powers = kernels.fr.from_ints(pow(tau, i, R) for i in range(length))
    g1, g2 = kernels.g1, kernels.g2
    return CommitmentKey(
        g1.fixed_base(g1.generator, powers), g2.fixed_base(g2.generator, kernels.fr.from_ints([tau]))
    )


class Committed(NamedTuple):
    """A statement with segments, a key, openings of its linked segments and a proof."""

    system: ConstraintSystem
    z: list[int]
    key: ProvingKey
    basis: CommitmentKey
    openings: tuple[Opening, ...]
    proof: Proof

    @property
    def public(self) -> list[int]:
        return self.z[1:2]

    @property
    def witness(self) -> FrArray:
        return kernels.fr.from_ints(self.z)

    @property
    def verifying_key(self) -> VerifyingKey:
        return self.key.verifying_key

    @property
    def commitments(self) -> tuple[bytes, ...]:
        return tuple(opening.commitment for opening in self.openings)


def csr(rows: Sequence[dict[int, int]]) -> Csr:
    """A matrix from its rows, each {column: coefficient}; coefficients may be any integer."""
    entries = [(column, value) for row in rows for column, value in row.items()]
    pool = tuple(sorted({value for _, value in entries}))
    return Csr(
        np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64),
        np.array([column for column, _ in entries], dtype=np.uint32),
        np.array([pool.index(value) for _, value in entries], dtype=np.uint32),
        pool,
    )


"""For tests whose machine may be busy with others."""

EDGES = [0, 1, 2, R - 1, R - 2, 2**64, 2**128 - 1, 2**254, -1, -(2**63)]
elements = st.sampled_from(EDGES) | st.integers(-(2**8), 2**8) | st.integers(0, R - 1)


@st.composite
def satisfied(
    draw: st.DrawFn, *, rows: int | None = None, public: int | None = None, private: int | None = None
) -> tuple[ConstraintSystem, list[int]]:
    """A random statement and integers that satisfy it. Rows are closed by the constant column of C."""
    public = draw(st.integers(0, 4)) if public is None else public
    private = draw(st.integers(0, 6)) if private is None else private
    z = [1, *draw(st.lists(elements, min_size=public + private, max_size=public + private))]
    count = draw(st.integers(0, 12)) if rows is None else rows
    sparse_row = st.dictionaries(st.integers(0, len(z) - 1), elements, max_size=4)

    def value(row: dict[int, int]) -> int:
        return sum(coefficient * z[column] for column, coefficient in row.items())

    a, b, c = [], [], []
    for _ in range(count):
        a.append(draw(sparse_row))
        b.append(draw(sparse_row))
        closing = draw(sparse_row)
        closing[0] = closing.get(0, 0) + value(a[-1]) * value(b[-1]) - value(closing)
        c.append(closing)
    cut = draw(st.integers(0, count))
    blocks = tuple(
        SparseBlock(name, csr(a[part]), csr(b[part]), csr(c[part]))
        for name, part in (("first", slice(cut)), ("second", slice(cut, count)))
    )
    return ConstraintSystem(public, private, blocks), [value % R for value in z]


def forged_key(system: ConstraintSystem, setup: str = DEVELOPMENT) -> VerifyingKey:
    """A key that says that it is for ``system``, of points whose logarithms the forger knows."""
    scalars = iter(range(1000, 1 << 20))

    def point_g1() -> bytes:
        return g1.compress(g1.mul(g1.generator[None], fr.from_ints([next(scalars)])))

    def point_g2() -> bytes:
        return g2.compress(g2.mul(g2.generator[None], fr.from_ints([next(scalars)])))

    segments = tuple(
        SegmentKey(segment.size, point_g2(), (point_g2(), point_g2()) if segment.linked else None)
        for segment in system.segments
    )
    return VerifyingKey(
        setup,
        system.digest,
        point_g1(),
        point_g2(),
        point_g2(),
        point_g2(),
        tuple(point_g1() for _ in range(1 + system.public + system.challenges)),
        system.challenges,
        segments,
        point_g1() if any(segment.linked for segment in system.segments) else None,
        (bytes(32),) if setup == CEREMONY else (),
    )
