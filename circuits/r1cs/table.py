"""Public tables, and where a tuple of values stands in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from zenserve.relations.integers import IntArray


@dataclass(frozen=True, eq=False)
class Table:
    """A public table. ``columns``: int64[rows, width], rows in any order.

    Tables of the same name and content are the same; of the same name alone no circuit can have two.
    It may have any number of users, in any number of circuits. One that nobody uses costs nothing.
    """

    name: str
    columns: IntArray

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return self is other or (self.name == other.name and np.array_equal(self.columns, other.columns))

    def __hash__(self) -> int:
        return hash(self.name)

    def find(self, values: Sequence[IntArray]) -> IntArray:
        """The row of each tuple (values[0][i], values[1][i], ..): int64[n], -1 where there is none."""
        steps, first = self.index
        keys = np.zeros(len(values[0]), dtype=np.int64)
        present = np.ones(len(keys), dtype=np.bool_)
        for (distinct, pairs), value in zip(steps, values, strict=False):
            place, found = _place(distinct, value)
            keys, known = _place(pairs, keys * len(distinct) + place)
            present &= found & known
        rows = first[keys]
        for column, value in zip(self.columns.T[len(steps) :], values[len(steps) :], strict=True):
            present &= column[rows] == value
        return np.where(present, rows, -1)

    @cached_property
    def index(self) -> tuple[list[tuple[IntArray, IntArray]], IntArray]:
        """For each column its distinct values, and those of the keys of the rows so far; for each key after
        the last column its first row. Columns behind those that tell all rows apart have none."""
        steps, keys = [], np.zeros(len(self.columns), dtype=np.int64)
        for column in self.columns.T:
            distinct, place = np.unique(column, return_inverse=True)
            # Keys are numbered anew after each column: they stay below the square of the rows.
            pairs, keys = np.unique(keys * len(distinct) + place, return_inverse=True)
            steps.append((distinct, pairs))
            if len(pairs) == len(keys):
                break
        return steps, np.unique(keys, return_index=True)[1]


def _place(ascending: IntArray, values: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return the place of each value in ``ascending``, any place for a missing value, and whether it is
    there."""
    first, last = ascending[0], len(ascending) - 1
    if ascending[-1] - first == last:
        return np.clip(values - first, 0, last), (values >= first) & (values <= ascending[-1])
    place = np.minimum(np.searchsorted(ascending, values), last)
    return place, ascending[place] == values
