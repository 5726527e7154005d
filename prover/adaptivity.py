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
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

import kernels

if TYPE_CHECKING:
    from prover.statement import Csr, Statement

Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]

_A, _B, _C = 1, 2, 4
_MOST_BITS = 63  # challenges beyond this many share the last bit of a dependence


class Analysis(NamedTuple):
    """``fixed``: bool[variables], the fixed ones; ``adaptive``: the first touched variable that nothing
    determines, None where there is none and the statement is safe."""

    fixed: Mask
    adaptive: int | None


def analyse(statement: Statement) -> Analysis:
    """Apply the rule to ``statement``."""
    rows = _Rows(statement)
    challenges = np.arange(1 + statement.public, statement.instance)
    fixed = np.zeros(statement.variables, dtype=np.bool_)
    fixed[: statement.first_private] = True
    fixed[challenges] = False
    depends = np.zeros(statement.variables, dtype=np.uint64)
    depends[challenges] = np.uint64(1) << np.minimum(np.arange(len(challenges)), _MOST_BITS).astype(np.uint64)

    rows.determine(fixed, depends, skip=rows.with_any(challenges))
    touched = rows.touched(challenges, fixed)
    known = fixed.copy()
    known[challenges] = True
    rows.determine(known, depends, skip=np.zeros(rows.count, dtype=np.bool_))
    adaptive = np.flatnonzero(touched & ~known)
    return Analysis(fixed, int(adaptive[0]) if len(adaptive) else None)


