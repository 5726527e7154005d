"""Commitments to vectors that outlive any one circuit, and that proofs can be linked to.

    cm = Σ w_i U_i + ρ H,    U_i = [τ^i]_1

U is the start of a powers-of-tau file, the same for every circuit; H is hashed to the curve, so nobody knows
its logarithm. With fresh ρ the commitment hides w perfectly; to open it to another vector is to find a root τ
of a polynomial, or a logarithm of H. Vectors that differ by zeros at the end are the same vector here: where
lengths matter, the statement fixes them. ``groth16.opening`` checks what ``reveal`` shows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Final

import numpy as np

from zenserve.base import container
from zenserve.base.container import Section
from zenserve.base.progress import Progress, silent
from zenserve.base.randomness import Secrets, random_elements
from zenserve.errors import EncodingError, StatementError
from zenserve.kernels import FrArray, WordArray, fr, g1, g2
from zenserve.prover import backends
from zenserve.prover.groth16.point_arrays import pairings_cancel
from zenserve.prover.groth16.powers_of_tau import PowersOfTau
from zenserve.verifier.groth16 import transcript
from zenserve.verifier.groth16.opening import (
    SCALAR_BYTES,
    Revealed,
    blinding_value,
    check_opening,
    second_generator,
    sum_blindings,
)
from zenserve.verifier.points import G1_BYTES, SCALAR_MODULUS, PointError, decode_g1
from zenserve.verifier.preamble import COMMITMENT_BASIS

_SECTIONS: Final = {"tau_g2": Section("<u8", g2.shape), "points": Section("<u8", g1.shape)}


@dataclass(frozen=True, eq=False)
class Opening:
    """A commitment, and the blinding factor ρ that opens it together with the values. As secret as these.

    ``commitment``: 48 bytes, compressed, public; ``blinding``: uint64[4], Montgomery.
    """

    commitment: bytes
    blinding: FrArray = field(repr=False)

    @property
    def blinding_bytes(self) -> bytes:
        """ρ as ``zenserve.verifier.groth16.opening`` takes it: 32 bytes, big-endian."""
        (value,) = fr.to_ints(self.blinding)
        return value.to_bytes(SCALAR_BYTES, "big")

    def to_bytes(self) -> bytes:
        """``commitment`` and ``blinding_bytes``, 80 bytes: to be sealed before it is stored."""
        return self.commitment + self.blinding_bytes

    @classmethod
    def from_bytes(cls, data: bytes) -> Opening:
        """The inverse of ``to_bytes``. Raises ``StatementError`` (``statement.openings``)."""
        try:
            blinding = fr.from_ints([blinding_value(data[G1_BYTES:])])[0]
        except EncodingError as error:
            raise StatementError("statement.openings", error.message, field="openings") from None
        opening = cls(data[:G1_BYTES], blinding)
        opening.check()
        return opening

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
class CommitmentKey:
    """``points``: U, uint64[length, 2, 6], at least U_0 and U_1; ``tau_g2``: [τ]_2, uint64[1, 2, 2, 6].

    Affine, Montgomery. A basis is trusted as the powers of tau are that it comes from: of the points only
    these three are checked. Raises ``StatementError`` (``statement.basis``) where U_0 is not the generator,
    U_1 shows that τ is 0, 1 or -1 (nobody has contributed to such powers), or [τ]_2 belongs to another τ.
    """

    points: WordArray
    tau_g2: WordArray

    def __post_init__(self) -> None:
        if not self._has_first_powers():
            raise StatementError(
                "statement.basis", "these are no powers of a secret τ, from τ^0 on", field="basis"
            )

    def _has_first_powers(self) -> bool:
        one = g1.generator
        known = (one, g1.neg(one), np.zeros_like(one))
        if len(self.points) < 2 or self.tau_g2.shape != (1, *g2.shape):
            return False
        zero, first = self.points[:2]
        return (
            np.array_equal(zero, one)
            and not any(np.array_equal(first, point) for point in known)
            and bool(g1.in_subgroup(self.points[1:2]) and g2.in_subgroup(self.tau_g2))
            and pairings_cancel([(first, g2.generator), (g1.neg(one), self.tau_g2[0])])
        )

    @classmethod
    def generate(cls, count: int, *, threads: int = 1, progress: Progress | None = None) -> CommitmentKey:
        """A basis of ``count`` points by a single party, for development: whoever runs this could keep τ.

        Stage: "basis". Raises ``StatementError`` (``statement.basis``) for fewer than two points.
        """
        stage = partial(progress or silent, "basis")
        with Secrets() as secret:
            tau = secret(random_elements(1))
            powers = secret(fr.powers(tau[0], count))
            points = backends.chosen().fixed_base(g1, powers, threads, stage)
            return cls(points, g2.fixed_base(g2.generator, tau, threads=threads))

    @classmethod
    def of(cls, powers: PowersOfTau) -> CommitmentKey:
        """The basis that ``powers`` hold; ``powers.verify`` says whether they are what they should be."""
        return cls(powers.tau_g1, powers.tau_g2[1:2])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the basis to ``path``, atomically (docs/formats.md)."""
        container.write(path, COMMITMENT_BASIS, {"tau_g2": self.tau_g2, "points": self.points})

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, check_hash: bool = True) -> CommitmentKey:
        """Map the basis at ``path`` into memory: processes that load it share one copy.

        ``check_hash=False`` spares reading the whole file, for a file that this machine has checked before.
        Raises ``FileFormatError`` with a code ``file.*``, and ``StatementError`` as the constructor does.
        """
        return cls(**container.read(path, COMMITMENT_BASIS, _SECTIONS, check_hash=check_hash))

    @property
    def length(self) -> int:
        """To how many values a commitment can be."""
        return len(self.points)

    @cached_property
    def identity(self) -> bytes:
        """U_1 = [τ]_1, 48 bytes: it determines all the others, so bases of any length with it agree."""
        return g1.compress(self.points[1:2])

    def commit(self, values: FrArray, *, hiding: bool = True, threads: int = 1) -> Opening:
        """Commit to ``values`` (uint64[n, 4], Montgomery) with fresh randomness: two calls never agree.

        With ``hiding=False`` ρ is 0, for values that are public: the commitment is a function of them, by
        which anyone recognises them.
        Raises ``StatementError``: ``statement.basis_length`` where there are more values than points,
        ``statement.commitment_at_infinity`` where nothing hides and all values are zero.
        """
        with Secrets() as secret:
            # By itself this sum is a commitment that hides nothing.
            total = secret(g1.msm(self.first(len(values)), values, threads=threads))
            blinding = random_elements(1) if hiding else np.zeros((1, 4), dtype=np.uint64)
            point = g1.add(total[None], secret(g1.mul(blinding_point(), blinding)))
        if g1.is_infinity(point).any():
            raise StatementError(
                "statement.commitment_at_infinity",
                "values that are all zero have no commitment without a blinding factor; take hiding=True",
                field="values",
            )
        return Opening(g1.compress(point), blinding[0])

    def reveal(self, opening: Opening, values: FrArray, *, threads: int = 1) -> Revealed:
        """Return a proof, for those who know ``values`` (uint64[n, 4], Montgomery), that ``opening`` is to
        them.

        Raises ``StatementError``: ``statement.basis_length``, or ``statement.openings`` if it is not to these
        values.
        """
        # Python integers cannot be erased; but these are about to be known.
        integers, blinding = fr.to_ints(values), opening.blinding_bytes
        z = transcript.opening_point(self.identity, opening.commitment, blinding, integers)
        quotient = fr.from_ints(_quotient(integers, z))
        point = g1.msm(self.first(len(quotient)), quotient, threads=threads)
        revealed = Revealed(blinding, g1.compress(point[None]), g2.compress(self.tau_g2))
        if not check_opening(self.identity, opening.commitment, integers, revealed):
            raise StatementError(
                "statement.openings", "the commitment is not to these values", field="openings"
            )
        return revealed

    def open_sum(self, openings: Sequence[Opening], values: Sequence[Sequence[int]]) -> bytes:
        """Return a proof that the commitments' sum is to the sum of these values, equally many each: ρ for
        one value each, else ``Revealed.to_bytes``. Raises as ``reveal``."""
        blinding = sum_blindings(opening.blinding_bytes for opening in openings)
        totals = [sum(column) for column in zip(*values, strict=True)]
        if len(totals) == 1:
            return blinding
        points = g1.decompress(b"".join(opening.commitment for opening in openings))
        point = g1.msm(points, fr.from_ints([1] * len(openings)))
        total = Opening(g1.compress(point[None]), fr.from_ints([int.from_bytes(blinding, "big")])[0])
        return self.reveal(total, fr.from_ints(totals)).to_bytes()

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
    return g1.decompress(bytes(second_generator().to_compressed_bytes()))


def _quotient(values: list[int], z: int) -> list[int]:
    """The coefficients of (v(X) - v(z)) / (X - z), by Horner's rule: none for less than two values."""
    carry, quotient = 0, []
    for value in reversed(values[1:]):
        carry = (carry * z + value) % SCALAR_MODULUS
        quotient.append(carry)
    return quotient[::-1]
