"""Trees behind a preparation of columns, as trees that read the columns themselves.

A node asks one feature, and a feature that one column makes asks that column: which numbers hold is found by
asking the preparation, which of the categories and whether a missing value does as well. So nothing of the
preparation is left but trees, and an input is compared as exactly as without one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.onnx.frames.asking import Asked, Column, Matrix
from zenserve.circuits.onnx.tables.ensemble import FLOAT_MAX, LEQ, LT, MEMBER, Ensemble, Trees
from zenserve.errors import ModelError
from zenserve.verifier import table as schema

# Numbers so many times as far apart as those that were seen are asked for, too, if they can be.
_BEYOND: Final = (1000.0, 10.0, 1.0, 0.1, 0.01)


class _Condition(NamedTuple):
    feature: int
    mode: str
    values: tuple[float, ...]
    missing: bool


@dataclass
class _Place:
    """The entries of a column: one for a number, or two for a number that may be missing. If it is missing,
    the first entry is less than all numbers and the second is more."""

    column: Column
    first: int
    low: float = 0.0

    @property
    def has_gaps(self) -> bool:
        return self.column.gap is not None

    @property
    def described(self) -> schema.Column:
        own = self.column
        if not own.is_number:
            return schema.Column(name=own.name, kind="category", categories=own.listed, unknown=own.unknown)
        return schema.Column(name=own.name, missing=(self.low, -self.low) if self.has_gaps else ())


class _Number(NamedTuple):
    """Numbers for which a condition holds: those up to (LEQ) or below (LT) ``threshold``; where ``turned``
    those for which this fails."""

    mode: str
    threshold: float
    turned: bool = False


def fold(asked: Asked, ensemble: Ensemble) -> tuple[Ensemble, list[schema.Column]]:
    """The ensemble that reads columns, and these. Raises ``ModelError`` (``model.export``) where a feature
    that is compared depends on several columns, or grows and falls with one."""
    folding = _Folding(asked, ensemble)
    trees = ensemble.trees.rebuilt(folding.split)
    return replace(ensemble, trees=trees), [place.described for place in folding.places.values()]


def _below(numbers: Sequence[float]) -> float:
    """A power of two below all numbers that are like these."""
    reach = max(map(abs, numbers), default=1.0) or 1.0
    return -(2.0 ** (math.ceil(math.log2(reach)) + 1))


class _Folding:
    def __init__(self, asked: Asked, ensemble: Ensemble) -> None:
        self._asked, self._double = asked, ensemble.double
        trees = ensemble.trees
        self._conditions = [
            _Condition(*each)
            for each in zip(trees.features, trees.modes, trees.values, trees.missing, strict=True)
        ]
        self._numbers = self._found()
        self.places = self._placed()

    def _placed(self) -> dict[str, _Place]:
        """Of each column by its name. What stands for missing values lies beyond all that is compared."""
        reached = {column.name: [*column.cells] for column in self._asked.columns if column.is_number}
        for condition, found in self._numbers.items():
            reader = self._reader(condition.feature)
            if reader and isinstance(found, _Number):
                reached[reader.name] += [found.threshold] if math.isfinite(found.threshold) else []
        places, first = dict[str, _Place](), 0
        for column in self._asked.columns:
            low = _below(reached[column.name]) if column.is_number else 0.0
            places[column.name] = place = _Place(column, first, low)
            first += place.described.size
        return places

    def split(self, made: Trees, at: int, holds: int, fails: int) -> int:
        condition = self._conditions[at]
        reader = self._reader(condition.feature)
        if reader is None:
            return holds if self._holds(condition, self._asked.base[np.newaxis])[0] else fails
        place = self.places[reader.name]
        if not reader.is_number:
            return _of_places(made, place.first, self._holds(condition, reader.table), holds, fails)
        found = self._numbers[condition]
        gap = reader.gap is not None and bool(self._holds(condition, reader.gap[np.newaxis])[0])
        if isinstance(found, bool):
            if not place.has_gaps or gap == found:
                return holds if found else fails
            ends = (holds, fails) if gap else (fails, holds)
            return made.split(place.first, LEQ, [0.75 * place.low], *ends)
        if condition.mode == MEMBER:
            own = made.split(place.first, MEMBER, condition.values, holds, fails)
            return made.split(place.first, LEQ, [0.75 * place.low], holds, own) if gap else own
        if found.turned:
            holds, fails, gap = fails, holds, not gap
        # Where the lower entry holds, the upper one does not.
        entry = place.first + (1 if place.has_gaps and not gap else 0)
        return made.split(entry, found.mode, [found.threshold], holds, fails)

    def _reader(self, feature: int) -> Column | None:
        readers = self._asked.readers.get(feature, [])
        if len(readers) > 1:
            raise ModelError("model.export", "a feature depends on several columns")
        return readers[0] if readers else None

    def _holds(self, condition: _Condition, features: Matrix) -> NDArray[np.bool_]:
        """Return whether the condition holds for the features of each row."""
        return self._compared([condition] * len(features), features[:, condition.feature])

    def _compared(self, conditions: Sequence[_Condition], entries: Matrix) -> NDArray[np.bool_]:
        with np.errstate(over="ignore"):
            entries = entries if self._double else entries.astype(np.float32).astype(np.float64)
        ends = np.array([each.values[0] if each.values else 0.0 for each in conditions])
        modes = np.array([each.mode for each in conditions])
        found = np.where(modes == LT, entries < ends, entries <= ends)
        for at in np.flatnonzero(modes == MEMBER).tolist():
            found[at] = entries[at] in conditions[at].values
        missing = np.array([each.missing for each in conditions])
        made: NDArray[np.bool_] = np.where(np.isnan(entries), missing, found)
        return made

    def _found(self) -> dict[_Condition, _Number | bool]:
        """Of conditions on columns of numbers which ones hold; or whether all do or none."""
        found: dict[_Condition, _Number | bool] = {}
        wanted: dict[str, list[_Condition]] = {}
        columns = {column.name: column for column in self._asked.columns}
        for condition in dict.fromkeys(self._conditions):
            reader = self._reader(condition.feature)
            if reader is None or not reader.is_number:
                continue
            own = reader.features[:, condition.feature]
            if condition.mode != MEMBER and abs(condition.values[0]) >= FLOAT_MAX:
                found[condition] = condition.values[0] > 0
            elif np.array_equal(own, reader.cells):
                found[condition] = _Number(condition.mode, condition.values[0])
            elif condition.mode == MEMBER:
                raise ModelError("model.export", "trees ask for members among numbers that are prepared")
            else:
                wanted.setdefault(reader.name, []).append(condition)
        for name, conditions in wanted.items():
            found |= self._bisected(columns[name], conditions)
        return found

    def _bisected(self, column: Column, conditions: list[_Condition]) -> dict[_Condition, _Number | bool]:
        """By halving, among numbers of float32, all conditions at once."""
        low, high = column.cells[0], column.cells[-1]
        features = [each.feature for each in conditions]
        low, high = self._reached(column, features, low, -1.0), self._reached(column, features, high, 1.0)
        ends = self._asked.ask(column.name, [low, *column.cells, high])
        rises = np.diff(ends[:, features], axis=0)
        if not ((rises >= 0).all(axis=0) | (rises <= 0).all(axis=0)).all():
            raise ModelError("model.export", "a feature rises and falls with a column")
        first, last = (self._compared(conditions, ends[at, features]) for at in (0, -1))
        below = np.full(len(conditions), _ordered(low))
        above = np.full(len(conditions), _ordered(high))
        while (above - below > 1).any():
            middle = (below + above) // 2
            asked = self._asked.ask(column.name, _numbers(middle).tolist())
            same = self._compared(conditions, asked[np.arange(len(conditions)), features]) == first
            below, above = np.where(same, middle, below), np.where(same, above, middle)
        # What holds up to ``below`` is what is less than the number next to it.
        found: dict[_Condition, _Number | bool] = {}
        for at, condition in enumerate(conditions):
            if first[at] == last[at]:
                found[condition] = bool(first[at])
            else:
                end = float(_numbers(below[at : at + 1])[0])
                after = float(_numbers(above[at : at + 1])[0])
                mode, threshold = (LEQ, end) if _rounder(end, after) else (LT, after)
                found[condition] = _Number(mode, threshold, turned=not first[at])
        return found

    def _reached(self, column: Column, features: list[int], end: float, way: float) -> float:
        """Return the furthest number beyond the column's end for which the features are finite, ``end`` if
        there is none: logarithms, for example, take positive numbers alone."""
        span = max(column.cells[-1] - column.cells[0], abs(end), 1.0)
        for times in _BEYOND:
            far = float(end + way * span * times)
            if np.isfinite(self._asked.ask(column.name, [far])[0, features]).all():
                return far
        return end


def _rounder(one: float, other: float) -> bool:
    """Return whether the first of two neighbouring float32 numbers has no more digits: it is then a value of
    the table."""
    return len(f"{np.float32(one)!s}") <= len(f"{np.float32(other)!s}")


def _of_places(made: Trees, entry: int, hold: NDArray[np.bool_], holds: int, fails: int) -> int:
    """A node that tells apart the places of a category for which a condition holds."""
    if hold.all() or not hold.any():
        return holds if hold.all() else fails
    turns = np.flatnonzero(np.diff(hold.astype(np.int64)))
    if len(turns) == 1:
        ends = (holds, fails) if hold[0] else (fails, holds)
        return made.split(entry, LEQ, [float(turns[0]) + 0.5], *ends)
    few = hold.sum() * 2 <= len(hold)
    members = np.flatnonzero(hold if few else ~hold).astype(np.float64).tolist()
    return made.split(entry, MEMBER, members, *((holds, fails) if few else (fails, holds)))


def _ordered(value: float) -> int:
    """The place of a float32 among all."""
    bits = int(np.float32(value).view(np.int32))
    return bits if bits >= 0 else -(bits & 0x7FFFFFFF)


def _numbers(places: NDArray[np.int64]) -> Matrix:
    """The float32 of these places, as float64."""
    bits = np.where(places >= 0, places, -places | -0x80000000).astype(np.int64)
    return (bits & 0xFFFFFFFF).astype(np.uint32).view(np.float32).astype(np.float64)
