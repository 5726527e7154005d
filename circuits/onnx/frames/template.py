"""Rows as a fitted model takes them, made of the cells of a schema."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.onnx.tables import hist_gradient, lightgbm, xgboost
from zenserve.errors import TensorError
from zenserve.verifier.table import Category, is_missing

_MOST_SEEN: Final = 48
# A word that no table has.
UNKNOWN: Final = "zenserve: none of these"


def _require_columns(wanted: Sequence[Any], given: Sequence[Any]) -> None:
    """Raises ``TensorError`` (``input.names``) for rows that lack a column that the model was fitted on."""
    if missing := [str(name) for name in wanted if name not in given]:
        lacks, has = (", ".join(repr(str(name)[:40]) for name in names[:8]) for names in (missing, [*given]))
        reason = f"the rows have no column {lacks}, which the model was fitted on; theirs are {has}"
        raise TensorError("input.names", reason, field="input")


@dataclass
class Template:
    """``names`` and ``kinds`` of the columns of ``rows``, which a model is asked with, and ``categories`` of
    those that have lists, by name. ``base``: a typical cell of each column."""

    rows: Any
    names: list[str]
    kinds: dict[str, Any]
    categories: Mapping[str, Sequence[Category]]
    base: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Any, estimator: Any, transformers: Sequence[Any], rows: Any) -> Template:
        """``model``: a fitted pipeline, or ``estimator`` itself; ``transformers``: its steps before that one.
        ``rows``: a table of pandas', or an array of numbers."""
        if hasattr(rows, "columns"):
            named = [*getattr(model, "feature_names_in_", rows.columns)]
            _require_columns(named, [*rows.columns])
            kinds = {str(name): rows[name].dtype for name in named}
        else:
            rows = np.asarray(rows)
            rows = rows.reshape(-1, rows.shape[-1])
            named = [f"x{place}" for place in range(rows.shape[1])]
            kinds = dict.fromkeys(named, rows.dtype)
        names = [str(name) for name in named]
        categories = dict[str, Sequence[Category]]()
        for transformer in transformers:
            categories |= {name: found for name, found in _encoded(transformer, names) if name in kinds}
            break
        if not transformers:
            categories = _native(estimator, names, kinds)
            kinds = _categorical(kinds, categories)
        made = cls(rows, names, kinds, categories)
        made.base = {name: made._typical(name) for name in names}
        return made

    @property
    def is_frame(self) -> bool:
        return hasattr(self.rows, "columns")

    def is_number(self, name: str) -> bool:
        """Return whether the column is numeric and no transformer takes its numbers for categories."""
        return name not in self.categories and _is_numeric(self.kinds[name])

    def cells(self, name: str) -> list[Any]:
        if self.is_frame:
            own = next(each for each in self.rows.columns if str(each) == name)
            return [*self.rows[own]]
        return [*self.rows[:, self.names.index(name)]]

    def seen(self, name: str) -> NDArray[np.float64]:
        """Numbers of a column, sorted, its ends and some between, two at least."""
        if self.kinds[name].kind == "b":
            return np.array([0.0, 1.0])
        values = np.unique([float(each) for each in self.cells(name) if not is_gap(each)])
        if len(values) < 2:
            one = float(values[0]) if len(values) else 0.0
            values = np.array([one, one + max(1.0, abs(one))])
        if len(values) <= _MOST_SEEN:
            return values
        places = np.linspace(0, len(values) - 1, _MOST_SEEN).astype(np.int64)
        return values[places]

    def has_gaps(self, name: str) -> bool:
        return any(map(is_gap, self.cells(name)))

    def frame(self, columns: Mapping[str, Sequence[Any]], count: int) -> Any:
        """Rows with these cells, and typical ones in all other columns; None is a missing value."""
        cells = {
            name: [*columns[name]] if name in columns else [self.base[name]] * count for name in self.names
        }
        if not self.is_frame:
            made = [[np.nan if is_gap(each) else each for each in cells[name]] for name in self.names]
            return np.array(made, np.float64).T.reshape(count, len(self.names))
        pandas = sys.modules["pandas"]
        called = {str(name): name for name in self.rows.columns}
        return pandas.DataFrame(
            {called[name]: self._series(pandas, name, cells[name]) for name in self.names}
        )

    def _series(self, pandas: Any, name: str, cells: list[Any]) -> Any:
        kind, gaps = self.kinds[name], any(map(is_gap, cells))
        filled = [np.nan if is_gap(each) else each for each in cells]
        if hasattr(kind, "categories"):
            known = [*kind.categories]
            return pandas.Categorical(
                [each if each in known else np.nan for each in filled], categories=known, ordered=kind.ordered
            )
        if _is_numeric(kind) and all(isinstance(each, float | int | np.number | bool) for each in filled):
            whole = np.array(filled, np.float64)
            fits = kind.kind != "f" and not gaps and (whole == np.rint(whole)).all()
            return pandas.Series(whole).astype(kind if fits else np.float64)
        if _is_numeric(kind):
            return pandas.Series(filled, dtype=object)
        try:
            return pandas.Series(filled, dtype=kind)
        except (TypeError, ValueError):
            return pandas.Series(filled, dtype=object)

    def _typical(self, name: str) -> Any:
        if name in self.categories:
            return next((each for each in self.categories[name] if each is not None), None)
        there = [each for each in self.cells(name) if not is_gap(each)]
        if self.is_number(name):
            return float(sorted(map(float, there))[len(there) // 2]) if there else 0.0
        return there[0] if there else None


def _categorical(kinds: dict[str, Any], categories: Mapping[str, Sequence[Category]]) -> dict[str, Any]:
    """With the type that boosters ask for of columns that came as words, as those of CSV files do."""
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return kinds
    return kinds | {
        name: pandas.CategoricalDtype([each for each in known if each is not None])
        for name, known in categories.items()
        if not hasattr(kinds[name], "categories")
    }


def _is_numeric(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "biuf"


def _encoded(transformer: Any, names: list[str]) -> Iterator[tuple[str, Sequence[Category]]]:
    """The lists of categories that encoders have of these columns, by what they are called."""
    match type(transformer).__name__:
        case "ColumnTransformer":
            for _, each, columns in transformer.transformers_:
                yield from _encoded(each, _chosen(columns, names))
        case "Pipeline":
            for _, step in transformer.steps:
                found = [*_encoded(step, names)]
                yield from found
                if found or type(step).__name__ != "SimpleImputer":
                    return
        case "FeatureUnion":
            for _, each in transformer.transformer_list:
                yield from _encoded(each, names)
        case _:
            known = getattr(transformer, "categories_", None)
            if known is not None and len(known) == len(names):
                yield from ((name, plain(each)) for name, each in zip(names, known, strict=True))


def _chosen(columns: Any, names: list[str]) -> list[str]:
    """The names of the columns that a ColumnTransformer hands on."""
    if isinstance(columns, str):
        return [columns]
    if isinstance(columns, int | np.integer):
        return [names[columns]]
    if isinstance(columns, slice):
        return names[columns] if not isinstance(columns.start, str) else []
    columns = [*columns]
    if columns and all(isinstance(each, bool | np.bool_) for each in columns):
        return [name for name, chosen in zip(names, columns, strict=True) if chosen]
    return [each if isinstance(each, str) else names[each] for each in columns]


def _native(estimator: Any, names: list[str], kinds: Mapping[str, Any]) -> dict[str, Sequence[Category]]:
    """Lists of categories that boosted trees have themselves."""
    package, kind = type(estimator).__module__.partition(".")[0], type(estimator).__name__
    if package == "lightgbm":
        places: Mapping[int, Any] = dict(
            zip(
                [place for place, name in enumerate(names) if not _is_numeric(kinds[name])],
                lightgbm.categories_of(estimator),
                strict=False,
            )
        )
    elif package == "xgboost":
        places = xgboost.categories_of(estimator)
    elif kind.startswith("HistGradientBoosting"):
        places = hist_gradient.categories_of(estimator)
    else:
        return {}
    return {names[place]: plain(known) for place, known in places.items()}


def plain(categories: Any) -> list[Category]:
    """As JSON has them, the missing value last."""
    cells = [each.item() if hasattr(each, "item") else each for each in categories]
    there = [each for each in cells if not is_gap(each)]
    kept: list[Category] = [
        each if isinstance(each, str | bool | int | float) else str(each) for each in there
    ]
    return [*kept, None] if len(kept) < len(cells) else kept


def is_gap(cell: Any) -> bool:
    """Return whether the cell is missing. A word for a missing value does not count."""
    return not isinstance(cell, str) and is_missing(cell)
