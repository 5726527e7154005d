"""Verification on the native kernels: the verifier's equations over the curve that they compute with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from zenserve.errors import EncodingError
from zenserve.kernels import Group, WordArray, fr, g1, g2, pairing_product_is_one
from zenserve.verifier.groth16 import verification
from zenserve.verifier.groth16.proof import Proof
from zenserve.verifier.groth16.verifying_key import VerifyingKey
from zenserve.verifier.points import FIELD_MODULUS, G1_BYTES, Fault, PointError, uncompressed
from zenserve.verifier.system import Claim
from zenserve.verifier.verdict import Verdict

_FAULTS = {
    "encoding.flags": Fault.ENCODING,
    "encoding.not_canonical": Fault.NOT_CANONICAL,
    "encoding.not_on_curve": Fault.NOT_ON_CURVE,
    "encoding.not_in_subgroup": Fault.NOT_IN_SUBGROUP,
}

_FROM_MONTGOMERY: Final = pow(2, -384, FIELD_MODULUS)


class NativeCurve:
    """Points are words: uint64[2, 6] in G1, uint64[2, 2, 6] in G2, affine, Montgomery."""

    generator_g2 = g2.generator

    def decode_g1(self, data: bytes) -> WordArray:
        return _decode(g1, data)

    def decode_g2(self, data: bytes) -> WordArray:
        return _decode(g2, data)

    def encode_g1(self, point: WordArray) -> bytes:
        return g1.compress(point[None])

    def encode_g1_uncompressed(self, point: WordArray) -> bytes:
        words = (int.from_bytes(coordinate.astype("<u8").tobytes(), "little") for coordinate in point)
        canonical = (value * _FROM_MONTGOMERY % FIELD_MODULUS for value in words)
        return uncompressed(b"".join(value.to_bytes(G1_BYTES, "big") for value in canonical))

    def weighted_sum(self, points: Sequence[WordArray], weights: Sequence[int]) -> WordArray:
        return g1.msm(np.stack(points), fr.from_ints(weights))

    def products_agree(
        self, left: Sequence[tuple[WordArray, WordArray]], right: Sequence[tuple[WordArray, WordArray]]
    ) -> bool:
        points = np.stack([p for p, _ in (*left, *right)])
        points[len(left) :] = g1.neg(points[len(left) :])
        return pairing_product_is_one(points, np.stack([q for _, q in (*left, *right)]))


NATIVE: Final = NativeCurve()


def _decode(group: Group, data: bytes) -> WordArray:
    if len(data) != group.encoded_bytes:
        raise PointError(Fault.ENCODING)
    try:
        point = group.decompress(data).reshape(group.shape)
    except EncodingError as error:
        raise PointError(_FAULTS[error.code]) from None
    if not point.any():
        raise PointError(Fault.AT_INFINITY)
    return point


def verify(
    verifying_key: VerifyingKey,
    public_inputs: Sequence[int],
    proof: bytes | Proof,
    commitments: Sequence[bytes] = (),
) -> Verdict:
    """``verification.verify`` on the native kernels."""
    return verification.verify(verifying_key, public_inputs, proof, commitments, curve=NATIVE)


def verify_batch(verifying_key: VerifyingKey, claims: Sequence[Claim]) -> list[Verdict]:
    """``verification.verify_batch`` on the native kernels."""
    return verification.verify_batch(verifying_key, claims, curve=NATIVE)
