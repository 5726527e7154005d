"""That two commitments are to the same values: one whose openings are nearly spent hands on to one with fresh
random numbers (docs/spartan.md, "Renewals").

Both have one shape, width k. With r, s drawn after both roots, and eq(s, ·) of the first k columns alone,
sum_ij eq(r, i) (old_ij - new_ij) eq(s, j) = 0 shows it. Each combination of rows is a masked row of its own,
so that each matrix is near to code words by itself: their difference alone may be so where neither is, and
the errors of a chain's proofs would add up beyond what is decoded uniquely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from verifier.spartan.commitment import Rows
from verifier.spartan.field import FR
from verifier.spartan.proof import MalformedError, Opening, Reader
from verifier.spartan.transcript import Transcript
from verifier.spartan.verification import opened_root


@dataclass(frozen=True)
class Renewal:
    """``mask_root``: to two random rows; ``product``: of their difference with the columns' weights;
    ``rows``: the masked combinations of the old matrix and the new one, as bytes; ``openings``: of both, and
    of the masks."""

    mask_root: bytes
    product: int
    rows: Sequence[bytes]
    openings: Sequence[Opening]

    def to_bytes(self) -> bytes:
        opened = b"".join(opening.to_bytes() for opening in self.openings)
        return b"".join([self.mask_root, FR.to_bytes([self.product]), *self.rows, opened])


def row_count(rows: Rows, size: int) -> int:
    return -(-size // (rows.code.degree - rows.tail))


def begin(rows: Rows, size: int, old: bytes, new: bytes) -> Transcript:
    """What both have seen of commitments to ``size`` values."""
    code = rows.code
    numbers = (code.log_degree, code.log_length, code.query_bits, rows.tail, size)
    transcript = Transcript(FR, b"renewal" + b"".join(number.to_bytes(8, "little") for number in numbers))
    transcript.absorb("old", old)
    transcript.absorb("new", new)
    return transcript


def weights(rows: Rows, size: int, transcript: Transcript) -> tuple[list[int], list[int]]:
    """The points r and s, once all three matrices are fixed."""
    log_rows = max(0, (row_count(rows, size) - 1).bit_length())
    return transcript.challenges("rows", log_rows), transcript.challenges("columns", rows.code.log_degree)


def is_renewed(rows: Rows, size: int, old: bytes, new: bytes, proof: bytes) -> bool:
    """Whether ``old`` and ``new`` are commitments, near to code words, to the same ``size`` values. Never
    raises for bad data.
    """
    reader = Reader(FR, proof)
    try:
        return _holds(rows, size, old, new, reader)
    except MalformedError:
        return False


def _holds(rows: Rows, size: int, old: bytes, new: bytes, reader: Reader) -> bool:
    code, count = rows.code, row_count(rows, size)
    width = code.degree - rows.tail
    (mask_root,), (product,) = reader.digests(1), reader.elements(1)
    said = [reader.canonical(code.degree) for _ in range(2)]
    transcript = begin(rows, size, old, new)
    transcript.absorb("mask", mask_root)
    r, s = weights(rows, size, transcript)
    transcript.say("product", [product])
    factor = transcript.challenge("mask")
    for row in said:
        transcript.absorb("row", row)
    places = transcript.places("places", code.queries, code.log_length)
    openings = reader.openings([count, count, 2], places, code.log_length)
    reader.finish()
    sizes = ((size, rows.tail), (size, rows.tail), (2 * code.degree, 0))
    for opening, (values, tail), expected in zip(openings, sizes, (old, new, mask_root), strict=True):
        if opened_root(code, values, tail, places, opening) != expected:
            return False
    combined, by_row = [FR.from_bytes(row) for row in said], FR.eq(r)[:count]
    encoded = [code.field.encode(row, code.log_length) for row in combined]
    for index, place in enumerate(places):
        *columns, masks = (FR.from_bytes(opening.columns[index]) for opening in openings)
        for mask, column, word in zip(masks, columns, encoded, strict=True):
            if (mask + factor * FR.dot(by_row, column) - word[place]) % FR.modulus:
                return False
    by_column = FR.eq(s)[:width]
    before, after = (FR.dot(by_column, row[:width]) for row in combined)
    return (before - after - product) % FR.modulus == 0
