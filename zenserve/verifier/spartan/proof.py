"""Proofs as bytes. Every number has its place by the statement's shape; how many hashes open a tree follows
from the places that were drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zenserve.verifier.spartan import merkle
from zenserve.verifier.spartan.claims import Said
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.field import Field
from zenserve.verifier.spartan.merkle import DIGEST_BYTES, siblings_count
from zenserve.verifier.spartan.shape import Folding, Shape


class MalformedError(Exception):
    """These bytes are no proof of this shape."""


@dataclass(frozen=True)
class Opening:
    """Of a tree, at the drawn places, ascending: salts, columns as bytes, and the hashes of ``siblings``.
    ``salted``: whether the proof has the salts here."""

    salts: Sequence[bytes]
    columns: Sequence[bytes]
    path: Sequence[bytes]
    salted: bool = True

    def to_bytes(self) -> bytes:
        salts = self.salts if self.salted else [b""] * len(self.salts)
        opened = (salt + column for salt, column in zip(salts, self.columns, strict=True))
        return b"".join(opened) + b"".join(self.path)


@dataclass(frozen=True)
class Folded:
    """The messages about a folded vector, without openings (``zenserve.verifier.spartan.folding``):
    ``messages``, the roots of its levels and the last vector, as bytes, and the ``rounds`` after each.
    """

    messages: Sequence[bytes]
    rounds: Sequence[Sequence[Sequence[int]]]

    def to_bytes(self, field: Field) -> bytes:
        told = zip(self.messages, self.rounds, strict=True)
        return b"".join(
            message + field.to_bytes([value for said in rounds for value in said]) for message, rounds in told
        )


@dataclass(frozen=True)
class Body:
    """All of a proof but the openings. ``roots``: of the segments, of the private variables and the mask, of
    the pads. ``product``: of the row with eq at the columns' coordinates; ``row``, ``pad_row``: the rows
    combined, with their masks, the latter as bytes; ``pad_mask``: the inner product of the pads' mask.
    """

    roots: Sequence[bytes]
    said: Said
    product: int
    row: Folded
    pad_mask: int
    pad_row: bytes

    def to_bytes(self, field: Field) -> bytes:
        said = self.said
        numbers = [value for part in said.outer for value in part]
        numbers += said.claims
        numbers += [value for part in said.inner for value in part]
        parts = [field.to_bytes([*numbers, said.mask, self.product]), self.row.to_bytes(field)]
        parts += [field.to_bytes([*said.opened, self.pad_mask]), self.pad_row]
        return b"".join([*self.roots, *parts])


def roots(
    code: Code, places: Sequence[int], openings: Sequence[Opening], sizes: Sequence[tuple[int, int]]
) -> list[bytes]:
    """The roots of the trees that were opened at these places, if each is over so many values, with a tail of
    so many places in each row."""
    tops = zip(code.field.tree_tops(code.log_length, places, openings), sizes, strict=True)
    return [merkle.root(top, *size, code.log_degree, code.log_length) for top, size in tops]


class Reader:
    """Takes a proof apart. Raises ``MalformedError`` for wrong lengths and numbers that are no elements."""

    def __init__(self, field: Field, data: bytes) -> None:
        self._field, self._data, self._at = field, data, 0

    def body(self, shape: Shape) -> Body:
        roots = self.digests(len(shape.parts) + 1)
        outer = [self.elements(2) for _ in range(shape.log_rows)]
        claims = self.elements(3)
        inner = [self.elements(2) for _ in range(shape.variables)]
        (mask, product), row = self.elements(2), self.folded(shape.folding)
        opened, (pad_mask,) = self.elements(2), self.elements(1)
        pad_row = self.canonical(shape.pads.code.degree)
        return Body(roots, Said(outer, claims, inner, mask, opened), product, row, pad_mask, pad_row)

    def folded(self, folding: Folding) -> Folded:
        messages, rounds = list[bytes](), list[list[list[int]]]()
        for index, count in enumerate(folding.rounds):
            if index < len(folding.levels):
                messages += self.digests(1)
            else:
                messages.append(self.canonical(1 << folding.told))
            rounds.append([self.elements(2) for _ in range(count)])
        return Folded(messages, rounds)

    def openings(
        self,
        rows: Sequence[int],
        places: Sequence[int],
        log_leaves: int,
        salted: Sequence[bool],
        field: Field | None = None,
    ) -> list[Opening]:
        """Read the openings, at the same places, of matrices with the given numbers of ``rows``. ``salted``:
        whether each has salts. Entries are of the proof's field, or of ``field``."""
        field, hashes = field or self._field, siblings_count(places, log_leaves)
        column_bytes = DIGEST_BYTES * sum(salted) + field.element_bytes * sum(rows)
        self._require(len(places) * column_bytes + DIGEST_BYTES * hashes * len(rows))
        kinds = zip(rows, salted, strict=True)
        return [
            self._opening(field, each, len(places), hashes, DIGEST_BYTES * salts) for each, salts in kinds
        ]

    def finish(self) -> None:
        if self._at != len(self._data):
            raise MalformedError("the proof is longer than its statement's are")

    def _opening(self, field: Field, rows: int, places: int, hashes: int, salt_bytes: int) -> Opening:
        opened_bytes = salt_bytes + rows * field.element_bytes
        data = self._take(places * opened_bytes)
        opened = [data[index * opened_bytes : (index + 1) * opened_bytes] for index in range(places)]
        salts, columns = [each[:salt_bytes] for each in opened], [each[salt_bytes:] for each in opened]
        self._check(b"".join(columns), field)
        return Opening(salts, columns, self.digests(hashes), salt_bytes > 0)

    def digests(self, count: int) -> list[bytes]:
        data = self._take(count * DIGEST_BYTES)
        return [data[i : i + DIGEST_BYTES] for i in range(0, len(data), DIGEST_BYTES)]

    def elements(self, count: int) -> list[int]:
        return self._field.from_bytes(self.canonical(count))

    def canonical(self, count: int) -> bytes:
        """The bytes of ``count`` elements, each in its one spelling."""
        data = self._take(count * self._field.element_bytes)
        self._check(data, self._field)
        return data

    @staticmethod
    def _check(data: bytes, field: Field) -> None:
        if not field.are_canonical(data):
            raise MalformedError("a number of the proof is not below the modulus")

    def _take(self, length: int) -> bytes:
        self._require(length)
        self._at += length
        return self._data[self._at - length : self._at]

    def _require(self, length: int) -> None:
        if self._at + length > len(self._data):
            raise MalformedError("the proof is shorter than its statement's are")
