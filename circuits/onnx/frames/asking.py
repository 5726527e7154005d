"""Black-box analysis of a fitted preparation: which columns each feature depends on, and how.

The classes of transformers are not inspected, so that all are treated alike: one column at a time gets other
cells, while all other columns keep typical cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.onnx.frames.template import UNKNOWN, Template
from zenserve.verifier.table import Category

Matrix = NDArray[np.float64]
Prepare = Callable[[Any], Matrix]
"""Of rows as the model takes them the features, float64[n, features], NaN where one is missing."""


@dataclass
class Column:
    """Cells of a column, and the features that they make where all other columns have typical ones.

    ``cells``: numbers in order; or all categories. ``features`` [cells, features]; ``gap`` [features] of a
    missing value and ``other`` [features] of an unknown category, None where there is none of these.
    """

    name: str
    is_number: bool
    cells: list[Any]
    features: Matrix
    gap: Matrix | None
    other: Matrix | None

    @property
    def table(self) -> Matrix:
        """Of categories: the features of each place, those of the missing value and of unknown ones last."""
        more = [each[np.newaxis] for each in (self.gap, self.other) if each is not None]
        return np.concatenate([self.features, *more])

    @property
    def listed(self) -> tuple[Category, ...]:
        return (*self.cells, None) if self.gap is not None else (*self.cells,)

    @property
    def unknown(self) -> int | None:
        return None if self.other is None else len(self.listed)


@dataclass
class Asked:
    """``columns`` by which the features change, in the order of the table; ``base`` [features]: of typical
    cells alone."""

    template: Template
    prepare: Prepare
    columns: list[Column]
    base: Matrix

    @classmethod
    def of(cls, template: Template, prepare: Prepare, *, gaps_anywhere: bool) -> Asked | None:
        """None where the preparation gives no answer. ``gaps_anywhere``: values may be missing where the rows
        have none missing, if features are numbers all the same."""
        base = _tried(prepare, template, {}, 1)
        if base is None:
            return None
        columns = []
        for name in template.names:
            column = _column(template, prepare, name, base[0], gaps_anywhere=gaps_anywhere)
            if column is None:
                return None
            parts = [column.features, *([column.gap[np.newaxis]] if column.gap is not None else [])]
            if not all(_same(row, base[0]) for part in parts for row in part):
                columns.append(column)
        return cls(template, prepare, columns, base[0])

    @cached_property
    def readers(self) -> dict[int, list[Column]]:
        """By feature the columns that it depends on."""
        found: dict[int, list[Column]] = {}
        for column in self.columns:
            rows = column.features if column.gap is None else np.vstack([column.features, column.gap])
            changed = ~((rows == self.base) | (np.isnan(rows) & np.isnan(self.base))).all(axis=0)
            for feature in np.flatnonzero(changed):
                found.setdefault(int(feature), []).append(column)
        return found

    def ask(self, name: str, cells: Sequence[Any]) -> Matrix:
        """The features of these cells of a column."""
        return self.prepare(self.template.frame({name: cells}, len(cells)))


def _column(
    template: Template, prepare: Prepare, name: str, base: Matrix, *, gaps_anywhere: bool
) -> Column | None:
    is_number = template.is_number(name)
    known = template.categories.get(name)
    if is_number:
        cells: list[Any] = template.seen(name).tolist()
    elif known is not None:
        cells = [each for each in known if each is not None]
    else:  # words of which no list is known
        cells = [template.base[name]]
    features = _tried(prepare, template, {name: cells}, len(cells))
    gap = _tried(prepare, template, {name: [None]}, 1)
    # A missing value that is a word to the encoder is one whether rows have it or not.
    listed = known is not None and None in known
    if gap is not None and not (
        template.has_gaps(name) or listed or (gaps_anywhere and np.isfinite(gap).all())
    ):
        gap = None
    if features is None:
        return None
    other = None
    if not is_number:
        words = any(isinstance(each, str) for each in cells)
        new = UNKNOWN if words else max([float(each) for each in cells], default=0.0) + 1
        other = _tried(prepare, template, {name: [new]}, 1) if known is not None else None
        if known is None:
            seen = _tried(prepare, template, {name: template.cells(name)}, len(template.cells(name)))
            if seen is None or not all(_same(row, base) for row in seen):
                return None
    return Column(
        name,
        is_number,
        cells,
        features,
        None if gap is None else gap[0],
        None if other is None else other[0],
    )


def _tried(prepare: Prepare, template: Template, columns: Any, count: int) -> Matrix | None:
    """None where the preparation raises."""
    try:
        return prepare(template.frame(columns, count))
    except Exception:  # whatever a transformer may raise: for one, that it knows no such category
        return None


def _same(one: Matrix, other: Matrix) -> bool:
    return bool(((one == other) | (np.isnan(one) & np.isnan(other))).all())
