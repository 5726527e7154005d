"""Refuses statements whose checks on a challenge a prover could dodge by choosing values after seeing it.

A constraint on a challenge proves something only about values that were fixed before the challenge was
drawn. Fixed are the public inputs, the segments, and what constraints determine from them. The rule, over
the rows of a statement:

1. *Fixed* variables: what rows without challenges determine from one, public inputs and segments.
2. *Touched* variables: those that are not fixed and share a row with a challenge or a touched variable.
3. Every touched variable must be determined by rows from the fixed ones and the challenges.

Then all that the rows of a challenge read is a function of the challenge and of values fixed before it, so
that those rows hold for a random challenge, except with negligible probability, only where they hold as
identities of rational functions (Schwartz and Zippel). All other private variables stay apart from them.
That probability is a degree over r, and degrees are not judged here: each gadget states its own. A chain of
n products can reach 2^n, and one that came near r would be satisfied by every challenge. Nor is it judged
whether an operand of a check may itself depend on the challenge: gadgets ask for fixed ones.

A row determines a variable if it is the only unknown in it, and
- stands in C alone; or
- stands in A alone (or B alone), where the other factor cannot vanish: it is a constant, or C is a constant
  other than zero, or a challenge stands in it beside variables that do not depend on that challenge.

The fold of public inputs is known with the challenges, but it is not drawn: it depends on the first one, and
on inputs with which the prover can make it vanish there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zenserve import kernels
from zenserve.prover.blocks import Csr

Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]
Bits = NDArray[np.uint64]
Places = NDArray[np.uint8]

_A, _B, _C = 1, 2, 4
_MOST_BITS = 63  # challenges beyond this many share the last bit of a dependence


# Where each block begins, and its A, B and C.
Blocks = Iterable[tuple[int, tuple[Csr, Csr, Csr]]]


class Sizes(NamedTuple):
    """Of a constraint system: ``drawn``, ``instance`` and ``first_private`` are the first variables behind
    the challenges that are drawn, behind all challenges, and behind the segments."""

    public: int
    drawn: int
    instance: int
    first_private: int
    variables: int
    constraints: int


class Analysis(NamedTuple):
    """``fixed``: bool[variables], the fixed ones; ``adaptive``: the first touched variable that nothing
    determines, None where there is none and the statement is safe."""

    fixed: Mask
    adaptive: int | None


def analyse(sizes: Sizes, blocks: Blocks) -> Analysis:
    """Apply the rule to a constraint system."""
    challenges = np.arange(1 + sizes.public, sizes.instance)
    fixed = np.zeros(sizes.variables, dtype=np.bool_)
    fixed[: sizes.first_private] = True
    fixed[challenges] = False
    depends = np.zeros(sizes.variables, dtype=np.uint64)
    drawn = np.arange(sizes.drawn - 1 - sizes.public)
    depends[1 + sizes.public : sizes.drawn] = np.uint64(1) << np.minimum(drawn, _MOST_BITS).astype(np.uint64)
    depends[sizes.drawn : sizes.instance] = 1  # a fold: what it is at the first challenge, inputs decide

    rows = _Rows(sizes, blocks, fixed)
    rows.determine(fixed, depends)
    known = fixed.copy()
    known[challenges] = True
    rows.reveal(challenges)
    rows.determine(known, depends)
    unknown = _distinct(rows.variable[~known[rows.variable]])
    # Touching is mutual, and mostly few are unknown but many are touched.
    if not rows.touched(unknown, fixed)[challenges].any():
        return Analysis(fixed, None)
    adaptive = unknown[rows.touched(challenges, fixed)[unknown]]
    return Analysis(fixed, int(adaptive[0]))


class _Rows:
    """What the rows of a statement hold besides variables that are soon seen to be fixed.

    An entry is a variable in the part A, B or C of a row. ``row``, ``variable``: int64[entries]; ``place``:
    uint8[entries], one of _A, _B, _C. Entries are sorted by row, and ``row_starts`` bounds each row's share;
    ``by_variable`` sorts them by variable, and ``starts`` bounds each variable's share of that.
    ``constant``: bool[rows], where a part of the row is a constant other than zero.
    ``left``: int64[rows], how many entries of the row are unknown; ``rest``: int64[rows], the sum of their
    indices, which is the index of the last one.
    """

    def __init__(self, sizes: Sizes, blocks: Blocks, fixed: Mask) -> None:
        """Extends ``fixed`` in place by what each block determines at first sight: nearly all, since rows
        mostly follow those that determine what they read.
        """
        self.drawn, self.private = sizes.drawn, sizes.first_private
        self.constant = np.zeros(sizes.constraints, dtype=np.bool_)
        nothing = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint8))
        read = (self._read(start, matrices, fixed) for start, matrices in blocks)
        self.row, self.variable, self.place = map(np.concatenate, zip(nothing, *read, strict=True))
        self.by_variable = np.argsort(self.variable, kind="stable")
        self.starts = _bounds(self.variable, sizes.variables)
        self.row_starts = _bounds(self.row, sizes.constraints)
        self.left = np.diff(self.row_starts)
        self.rest = self.left * (self.row_starts[:-1] + self.row_starts[1:] - 1) // 2
        self.reveal(np.flatnonzero(fixed))

    def _read(
        self, start: int, matrices: tuple[Csr, Csr, Csr], fixed: Mask
    ) -> tuple[Indices, Indices, Places]:
        """The row, variable and place of a block's entries that are not fixed."""
        if all(fixed[matrix.columns].all() for matrix in matrices):
            # Nothing to determine, and nobody asks what is constant.
            nothing = np.zeros(0, dtype=np.int64)
            return nothing, nothing, nothing.astype(np.uint8)
        rows, variables, places = [], [], []
        for where, matrix in zip((_A, _B, _C), matrices, strict=True):
            row, column = _nonzero(matrix)
            ones = row[column == 0]
            self.constant[start + ones[np.bincount(row)[ones] == 1]] = True
            unknown = np.flatnonzero(~fixed[column])
            rows.append(row[unknown])
            variables.append(column[unknown].astype(np.int64))
            places.append(np.full(len(unknown), where, dtype=np.uint8))
        row, variable, place = np.concatenate(rows), np.concatenate(variables), np.concatenate(places)
        alone = np.bincount(row)[row] == 1
        row += start
        fixed[variable[alone & self._solves(row, variable, place)]] = True
        unknown = np.flatnonzero(~fixed[variable])
        unknown = unknown[np.argsort(row[unknown], kind="stable")]
        return row[unknown], variable[unknown], place[unknown]

    def _solves(self, row: Indices, variable: Indices, place: Places) -> Mask:
        """Which entries their rows determine, challenges aside, where they are the only unknown ones."""
        # A constant part is not the one where the entry stands.
        solves: Mask = (variable >= self.private) & ((place == _C) | self.constant[row])
        return solves

    def reveal(self, variables: Indices) -> Indices:
        """``variables`` are known now. Returns the rows that this leaves one unknown entry, ascending."""
        entries = self._entries_of(variables)
        rows = self.row[entries]
        np.subtract.at(self.left, rows, 1)
        np.subtract.at(self.rest, rows, entries)
        return _distinct(rows[self.left[rows] == 1])

    def determine(self, known: Mask, depends: Bits) -> None:
        """Extend ``known``, and ``depends`` with it, by what rows determine; in place."""
        rows = np.flatnonzero(self.left == 1)
        while len(rows):
            entry = self.rest[rows]
            solved = self._solves(rows, self.variable[entry], self.place[entry])
            others = np.flatnonzero(~solved)
            solved[others] = self._free_challenge(rows[others], self.place[entry[others]], depends)
            # Of several rows that determine a variable at once the first counts.
            fresh, first = np.unique(self.variable[entry[solved]], return_index=True)
            known[fresh] = True
            depends[fresh] = self._dependence(rows[solved][first], depends)
            rows = self.reveal(fresh)

    def _free_challenge(self, rows: Indices, place: Places, depends: Bits) -> Mask:
        """Where the factor other than ``place`` holds a drawn challenge, and nothing else that depends on
        it."""
        bounds, entries = self._of_rows(rows)
        factor = self.place[entries] == np.repeat(place ^ (_A | _B), np.diff(bounds))
        direct = self.variable[entries] < self.drawn
        dependence = depends[self.variable[entries]]
        own, others = (_union(bounds, np.where(factor & which, dependence, 0)) for which in (direct, ~direct))
        free: Mask = (own & ~others) != 0
        return free

    def _dependence(self, rows: Indices, depends: Bits) -> Bits:
        bounds, entries = self._of_rows(rows)
        return _union(bounds, depends[self.variable[entries]])

    def touched(self, variables: Indices, fixed: Mask) -> Mask:
        """What shares rows with ``variables``, directly or through ones that are not ``fixed``, and those."""
        found = fixed.copy()
        seen = np.zeros(len(self.left), dtype=np.bool_)
        while len(variables):
            found[variables] = True
            rows = self.row[self._entries_of(variables)]
            rows = _distinct(rows[~seen[rows]])
            seen[rows] = True
            near = self.variable[self._of_rows(rows)[1]]
            variables = _distinct(near[~found[near]])
        return found

    def _entries_of(self, variables: Indices) -> Indices:
        return self.by_variable[_ranges(self.starts[variables], self.starts[variables + 1])]

    def _of_rows(self, rows: Indices) -> tuple[Indices, Indices]:
        """The entries of ``rows`` one after the other, and where each row's begin: int64[rows + 1]."""
        starts, ends = self.row_starts[rows], self.row_starts[rows + 1]
        bounds = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(ends - starts, out=bounds[1:])
        return bounds, _ranges(starts, ends)


