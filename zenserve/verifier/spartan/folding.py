"""A public vector that is not told, but folded: linear claims about it, by roots and a shorter vector.

Ligerito's way (ePrint 2025/1187), without anything random: what is folded hides all that it is of. While it
is long, the vector is a matrix whose code words have a root. Claims are weighted, and become one; a sum-check
binds the variables that choose the row, which makes of vector and claim those of the rows combined: the next
vector. Columns of the matrix, drawn once that has a root of its own, are claims about it in turn. The last
vector is told as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.field import Field
from zenserve.verifier.spartan.proof import Folded, Reader, roots
from zenserve.verifier.spartan.shape import Folding
from zenserve.verifier.spartan.transcript import Transcript
from zenserve.verifier.verdict import OK


class Claim(NamedTuple):
    """Of a vector: its inner product with some vector w, and ``columns``, its inner products with others.

    ``at``: by the columns' weights and a point, the extension there of w and the others, weighted.
    """

    product: int
    columns: Sequence[int]
    at: Callable[[Sequence[int], Sequence[int]], int]


class _Opened(NamedTuple):
    code: Code
    places: Sequence[int]
    weights: Sequence[int]


def shown(folding: Folding, claim: Claim, told: Folded, transcript: Transcript, reader: Reader) -> str:
    """``ok``, or the reason why the claim is not shown by what was ``told``, of which the first message was
    absorbed. Raises ``MalformedError``."""
    left = _left(folding, claim, told, transcript, reader)
    if left is None:
        return "opening"
    return "proximity" if left else OK


def _left(folding: Folding, claim: Claim, told: Folded, transcript: Transcript, reader: Reader) -> int | None:
    """Return the difference that remains of the claim at the end, zero if it holds; None if an opening does
    not match its commitment."""
    field, point, opened = folding.beside.field, list[int](), list[_Opened]()
    first = transcript.challenges("weights", len(claim.columns))
    value = claim.product + field.dot(first, claim.columns)
    for index, rounds in enumerate(told.rounds):
        value, drawn = _bound(field, value, rounds, transcript)
        point += drawn
        if index < len(folding.levels):
            code, height = folding.levels[index].code, folding.levels[index].rows
            transcript.absorb("row", told.messages[index + 1])
            places = transcript.places("places", code.queries, code.log_length)
            (opening,) = reader.openings([height], places, code.log_length, [False])
            if roots(code, places, [opening], [(height * code.degree, 0)]) != [told.messages[index]]:
                return None
            weights, by_row = transcript.challenges("weights", len(places)), field.eq(drawn)
            value += field.dot(weights, field.combine(by_row, opening.columns))
            opened.append(_Opened(code, places, weights))
    weight = claim.at(first, point)
    for each in opened:
        weight += field.words_at(
            each.code.log_length, each.places, each.weights, point[-each.code.log_degree :]
        )
    (last,) = field.combine(field.eq(point[-folding.told :]), [told.messages[-1]])
    return field.reduce(value - last * weight)


def _bound(
    field: Field, value: int, rounds: Sequence[Sequence[int]], transcript: Transcript
) -> tuple[int, list[int]]:
    """The claim that a sum-check's rounds end with, and what was drawn in them."""
    drawn = []
    for constant, square in rounds:
        transcript.say("round", [constant, square])
        r = transcript.challenge("round")
        value = field.reduce(constant + r * (value - 2 * constant - square + r * square))
        drawn.append(r)
    return value, drawn
