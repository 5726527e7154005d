"""CSV files: a row for each sample, with or without a line of names on top."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from zenserve.errors import TensorError
from zenserve.verifier.table import TableSchema

_DELIMITERS: Final = ",;\t"
_SHOWN: Final = 8


@dataclass(frozen=True)
class CsvFile:
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
        if lines and not all(map(is_number, lines[0][1])):
            names = [name.strip() for name in lines.pop(0)[1]]
        if not text.strip():
            raise ValueError("it is empty")
        if not lines:
            raise ValueError("there is no row below the line of names" if names else "it has no rows")
        width = len(names or lines[0][1])
        for number, row in lines:
            if len(row) != width:
                raise TensorError(
                    "input.shape",
                    f"{field}: row {number} has {len(row)} cells, those above {width}",
                    field=field,
                )
        return cls(field, names, [row for _, row in lines], [number for number, _ in lines])

    def by_names(self, schema: TableSchema) -> NDArray[np.float64]:
        """Rows [n, schema.size], by the names of columns. Of a file without names, whose columns must be the
        schema's in their order."""
        names = list(self.names)
        if not names:
            names = schema.names
            if len(self.rows[0]) != len(names):
                raise self.wrong(
                    "input.shape",
                    f"there is no line of names, and a row has {len(self.rows[0])} cells: the columns are "
                    f"{', '.join(map(repr, names[:_SHOWN]))}",
                )
        schema.require_names(names, self.field)
        cells = [[row[names.index(name)] for row in self.rows] for name in schema.names]
        return schema.encode_cells(cells, self.field, self.numbers)

    def values(self, places: Sequence[int]) -> NDArray[np.float64]:
        """Numbers [n, places] of these columns. Raises ``TensorError``."""
        values = np.empty((len(self.rows), len(places)))
        for index, row in enumerate(self.rows):
            try:
                values[index] = [float(row[place]) for place in places]
            except ValueError:
                wrong = next(place for place in places if not is_number(row[place]))
                raise self.at("input.not_numeric", index, wrong, "no number") from None
        if not np.isfinite(values).all():
            index, column = (int(each[0]) for each in np.nonzero(~np.isfinite(values)))
            raise self.at("input.not_finite", index, places[column], "it must be finite")
        return values

    def at(self, code: Any, index: int, place: int, why: str) -> TensorError:
        """The error of a cell."""
        column = repr(self.names[place]) if self.names else str(place + 1)
        return self.wrong(code, f"row {self.numbers[index]}, column {column}: {why}")

    def wrong(self, code: Any, why: str) -> TensorError:
        """The error of the file."""
        return TensorError(code, f"{self.field}: {why}", field=self.field)


def is_number(cell: str) -> bool:
    """Return whether the text of a cell is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