def _nonzero(matrix: Csr) -> tuple[Indices, NDArray[np.uint32]]:
    """Rows, ascending, and columns of the entries that are not zero in Fr, equal ones added up."""
    row = np.repeat(np.arange(matrix.rows), np.diff(matrix.offsets))
    keys = row * (int(matrix.columns.max(initial=0)) + 1) + matrix.columns
    ordered = np.sort(keys, kind="stable")  # by runs, which rows are made of
    zero = np.array([value % kernels.fr.modulus == 0 for value in matrix.pool], dtype=np.bool_)
    if not zero.any() and not (ordered[1:] == ordered[:-1]).any():
        return row, matrix.columns
    order = np.argsort(keys, kind="stable")
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    coefficients = matrix.coefficients[order]
    terms = replace(
        matrix,
        offsets=np.append(first, len(order)),
        columns=coefficients,
        coefficients=np.zeros_like(coefficients),
        pool=(1,),
    )
    entries = order[first[terms.multiply(matrix.pool_mont).any(axis=1)]]
    return row[entries], matrix.columns[entries]


def _distinct(values: Indices) -> Indices:
    """The distinct values, ascending. By sorting, which is faster than the hashing of ``np.unique``."""
    ordered = np.sort(values)
    distinct: Indices = ordered[np.diff(ordered, prepend=-1) != 0]
    return distinct


def _bounds(values: Indices, count: int) -> Indices:
    """Where each of 0 .. count - 1 begins and ends among ``values`` in order: int64[count + 1]."""
    bounds = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(values, minlength=count), out=bounds[1:])
    return bounds


def _union(bounds: Indices, bits: Bits) -> Bits:
    """What is set in some of ``bits[bounds[i] : bounds[i + 1]]``, for each i. None of these is empty."""
    union: Bits = np.bitwise_or.reduceat(bits, bounds[:-1])
    return union


def _ranges(starts: Indices, ends: Indices) -> Indices:
    """The concatenation of the ranges [starts[i], ends[i])."""
    lengths = ends - starts
    offsets = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    return offsets + np.arange(len(offsets))
