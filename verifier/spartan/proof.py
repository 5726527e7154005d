"""Proofs as bytes. Every number has its place by the statement's shape; how many hashes open a tree follows
from the places that were drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from verifier.spartan.claims import Said
from verifier.spartan.field import Field
from verifier.spartan.merkle import DIGEST_BYTES, siblings
from verifier.spartan.shape import Shape


class MalformedError(Exception):
    """These bytes are no proof of this shape."""


@dataclass(frozen=True)
class Opening:
    """Of a tree, at the drawn places, ascending: salts, columns as bytes, and the hashes of ``siblings``."""

    salts: Sequence[bytes]
    columns: Sequence[bytes]
    path: Sequence[bytes]

    def to_bytes(self) -> bytes:
        opened = (salt + column for salt, column in zip(self.salts, self.columns, strict=True))
        return b"".join(opened) + b"".join(self.path)


@dataclass(frozen=True)
class Body:
    """All of a proof but the openings. ``roots``: of the segments, of the private variables and the mask, of
    the pads. ``row``, ``pad_row``: the rows combined, with their masks, as
    bytes; ``pad_mask``: the inner product of the pads' mask.
    """

    roots: Sequence[bytes]
    said: Said
    row: bytes
    pad_mask: int
    pad_row: bytes

    def to_bytes(self, field: Field) -> bytes:
        said = self.said
        numbers = [value for part in said.outer for value in part]
        numbers += said.claims
        numbers += [value for part in said.inner for value in part]
        parts = [field.to_bytes([*numbers, said.mask]), self.row]
        parts += [field.to_bytes([*said.opened, self.pad_mask]), self.pad_row]
        return b"".join([*self.roots, *parts])


class Reader:
    """Takes a proof apart. Raises ``MalformedError`` for wrong lengths and numbers that are no elements."""

    def __init__(self, field: Field, data: bytes) -> None:
        self._field, self._data, self._at = field, data, 0

    def body(self, shape: Shape) -> Body:
        roots = self.digests(len(shape.parts) + 1)
        outer = [self.elements(3) for _ in range(shape.log_rows)]
        claims = self.elements(3)
        inner = [self.elements(2) for _ in range(shape.variables)]
        (mask,), row = self.elements(1), self.canonical(shape.code.degree)
        opened, (pad_mask,) = self.elements(2), self.elements(1)
        pad_row = self.canonical(shape.pads.code.degree)
        return Body(roots, Said(outer, claims, inner, mask, opened), row, pad_mask, pad_row)

    def openings(self, rows: Sequence[int], places: Sequence[int], log_leaves: int) -> list[Opening]:
        """Those of matrices of so many rows, at the same places."""
        hashes = len(siblings(places, log_leaves))
        column_bytes = DIGEST_BYTES * len(rows) + self._field.element_bytes * sum(rows)
        self._require(len(places) * column_bytes + DIGEST_BYTES * hashes * len(rows))
        return [self._opening(each, len(places), hashes) for each in rows]

    def finish(self) -> None:
        if self._at != len(self._data):
            raise MalformedError("the proof is longer than its statement's are")

    def _opening(self, rows: int, places: int, hashes: int) -> Opening:
        salts, columns = [], []
        for _ in range(places):
            salts += self.digests(1)
            columns.append(self.canonical(rows))
        return Opening(salts, columns, self.digests(hashes))

    def digests(self, count: int) -> list[bytes]:
        data = self._take(count * DIGEST_BYTES)
        return [data[i : i + DIGEST_BYTES] for i in range(0, len(data), DIGEST_BYTES)]

    def elements(self, count: int) -> list[int]:
        return self._field.from_bytes(self.canonical(count))

    def canonical(self, count: int) -> bytes:
        """The bytes of ``count`` elements, each in its one spelling."""
        data = self._take(count * self._field.element_bytes)
        if any(value >= self._field.modulus for value in self._field.from_bytes(data)):
            raise MalformedError("a number of the proof is not below the modulus")
        return data

    def _take(self, length: int) -> bytes:
        self._require(length)
        self._at += length
        return self._data[self._at - length : self._at]

    def _require(self, length: int) -> None:
        if self._at + length > len(self._data):
            raise MalformedError("the proof is shorter than its statement's are")
