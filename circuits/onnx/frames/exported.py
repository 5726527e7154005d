"""A fitted model and rows of a table, as an ONNX file with a schema of the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.onnx.described import with_schema
from zenserve.circuits.onnx.frames.added import add
from zenserve.circuits.onnx.frames.asking import Asked, Matrix, Prepare
from zenserve.circuits.onnx.frames.folded import fold
from zenserve.circuits.onnx.frames.template import Template, is_gap
from zenserve.circuits.onnx.tables import catboost, forests, hist_gradient, lightgbm, xgboost
from zenserve.circuits.onnx.tables.ensemble import Ensemble
from zenserve.errors import ModelError
from zenserve.verifier.table import Column, TableSchema, is_rows

Export = Callable[[Any, NDArray[Any]], bytes]
"""Of a model of numbers, and rows of these, the ONNX file."""


@dataclass(frozen=True)
class Tabular:
    """``file``: ONNX, with its ``schema`` inside. ``model``: what the file is of, and ``template``: how it is
    asked with rows of the schema. ``prepare``: of a table what the schema's rows are made of, where the
    network does not have the whole preparation; None where it has."""

    file: bytes
    schema: TableSchema
    model: Any
    template: Template
    prepare: Callable[[Any], Any] | None = None

    def encode(self, rows: Any, field: str) -> Matrix:
        """Raises ``TensorError``, and ``ModelError`` where a preparation beside the network fails."""
        if self.prepare:
            return self.schema.encode(self.prepare(rows), field)
        if not hasattr(rows, "columns") and not is_rows(rows):
            array = np.asarray(rows)
            array = array.reshape(-1, array.shape[-1])
            rows = dict(zip(self.template.names, array.T, strict=False))
        return self.schema.encode(rows, field)

    def asked(self, entries: NDArray[Any]) -> Any:
        """Rows as the model takes them, of the network's entries."""
        rows = self.schema.decode(entries)
        return self.template.frame(
            {name: [row[name] for row in rows] for name in self.schema.names}, len(rows)
        )


def is_table(rows: Any) -> bool:
    """Return whether rows have column names, words or missing values."""
    if hasattr(rows, "columns"):
        return True
    array = np.asarray(rows)
    if array.dtype.kind in "OUS":
        return False
    return array.dtype.kind == "f" and bool(np.isnan(array).any())


def export_table(model: Any, rows: Any, export: Export) -> Tabular:
    """``model``: an estimator, or a pipeline that ends in one. ``rows``: typical ones, a table of pandas' or
    an array. ``export``: of models of numbers. Raises ``ModelError``."""
    model = getattr(model, "best_estimator_", model)
    steps = [each for _, each in getattr(model, "steps", [("", model)])]
    transformers = [each for each in steps[:-1] if each is not None and not isinstance(each, str)]
    estimator = steps[-1]
    template = Template.of(model, estimator, transformers, rows)
    classes = _classes(estimator)
    ensemble = _ensemble(estimator, coded=not transformers)
    refusals = []
    if ensemble is not None and not ensemble.slopes and ensemble.weights is None:
        try:
            asked = _asked(template, transformers, gaps_anywhere=bool(transformers))
            read, columns = fold(asked, ensemble)
            made = _schema(columns, classes)
            return Tabular(
                with_schema(read.model(made.size, _values(estimator)), made), made, model, template
            )
        except ModelError as refusal:
            refusals.append(refusal)
    for count in range(len(transformers), -1, -1):
        rest = _behind(model, transformers, count)
        try:
            added = add(_asked(template, transformers[:count], gaps_anywhere=True))
        except ModelError as refusal:
            refusals.append(refusal)
            continue
        made = _schema(added.columns, classes)
        features = np.zeros((1, len(added.bias)))
        return Tabular(with_schema(added.before(export(rest, features)), made), made, model, template)
    if not transformers:
        _require_one_preparation(estimator)
        words = [name for name in template.names if not template.is_number(name)]
        unlisted = [repr(name[:40]) for name in words if name not in template.categories]
        if unlisted:
            raise ModelError(
                "model.export",
                f"the {_called(model)} takes words itself, in the columns {', '.join(unlisted[:8])}: put an "
                "encoder before it, in one Pipeline (ColumnTransformer with OneHotEncoder or OrdinalEncoder)",
            )
        raise refusals[0]
    return _beside(model, transformers, rows, export)


def _require_one_preparation(estimator: Any) -> None:
    """Raises ``ModelError`` for several models each of which prepares the table itself."""
    within = [each for each in getattr(estimator, "estimators_", []) if hasattr(each, "steps")]
    if within:
        name = _called(estimator)
        raise ModelError(
            "model.export",
            f"each model in the {name} prepares the table itself, and a network has one preparation. Put it"
            f" before the {name}, make_pipeline(preparation, {name}([…])), and let its models have none",
        )


