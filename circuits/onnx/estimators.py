"""Models of other libraries than PyTorch, written as ONNX: boosted trees as they are (``tables``), others by
the exporters that their libraries have. No library is needed here: a model says by its class which one it is
of, and that one is there.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from copy import copy
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from onnx import GraphProto, TensorProto
from onnx.helper import make_node, make_opsetid

from zenserve.circuits.onnx.export import export_torch
from zenserve.circuits.onnx.frames.exported import Tabular, export_table, is_table
from zenserve.circuits.onnx.tables import catboost, hist_gradient, lightgbm, xgboost
from zenserve.circuits.onnx.tables.ensemble import ML, Ensemble, opsets
from zenserve.errors import ModelError, TensorError, ZenError

# As skl2onnx's converters for trees name them; it writes isolation forests in no newer one.
_SETS: Final = opsets([])
_ENSEMBLES: Final[Mapping[str, Callable[[Any], Ensemble]]] = {
    "catboost": catboost.ensemble_of,
    "lightgbm": lightgbm.ensemble_of,
    "xgboost": xgboost.ensemble_of,
}


Made = TypeVar("Made")
_QUOTED: Final = re.compile(r"\[.*\]|'.*'|\".*\"")


def export_model(model: Any, *examples: Any, batched: bool = False) -> bytes:
    """A model as the bytes of an ONNX file: a ``torch.nn.Module``, an estimator or a pipeline of
    scikit-learn's, a model or a booster of XGBoost's or LightGBM's, a model of CatBoost's or of Keras'.

    ``examples``: what it takes, one input each, tensors or arrays; of estimators one row, or several.
    ``batched``: a module's are two rows of each, and its file takes any number of rows. Raises
    ``ModelError``: ``model.no_exporter``, ``model.no_pytorch`` where a package is missing, and
    ``model.export`` where ``model`` is of none of these, or its exporter does not take it.
    """
    for kind in type(model).__mro__:
        package = kind.__module__.partition(".")[0]
        if package == "torch":
            return export_torch(model, *examples, batched=batched)
        if package in _EXPORTERS:
            return _exported(_EXPORTERS[package], model, examples)
    raise ModelError(
        "model.export",
        f"a {type(model).__name__} is no ONNX file and no model of PyTorch's, Keras', scikit-learn's, "
        "XGBoost's, LightGBM's or CatBoost's",
    )


def export_tabular(model: Any, rows: Any) -> Tabular:
    """A model of tables, and the schema of the tables that it takes. ``rows``: typical ones, a table of
    pandas' or an array, with words and missing values as the model takes them. Raises as ``export_model``."""
    kinds = [kind.__module__.partition(".")[0] for kind in type(model).__mro__]
    if not {*kinds} & _LEARNED.keys():
        raise ModelError("model.export", f"a {type(model).__name__} is no model of tables")
    return _refusing(model, lambda: export_table(model, rows, export_model))


def is_of_tables(model: Any, rows: Any) -> bool:
    """Return whether rows have column names, words or gaps, and the model's library is one that takes
    tables."""
    kinds = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    return bool(kinds & _LEARNED.keys()) and is_table(rows)


def _exported(exporter: Callable[[Any, NDArray[Any]], bytes], model: Any, examples: tuple[Any, ...]) -> bytes:
    if len(examples) != 1:
        raise ModelError("model.export", f"a {type(model).__name__} takes one input, not {len(examples)}")
    rows = _numbers(examples[0])
    return _refusing(model, lambda: exporter(model, rows))


def _refusing(model: Any, export: Callable[[], Made]) -> Made:
    """Return the result of the exporter, or raise an error that says why there is none."""
    said = StringIO()
    _require_fitted(model)
    try:
        with warnings.catch_warnings(), redirect_stdout(said), redirect_stderr(said):
            warnings.simplefilter("ignore")
            return export()
    except ImportError as missing:
        raise ModelError(
            "model.no_exporter",
            f"{missing.name} is not installed: pip install skl2onnx, or export the file elsewhere",
        ) from None
    except ZenError:
        raise
    except Exception as refusal:  # whatever a model and an exporter may raise
        cause = refusal.__cause__ or refusal
        reason = (str(cause).strip().splitlines() or [type(refusal).__name__])[0]
        if isinstance(cause, ValueError | TypeError | KeyError):  # these quote cells, which may be private
            reason = _QUOTED.sub("…", reason)
        raise ModelError(
            "model.export", f"no exporter takes the {type(model).__name__}: {reason[:200]}"
        ) from None


