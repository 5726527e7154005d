"""What a verifier would draw: hashes of everything that was fixed before them (Fiat and Shamir).

Left out of the hash, any part of what is proven could be changed once the challenge is known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from zenserve.verifier.curve import G1, G2, Curve
from zenserve.verifier.groth16.verifying_key import VerifyingKey
from zenserve.verifier.points import SCALAR_MODULUS
from zenserve.verifier.preamble import OLD_VERIFYING_KEY

TAG = b"zenserve challenge 2"
OLD_TAG = b"zenserve challenge 1"
OPENING_TAG = b"zenserve opening 1"


def challenges(
    key: VerifyingKey,
    curve: Curve[G1, G2],
    public_inputs: Sequence[int],
    segments: Sequence[G1],
    commitments: Sequence[G1],
) -> list[int]:
    """The challenges that ``key`` counts, canonical integers (docs/formats.md, "Challenges"). Where it folds
    public inputs, the last one is their fold at the first one.

    ``public_inputs``: canonical integers, challenges not among them; ``segments``: the proof's commitments to
    its segments; ``commitments``: those from outside that it is linked to.
    """
    if not key.challenges:
        return []
    scalars = [value.to_bytes(32, "big") for value in public_inputs]
    old = key.version == OLD_VERIFYING_KEY.version
    encode = curve.encode_g1 if old else curve.encode_g1_uncompressed
    points = ([encode(point) for point in part] for part in (segments, commitments))
    message = (OLD_TAG if old else TAG) + key.digest
    message += b"".join(len(part).to_bytes(4, "big") + b"".join(part) for part in (scalars, *points))
    wide = _sha512 if old else _two_sha256
    drawn = range(key.challenges - (1 if key.folded else 0))
    found = [_modulo_r(wide(message + index.to_bytes(4, "big"))) for index in drawn]
    return [*found, fold(public_inputs[-key.folded :], found[0])] if key.folded else found


def fold(values: Sequence[int], z: int) -> int:
    """Σ values[i] z^i modulo r."""
    total = 0
    for value in reversed(values):
        total = (total * z + value) % SCALAR_MODULUS
    return total


def opening_point(identity: bytes, commitment: bytes, blinding: bytes, values: Sequence[int]) -> int:
    """The z at which a commitment that is opened in public is evaluated (docs/formats.md).

    ``identity``: U_1 of the basis, and ``commitment``, 48 bytes each; ``blinding``: 32 bytes; ``values``:
    canonical integers.
    """
    hasher = hashlib.sha512(OPENING_TAG + identity + commitment + blinding + len(values).to_bytes(8, "big"))
    hasher.update(b"".join(value.to_bytes(32, "big") for value in values))
    return _modulo_r(hasher.digest())


def _sha512(message: bytes) -> bytes:
    return hashlib.sha512(message).digest()


def _two_sha256(message: bytes) -> bytes:
    """512 bits: SHA-256 of the message and a byte 0, then of the message and a byte 1."""
    return b"".join(hashlib.sha256(message + bytes([half])).digest() for half in (0, 1))


def _modulo_r(digest: bytes) -> int:
    # 512 bits modulo a prime of 255: the bias is below 2^-256.
    return int.from_bytes(digest, "big") % SCALAR_MODULUS
