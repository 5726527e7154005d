"""Commitments to vectors that outlive any one circuit, and that proofs can be linked to.

    cm = Σ w_i U_i + ρ H,    U_i = [τ^i]_1

U is the start of a powers-of-tau file, the same for every circuit; H is hashed to the curve, so nobody knows
its logarithm. With fresh ρ the commitment hides w perfectly; to open it to another vector is to find a root τ
of a polynomial, or a logarithm of H. Vectors that differ by zeros at the end are the same vector here: where
lengths matter, the statement fixes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from py_arkworks_bls12381 import G1Point

from kernels import FrArray, WordArray, g1
from prover.points import PointError, decode_g1
from prover.randomness import Secrets, random_elements
from zenerrors import StatementError

_H_MESSAGE = b"H"
_H_DOMAIN = b"ZENSERVE-V1-COMMITMENT_BLS12381G1_XMD:SHA-256_SSWU_RO_"


@dataclass(frozen=True, eq=False)
class Opening:
    """A commitment, and the blinding factor ρ that opens it together with the values. As secret as these.

    ``commitment``: 48 bytes, compressed, public; ``blinding``: uint64[4], Montgomery.
    """

    commitment: bytes
    blinding: FrArray

    def check(self) -> None:
        """Raises ``StatementError`` (``statement.openings``) where the parts are no point and no scalar."""
        try:
            decode_g1(self.commitment)
            fits = self.blinding.shape == (4,) and self.blinding.dtype == np.uint64
        except (PointError, TypeError, AttributeError):
            fits = False
        if not fits:
            raise StatementError(
                "statement.openings",
                "an opening holds a compressed point of G1 and a blinding factor uint64[4]",
                field="openings",
            )


@dataclass(frozen=True, eq=False)
class CommitmentBasis:
    """``points``: U, uint64[length, 2, 6], affine, Montgomery; at least U_0 and U_1.

    Raises ``StatementError`` (``statement.basis``) where U_0 is not the generator, or U_1 shows that τ is
    0, 1 or -1: nobody has contributed to such powers.
    """

    points: WordArray

    def __post_init__(self) -> None:
        one = g1.generator
        known = (one, g1.neg(one), np.zeros_like(one))
        if (
            len(self.points) < 2
            or not np.array_equal(self.points[0], one)
            or any(np.array_equal(self.points[1], point) for point in known)
        ):
            raise StatementError(
                "statement.basis", "these are no powers of a secret τ, from τ^0 on", field="basis"
            )

    @cached_property
    def identity(self) -> bytes:
        """U_1 = [τ]_1, 48 bytes: it determines all the others, so bases of any length with it agree."""
        return g1.compress(self.points[1:2])

    def commit(self, values: FrArray, *, threads: int = 1) -> Opening:
        """Commit to ``values`` (uint64[n, 4], Montgomery) with fresh randomness: two calls never agree.

        Raises ``StatementError`` (``statement.basis_length``) where there are more values than points.
        """
        points = np.concatenate([self.first(len(values)), blinding_point()])
        blinding = random_elements(1)
        with Secrets() as secret:
            scalars = secret(np.concatenate([values, blinding]))
            commitment = g1.compress(g1.msm(points, scalars, threads=threads)[None])
        return Opening(commitment, blinding[0])

    def first(self, count: int) -> WordArray:
        """U_0 .. U_(count - 1). Raises ``StatementError`` (``statement.basis_length``)."""
        if count > len(self.points):
            raise StatementError(
                "statement.basis_length",
                f"{count} values do not fit a basis of {len(self.points)} points; take more powers of tau",
                field="basis",
            )
        return self.points[:count]


@cache
def blinding_point() -> WordArray:
    """H: uint64[1, 2, 6]."""
    return g1.decompress(bytes(G1Point.hash_to_curve(_H_MESSAGE, _H_DOMAIN).to_compressed_bytes()))
