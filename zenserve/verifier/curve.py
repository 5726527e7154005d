"""The BLS12-381 operations that verification needs, and their implementation with the pairing library alone.

``zenserve.prover.groth16.native`` answers with the native kernels, several times faster. The verdicts are the
same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

from py_arkworks_bls12381 import GT, G1Point, G2Point, Scalar

from zenserve.verifier.points import SCALAR_MODULUS, decode_g1, decode_g2, uncompressed

G1 = TypeVar("G1")
G2 = TypeVar("G2")


class Curve(Protocol[G1, G2]):
    """Points of the two groups are values of types of the curve's own, always in their subgroup."""

    @property
    def generator_g2(self) -> G2: ...

    def decode_g1(self, data: bytes) -> G1:
        """A finite point from 48 bytes. Raises ``PointError``."""

    def decode_g2(self, data: bytes) -> G2:
        """A finite point from 96 bytes. Raises ``PointError``."""

    def encode_g1(self, point: G1) -> bytes:
        """The 48 bytes that ``decode_g1`` takes."""

    def encode_g1_uncompressed(self, point: G1) -> bytes:
        """128 bytes: x, then y, each big-endian in 64 bytes, as EIP-2537 has them."""

    def weighted_sum(self, points: Sequence[G1], weights: Sequence[int]) -> G1:
        """Σ weights[i] · points[i] for at least one point; weights are not negative, and taken modulo r."""

    def products_agree(self, left: Sequence[tuple[G1, G2]], right: Sequence[tuple[G1, G2]]) -> bool:
        """Return whether the pairings on both sides have the same product."""


class ArkworksCurve:
    """Needs neither the native kernels nor numpy."""

    _FEW = 3
    """So many points are faster multiplied one by one."""

    generator_g2 = G2Point()

    def decode_g1(self, data: bytes) -> G1Point:
        return decode_g1(data)

    def decode_g2(self, data: bytes) -> G2Point:
        return decode_g2(data)

    def encode_g1(self, point: G1Point) -> bytes:
        return bytes(point.to_compressed_bytes())

    def encode_g1_uncompressed(self, point: G1Point) -> bytes:
        return uncompressed(point.to_xy_bytes_be())

    def weighted_sum(self, points: Sequence[G1Point], weights: Sequence[int]) -> G1Point:
        scalars = [Scalar(weight % SCALAR_MODULUS) for weight in weights]
        if len(points) > self._FEW:
            return G1Point.multiexp_unchecked(list(points), scalars)
        total, *rest = (point * scalar for point, scalar in zip(points, scalars, strict=True))
        for product in rest:
            total = total + product
        return total

    def products_agree(
        self, left: Sequence[tuple[G1Point, G2Point]], right: Sequence[tuple[G1Point, G2Point]]
    ) -> bool:
        points = [p for p, _ in left] + [-p for p, _ in right]
        return bool(GT.pairing_check(points, [q for _, q in (*left, *right)]))


ARKWORKS: Final = ArkworksCurve()