def _beside(model: Any, transformers: Sequence[Any], rows: Any, export: Export) -> Tabular:
    """With the first steps, as few as make numbers, before the network."""
    for count in range(1, len(transformers) + 1):
        prepared = _transformed(transformers[:count], rows)
        if prepared is None or not np.isfinite(prepared).all():
            continue
        names = _feature_names(transformers[count - 1], prepared.shape[1])
        rest = _behind(model, transformers, count)
        columns = tuple(Column(name=name) for name in names)
        what = ", ".join(sorted({_called(each) for each in transformers[:count]}))
        made = TableSchema(
            columns=columns,
            classes=_classes(model),
            unproven=f"the preparation of these columns by {what} is not proven",
        )

        def prepare(given: Any, count: int = count, names: list[str] = names) -> Any:
            found = _transformed(transformers[:count], given)
            if found is None:
                raise ModelError(
                    "model.export",
                    "the model's own preparation gives no answer to these rows: they are not of its table",
                )
            return {name: found[:, place] for place, name in enumerate(names)}

        template = Template.of(rest, rest, [], prepared)
        template.names = names
        template.kinds = dict.fromkeys(names, prepared.dtype)
        template.base = dict.fromkeys(names, 0.0)
        return Tabular(with_schema(export(rest, prepared), made), made, rest, template, prepare)
    raise ModelError(
        "model.export",
        "none of the pipeline's steps makes numbers of the table: encode its words (OneHotEncoder, "
        "OrdinalEncoder) and fill in what is missing (SimpleImputer) in the pipeline",
    )


def _asked(template: Template, transformers: Sequence[Any], *, gaps_anywhere: bool) -> Asked:
    prepare: Prepare = _native(template)
    if transformers:

        def prepare(rows: Any) -> Matrix:
            return _transform(transformers, rows)

    found = Asked.of(template, prepare, gaps_anywhere=gaps_anywhere)
    if found is None:
        raise ModelError("model.export", "the preparation gives no numbers of single cells")
    return found


def _native(template: Template) -> Prepare:
    """Return the preparation for a model that reads rows itself: numbers, and the places of categories."""

    def prepare(rows: Any) -> Matrix:
        columns = []
        for at, name in enumerate(template.names):
            own = [*rows.iloc[:, at]] if hasattr(rows, "iloc") else [*rows[:, at]]
            places = {each: float(place) for place, each in enumerate(template.categories.get(name, []))}
            columns.append(
                [np.nan if is_gap(each) else places[each] if places else float(each) for each in own]
            )
        return np.array(columns, np.float64).T

    return prepare


def _transform(transformers: Sequence[Any], rows: Any) -> Matrix:
    for each in transformers:
        rows = each.transform(rows)
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    if hasattr(rows, "columns"):
        rows = np.stack([_codes(rows[name]) for name in rows.columns], axis=1)
    return np.asarray(rows).astype(np.float64)


def _codes(column: Any) -> Any:
    if hasattr(column, "cat"):
        codes = np.asarray(column.cat.codes, np.float64)
        return np.where(codes < 0, np.nan, codes)
    return np.asarray(column, np.float64)


def _transformed(transformers: Sequence[Any], rows: Any) -> Matrix | None:
    try:
        return _transform(transformers, rows)
    except Exception:  # whatever a transformer may raise; its words may quote values
        return None


def _behind(model: Any, transformers: Sequence[Any], count: int) -> Any:
    """The model without its first steps."""
    if not transformers:
        return model
    estimator = model.steps[-1][1]
    if count == len(transformers):
        return estimator
    return type(model)([(f"step{at}", each) for at, each in enumerate([*transformers[count:], estimator])])


def _ensemble(estimator: Any, *, coded: bool) -> Ensemble | None:
    """Trees, if the estimator is such."""
    package, kind = type(estimator).__module__.partition(".")[0], type(estimator).__name__
    if package == "lightgbm":
        return lightgbm.ensemble_of(estimator, coded=coded)
    if package == "xgboost":
        return xgboost.ensemble_of(estimator, coded=coded)
    if package == "catboost":
        return catboost.ensemble_of(estimator)
    if kind.startswith("HistGradientBoosting"):
        return hist_gradient.ensemble_of(estimator, coded=coded)
    return forests.ensemble_of(estimator) if forests.is_forest(estimator) else None


def _schema(columns: Sequence[Column], classes: tuple[str, ...] | None) -> TableSchema:
    if not columns:
        raise ModelError("model.export", "no column changes what the model's preparation makes")
    return TableSchema(columns=tuple(columns), classes=classes)


def _classes(estimator: Any) -> tuple[str, ...] | None:
    """Names of classes, where they are words."""
    known = getattr(estimator, "classes_", None)
    if known is None or not len(known) or isinstance(known[0], np.ndarray):
        return None
    return tuple(map(str, known)) if np.asarray(known).dtype.kind in "OUS" else None


def _values(estimator: Any) -> str:
    return "predictions" if type(estimator).__module__.startswith("catboost") else "variable"


def _feature_names(transformer: Any, size: int) -> list[str]:
    try:
        names = [str(each)[:200] for each in transformer.get_feature_names_out()]
    except Exception:  # not all have names
        names = []
    return names if len(names) == size == len({*names}) else [f"feature{at}" for at in range(size)]


def _called(transformer: Any) -> str:
    return type(transformer).__name__[:60]