class _Rows:
    """Which variables each row holds, and where: one entry for each variable of each row.

    ``row``, ``variable``: int64[entries]; ``place``: uint8[entries], a sum of _A, _B and _C. Entries are
    sorted by row; ``by_variable`` sorts them by variable, and ``starts`` bounds each variable's share of it.
    """

    def __init__(self, statement: Statement) -> None:
        self.count = statement.constraints
        self.variables = statement.variables
        self.challenges = slice(1 + statement.public, statement.instance)
        keys, places = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.uint8)]
        for start, matrices in statement.matrices():
            for place, matrix in zip((_A, _B, _C), matrices, strict=True):
                row, column = _nonzero(matrix)
                keys.append((start + row) * self.variables + column)
                places.append(np.full(len(row), place, dtype=np.uint8))
        pairs, index = np.unique(np.concatenate(keys), return_inverse=True)
        self.row, self.variable = np.divmod(pairs, self.variables)
        # A matrix names a pair once, so that adding is or-ing.
        self.place = np.bincount(index, np.concatenate(places), len(pairs)).astype(np.uint8)
        self.by_variable = np.argsort(self.variable, kind="stable")
        self.starts = np.searchsorted(self.variable[self.by_variable], np.arange(self.variables + 1))
        self.row_starts = np.searchsorted(self.row, np.arange(self.count + 1))
        self.constant = {place: self._only_the_constant(place) for place in (_A, _B, _C)}

    def _only_the_constant(self, place: int) -> Mask:
        """Rows whose part ``place`` is a constant other than zero."""
        inside = (self.place & place) != 0
        entries = np.bincount(self.row[inside], minlength=self.count)
        constants = np.bincount(self.row[inside & (self.variable == 0)], minlength=self.count)
        alone: Mask = (entries == 1) & (constants == 1)
        return alone

    def entries_of(self, variables: Indices) -> Indices:
        return self.by_variable[_ranges(self.starts[variables], self.starts[variables + 1])]

    def with_any(self, variables: Indices) -> Mask:
        """The rows that hold one of ``variables``."""
        rows = np.zeros(self.count, dtype=np.bool_)
        rows[self.row[self.entries_of(variables)]] = True
        return rows

    def touched(self, challenges: Indices, fixed: Mask) -> Mask:
        """What shares rows with ``challenges``, directly or through variables that are not ``fixed``."""
        found = np.zeros(self.variables, dtype=np.bool_)
        seen = np.zeros(self.count, dtype=np.bool_)
        ours = ~fixed
        ours[self.challenges] = False
        frontier = challenges
        while len(frontier):
            rows = np.unique(self.row[self.entries_of(frontier)])
            rows = rows[~seen[rows]]
            seen[rows] = True
            near = np.unique(self.variable[_ranges(self.row_starts[rows], self.row_starts[rows + 1])])
            frontier = near[ours[near] & ~found[near]]
            found[frontier] = True
        return found

    def determine(self, known: Mask, depends: NDArray[np.uint64], skip: Mask) -> None:
        """Extend ``known``, and ``depends`` with it, by what rows other than ``skip`` determine; in place."""
        # With one unknown left in a row, the sums over its unknowns are that unknown's index and place.
        unknown = ~known[self.variable]
        left = np.bincount(self.row[unknown], minlength=self.count)
        which = np.zeros(self.count, dtype=np.int64)
        where = np.zeros(self.count, dtype=np.int64)
        np.add.at(which, self.row[unknown], self.variable[unknown])
        np.add.at(where, self.row[unknown], self.place[unknown])
        left[skip] = -1
        candidates = np.flatnonzero(left == 1)
        while len(candidates):
            solved = candidates[self._solves(candidates, where[candidates], depends)]
            fresh, first = np.unique(which[solved], return_index=True)
            sources = solved[first]
            known[fresh] = True
            depends[fresh] = self._dependence(sources, depends)
            entries = self.entries_of(fresh)
            rows = self.row[entries]
            np.subtract.at(left, rows, 1)
            np.subtract.at(which, rows, self.variable[entries])
            np.subtract.at(where, rows, self.place[entries])
            candidates = np.unique(rows[(left[rows] == 1) & ~skip[rows]])

    def _solves(self, rows: Indices, where: Indices, depends: NDArray[np.uint64]) -> Mask:
        """Which of ``rows``, whose one unknown stands at the place ``where``, determine it."""
        solves: Mask = where == _C
        for place, other in ((_A, _B), (_B, _A)):
            inside = where == place
            factor = self.constant[other][rows] | self.constant[_C][rows]
            solves |= inside & (factor | self._free_challenge(rows, other, depends))
        return solves

    def _free_challenge(self, rows: Indices, place: int, depends: NDArray[np.uint64]) -> Mask:
        """Where part ``place`` of a row holds a challenge, and nothing else that depends on it."""
        owner, entry = self._of_rows(rows)
        inside = (self.place[entry] & place) != 0
        owner, variable = owner[inside], self.variable[entry[inside]]
        direct = (variable >= self.challenges.start) & (variable < self.challenges.stop)
        own = np.zeros(len(rows), dtype=np.uint64)
        others = np.zeros(len(rows), dtype=np.uint64)
        np.bitwise_or.at(own, owner[direct], depends[variable[direct]])
        np.bitwise_or.at(others, owner[~direct], depends[variable[~direct]])
        free: Mask = (own & ~others) != 0
        return free

    def _dependence(self, rows: Indices, depends: NDArray[np.uint64]) -> NDArray[np.uint64]:
        owner, entry = self._of_rows(rows)
        union = np.zeros(len(rows), dtype=np.uint64)
        np.bitwise_or.at(union, owner, depends[self.variable[entry]])
        return union

    def _of_rows(self, rows: Indices) -> tuple[Indices, Indices]:
        """The entries of ``rows``, each with its row's position in ``rows``."""
        starts, ends = self.row_starts[rows], self.row_starts[rows + 1]
        return np.repeat(np.arange(len(rows)), ends - starts), _ranges(starts, ends)


def _nonzero(matrix: Csr) -> tuple[Indices, Indices]:
    """Rows and columns of the entries that are not zero in Fr, equal ones added up."""
    modulus = kernels.fr.modulus
    row = np.repeat(np.arange(matrix.rows), np.diff(matrix.offsets))
    column = matrix.columns.astype(np.int64)
    width = int(column.max()) + 1 if len(column) else 1
    keys, index, counts = np.unique(row * width + column, return_inverse=True, return_counts=True)
    present = np.ones(len(keys), dtype=np.bool_)
    alone = np.array([value % modulus != 0 for value in matrix.pool], dtype=np.bool_)
    single = counts[index] == 1
    present[index[single]] = alone[matrix.coefficients[single]]
    sums: dict[int, int] = {}
    for key, coefficient in zip(index[~single].tolist(), matrix.coefficients[~single].tolist(), strict=True):
        sums[key] = sums.get(key, 0) + matrix.pool[coefficient]
    for key, total in sums.items():
        present[key] = total % modulus != 0
    found_row, found_column = np.divmod(keys[present], width)
    return found_row, found_column


def _ranges(starts: Indices, ends: Indices) -> Indices:
    """The concatenation of the ranges [starts[i], ends[i])."""
    lengths = ends - starts
    offsets = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    return offsets + np.arange(len(offsets))
