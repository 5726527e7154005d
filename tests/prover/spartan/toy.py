"""Statements over a field so small that all that proofs show can be counted, or solved for."""

from __future__ import annotations

from typing import Final

from tests.prover.spartan.reference import (
    Dense,
    Lie,
    Matrix,
    Noise,
    Proof,
    matrix,
    prove,
    renew,
    shape_of,
    truthful,
)
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.commitment import Rows
from zenserve.verifier.spartan.field import Field
from zenserve.verifier.spartan.proof import Opening
from zenserve.verifier.spartan.renewal import Renewal
from zenserve.verifier.spartan.shape import Segment

P: Final = 257
OVER: Final = Field(P, 3, 8)
CODE: Final = Code(OVER, 3, 5, query_bits=2)  # three queries
# 1 | y | c | s, t | u, v, w: u v = y and s + c = w.
SHAPE: Final = shape_of(CODE, 2, 1, [Segment(2)], 3, 1)
MATRICES: Final = Dense(OVER, [({5: 1}, {6: 1}, {1: 1}), ({3: 1, 2: 1}, {0: 1}, {7: 1})])
PUBLIC: Final = 12
# Of two different pairs of factors, and two segments.
WITNESSES: Final = ([5, 6, 3, 4], [200, 0, 251, 255])

# The same with a commitment to s, s', s'', in two rows that can be opened twice; t, which no row reads, is a
# segment.
ROOTS: Final = Rows(CODE, 2 * CODE.queries)
SIZE: Final = 3
ABOUT: Final = shape_of(CODE, 2, 1, [Segment(SIZE, ROOTS.tail), Segment(1)], 3, 1)
ABOUT_MATRICES: Final = Dense(OVER, [({7: 1}, {8: 1}, {1: 1}), ({3: 1, 2: 1}, {0: 1}, {9: 1})])
ABOUT_WITNESSES: Final = ([5, 6, 9, 1, 3, 4], [199, 0, 31, 77, 251, 255])


def proof(witness: int, noise: Noise, lie: Lie = truthful) -> Proof:
    def complete(z: list[int], challenges: object) -> None:
        z[7] = (z[3] + z[2]) % P

    z = [1, PUBLIC, 0, *WITNESSES[witness], 0]
    return prove(SHAPE, MATRICES, z, complete=complete, noise=noise, lie=lie)


def root(values: list[int], noise: Noise, name: str = "root") -> Matrix:
    return matrix(CODE, values, ROOTS.tail, noise, name)


def proof_about(witness: int, noise: Noise, name: str = "root") -> Proof:
    """About the commitment of this name."""

    def complete(z: list[int], challenges: object) -> None:
        z[9] = (z[3] + z[2]) % P

    values = ABOUT_WITNESSES[witness]
    linked = [root(values[:SIZE], noise, name)]
    z = [1, PUBLIC, 0, *values, 0]
    return prove(ABOUT, ABOUT_MATRICES, z, linked=linked, complete=complete, noise=noise)


def renewal(
    witness: int, noise: Noise, old: str = "root", new: str = "new root"
) -> tuple[Renewal, list[Opening]]:
    values = ABOUT_WITNESSES[witness][:SIZE]
    return renew(ROOTS, SIZE, root(values, noise, old), root(values, noise, new), noise)
