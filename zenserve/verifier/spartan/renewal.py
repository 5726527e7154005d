"""Proofs that two commitments are to the same values: a commitment whose openings are nearly spent is
replaced by one with fresh random numbers (docs/spartan.md, "Renewals").

Both have one shape, width k. With r, s drawn after both roots, and eq(s, ·) of the first k columns alone,
sum_ij eq(r, i) (old_ij - new_ij) eq(s, j) = 0 shows it. Each combination of rows has a masked row of its own,
so that each matrix by itself is near to code words. A masked row for the difference alone would show that
only the difference is near, and the errors of a chain's proofs would add up beyond the radius of unique
decoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from zenserve.verifier.spartan.commitment import Rows
from zenserve.verifier.spartan.field import Field
from zenserve.verifier.spartan.folding import Claim, shown
from zenserve.verifier.spartan.proof import Folded, MalformedError, Reader, roots
from zenserve.verifier.spartan.shape import renewal_folding
from zenserve.verifier.spartan.transcript import Transcript
from zenserve.verifier.verdict import OK


@dataclass(frozen=True)
class Renewal:
    """``mask_root``: to two random rows; ``product``: of their difference with the columns' weights;
    ``rows``: the masked combinations of the old matrix and the new one, one behind the other; ``openings``:
    of both, of the masks, and of the rows' levels, as bytes."""

    mask_root: bytes
    product: int
    rows: Folded
    openings: Sequence[bytes]

    def to_bytes(self, field: Field) -> bytes:
        told = [field.to_bytes([self.product]), self.rows.to_bytes(field)]
        return b"".join([self.mask_root, *told, *self.openings])


def row_count(rows: Rows, size: int) -> int:
    return -(-size // (rows.code.degree - rows.tail))


def begin(rows: Rows, size: int, old: bytes, new: bytes) -> Transcript:
    """Return the transcript at the start: what both parties know of commitments to ``size`` values."""
    code = rows.code
    numbers = (code.log_degree, code.log_length, code.query_bits, rows.tail, size)
    statement = b"renewal" + b"".join(number.to_bytes(8, "little") for number in numbers)
    transcript = Transcript(code.field, statement)
    transcript.absorb("old", old)
    transcript.absorb("new", new)
    return transcript


def weights(rows: Rows, size: int, transcript: Transcript) -> tuple[list[int], list[int]]:
    """The points r and s, once all three matrices are fixed."""
    log_rows = max(0, (row_count(rows, size) - 1).bit_length())
    return transcript.challenges("rows", log_rows), transcript.challenges("columns", rows.code.log_degree)


def is_renewed(rows: Rows, size: int, old: bytes, new: bytes, proof: bytes) -> bool:
    """Return whether ``old`` and ``new`` are commitments, near to code words, to the same ``size`` values.
    Never raises for bad data.
    """
    reader = Reader(rows.code.field, proof)
    try:
        return _holds(rows, size, old, new, reader)
    except MalformedError:
        return False


def _holds(rows: Rows, size: int, old: bytes, new: bytes, reader: Reader) -> bool:
    code, count = rows.code, row_count(rows, size)
    field, folding = code.field, renewal_folding(code)
    (mask_root,), (product,) = reader.digests(1), reader.elements(1)
    told = reader.folded(folding)
    transcript = begin(rows, size, old, new)
    transcript.absorb("mask", mask_root)
    r, s = weights(rows, size, transcript)
    transcript.say("product", [product])
    factor = transcript.challenge("mask")
    transcript.absorb("row", told.messages[0])
    places = transcript.places("places", code.queries, code.log_length)
    openings = reader.openings([count, count, 2], places, code.log_length, [True] * 3)
    sizes = [(size, rows.tail), (size, rows.tail), (2 * code.degree, 0)]
    if roots(code, places, openings, sizes) != [old, new, mask_root]:
        return False
    by_row, size = [*field.eq(r)[:count]], field.element_bytes
    *both, masks = (opening.columns for opening in openings)
    masked = [
        mask[which * size :][:size] + column
        for which, columns in enumerate(both)
        for mask, column in zip(masks, columns, strict=True)
    ]
    entries = field.combine([1, *(factor * weight for weight in by_row)], masked)
    claim = Claim(product, entries, partial(_at, rows, s, places))
    reason = shown(folding, claim, told, transcript, reader)
    reader.finish()
    return reason == OK


def _at(
    rows: Rows, s: Sequence[int], places: Sequence[int], weights: Sequence[int], point: Sequence[int]
) -> int:
    """``Claim.at`` for both rows, of which the point's first number chooses one."""
    which, *column = point
    field, length = rows.code.field, rows.code.log_length
    old, new = (field.words_at(length, places, half, column) for half in _halves(weights))
    compared = eq_below(field, rows.code.degree - rows.tail, s, column)
    return (1 - 2 * which) * compared + (1 - which) * old + which * new


def _halves(values: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    half = len(values) // 2
    return values[:half], values[half:]


def eq_below(field: Field, end: int, point: Sequence[int], other: Sequence[int]) -> int:
    """The sum of eq(point, i) eq(other, i) of all i below ``end``, which is below 2^v."""
    # From the last bit on: of what is below end's own last bits, and of all.
    below, every = 0, 1
    for bit, (a, b) in enumerate(zip(reversed(point), reversed(other), strict=True)):
        zero, one = (1 - a) * (1 - b) % field.modulus, a * b % field.modulus
        below = (zero * every + one * below if end >> bit & 1 else zero * below) % field.modulus
        every = (zero + one) * every % field.modulus
    return below
