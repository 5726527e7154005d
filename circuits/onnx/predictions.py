"""The answers of a model in memory, to compare with the file that was exported from it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.onnx.export import in_evaluation
from zenserve.errors import ModelError

Answers = dict[str, NDArray[Any]]

# By what a model is asked for, the names that exporters give to that output.
_NAMES: Final = {
    "label": ("label", "output_label"),
    "probabilities": ("probabilities", "output_probability"),
    "scores": ("scores",),
    "values": ("variable", "predictions", "GPmean"),
}


def predictions(model: Any, *inputs: Any, names: Sequence[str] = ()) -> Answers:
    """Return the answers of ``model`` to a batch of ``inputs``, [n, …] each: float64 or int64[n, …] by the
    names of outputs of the exported file.

    ``model``: as ``export_model`` takes it. Labels are numbers; a class that is a word has its place in
    ``classes_``. Models of tables: an answer has each name that an exporter gives it (``label`` and
    ``output_label``), and answers that the model does not give are left out. PyTorch modules and Keras
    models: outputs in order by ``names``, those of the file; without names, by ``output_0`` and so on. Raises
    ``ModelError`` (``model.export``) where the model itself fails.
    """
    for kind in type(model).__mro__:
        ask = _LIBRARIES.get(kind.__module__.partition(".")[0])
        if ask is not None:
            break
    else:
        return {}
    said = StringIO()
    try:
        with warnings.catch_warnings(), redirect_stdout(said), redirect_stderr(said):
            warnings.simplefilter("ignore")
            answers = ask(model, inputs, names)
    except Exception as failure:  # whatever a model may raise; its words may quote values
        raise ModelError(
            "model.export",
            f"the {type(model).__name__} itself gives no answer to these inputs: {type(failure).__name__}",
        ) from None
    return {name: np.asarray(answer) for name, answer in answers.items()}


def _torch(module: Any, inputs: tuple[Any, ...], names: Sequence[str]) -> Answers:
    """One input at a time, in the shape in which it is given: a module may have been written for it alone."""
    import torch

    tensors = [torch.as_tensor(each) for each in inputs]
    kind = torch.get_default_dtype()
    tensors = [each.to(kind) if each.is_floating_point() else each for each in tensors]
    with in_evaluation(module), torch.no_grad():
        rows = [_tensors(module(*(each[at] for each in tensors))) for at in range(len(tensors[0]))]
    return _in_order([[each.detach().cpu().numpy() for each in row] for row in rows], names)


def _tensors(made: Any) -> list[Any]:
    """Return the tensors that a module returns, in the order in which exporters write them. Exporters leave
    out None."""
    if isinstance(made, Mapping):
        made = list(made.values())
    if isinstance(made, list | tuple):
        return [each for part in made for each in _tensors(part)]
    return [] if made is None else [made]


def _keras(model: Any, inputs: tuple[Any, ...], names: Sequence[str]) -> Answers:
    rows = [_tensors(model.predict(_batch(model, inputs, at), verbose=0)) for at in range(len(inputs[0]))]
    return _in_order(rows, names)


def _batch(model: Any, inputs: tuple[Any, ...], at: int) -> Any:
    """One of each input, with a batch of one around it."""
    shapes = model.input_shape if isinstance(model.input_shape, list) else [model.input_shape]
    given = [np.asarray(each)[at] for each in inputs]
    batches = [x if x.ndim == len(shape) else x[np.newaxis] for x, shape in zip(given, shapes, strict=True)]
    return batches if isinstance(model.input_shape, list) else batches[0]


def _in_order(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> Answers:
    names = names or [f"output_{place}" for place in range(len(rows[0]))]
    columns = zip(*rows, strict=True)
    return {name: np.stack(column) for name, column in zip(names, columns, strict=False)}


def _table(model: Any, inputs: tuple[Any, ...], names: Sequence[str]) -> Answers:
    """An estimator, or a booster that says by its class how it is asked."""
    if hasattr(inputs[0], "columns"):
        return {name: answer for role, answer in _asked(model, inputs[0]).items() for name in _NAMES[role]}
    rows = np.asarray(inputs[0])
    rows = rows.reshape(len(rows), -1)
    try:
        told = _asked(model, _with_columns(model, rows))
    except ValueError:  # some clusterers take the floats alone that they were trained on
        told = _asked(model, _with_columns(model, rows.astype(np.float32)))
    return {name: answer for role, answer in told.items() for name in _NAMES[role]}


def _with_columns(model: Any, rows: NDArray[Any]) -> Any:
    """A table whose columns have names, where the model was trained on one."""
    names, pandas = getattr(model, "feature_names_in_", None), sys.modules.get("pandas")
    return rows if names is None or pandas is None else pandas.DataFrame(rows, columns=names)


def _asked(model: Any, rows: Any) -> Answers:
    """Answers by their roles, the keys of ``_NAMES``."""
    if not hasattr(model, "predict"):
        made = model.transform(rows)
        return {"values": made.toarray() if hasattr(made, "toarray") else np.asarray(made)}
    if hasattr(model, "get_score") or hasattr(model, "dump_model"):
        return _of_booster(np.asarray(_booster(model)(rows)))
    said = np.asarray(model.predict(rows))
    told = {"values": said, "label": said} if said.dtype.kind in "fiub" else {}
    classes = [*getattr(model, "classes_", ())]
    if classes and not isinstance(classes[0], np.ndarray):
        told["label"] = _places(said, classes)
    probabilities = _first(model, rows, "predict_proba", "decision_function")
    if probabilities is not None:
        told["probabilities"] = _both(probabilities)
    scores = _first(model, rows, "decision_function", "transform")
    if scores is not None:
        told["scores"] = scores
    return told


def _first(model: Any, rows: Any, *methods: str) -> NDArray[Any] | None:
    """Return the answer of the first of ``methods`` that the model has; None if there is none, or if the
    answer is not one array of numbers."""
    for method in methods:
        if hasattr(model, method):
            said = getattr(model, method)(rows)
            return None if isinstance(said, list) or hasattr(said, "toarray") else np.asarray(said)
    return None


def _both(scores: NDArray[Any]) -> NDArray[Any]:
    """A score of the second of two classes as one for each."""
    return np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores


def _places(said: NDArray[Any], classes: Sequence[Any]) -> NDArray[Any]:
    """Labels as files have them: numbers as they are, words by their places."""
    if np.asarray(classes).dtype.kind in "fiub":
        return said.astype(np.float64)
    places = {name: place for place, name in enumerate(classes)}
    return np.array([places[name] for name in said.ravel()], np.int64)


def _booster(model: Any) -> Callable[[Any], Any]:
    """Return the function that predicts with a booster of XGBoost's or LightGBM's."""
    if not hasattr(model, "get_score"):
        return lambda rows: model.predict(rows)
    from xgboost import DMatrix

    names, kinds = model.feature_names, model.feature_types
    categories = kinds is not None and "c" in kinds
    return lambda rows: model.predict(
        DMatrix(rows, feature_names=names, feature_types=kinds, enable_categorical=categories)
    )


def _of_booster(said: NDArray[Any]) -> Answers:
    """Values, or of a classifier the probability of the second class, or those of all."""
    both = said if said.ndim == 2 else np.stack([1 - said, said], axis=1)
    return {"values": said, "probabilities": both, "label": both.argmax(axis=1)}


_LIBRARIES: Final[Mapping[str, Callable[[Any, tuple[Any, ...], Sequence[str]], Answers]]] = {
    "torch": _torch,
    "keras": _keras,
    **dict.fromkeys(("catboost", "lightgbm", "sklearn", "xgboost"), _table),
}
