"""Tables with names: which columns a model of tables reads, and the numbers that a row becomes.

A schema is public. It has names of columns, lists of categories and names of classes, and nothing of any
row. It travels inside the ONNX file (``zenserve.circuits.onnx.described``), beside a registered model, and as
``table.json`` beside a proof. What it describes is not proven: a circuit reads the numbers, and the schema
tells people which ones to give.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from zenserve.codes import Code
from zenserve.errors import FileFormatError, ModelError, TensorError
from zenserve.verifier.document import parse_json
from zenserve.verifier.fields import canonical

Cell = Any
"""A number, a word, a boolean, or what stands for a missing value: None, NaN, or a mark of a CSV file."""
Cells = Sequence[Cell]
Category = str | bool | int | float | None

FORMAT: Final = "zenserve table"
"""Of ``table.json``."""
MISSING: Final = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none"})
"""Cells of CSV files that are missing values, in lower case, unless they are categories themselves."""
_SHOWN: Final = 8
_MOST_COLUMNS: Final = 1 << 14
_MOST_CATEGORIES: Final = 1 << 16

_Text = Annotated[str, Field(max_length=200)]


_MISSING: Final = "a value is missing, and the model takes none there"


class _CellError(ValueError):
    """The fault of a cell. The cell is not quoted: it may be secret."""

    def __init__(self, code: Code, why: str) -> None:
        super().__init__(why)
        self.code: Code = code


class _Public(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Column(_Public):
    """A column and the entries that it becomes.

    A ``number`` is itself. ``missing``: what stands for a missing value, in as many entries as there are
    numbers here; each entry has the value where there is one. Without any, no value may be missing.
    ``flag``: one entry more, 1 where the value is missing, else 0. A ``category`` is its place among
    ``categories``, where None is the missing value. ``unknown``: the place of all others; without one,
    others are refused.
    """

    name: _Text
    kind: Literal["number", "category"] = "number"
    missing: Annotated[tuple[float, ...], Field(max_length=2)] = ()
    flag: bool = False
    categories: Annotated[tuple[Category, ...], Field(max_length=_MOST_CATEGORIES)] = ()
    unknown: int | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        is_category = self.kind == "category"
        if is_category != bool(self.categories) or (is_category and (self.missing or self.flag)):
            raise ValueError("categories have a list, and numbers have none")
        if (self.flag and not self.missing) or (self.unknown is not None and self.unknown < 0):
            raise ValueError("a flag is beside what stands for missing values")
        return self

    @property
    def size(self) -> int:
        """The number of entries that a cell of the column becomes."""
        return max(1, len(self.missing)) + self.flag

    @property
    def ends(self) -> tuple[list[float], list[float]]:
        """The least and the largest of each entry that the column itself tells; NaN where rows tell."""
        if self.kind == "category":
            return [0.0], [float(max(len(self.categories) - 1, self.unknown or 0))]
        low: list[float] = [*(self.missing or (math.nan,))]
        return [*low, *[0.0] * self.flag], [*low, *[1.0] * self.flag]

    def encode(self, cell: Cell) -> list[float]:
        """The entries of a cell. Raises ``_CellError``."""
        return [self._place(cell)] if self.kind == "category" else self._number(cell)

    def decode(self, entries: Sequence[float]) -> Any:
        """The cell of these entries: None for a missing value."""
        if self.kind == "category":
            place = round(entries[0])
            return self.categories[place] if 0 <= place < len(self.categories) else _Unknown()
        stands = [np.float32(e) == np.float32(m) for e, m in zip(entries, self.missing, strict=False)]
        if stands and all(stands) and (not self.flag or entries[-1] > 0.5):
            return None
        return float(entries[0])

    @cached_property
    def _places(self) -> dict[Any, int]:
        """By categories, and by what CSV files have for them, which a category that is a word goes before."""
        written = {_written(each): place for place, each in enumerate(self.categories) if each is not None}
        return written | {each: place for place, each in enumerate(self.categories) if each is not None}

    def _place(self, cell: Cell) -> float:
        cell = cell.item() if hasattr(cell, "item") else cell
        known = cell if isinstance(cell, str | bool | int | float) else str(cell)
        place = self._places.get(known)
        if place is None and isinstance(cell, str):
            place = self._places.get(_written(_parsed(cell.strip())))
        if place is None and is_missing(cell):
            if None in self.categories:
                return float(self.categories.index(None))
            raise _CellError("input.not_finite", _MISSING)
        if place is None:
            place = self.unknown
        if place is None:
            shown = ", ".join(
                repr(each) if isinstance(each, str) else _in_words(each) for each in self.categories[:_SHOWN]
            )
            more = ", …" if len(self.categories) > _SHOWN else ""
            reason = f"it is none of the {len(self.categories)} categories: {shown}{more}"
            raise _CellError("input.out_of_range", reason)
        return float(place)

    def _number(self, cell: Cell) -> list[float]:
        cell = cell.item() if hasattr(cell, "item") else cell
        value = _parsed(cell.strip()) if isinstance(cell, str) else cell
        if is_missing(value):
            if not self.missing:
                raise _CellError("input.not_finite", _MISSING)
            return [*self.missing, *[1.0] * self.flag]
        if not isinstance(value, bool | int | float):
            raise _CellError("input.not_numeric", "no number")
        if not math.isfinite(value):
            raise _CellError("input.not_finite", "it must be finite")
        return [*[float(value)] * max(1, len(self.missing)), *[0.0] * self.flag]


class _Unknown:
    """In the place of a category that is none of those that are listed."""

    def __repr__(self) -> str:
        return "another category"

    __str__ = __repr__


class TableSchema(_Public):
    """``columns`` in the order of the network's entries; none of a network of no table, whose classes have
    names. ``classes``: names of the labels 0, 1 and so on,
    where they are words. ``unproven``: the preparation of the columns that the network does not have."""

    columns: Annotated[tuple[Column, ...], Field(max_length=_MOST_COLUMNS)] = ()
    classes: Annotated[tuple[_Text, ...], Field(max_length=_MOST_CATEGORIES)] | None = None
    unproven: Annotated[str, Field(max_length=500)] | None = None

    @classmethod
    def parse(cls, text: str | bytes) -> Self:
        """Raises ``ModelError`` (``model.unreadable``)."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"])) or "it"
            raise ModelError(
                "model.unreadable", f"the file's description of its columns is none: {where} is wrong"
            ) from None

    @classmethod
    def read_file(cls, data: bytes) -> Self:
        """From the bytes of a ``table.json``. Raises ``FileFormatError`` (``file.json``)."""
        try:
            fields = parse_json(data)
            if not isinstance(fields, dict) or fields.pop("format", None) != FORMAT:
                raise FileFormatError("file.json", f"the file is no {FORMAT!r}")
            if fields.pop("version", None) != 1:
                raise FileFormatError("file.json", "version: this must be 1", field="version")
            return cls.model_validate_json(json.dumps(fields))
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            raise FileFormatError(
                "file.json", f"{where or 'columns'}: it is wrong", field=where or None
            ) from None
        except (ValueError, RecursionError) as error:
            raise FileFormatError("file.json", f"the file is not JSON: {error}") from None

    def to_file(self) -> str:
        """``table.json``: what ``read_file`` reads."""
        own = self.model_dump(mode="json", exclude_defaults=True)
        return json.dumps({"format": FORMAT, "version": 1, **own}, indent=1, ensure_ascii=False) + "\n"

    def to_json(self) -> str:
        return self.model_dump_json(exclude_defaults=True)

    @property
    def size(self) -> int:
        """The number of entries that a row becomes."""
        return sum(column.size for column in self.columns)

    @property
    def entries(self) -> list[str]:
        """The name of the column of each entry."""
        return [column.name for column in self.columns for _ in range(column.size)]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def encode(self, rows: Any, field: str = "input") -> NDArray[np.float64]:
        """float64[n, size] of a table of pandas', a mapping from the names of columns to a cell or a list of
        cells, or a list of mappings. Raises ``TensorError`` that names the column and never quotes a cell."""
        cells = self._columns(rows, field)
        return self.encode_cells([cells[name] for name in self.names], field)

    def encode_cells(
        self, columns: Sequence[Cells], field: str, numbers: Sequence[int] | None = None
    ) -> NDArray[np.float64]:
        """``columns``: cells of each column in order. ``numbers``: what rows are called, 1 and so on unless
        said."""
        made = []
        for column, cells in zip(self.columns, columns, strict=True):
            entries = []
            for row, cell in enumerate(cells):
                try:
                    entries.append(column.encode(cell))
                except _CellError as error:
                    at = numbers[row] if numbers else row + 1
                    of_row = f"row {at}, " if len(cells) > 1 or numbers else ""
                    reason = f"{field}: {of_row}column {column.name!r}: {error}"
                    raise TensorError(error.code, reason, field=field) from None
            made.append(np.array(entries, np.float64).reshape(-1, column.size))
        return np.concatenate(made, axis=1)

    def decode(self, entries: NDArray[Any]) -> list[dict[str, Category]]:
        """Rows of cells by the names of columns, of entries [n, size]."""
        rows = np.asarray(entries, np.float64).reshape(-1, self.size)
        ends = np.cumsum([column.size for column in self.columns])
        return [
            {
                column.name: column.decode(row[end - column.size : end].tolist())
                for column, end in zip(self.columns, ends, strict=True)
            }
            for row in rows
        ]

    def read(self, entries: Any, scale: float | None) -> dict[str, Category]:
        """The cells of a row [size] that a proof shows, to as many digits as its ``scale`` tells apart."""
        digits = max(0, -math.ceil(math.log10(scale or 1.0)))
        return self.decode(np.round(np.asarray(entries, np.float64), digits))[0]

    def cells_in_words(self, entries: Sequence[float], scale: float | None) -> list[str]:
        """The cells of a row [size] that a proof shows, as verifiers write them."""
        return [f"{name} {_in_words(cell)}" for name, cell in self.read(entries, scale).items()]

    def varied(self, entries: NDArray[np.float64], factors: NDArray[np.float64]) -> NDArray[np.float64]:
        """One row [size] and variations of it, [1 + n, size]: numbers but 0 and 1 times ``factors``
        [n, columns], and all categories in turn."""
        (row,) = self.decode(entries)
        made = [row]
        for turn, factor in enumerate(factors):
            made.append(
                {
                    column.name: _turned(column, row[column.name], turn)
                    if column.kind == "category"
                    else _times(row[column.name], by)
                    for column, by in zip(self.columns, factor, strict=True)
                }
            )
        return self.encode(made)

    def spread(self, entries: NDArray[np.float64]) -> NDArray[np.float64]:
        """Two typical rows more, [2, size], that reach as far as the schema lets any row: of what calibrates,
        so that no category and no missing value is beyond the calibration."""
        low, high = (np.array([e for c in self.columns for e in c.ends[side]]) for side in (0, 1))
        return np.stack(
            [
                np.where(np.isnan(low), entries.min(axis=0), low),
                np.where(np.isnan(high), entries.max(axis=0), high),
            ]
        )

    def class_name(self, label: float) -> str | None:
        """Return the class name of a label; None if it has no name."""
        whole = round(label)
        return self.classes[whole] if self.classes and 0 <= whole < len(self.classes) else None

    def _columns(self, rows: Any, field: str) -> Mapping[str, Cells]:
        if hasattr(rows, "columns"):
            twice = [str(name) for name in rows.columns if [*rows.columns].count(name) > 1]
            if twice:
                raise TensorError("input.names", f"{field}: two columns are called {twice[0]!r}", field=field)
            given: Mapping[str, Cells] = {str(name): [*rows[name]] for name in rows.columns}
        elif isinstance(rows, Mapping):
            given = {str(name): [*cells] if is_list(cells) else [cells] for name, cells in rows.items()}
        elif hasattr(rows, "to_dict"):  # a row of pandas'
            given = {str(name): [cell] for name, cell in rows.to_dict().items()}
        else:
            each = [row if isinstance(row, Mapping) else {} for row in rows]
            there = [name for name in self.names if all(name in row for row in each)]
            given = {name: [row[name] for row in each] for name in there}
        self.require_names(given, field)
        if len({len(given[name]) for name in self.names}) > 1:
            raise TensorError("input.shape", f"{field}: the columns are of several lengths", field=field)
        return given

    def require_names(self, given: Iterable[str], field: str) -> None:
        """Raises ``TensorError`` (``input.names``) where a column is missing."""
        there = set(given)
        missing = [name for name in self.names if name not in there]
        if missing:
            shown = ", ".join(map(repr, missing[:_SHOWN]))
            raise TensorError(
                "input.names",
                f"{field}: there is no column {shown}; the model's columns are "
                f"{', '.join(map(repr, self.names[:_SHOWN]))}{', …' if len(self.names) > _SHOWN else ''}",
                field=field,
            )


