"""Lines of a table of integers over every interval of cells, from which a circuit looks them up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from zenserve.relations.functions import Tabulation
from zenserve.relations.integers import IntArray

_CELLS: Final = 7
"""Bits of cells: the intervals of 2^n of them are 2^(n-1) (2^n + 1) rows."""
_SLOPES: Final = 64
"""The number of slopes that are tried for each line."""
_STEEPEST: Final = 10
"""Bits of the steepest slope, about."""
_FINEST: Final = 24
_FINE: Final = 8
"""Of offsets: bits beyond whole steps of what a line is of."""


class Rows(NamedTuple):
    """Of the cells from ``first`` to ``last``: the ends of ``q``, and lines

        low_slope (x - z_x) + low_offset <= 2^scale (q - z_q) <= high_slope (x - z_x) + high_offset,

    offsets in steps of 2^(scale - fine); int64[rows] each."""

    first: IntArray
    last: IntArray
    least: IntArray
    most: IntArray
    low_slope: IntArray
    low_offset: IntArray
    high_slope: IntArray
    high_offset: IntArray


@dataclass(frozen=True, eq=False)
class Cells:
    """Of ``q = function(x)`` for x from ``function.first`` on, less the zero points of x and q."""

    function: Tabulation
    zero_points: tuple[int, int]

    @property
    def width(self) -> int:
        """The number of x in a cell: a power of two."""
        return 1 << max(0, self.function.bits - _CELLS)

    @property
    def count(self) -> int:
        return -(-len(self.function.values) // self.width)

    @cached_property
    def scale(self) -> int:
        steps = int(np.abs(np.diff(self._starts)).max(initial=0))
        enough = (each for each in range(_FINEST) if steps << each >= self.width << _STEEPEST)
        return next(enough, _FINEST) if steps else 0

    @property
    def fine(self) -> int:
        return min(_FINE, self.scale)

    @property
    def steepest(self) -> int:
        """Slopes lie within it."""
        return int(max(np.abs(self.rows.low_slope).max(), np.abs(self.rows.high_slope).max()))

    @property
    def reach(self) -> int:
        """Offsets lie within it."""
        return int(max(np.abs(self.rows.low_offset).max(), np.abs(self.rows.high_offset).max()))

    def cell(self, x: IntArray) -> IntArray:
        """The cell of each x."""
        return (x - self.function.first) // self.width

    def row(self, first: IntArray, last: IntArray) -> IntArray:
        """Return the indices of the rows for the cells from ``first`` to ``last``."""
        return first * self.count - first * (first - 1) // 2 + last - first

    @cached_property
    def rows(self) -> Rows:
        """By the first cell, then by the last. Each line has of the slopes that are tried the one that is
        nearest in the middle."""
        cells = first, last = np.triu_indices(self.count)
        least, most = -self._runs(-self.function.values)[cells], self._runs(self.function.values)[cells]
        (low_slope, low_offset), high = self._over(-1), self._over(1)
        lines = (each[cells] for each in (-low_slope, -low_offset, *high))
        return Rows(first, last, least, most, *lines)

    def _over(self, sign: int) -> tuple[IntArray, IntArray]:
        """Slopes and offsets of lines over ``sign (q - z_q)``, int64[cells, cells]: by the first cell, then
        by the last."""
        x = self.function.first + np.arange(len(self.function.values)) - self.zero_points[0]
        q = sign * (self.function.values - self.zero_points[1]) << self.scale
        coarse = self.scale - self.fine
        middle = x[:: self.width, np.newaxis] + np.append(x[self.width :: self.width] - 1, x[-1])
        slope = np.zeros_like(middle)
        offset = -(-self._runs(q) >> coarse)
        best = offset << coarse + 1
        for tried in (sign * self._slopes).tolist():
            needed = -(-self._runs(q - tried * x) >> coarse)
            here = tried * middle + (needed << coarse + 1)
            better = here < best
            slope, offset = np.where(better, tried, slope), np.where(better, needed, offset)
            best = np.minimum(best, here)
        return slope, offset

    def _runs(self, values: IntArray) -> IntArray:
        """The largest of ``values`` from the first cell to the last, int64[cells, cells]; where the last is
        before the first, as if it were that."""
        cells = np.maximum.reduceat(values, np.arange(0, len(values), self.width))
        before = np.tri(self.count, k=-1, dtype=np.bool_)
        runs: IntArray = np.maximum.accumulate(np.where(before, values.min(), cells), axis=1)
        return runs

    @property
    def _starts(self) -> IntArray:
        """The values at the first x of each cell, and at the last x of all."""
        return np.append(self.function.values[:: self.width], self.function.values[-1])

    @cached_property
    def _slopes(self) -> IntArray:
        """Some that it has over 1, 2, 4 and so on cells."""
        starts, found = self._starts[:-1] << self.scale, [np.zeros(1, np.int64)]
        for step in (1 << level for level in range(self.count.bit_length() - 1)):
            found.append((starts[step:] - starts[:-step]) // (step * self.width))
        slopes = np.unique(np.concatenate(found))
        picked: IntArray = slopes[np.unique(np.arange(_SLOPES) * (len(slopes) - 1) // (_SLOPES - 1))]
        return picked


@dataclass(frozen=True, eq=False)
class Looking:
    """The rule that finds one column of the row of two ends."""

    cells: Cells
    column: str

    def choose(self, *ends: IntArray) -> IntArray:
        rows = self.cells.row(*map(self.cells.cell, ends))
        found: IntArray = getattr(self.cells.rows, self.column)[rows]
        return found


@dataclass(frozen=True, eq=False)
class Dividing:
    """The rule that finds the cell of an end."""

    cells: Cells

    def choose(self, *ends: IntArray) -> IntArray:
        return self.cells.cell(ends[0])
