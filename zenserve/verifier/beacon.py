"""Public randomness that closes a ceremony: what it makes, everybody can compute (docs/ceremony.md).

A beacon is a value that nobody knew before the last contributor was done, hashed so and so often. In the
second phase its contribution bears a name of its own, ``Beacon.name``, which says both.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final, Self

from zenserve.errors import CeremonyError
from zenserve.verifier.points import SCALAR_MODULUS

VALUE_BYTES: Final = 32
MOST_ROUNDS: Final = 16
"""A verifier hashes 2^rounds times to check a key by its transcript: with this bound, milliseconds at most
even for an untrusted transcript."""

_WORD: Final = "beacon"
_NAME: Final = re.compile(_WORD + r" 2\^(0|[1-9][0-9]?) ([0-9a-f]{64})")
_TAG: Final = b"zenserve beacon 1"


def iterate(value: bytes, rounds: int) -> bytes:
    """SHA-256 of it, of that, and so on: 2^rounds times, 32 bytes."""
    for _ in range(1 << rounds):
        value = hashlib.sha256(value).digest()
    return value


def is_reserved(name: str) -> bool:
    """Return whether a contribution of this name must be a beacon's, which its first word tells."""
    return name.split(" ", 1)[0].casefold() == _WORD


@dataclass(frozen=True)
class Beacon:
    """``value``: 32 public bytes; ``rounds``: hashed 2^rounds times before shares are drawn, 0 to 16.

    Raises ``CeremonyError`` (``ceremony.beacon``).
    """

    value: bytes
    rounds: int

    def __post_init__(self) -> None:
        if len(self.value) != VALUE_BYTES:
            raise CeremonyError(
                "ceremony.beacon",
                f"a beacon's value has {VALUE_BYTES} bytes; of a longer one take the SHA-256",
                field="beacon",
            )
        if not 0 <= self.rounds <= MOST_ROUNDS:
            raise CeremonyError(
                "ceremony.beacon", f"a beacon is hashed 2^0 to 2^{MOST_ROUNDS} times", field="rounds"
            )

    @classmethod
    def of(cls, name: str) -> Self:
        """The beacon of a contribution whose name ``is_reserved``."""
        found = _NAME.fullmatch(name)
        if found is None:
            raise CeremonyError(
                "ceremony.beacon",
                f"a name that begins with '{_WORD}' must be a beacon's: '{_WORD} 2^ROUNDS VALUE', in hex",
                field="name",
            )
        return cls(bytes.fromhex(found[2]), int(found[1]))

    @property
    def name(self) -> str:
        """The name of the beacon's contribution, in the form that ``of`` reads."""
        return f"{_WORD} 2^{self.rounds} {self.value.hex()}"

    def shares(self, previous: bytes, count: int) -> list[int]:
        """Return the ``count`` scalars below r that follow the contribution with the hash ``previous``."""
        seed = _TAG + iterate(self.value, self.rounds) + previous
        digests = (hashlib.sha512(seed + index.to_bytes(4, "big")).digest() for index in range(count))
        return [int.from_bytes(digest, "big") % SCALAR_MODULUS for digest in digests]
