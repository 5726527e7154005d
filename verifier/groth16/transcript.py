"""What a verifier would draw: hashes of everything that was fixed before them (Fiat and Shamir).

Left out of the hash, any part of what is proven could be changed once the challenge is known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from verifier.points import SCALAR_MODULUS

TAG = b"zenserve challenge 1"
OPENING_TAG = b"zenserve opening 1"


def challenges(
    verifying_key_digest: bytes,
    public_inputs: Sequence[int],
    segments: Sequence[bytes],
    commitments: Sequence[bytes],
    count: int,
) -> list[int]:
    """``count`` canonical integers, challenge j being SHA-512(transcript | j) modulo r (docs/formats.md).

    ``public_inputs``: canonical integers, challenges not among them; ``segments``: the proof's commitments to
    its segments; ``commitments``: those from outside that it is linked to; 48 bytes each.
    """
    hasher = hashlib.sha512(TAG + verifying_key_digest)
    scalars = [value.to_bytes(32, "big") for value in public_inputs]
    for part in (scalars, segments, commitments):
        hasher.update(len(part).to_bytes(4, "big") + b"".join(part))
    return [_reduced(hasher.copy(), index) for index in range(count)]


def opening_point(identity: bytes, commitment: bytes, blinding: bytes, values: Sequence[int]) -> int:
    """The z at which a commitment that is opened in public is evaluated (docs/formats.md).

    ``identity``: U_1 of the basis, and ``commitment``, 48 bytes each; ``blinding``: 32 bytes; ``values``:
    canonical integers.
    """
    hasher = hashlib.sha512(OPENING_TAG + identity + commitment + blinding + len(values).to_bytes(8, "big"))
    hasher.update(b"".join(value.to_bytes(32, "big") for value in values))
    return _modulo_r(hasher)


def _reduced(hasher: hashlib._Hash, index: int) -> int:
    hasher.update(index.to_bytes(4, "big"))
    return _modulo_r(hasher)


def _modulo_r(hasher: hashlib._Hash) -> int:
    # 512 bits modulo a prime of 255: the bias is below 2^-256.
    return int.from_bytes(hasher.digest(), "big") % SCALAR_MODULUS
