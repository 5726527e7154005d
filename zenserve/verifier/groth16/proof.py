"""Proofs: three group elements, and what shows that the segments were committed to and linked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

from zenserve.codes import Code
from zenserve.errors import EncodingError, FileFormatError
from zenserve.verifier.curve import ARKWORKS, G1, G2, Curve
from zenserve.verifier.document import check_header, from_hex, hex_list
from zenserve.verifier.points import G1_BYTES, G2_BYTES, PointError
from zenserve.verifier.preamble import MAGIC, PREAMBLE_BYTES, PROOF, check_preamble, preamble

MOST_SEGMENTS: Final = 255
"""A proof counts its segments in one byte."""
PLAIN_BYTES = 2 * G1_BYTES + G2_BYTES
_JSON_HEADER: Final[Mapping[str, str | int]] = {
    "format": "zenserve groth16 proof",
    "version": PROOF.version,
    "curve": "bls12381",
}

Point = TypeVar("Point")


class ProofError(EncodingError):
    """Bytes that are no proof; ``reason`` is the name that ``Verdict.reason`` gives it."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(cast(Code, f"encoding.{reason}"), message, field="proof")
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return ProofError, (self.reason, self.message)


class Points(NamedTuple, Generic[G1, G2]):
    """A proof's points, each in its subgroup and finite."""

    a: G1
    b: G2
    c: G1
    segments: list[G1]
    knowledge: list[G1]
    links: list[G1]


@dataclass(frozen=True)
class Proof:
    """A (48 bytes), B (96 bytes) and C (48 bytes), each compressed as ZCash and the IETF do.

    Beside them 48 bytes each: the commitments D to the ``segments``, σD as proof of ``knowledge`` of their
    openings, and a proof for each of the ``links`` between a segment and a commitment from outside.

    A proof is no identifier: anyone can turn it into another valid proof of the same statement and public
    inputs (docs/groth16.md, "Proofs are malleable").
    """

    a: bytes
    b: bytes
    c: bytes
    segments: tuple[bytes, ...] = ()
    knowledge: tuple[bytes, ...] = ()
    links: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        """``ProofError`` (``proof_shape``) where counts do not fit each other, or parts are no bytes."""
        parts = (self.segments, self.knowledge, self.links)
        elements = [self.a, self.b, self.c]
        fits = all(isinstance(part, tuple) for part in parts)
        if fits:
            elements += [data for part in parts for data in part]
            fits = len(self.links) <= len(self.segments) == len(self.knowledge) <= MOST_SEGMENTS
        if not fits or not all(type(data) is bytes for data in elements):
            raise ProofError(
                "proof_shape", "a proof's parts are tuples of bytes, as many as segments and links"
            )

    def to_bytes(self) -> bytes:
        """Without segments A | B | C, 192 bytes as everywhere; with them the file form of docs/formats.md.

        210 + 96 · segments + 48 · links bytes.
        """
        elements = self.a + self.b + self.c
        if not self.segments:
            return elements
        counts = bytes((len(self.segments), len(self.links)))
        return b"".join((preamble(PROOF), counts, elements, *self.segments, *self.knowledge, *self.links))

    @classmethod
    def from_bytes(cls, data: bytes) -> Proof:
        """Decode with every check: length, flags, range, curve, subgroup, not infinity.

        Raises ``EncodingError`` with a code ``encoding.{reason}``, the reasons being those of a ``Verdict``.
        """
        proof = cls.split(data)
        proof.decode(ARKWORKS)
        return proof

    @classmethod
    def split(cls, data: bytes) -> Proof:
        """The elements in ``data``, undecoded. Raises ``ProofError``: ``proof_length``, ``proof_format``."""
        if len(data) == PLAIN_BYTES:
            a, b, c = _cut(data, (G1_BYTES, G2_BYTES, G1_BYTES))
            return cls(a, b, c)
        if len(data) < PREAMBLE_BYTES + 2 or not data.startswith(MAGIC):
            raise ProofError(
                "proof_length",
                f"a proof has {PLAIN_BYTES} bytes, or a header of its own; this has {len(data)} and none",
            )
        try:
            check_preamble(data, PROOF)
        except FileFormatError as error:
            raise ProofError("proof_format", error.message) from None
        segments, links = data[PREAMBLE_BYTES : PREAMBLE_BYTES + 2]
        body = data[PREAMBLE_BYTES + 2 :]
        if segments == 0 or links > segments or len(body) != PLAIN_BYTES + G1_BYTES * (2 * segments + links):
            raise ProofError("proof_length", f"{len(data)} bytes are not what the proof's header announces")
        a, b, c, *rest = _cut(body, (G1_BYTES, G2_BYTES, *[G1_BYTES] * (1 + 2 * segments + links)))
        return cls(
            a, b, c, tuple(rest[:segments]), tuple(rest[segments : 2 * segments]), tuple(rest[2 * segments :])
        )

    def decode(self, curve: Curve[G1, G2]) -> Points[G1, G2]:
        """The points, checked, as ``curve`` has them. Raises ``ProofError``."""
        return Points(
            decoded(curve.decode_g1, self.a, "a"),
            decoded(curve.decode_g2, self.b, "b"),
            decoded(curve.decode_g1, self.c, "c"),
            [decoded(curve.decode_g1, data, "segment") for data in self.segments],
            [decoded(curve.decode_g1, data, "knowledge") for data in self.knowledge],
            [decoded(curve.decode_g1, data, "link") for data in self.links],
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON-able form: compressed points in lower-case hex."""
        return {
            **_JSON_HEADER,
            "a": self.a.hex(),
            "b": self.b.hex(),
            "c": self.c.hex(),
            "segments": [data.hex() for data in self.segments],
            "knowledge": [data.hex() for data in self.knowledge],
            "links": [data.hex() for data in self.links],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Proof:
        """The inverse of ``to_json``. Raises ``FileFormatError``, and ``EncodingError`` as ``from_bytes``."""
        check_header(document, "a proof", _JSON_HEADER)
        a, b, c = (from_hex(document.get(name), name) for name in ("a", "b", "c"))
        segments, knowledge, links = (
            tuple(hex_list(document.get(name), name)) for name in ("segments", "knowledge", "links")
        )
        proof = cls(a, b, c, segments, knowledge, links)
        proof.decode(ARKWORKS)
        return proof


def decoded(decode: Callable[[bytes], Point], data: bytes, name: str) -> Point:
    """The point of ``data``. Raises ``ProofError`` with the reason ``{name}_{fault}``."""
    try:
        return decode(data)
    except PointError as error:
        fault = error.fault
        raise ProofError(f"{name}_{fault}", f"{name}: {fault.replace('_', ' ')}") from None


def _cut(data: bytes, lengths: Sequence[int]) -> Iterator[bytes]:
    start = 0
    for length in lengths:
        yield data[start : start + length]
        start += length
