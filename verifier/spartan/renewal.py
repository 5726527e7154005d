"""That two commitments are to the same values: one whose openings are nearly spent hands on to one with fresh
random numbers (docs/spartan.md, "Renewals").

Both have one shape, width k. With r, s drawn after both roots, and eq(s, ·) of the first k columns alone,
sum_ij eq(r, i) (old_ij - new_ij) eq(s, j) = 0 shows it. One masked row is the combination.
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
    """``mask_root``: to one random row; ``product``: of it with the columns' weights; ``row``: the masked
    combination, as bytes; ``openings``: of the old matrix, the new one, and the mask."""

    mask_root: bytes
    product: int
    row: bytes
    openings: Sequence[Opening]

    def to_bytes(self) -> bytes:
        opened = b"".join(opening.to_bytes() for opening in self.openings)
        return self.mask_root + FR.to_bytes([self.product]) + self.row + opened


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
    """Whether ``new`` is a commitment to the ``size`` values that ``old`` is to, where one of both is a
    commitment at all: near to code words. Never raises for bad data.
    """
    reader = Reader(FR, proof)
    try:
        return _holds(rows, size, old, new, reader)
    except MalformedError:
        return False


def _holds(rows: Rows, size: int, old: bytes, new: bytes, reader: Reader) -> bool:
    code, count = rows.code, row_count(rows, size)
    width = code.degree - rows.tail
    mask_root, (product,), row = reader.digests(1)[0], reader.elements(1), reader.canonical(code.degree)
    transcript = begin(rows, size, old, new)
    transcript.absorb("mask", mask_root)
    r, s = weights(rows, size, transcript)
    transcript.say("product", [product])
    factor = transcript.challenge("mask")
    transcript.absorb("row", row)
    places = transcript.places("places", code.queries, code.log_length)
    openings = reader.openings([count, count, 1], places, code.log_length)
    reader.finish()
    sizes = ((size, rows.tail), (size, rows.tail), (code.degree, 0))
    for opening, (values, tail), expected in zip(openings, sizes, (old, new, mask_root), strict=True):
        if opened_root(code, values, tail, places, opening) != expected:
            return False
    combined = FR.from_bytes(row)
    encoded, by_row = FR.encode(combined, code.log_length), FR.eq(r)[:count]
    for index, place in enumerate(places):
        before, after, (mask,) = (FR.from_bytes(opening.columns[index]) for opening in openings)
        difference = [one - other for one, other in zip(before, after, strict=True)]
        if (mask + factor * FR.dot(by_row, difference) - encoded[place]) % FR.modulus:
            return False
    return FR.dot(FR.eq(s)[:width], combined[:width]) == product
