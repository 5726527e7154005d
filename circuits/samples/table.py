"""CSV files: a row for each sample, with or without a line of names on top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.errors import TensorError
from zenserve.verifier.csv_file import CsvFile, is_number
from zenserve.verifier.table import TableSchema

_LABEL: Final = "label"
_SHOWN: Final = 8
# Floats below are whole numbers exactly.
_EXACT: Final = 1 << 53
# Digits of an integer of 64 bits.
_LONGEST: Final = 19


@dataclass(frozen=True)
class Table(CsvFile):
    """A file of samples, one column of which may have their labels."""

    def columns(self, size: int, label: str | None) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
        """Samples [n, size], and the labels in the column ``label``, if there are any."""
        place = self._place(label)
        kept = [index for index in range(len(self.rows[0])) if index != place]
        if len(kept) != size:
            more = f": {', '.join(map(repr, self.names[:_SHOWN]))}" if self.names else ""
            beside = "" if place is None else f" beside the label {self.names[place]!r}"
            raise TensorError(
                "input.shape",
                f"{self.field}: a row has {len(kept)} values{beside}, and a sample of the network {size}; "
                f"the columns are{more or ' without names'}",
                field=self.field,
            )
        return self.values(kept), None if place is None else self._labels(place)

    def named(self, schema: TableSchema, label: str | None) -> NDArray[np.float64]:
        """``by_names`` of a file that may have labels in the column ``label``."""
        self._place(label)
        return self.by_names(schema)

    def labels_beside(self, schema: TableSchema, label: str | None) -> NDArray[Any] | None:
        """Return the labels in the column ``label``; None if there is no such column, or the schema has one
        with that name."""
        place = None if (label or _LABEL) in schema.names else self._place(label)
        return None if place is None else self._labels(place, schema.classes)

    def labels(self, label: str | None, known: Sequence[str] | None = None) -> NDArray[Any]:
        """Return the labels in the column ``label``, or in the only one. ``known``: names of classes by their
        places. Raises an error (``input.shape``) where there is no such column."""
        place = self._place(label)
        if place is None and len(self.rows[0]) == 1:
            place = 0
        if place is None:
            raise self.wrong("input.shape", f"there must be one column, or one that is called {_LABEL!r}")
        return self._labels(place, known)

    def _place(self, label: str | None) -> int | None:
        """Of the column of labels."""
        if label is not None and label not in self.names:
            known = ", ".join(map(repr, self.names[:_SHOWN])) or "without names"
            raise self.wrong("input.unreadable", f"there is no column {label!r}; the columns are {known}")
        wanted = label or _LABEL
        return list(self.names).index(wanted) if wanted in self.names else None

    def _labels(self, place: int, known: Sequence[str] | None = None) -> NDArray[Any]:
        """Numbers as they are; of texts the place of each among those that are ``known``, or all in the
        alphabet's order."""
        cells = [row[place].strip() for row in self.rows]
        if known and {*cells} & {*known}:
            for index, cell in enumerate(cells):
                if cell not in known:
                    reason = f"it is none of the classes {', '.join(map(repr, known[:_SHOWN]))}"
                    raise self.at("input.out_of_range", index, place, reason)
            return np.array([[*known].index(cell) for cell in cells])
        if not is_number(cells[0]):
            return classes(cells)
        values = self.values([place])[:, 0]
        whole = np.abs(values).max() < _EXACT and not (values % 1).any()
        return values.astype(np.int64) if whole else values


def classes(names: Sequence[str]) -> NDArray[np.int64]:
    """The class of each: the number that it is, if all are whole numbers, else its place among all of them in
    the alphabet's order."""
    if all(name.isdecimal() and len(name) < _LONGEST for name in names):
        return np.array([int(name) for name in names])
    places = {name: place for place, name in enumerate(sorted(set(names)))}
    return np.array([places[name] for name in names])
