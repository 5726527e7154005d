"""Where a contract finds the points of a proof, and how the precompiles take them.

A coordinate is 64 bytes, big-endian, of which 16 are zero; a point of G1 is x, y; one of G2 is x's c0, c1,
then y's (EIP-2537). The compressed encodings of docs/formats.md have c1 first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from verifier.groth16.proof import Proof
from verifier.points import decode_g1, decode_g2, uncompressed

G1_BYTES: Final = 128
G2_BYTES: Final = 256


def encode_g1(data: bytes) -> bytes:
    """128 bytes of the compressed point ``data``. Raises ``PointError``."""
    return uncompressed(bytes(decode_g1(data).to_xy_bytes_be()))


def encode_g2(data: bytes) -> bytes:
    """256 bytes of the compressed point ``data``. Raises ``PointError``."""
    return uncompressed(bytes(decode_g2(data).to_xy_bytes_be()))


def encode_proof(proof: Proof, commitments: Sequence[bytes]) -> bytes:
    """A, B, C, then each D, D' and π of ``proof``, then the ``commitments`` from outside.

    512 + 256 segments + 256 links bytes. Raises ``PointError``.
    """
    others = (*proof.segments, *proof.knowledge, *proof.links, *commitments)
    return b"".join((encode_g1(proof.a), encode_g2(proof.b), encode_g1(proof.c), *map(encode_g1, others)))
