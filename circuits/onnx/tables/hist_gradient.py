"""scikit-learn's HistGradientBoosting, whose trees read other columns than its table has: categories come
first, by their places among those that were seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.onnx.tables.ensemble import LEQ, MEMBER, Ensemble, Link, Trees
from zenserve.errors import ModelError

_LINKS: Final[Mapping[str, Link]] = {
    "IdentityLink": "identity",
    "LogLink": "exp",
    "LogitLink": "sigmoid",
    "MultinomialLogit": "softmax",
}


def categories_of(model: Any) -> dict[int, list[Any]]:
    """Of columns of categories, by their places, those that were seen."""
    if model._preprocessor is None:
        return {}
    places, names = np.flatnonzero(model.is_categorical_), _encoded(model)
    return {int(place): [*each] for place, each in zip(places, names, strict=True)}


def _encoded(model: Any) -> list[Any]:
    return [*model._preprocessor.named_transformers_["encoder"].categories_]


def ensemble_of(model: Any, *, coded: bool = False) -> Ensemble:
    """``coded``: it is given the places of categories among ``categories_of``."""
    link = type(model._loss.link).__name__
    if link not in _LINKS:
        raise ModelError("model.export", f"HistGradientBoosting with a {link[:40]} has no circuit")
    columns, categories = _columns(model, coded=coded)
    scores, trees = model.n_trees_per_iteration_, Trees()
    for iteration in model._predictors:
        for score, predictor in enumerate(iteration):
            trees.add(_Tree(trees, predictor, columns, categories, np.eye(scores)[score]).node(0))
    base = np.asarray(model._baseline_prediction, np.float64).ravel()
    classes = list(model.classes_) if hasattr(model, "classes_") else None
    return Ensemble(trees, base, _LINKS[link], classes=classes, double=True)


def _columns(model: Any, *, coded: bool) -> tuple[NDArray[np.int64], Mapping[int, NDArray[np.float64]]]:
    """Of each column that the trees read the one of the table, and what its categories are called."""
    features, chosen = np.arange(model.n_features_in_), model.is_categorical_
    if model._preprocessor is None:
        return features, {}
    found = np.concatenate([features[chosen], features[~chosen]])
    names = _encoded(model)
    if coded:
        return found, {place: np.arange(len(each), dtype=np.float64) for place, each in enumerate(names)}
    if any(np.asarray(each).dtype.kind not in "fiub" for each in names):
        raise ModelError(
            "model.export",
            "it has words as categories, which are no numbers: encode them (OrdinalEncoder) before it is "
            "trained, and give it the codes",
        )
    return found, {place: np.asarray(each, np.float64) for place, each in enumerate(names)}


class _Tree:
    def __init__(
        self,
        trees: Trees,
        predictor: Any,
        columns: NDArray[np.int64],
        categories: Mapping[int, NDArray[np.float64]],
        score: NDArray[np.float64],
    ) -> None:
        self._trees, self._nodes, self._score = trees, predictor.nodes, score
        self._sets, self._columns, self._categories = predictor.raw_left_cat_bitsets, columns, categories

    def node(self, at: int) -> int:
        node = self._nodes[at]
        if node["is_leaf"]:
            return self._trees.leaf(node["value"] * self._score)
        left, right = self.node(int(node["left"])), self.node(int(node["right"]))
        read = int(node["feature_idx"])
        feature = int(self._columns[read])
        if not node["is_categorical"]:
            threshold, missing = float(node["num_threshold"]), bool(node["missing_go_to_left"])
            return self._trees.split(feature, LEQ, [threshold], left, right, missing=missing)
        names = self._categories[read]
        known = np.flatnonzero(~np.isnan(names))
        words = self._sets[node["bitset_idx"]]
        of_left = (words[known // 32] >> (known % 32).astype(np.uint32)) & 1 == 1
        # What was never seen goes where missing values go.
        if node["missing_go_to_left"]:
            return self._trees.split(feature, MEMBER, names[known[~of_left]].tolist(), right, left)
        return self._trees.split(feature, MEMBER, names[known[of_left]].tolist(), left, right)
