"""Commitments to vectors: roots over code words, and how they are opened in public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from blake3 import blake3

from zenserve.errors import FileFormatError
from zenserve.verifier.document import check_header, from_hex
from zenserve.verifier.spartan import merkle
from zenserve.verifier.spartan.code import LOG_BLOWUP, MOST_LOG_DEGREE, Code
from zenserve.verifier.spartan.field import FR, Field

SEED_BYTES: Final = 32
TAILS: Final = "zenserve spartan 1: tails"
SALTS: Final = "zenserve spartan 1: salts"
_NUMBER: Final = 8
_HEADER: Final[Mapping[str, str | int]] = {"format": "zenserve opening", "version": 1, "system": "spartan"}


@dataclass(frozen=True)
class Rows:
    """The parameters that commitments of one kind share: the code, and a row's number of random places."""

    code: Code
    tail: int

    @property
    def identity(self) -> bytes:
        """These numbers, 16 bytes: there is no key to know."""
        return b"".join(number.to_bytes(_NUMBER, "little") for number in (self.code.log_degree, self.tail))

    @classmethod
    def from_identity(cls, identity: bytes) -> Rows:
        """The inverse of ``identity``, over Fr. Raises ``FileFormatError`` (``file.json``): no such code."""
        parts = (identity[i : i + _NUMBER] for i in range(0, len(identity), _NUMBER))
        numbers = [int.from_bytes(part, "little") for part in parts]
        if len(identity) != 2 * _NUMBER or numbers[0] > MOST_LOG_DEGREE:
            raise FileFormatError("file.json", "basis: no such code", field="basis")
        rows = cls(Code(FR, numbers[0], numbers[0] + LOG_BLOWUP), numbers[1])
        if not rows.code.queries <= rows.tail < rows.code.degree:
            raise FileFormatError("file.json", "basis: rows without room for values", field="basis")
        return rows


@dataclass(frozen=True)
class Revealed:
    """The seed that a commitment's tails and salts follow from. Guesses of the values can then be tested."""

    seed: bytes = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        return {**_HEADER, "blinding": self.seed.hex()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Revealed:
        """The inverse of ``to_json``. Raises ``FileFormatError`` (``file.json``)."""
        check_header(document, "an opening", _HEADER)
        revealed = cls(from_hex(document.get("blinding"), "blinding"))
        if revealed.to_json() != document or len(revealed.seed) != SEED_BYTES:
            raise FileFormatError("file.json", "opening: a field is unknown, missing or too long")
        return revealed


def commit(rows: Rows, values: Sequence[int], seed: bytes) -> bytes:
    """The root of a commitment to ``values``, canonical: ``zenserve.prover.spartan.commitment.commit``,
    slowly.
    """
    code, over, tail = rows.code, rows.code.field, rows.tail
    seed = bound(seed, over.to_bytes(values))
    width = code.degree - tail
    parts = [list(values[start : start + width]) for start in range(0, len(values), width)]
    tails = _elements(over, seed, tail * len(parts))
    words = []
    for index, part in enumerate(parts):
        padded = part + [0] * (width - len(part))
        words.append(over.encode(padded + tails[index * tail : (index + 1) * tail], code.log_length))
    salts = stream(seed, SALTS, code.length * SEED_BYTES)
    level = []
    for place in range(code.length):
        salt = salts[place * SEED_BYTES : (place + 1) * SEED_BYTES]
        level.append(merkle.leaf(salt, over.to_bytes([word[place] for word in words])))
    while len(level) > 1:
        level = [merkle.node(left, right) for left, right in zip(level[::2], level[1::2], strict=True)]
    return merkle.root(level[0], len(values), tail, code.log_degree, code.log_length)


def bound(seed: bytes, values: bytes | memoryview) -> bytes:
    """The seed of these values alone: two vectors that are committed to under one seed share nothing."""
    return blake3(values, key=seed).digest()


def stream(seed: bytes, what: str, length: int, start: int = 0) -> bytes:
    return blake3(seed, derive_key_context=what).digest(length=length, seek=start)


def _elements(over: Field, seed: bytes, count: int) -> list[int]:
    """The first ``count`` of the stream's words, as long as the modulus, that are below it."""
    wanted, mask = count, (1 << over.modulus.bit_length()) - 1
    while True:
        data = stream(seed, TAILS, over.element_bytes * wanted)
        words = (word & mask for word in over.from_bytes(data))
        found = [word for word in words if word < over.modulus]
        if len(found) >= count:
            return found[:count]
        wanted = 2 * wanted + 1
