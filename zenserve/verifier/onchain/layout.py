"""Where a contract finds the points of a proof, and how the precompiles take them.

A coordinate is 64 bytes, big-endian, of which 16 are zero; a point of G1 is x, y; one of G2 is x's c0, c1,
then y's (EIP-2537). The compressed encodings of docs/formats.md have c1 first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from py_arkworks_bls12381 import G1Point, G2Point

from zenserve.verifier.groth16.proof import Proof
from zenserve.verifier.points import decode_g1, decode_g2, uncompressed

G1_BYTES: Final = 128
G2_BYTES: Final = 256


def encode(point: G1Point | G2Point) -> bytes:
    """128 bytes of a point of G1, 256 of one of G2."""
    return uncompressed(bytes(point.to_xy_bytes_be()))


def encode_proof(proof: Proof, commitments: Sequence[bytes]) -> bytes:
    """A, B, C, then each D, D' and π of ``proof``, then the ``commitments`` from outside.

    512 + 256 segments + 256 links bytes. Raises ``PointError``.
    """
    others = (*proof.segments, *proof.knowledge, *proof.links, *commitments)
    in_g1 = (encode(decode_g1(data)) for data in (proof.c, *others))
    return b"".join((encode(decode_g1(proof.a)), encode(decode_g2(proof.b)), *in_g1))