def _require_fitted(model: Any) -> None:
    """Raises ``ModelError`` for an estimator of scikit-learn's that has learned nothing yet."""
    if not hasattr(model, "__sklearn_tags__"):
        return
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        name = type(model).__name__
        raise ModelError(
            "model.export", f"the {name} is not fitted: call fit(samples, labels) first"
        ) from None
    except Exception:  # what the check itself does not know: the exporter says what is wrong
        return


def _numbers(rows: Any) -> NDArray[Any]:
    """Raises ``TensorError`` (``input.not_numeric``) for words, and quotes none: they may be private."""
    array = np.asarray(rows)
    if array.dtype.kind in "biuf":
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise TensorError(
            "input.not_numeric",
            f"the input has words{_columns(rows)}, and a circuit has numbers alone: encode them before the "
            "model (OrdinalEncoder or OneHotEncoder on their own), train the model on the codes, and give "
            "it these",
            field="input",
        ) from None


def _columns(rows: Any) -> str:
    """Return the names of a table's columns that are not numeric, as a phrase for messages; "" without
    names."""
    kinds = getattr(rows, "dtypes", None)
    if kinds is None or not hasattr(kinds, "items"):
        return ""
    names = [str(name) for name, kind in kinds.items() if kind.kind not in "biuf"]
    return f" in {', '.join(repr(name[:40]) for name in names[:8])}" if names else ""


def _row(rows: NDArray[Any]) -> NDArray[np.float32]:
    """One row [1, features]."""
    return rows.reshape(-1, rows.shape[-1])[:1].astype(np.float32)


def _sklearn(model: Any, rows: NDArray[Any]) -> bytes:
    """Export a scikit-learn model or pipeline. A pipeline may contain models of XGBoost's or LightGBM's."""
    from skl2onnx import to_onnx

    _let_pipelines_have_trees()
    model = _prepared(model)
    steps = getattr(model, "steps", None)
    parts = [part for _, part in steps] if steps else [model]
    # Neighbours take a loop, unless distances may be an operator of onnxruntime's.
    options: Any = {type(part): {"optim": "cdist"} for part in parts if "Neighbors" in type(part).__name__}
    # At the end of a pipeline its converter asks for an option that it refuses, unless another is named.
    options |= {type(parts[-1]): {"raw_scores": True}} if type(parts[-1]).__name__ == "LinearSVC" else {}
    made = to_onnx(model, _row(rows), target_opset=_SETS, options=options or None)
    if any(each.data_type == TensorProto.STRING for each in made.graph.initializer):
        # Names of classes that are looked up, by their places: the file's label is the place.
        made = to_onnx(_numbered(model), _row(rows), target_opset=_SETS, options=options or None)
    if _scores_are_turned(parts[-1]):
        _turn_scores(made.graph)
    if ML not in {each.domain for each in made.opset_import}:
        made.opset_import.append(make_opsetid(ML, _SETS[ML]))
    for each in made.opset_import:
        # Trees that ask for members are newer than what its converters name.
        each.version = max(each.version, opsets(made.graph.node).get(each.domain, 0))
    return bytes(made.SerializeToString())


def _prepared(model: Any) -> Any:
    """A copy for skl2onnx: with columns by their places, where they have names, and with encoders that give
    an unknown category no column, where they would raise."""
    made = copy(model)
    match type(model).__name__:
        case "Pipeline":
            made.steps = [(name, _prepared(step)) for name, step in model.steps]
        case "ColumnTransformer":
            names = [*getattr(model, "feature_names_in_", ())]
            made.transformers_ = [
                (name, _prepared(each), _places_of(columns, names))
                for name, each, columns in model.transformers_
            ]
        case "OneHotEncoder" if model.handle_unknown == "error":
            made.handle_unknown = "ignore"
        case "VotingClassifier":
            made.flatten_transform = False  # the converter refuses what only transform() heeds
    return made


def _numbered(model: Any) -> Any:
    """A copy whose classes are called by their places."""
    made = copy(model)
    if hasattr(model, "steps"):
        made.steps = [*model.steps[:-1], (model.steps[-1][0], _numbered(model.steps[-1][1]))]
    else:
        made.classes_ = np.arange(len(model.classes_))
        if hasattr(model, "_label_binarizer"):
            made._label_binarizer = copy(model._label_binarizer)
            made._label_binarizer.classes_ = made.classes_
    return made


def _places_of(columns: Any, names: list[Any]) -> Any:
    if isinstance(columns, str):
        return names.index(columns)
    is_named = isinstance(columns, list) and all(isinstance(each, str) for each in columns)
    return [names.index(each) for each in columns] if is_named else columns


