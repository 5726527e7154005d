"""The layout of a statement's variables in the matrices that a proof commits to.

Rows have 2^log_degree places. The values that the verifier knows fill the first ones; each segment, and the
private variables, have rows of their own, whose last places are the tail: random numbers, which hide what
columns show. A variable's place is row 2^log_degree + column, and the witness, tails included, is a
multilinear polynomial over the bits of that place, the highest first. No constraint reads a tail.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

from zenserve.verifier.spartan.code import Code

MOST_TOLD: Final = 10
"""Variables of a vector that is told as it is; of two less, proofs are no shorter."""
_LEAST_TOLD: Final = 9
_ROW_VARIABLES: Final = 3
_LOG_BLOWUP: Final = 3
_MORE_BITS: Final = 3
"""A proof and the links of its chains have seven levels each at most, which take no more than a proof's own
columns and theirs."""


@dataclass(frozen=True)
class Part:
    """``size`` variables in rows from ``first`` on, each with so many places of ``tail``.

    ``linked``: the root is a commitment from outside.
    """

    size: int
    tail: int
    linked: bool
    first: int
    rows: int


@dataclass(frozen=True)
class Segment:
    """As the statement has it; ``tail`` only where it is linked, by the commitment's shape."""

    size: int
    tail: int | None = None


@dataclass(frozen=True)
class Shape:
    """``code``: as proofs open it; ``known``: one, public inputs and challenges; ``log_rows``: of
    constraints, padded.

    These numbers are believed: ``admission.shape_of`` makes shapes of numbers that are not.
    """

    code: Code
    public: int
    challenges: int
    segments: tuple[Segment, ...]
    private: int
    log_rows: int

    @property
    def known(self) -> int:
        return 1 + self.public + self.challenges

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The segments, and the private variables last."""
        queries, first = self.code.queries, _rows(self.known, self.code.degree)
        parts = []
        for segment in (*self.segments, Segment(self.private)):
            tail = queries if segment.tail is None else segment.tail
            rows = _rows(segment.size, self.code.degree - tail)
            parts.append(Part(segment.size, tail, segment.tail is not None, first, rows))
            first += rows
        return tuple(parts)

    @cached_property
    def row_variables(self) -> int:
        """The number of variables of the witness's polynomial that choose the row."""
        return (self.parts[-1].first + self.parts[-1].rows - 1).bit_length()

    @property
    def variables(self) -> int:
        """Of the witness's polynomial: as many rounds has the second sum-check."""
        return self.row_variables + self.code.log_degree

    @property
    def opened_rows(self) -> tuple[int, ...]:
        """The length of a column in each root: that of the private variables includes the mask."""
        return tuple(part.rows + (part is self.parts[-1]) for part in self.parts)

    @cached_property
    def salted(self) -> tuple[bool, ...]:
        """For each root, whether its openings contain salts: linked roots' do. The roots that a proof makes
        share their salts, which only the first one's openings contain."""
        made = [index for index, part in enumerate(self.parts) if not part.linked]
        return tuple(part.linked or index == made[0] for index, part in enumerate(self.parts))

    @cached_property
    def folding(self) -> Folding:
        """Of all rows combined."""
        return Folding(self.code, self.code.log_degree)

    @cached_property
    def pads(self) -> Pads:
        return Pads(self.code, self.log_rows, self.variables)


@dataclass(frozen=True)
class Pads:
    """The one-time pads of a proof by their places in one row: those of the rounds, of the claims a, b and c,
    and of the mask's inner product; then the product of the pads of a and b, and a triple x, y, x y.
    """

    beside: Code
    outer_rounds: int
    inner_rounds: int

    @property
    def claims(self) -> int:
        return 2 * self.outer_rounds

    @property
    def inner(self) -> int:
        return self.claims + 3

    @property
    def mask(self) -> int:
        return self.inner + 2 * self.inner_rounds

    @property
    def product(self) -> int:
        return self.mask + 1

    @property
    def triple(self) -> int:
        return self.product + 1

    @property
    def count(self) -> int:
        return self.triple + 3

    @cached_property
    def code(self) -> Code:
        """The smallest code of rate 1/8 whose rows hold the pads, and a tail for its own queries; as sure as
        the code ``beside``, and over its field.
        """
        logs = itertools.count(self.count.bit_length())
        codes = (replace(self.beside, log_degree=log, log_length=log + 3) for log in logs)
        return next(code for code in codes if self.count + code.queries <= code.degree)


class Level(NamedTuple):
    """A vector as a matrix of 2^``row_variables`` rows under ``code``."""

    code: Code
    row_variables: int

    @property
    def rows(self) -> int:
        return 1 << self.row_variables


@dataclass(frozen=True)
class Folding:
    """Of a vector of 2^``variables`` numbers, over the field of the code ``beside``, and surer."""

    beside: Code
    variables: int

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        found, left = list[Level](), self.variables
        while left > MOST_TOLD:
            row_variables = min(_ROW_VARIABLES, left - _LEAST_TOLD)
            left -= row_variables
            bits = self.beside.query_bits + _MORE_BITS
            code = replace(self.beside, log_degree=left, log_length=left + _LOG_BLOWUP, query_bits=bits)
            found.append(Level(code, row_variables))
        return tuple(found)

    @property
    def told(self) -> int:
        """The variables of the vector that is told."""
        return self.levels[-1].code.log_degree if self.levels else self.variables

    @property
    def rounds(self) -> tuple[int, ...]:
        """Of the sum-check, behind each message."""
        return (*(level.row_variables for level in self.levels), self.told)


def renewal_folding(code: Code) -> Folding:
    """Of a renewal's two rows, one behind the other."""
    return Folding(code, code.log_degree + 1)


def _rows(size: int, width: int) -> int:
    return -(-size // width)
