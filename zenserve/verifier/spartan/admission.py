"""Shapes of numbers that strangers say: of those alone that make proofs sound, hiding and of bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from zenserve.errors import StatementError
from zenserve.verifier.spartan import ledger
from zenserve.verifier.spartan.code import MOST_LOG_DEGREE, Code
from zenserve.verifier.spartan.shape import Segment, Shape

_MOST_VARIABLES: Final = 36
"""Of the witness's polynomial: what is larger fits no machine."""


@dataclass(frozen=True)
class Sizes:
    """Of a constraint system: ``segments`` with whether they are linked, ``rows`` constraints."""

    public: int
    challenges: int
    segments: tuple[tuple[int, bool], ...]
    private: int
    rows: int


@dataclass(frozen=True)
class Commitment:
    """From outside: 32 bytes, of so many values, in rows with so many random places each."""

    root: bytes
    size: int
    tail: int

    def openings(self, code: Code) -> int:
        """Return the number of proofs that can open it before their columns together reveal its values."""
        return self.tail // code.queries


def shape_of(sizes: Sizes, code: Code, commitments: Sequence[Commitment]) -> Shape:
    """The shape of proofs of a constraint system, with a commitment for each linked segment, in order.

    Raises ``StatementError``: ``statement.openings`` where commitments are of other sizes or not as many;
    ``statement.soundness`` where a commitment's columns would tell its values, or a false statement
    passes with a probability above 2^-128; ``statement.too_large`` where the field has no such code, or the
    witness fits nowhere.
    """
    linked = [size for size, is_linked in sizes.segments if is_linked]
    if linked != [each.size for each in commitments]:
        raise StatementError(
            "statement.openings",
            f"the statement links commitments to {linked} values, and these are to"
            f" {[each.size for each in commitments]}",
            field="commitments",
        )
    if not 0 <= code.log_degree < code.log_length <= code.field.two_adicity or code.queries > code.radius:
        raise StatementError(
            "statement.too_large", "the field has no such code, or it decodes nothing", field="code"
        )
    for each in commitments:
        if not code.queries <= each.tail < code.degree:
            raise StatementError(
                "statement.soundness",
                f"a commitment has {each.tail} random places a row: {code.queries} to {code.degree - 1} hide"
                " what proofs show of it",
                field="commitments",
            )
    given = iter(commitments)
    segments = tuple(
        Segment(size, next(given).tail if is_linked else None) for size, is_linked in sizes.segments
    )
    log_rows, own = max(1, (sizes.rows - 1).bit_length()), code.of_proofs(len(linked))
    shape = Shape(own, sizes.public, sizes.challenges, segments, sizes.private, log_rows)
    needed = (shape.known + sum(part.size for part in shape.parts) - 1).bit_length()
    too_long = code.log_degree > max(MOST_LOG_DEGREE, needed)
    if too_long or code.queries >= code.degree or max(log_rows, shape.variables) > _MOST_VARIABLES:
        raise StatementError(
            "statement.too_large",
            "rows of this code have no room for the witness, or far too much",
            field="code",
        )
    require_sure(ledger.terms(shape))
    return shape


def require_sure(terms: Sequence[ledger.Term]) -> None:
    """Raises ``StatementError`` (``statement.soundness``)."""
    bits = ledger.bits(terms)
    if bits < ledger.LEAST_BITS:
        raise StatementError(
            "statement.soundness",
            f"proofs of this shape have {bits:.1f} bits of soundness, and the least are {ledger.LEAST_BITS}",
            field="code",
        )