def _scores_are_turned(model: Any) -> bool:
    """Return whether the file's two scores are in the other order than its labels, as with libsvm's single
    score."""
    model = getattr(model, "best_estimator_", model)
    is_machine = type(model).__name__ in ("SVC", "NuSVC") and model.probability is not True
    return is_machine and len(model.classes_) == 2


def _turn_scores(graph: GraphProto) -> None:
    """Negate the scores that a ZipMap reads."""
    at, mapped = next((at, node) for at, node in enumerate(graph.node) if node.op_type == "ZipMap")
    turned = f"{mapped.input[0]}_turned"
    graph.node.insert(at, make_node("Neg", [mapped.input[0]], [turned]))
    mapped.input[0] = turned


def _let_pipelines_have_trees() -> None:
    """Boosted trees in pipelines are written here, those of other libraries if there may be any."""
    from skl2onnx import update_registered_converter
    from skl2onnx._parse import _parse_sklearn_classifier
    from skl2onnx._supported_operators import sklearn_classifier_list
    from sklearn import ensemble

    found: list[tuple[Any, Callable[[Any], Ensemble]]] = [
        (getattr(ensemble, f"HistGradientBoosting{kind}"), hist_gradient.ensemble_of)
        for kind in ("Classifier", "Regressor")
    ]
    for package, prefix in (("catboost", "CatBoost"), ("lightgbm", "LGBM"), ("xgboost", "XGB")):
        if package in sys.modules:
            found += [
                (getattr(sys.modules[package], f"{prefix}{kind}"), _ENSEMBLES[package])
                for kind in ("Classifier", "Regressor")
            ]
    for model, ensemble_of in found:
        alias, options, parser = f"ZenServe{model.__name__}", None, None
        if model.__name__.endswith("Classifier"):
            # Of those that have a decision function others may ask for it.
            raw = {"raw_scores": [True, False]} if hasattr(model, "decision_function") else {}
            options, parser = {**_OF_CLASSES, **raw}, _parse_sklearn_classifier
            if model not in sklearn_classifier_list:
                sklearn_classifier_list.append(model)
        convert = _converter(ensemble_of)
        update_registered_converter(
            model, alias, _shapes, convert, overwrite=True, options=options, parser=parser
        )


def _shapes(operator: Any) -> None:
    """Of labels and probabilities, or of values: as many rows as are read."""
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType

    rows, classes = operator.inputs[0].get_first_dimension(), getattr(operator.raw_operator, "classes_", None)
    if classes is None or len(operator.outputs) == 1:
        operator.outputs[0].type = FloatTensorType([rows, None])
        return
    label = StringTensorType if np.asarray(classes).dtype.kind in "OU" else Int64TensorType
    operator.outputs[0].type = label([rows])
    operator.outputs[1].type = FloatTensorType([rows, len(classes)])


def _converter(ensemble_of: Callable[[Any], Ensemble]) -> Callable[[Any, Any, Any], None]:
    """As skl2onnx has them."""

    def convert(scope: Any, operator: Any, container: Any) -> None:
        outputs = [each.full_name for each in operator.outputs]
        prefix = scope.get_unique_operator_name("trees")
        model, raw = operator.raw_operator, False
        if container.has_options(model, "raw_scores"):
            raw = container.get_options(model, {"raw_scores": False})["raw_scores"]
        nodes = ensemble_of(model).nodes(operator.inputs[0].full_name, prefix, *outputs, raw=raw)
        container.nodes.extend(nodes)

    return convert


def _trees(ensemble_of: Callable[[Any], Ensemble], values: str) -> Callable[[Any, NDArray[Any]], bytes]:
    """``values``: what the output of a regression is called."""

    def exporter(model: Any, rows: NDArray[Any]) -> bytes:
        return ensemble_of(model).model(rows.shape[-1], values)

    return exporter


def _keras(model: Any, rows: NDArray[Any]) -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        batch = rows if rows.ndim == len(model.input_shape) else rows[np.newaxis]
        model(batch[:1])  # its exporter takes what has been called
        model.export(str(file), format="onnx", verbose=False)
        return file.read_bytes()


# Of converters of classifiers, as skl2onnx asks for them.
_OF_CLASSES: Final = {
    "nocl": [True, False],
    "zipmap": [True, False, "columns"],
}
_LEARNED: Final[Mapping[str, Callable[[Any, NDArray[Any]], bytes]]] = {
    "catboost": _trees(catboost.ensemble_of, "predictions"),
    "lightgbm": _trees(lightgbm.ensemble_of, "variable"),
    "sklearn": _sklearn,
    "xgboost": _trees(xgboost.ensemble_of, "variable"),
}
_EXPORTERS: Final = {"keras": _keras, **_LEARNED}