def _in_words(cell: Any) -> str:
    if cell is None:
        return "missing"
    if isinstance(cell, str):
        return f'"{cell}"'
    if isinstance(cell, bool):
        return str(cell).lower()
    return canonical(cell).decode() if isinstance(cell, int | float) else str(cell)


def _times(cell: Any, factor: float) -> Any:
    return cell if cell in (None, 0.0, 1.0) else cell * factor


def _turned(column: Column, cell: Any, turn: int) -> Any:
    return column.categories[turn % len(column.categories)] if turn % 2 else cell


def is_rows(value: Any) -> bool:
    """Return whether the value has cells by column name: a pandas table or row, or one or more mappings."""
    if hasattr(value, "columns") or hasattr(value, "to_dict"):
        return True
    if isinstance(value, Mapping):
        return bool(value) and not any(hasattr(each, "shape") and each.shape for each in value.values())
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(row, Mapping) for row in value)


def is_list(cells: Any) -> bool:
    return not isinstance(cells, str | bytes) and hasattr(cells, "__iter__")


def is_missing(cell: Cell) -> bool:
    """None, NaN, pandas' NA and NaT, and what CSV files have in their place."""
    if cell is None:
        return True
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    try:
        return bool(cell != cell)
    except TypeError:  # NA of pandas' compares as nothing
        return True


def _parsed(text: str) -> Any:
    """A number, a boolean, or the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        value = float(text)
    except ValueError:
        return text
    return value if not math.isnan(value) else None


def _written(category: Any) -> Any:
    """Return the identity of a category in files: words for booleans; whole floats equal integers."""
    if isinstance(category, bool):
        return str(category).lower()
    return category
