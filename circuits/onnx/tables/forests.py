"""scikit-learn's decision trees, forests and gradient boosting, by the arrays that they hold."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.onnx.tables.ensemble import LEQ, Ensemble, Link, Trees
from zenserve.errors import ModelError

_TREES: Final = ("DecisionTree", "ExtraTree")
_FORESTS: Final = ("RandomForest", "ExtraTrees")
_KINDS: Final = ("Classifier", "Regressor")


def is_forest(model: Any) -> bool:
    return type(model).__name__ in {
        f"{name}{kind}" for name in (*_TREES, *_FORESTS, "GradientBoosting") for kind in _KINDS
    }


def ensemble_of(model: Any) -> Ensemble:
    """Raises ``ModelError`` (``model.export``) for several targets, and losses without a link."""
    if getattr(model, "n_outputs_", 1) != 1:
        raise ModelError("model.export", "trees of several targets that are classes are not read")
    if type(model).__name__.startswith("GradientBoosting"):
        return _boosted(model)
    estimators = getattr(model, "estimators_", [model])
    classes = [*model.classes_] if hasattr(model, "classes_") else None
    trees, size = Trees(), len(classes) if classes else 1
    for each in estimators:
        held = each.tree_
        values = held.value[:, 0, :]
        if classes:
            values = values / values.sum(axis=1, keepdims=True)
        trees.add(_node(trees, held, 0, values / len(estimators)))
    return Ensemble(trees, np.zeros(size), classes=classes)


def _boosted(model: Any) -> Ensemble:
    classes = [*model.classes_] if hasattr(model, "classes_") else None
    if (classes and model.loss != "log_loss") or getattr(model, "init", None) is not None:
        raise ModelError("model.export", "gradient boosting with a loss or a start of its own is not read")
    trees, scores = Trees(), model.estimators_.shape[1]
    for stage in model.estimators_:
        for score, each in enumerate(stage):
            values = model.learning_rate * each.tree_.value[:, 0, 0][:, np.newaxis] * np.eye(scores)[score]
            trees.add(_node(trees, each.tree_, 0, values))
    base = np.ravel(model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32)))
    link: Link = "identity" if classes is None else "sigmoid" if scores == 1 else "softmax"
    return Ensemble(trees, np.asarray(base, np.float64), link, classes=classes)


def _node(trees: Trees, held: Any, at: int, values: NDArray[np.float64]) -> int:
    left, right = int(held.children_left[at]), int(held.children_right[at])
    if left < 0:
        return trees.leaf(values[at])
    below, above = (_node(trees, held, child, values) for child in (left, right))
    # Entries are of float32: the largest one that is not beyond the threshold decides as it does.
    threshold = np.float32(held.threshold[at])
    if threshold > held.threshold[at]:
        threshold = np.nextafter(threshold, np.float32(-np.inf))
    missing = bool(held.missing_go_to_left[at])
    return trees.split(int(held.feature[at]), LEQ, [float(threshold)], below, above, missing=missing)
