"""CSV files: a row for each sample, with or without a line of names on top."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from circuits.samples.schema import TableSchema
from zenerrors import TensorError

_LABEL: Final = "label"
_DELIMITERS: Final = ",;\t"
_SHOWN: Final = 8
# Floats below are whole numbers exactly.
_EXACT: Final = 1 << 53
# Digits of an integer of 64 bits.
_LONGEST: Final = 19


@dataclass(frozen=True)
class Table:
    """``names`` of the columns, empty where the file has none; ``rows`` of cells, and the ``numbers`` that
    their lines have in the file."""

    field: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[int]

    @classmethod
    def parse(cls, data: bytes, field: str) -> Self:
        """Raises ``ValueError`` for what is no text, ``TensorError`` for rows that are not of one length."""
        text = data.decode("utf-8-sig")
        first = text.partition("\n")[0]
        delimiter = max(_DELIMITERS, key=first.count)
        reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
        try:
            lines = [(reader.line_num, row) for row in reader if any(row)]
        except csv.Error as error:
            raise ValueError(f"line {reader.line_num}: {error}") from None
        names: list[str] = []
        if lines and not all(map(_is_number, lines[0][1])):
            names = [name.strip() for name in lines.pop(0)[1]]
        if not lines:
            raise ValueError("there are no rows of numbers")
        width = len(names or lines[0][1])
        for number, row in lines:
            if len(row) != width:
                raise TensorError(
                    "input.shape",
                    f"{field}: row {number} has {len(row)} cells, those above {width}",
                    field=field,
                )
        return cls(field, names, [row for _, row in lines], [number for number, _ in lines])

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
        return self._values(kept), None if place is None else self._labels(place)

    def by_names(self, schema: TableSchema, label: str | None) -> NDArray[np.float64]:
        """Rows [n, schema.size], by the names of columns. Of a file without names, whose columns must be the
        schema's in their order, ``label`` aside."""
        names = list(self.names)
        if not names:
            names = schema.names
            if len(self.rows[0]) != len(names):
                raise self._wrong(
                    "input.shape",
                    f"there is no line of names, and a row has {len(self.rows[0])} cells: the columns are "
                    f"{', '.join(map(repr, names[:_SHOWN]))}",
                )
        self._place(label)
        schema.require_names(names, self.field)
        cells = [[row[names.index(name)] for row in self.rows] for name in schema.names]
        return schema.encode_cells(cells, self.field, self.numbers)

    def labels_beside(self, schema: TableSchema, label: str | None) -> NDArray[Any] | None:
        """Those in the column ``label``, if there is one, and the schema has none that is called so."""
        place = None if (label or _LABEL) in schema.names else self._place(label)
        return None if place is None else self._labels(place, schema.classes)

    def labels(self, label: str | None, known: Sequence[str] | None = None) -> NDArray[Any]:
        """Those in the column ``label``, or in the only one. ``known``: names of classes by their places."""
        place = self._place(label)
        if place is None and len(self.rows[0]) == 1:
            place = 0
        if place is None:
            raise self._wrong("input.shape", f"there must be one column, or one that is called {_LABEL!r}")
        return self._labels(place, known)

    def _place(self, label: str | None) -> int | None:
        """Of the column of labels."""
        if label is not None and label not in self.names:
            known = ", ".join(map(repr, self.names[:_SHOWN])) or "without names"
            raise self._wrong("input.unreadable", f"there is no column {label!r}; the columns are {known}")
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
                    raise self._at("input.out_of_range", index, place, reason)
            return np.array([[*known].index(cell) for cell in cells])
        if not _is_number(cells[0]):
            return classes(cells)
        values = self._values([place])[:, 0]
        whole = np.abs(values).max() < _EXACT and not (values % 1).any()
        return values.astype(np.int64) if whole else values

    def _values(self, places: Sequence[int]) -> NDArray[np.float64]:
        values = np.empty((len(self.rows), len(places)))
        for index, row in enumerate(self.rows):
            try:
                values[index] = [float(row[place]) for place in places]
            except ValueError:
                wrong = next(place for place in places if not _is_number(row[place]))
                raise self._at("input.not_numeric", index, wrong, "no number") from None
        if not np.isfinite(values).all():
            index, column = (int(each[0]) for each in np.nonzero(~np.isfinite(values)))
            raise self._at("input.not_finite", index, places[column], "it must be finite")
        return values

    def _at(self, code: Any, index: int, place: int, why: str) -> TensorError:
        column = repr(self.names[place]) if self.names else str(place + 1)
        return self._wrong(code, f"row {self.numbers[index]}, column {column}: {why}")

    def _wrong(self, code: Any, why: str) -> TensorError:
        return TensorError(code, f"{self.field}: {why}", field=self.field)


def classes(names: Sequence[str]) -> NDArray[np.int64]:
    """The class of each: the number that it is, if all are whole numbers, else its place among all of them in
    the alphabet's order."""
    if all(name.isdecimal() and len(name) < _LONGEST for name in names):
        return np.array([int(name) for name in names])
    places = {name: place for place, name in enumerate(sorted(set(names)))}
    return np.array([places[name] for name in names])


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
