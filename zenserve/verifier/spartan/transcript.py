"""Challenges from all that was said before them: BLAKE3, each message with its label and its length."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final

from blake3 import blake3

from zenserve.verifier.spartan.field import Field

_START: Final = "zenserve spartan 2: transcript"
"""Of the protocol's second version: what is committed to is as it was."""
ABSORB: Final = "zenserve spartan 1: absorb"
CHALLENGE: Final = "zenserve spartan 1: challenge"
ASKING: Final = "challenge"
_PLACE: Final = Struct("<I")


class Transcript:
    """The messages that prover and verifier have both seen. A challenge is a function of the transcript, and
    becomes a part of it."""

    def __init__(self, field: Field, statement: bytes, context: str = _START) -> None:
        """``context``: of the protocol; ``statement``: what is fixed before anything is said."""
        self._field = field
        modulus = field.modulus.to_bytes(field.element_bytes, "little")
        length = field.element_bytes.to_bytes(8, "little")
        self.state = blake3(length + modulus + statement, derive_key_context=context).digest()

    def say(self, label: str, values: Sequence[int]) -> None:
        """Absorb elements of the field."""
        self.absorb(label, self._field.to_bytes(values))

    def absorb(self, label: str, data: bytes) -> None:
        message = self.state + frame(label, len(data)) + data
        self.state = blake3(message, derive_key_context=ABSORB).digest()

    def challenges(self, label: str, count: int) -> list[int]:
        """``count`` elements of the field."""
        wide = self._field.wide_bytes
        stream = self.draw(label, wide * count)
        return [self._field.from_wide(stream[i : i + wide]) for i in range(0, len(stream), wide)]

    def challenge(self, label: str) -> int:
        (value,) = self.challenges(label, 1)
        return value

    def places(self, label: str, count: int, log_size: int) -> list[int]:
        """``count`` different numbers below 2^log_size, ascending: the first that the stream has."""
        found: set[int] = set()
        mask, length = (1 << log_size) - 1, _PLACE.size * count
        while len(found) < count:
            length *= 2
            stream = self.draw(label, length) if not found else self.draw_again(length)
            numbers = (number & mask for (number,) in _PLACE.iter_unpack(stream))
            found = set(list(dict.fromkeys(numbers))[:count])
        return sorted(found)

    def draw(self, label: str, length: int) -> bytes:
        """Bytes that follow from all that was said, and from this label."""
        self.absorb(ASKING, label.encode())
        return self.draw_again(length)

    def draw_again(self, length: int) -> bytes:
        """The same bytes, and more."""
        return blake3(self.state, derive_key_context=CHALLENGE).digest(length=length)


def frame(label: str, length: int) -> bytes:
    """Return the header that precedes a message of ``length`` bytes."""
    said = label.encode()
    return bytes([len(said)]) + said + length.to_bytes(8, "little")
