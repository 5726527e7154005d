"""LightGBM's models, by what they dump of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.onnx.tables.ensemble import LEQ, LT, MEMBER, Ensemble, Link, Trees
from zenserve.errors import ModelError

_LINKS: Final[Mapping[str, Link]] = {
    **dict.fromkeys(
        (
            "regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg",
        ),
        "identity",
    ),
    **dict.fromkeys(("binary", "multiclassova", "cross_entropy"), "sigmoid"),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "exp"),
    "multiclass": "softmax",
    "cross_entropy_lambda": "softplus",
}  # fmt: skip
_CLASSIFIERS: Final = ("binary", "multiclass", "multiclassova")
# What LightGBM takes for zero.
_ZERO: Final = 1.1e-35


def categories_of(model: Any) -> list[list[Any]]:
    """Of each column of categories of the table that it was trained on, these in the order of their codes."""
    return [*(_dumped(model).get("pandas_categorical") or [])]


def _dumped(model: Any) -> dict[str, Any]:
    dump: dict[str, Any] = (model.booster_ if hasattr(model, "booster_") else model).dump_model()
    return dump


def ensemble_of(model: Any, *, coded: bool = False) -> Ensemble:
    """A booster, or a model of LightGBM's interface for scikit-learn. ``coded``: it is given the codes of
    categories."""
    dump = _dumped(model)
    objective, *said = (dump.get("objective") or "custom").split()
    if objective not in _LINKS:
        raise ModelError("model.export", f"LightGBM's objective {objective[:40]!r} has no circuit")
    if any(dump.get("pandas_categorical") or []) and not coded:
        raise ModelError(
            "model.export",
            "it was trained on a table with columns of categories: train it on an array of their codes, with "
            "categorical_feature naming these columns",
        )
    options = dict(each.split(":") for each in said if ":" in each)
    scores, features = dump["num_tree_per_iteration"], dump["max_feature_idx"] + 1
    linear = any(
        "leaf_coeff" in leaf for tree in dump["tree_info"] for leaf in _leaves(tree["tree_structure"])
    )
    factor = scores / len(dump["tree_info"]) if dump["average_output"] else 1.0
    trees = Trees()
    for place, tree in enumerate(dump["tree_info"]):
        reader = _Tree(trees, place % scores, scores, features if linear else 0, factor)
        trees.add(reader.node(tree["tree_structure"]))
    link: Link = "signed_square" if "sqrt" in said else _LINKS[objective]
    classes = _classes(model, scores) if objective in _CLASSIFIERS else None
    slopes = features if linear else 0
    steepness = float(options.get("sigmoid", 1))
    return Ensemble(trees, np.zeros(scores), link, steepness, classes, double=True, slopes=slopes)


def _classes(model: Any, scores: int) -> list[Any]:
    return list(getattr(model, "classes_", range(max(2, scores))))


def _leaves(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if "split_feature" not in node:
        return [node]
    return [leaf for side in ("left_child", "right_child") for leaf in _leaves(node[side])]


class _Tree:
    def __init__(self, trees: Trees, score: int, scores: int, features: int, factor: float) -> None:
        self._trees, self._score, self._scores = trees, score, scores
        self._features, self._factor = features, factor

    def node(self, node: Mapping[str, Any]) -> int:
        if "split_feature" not in node:
            return self._trees.leaf(self._factor * self._leaf(node).ravel())
        feature, left, right = node["split_feature"], node["left_child"], node["right_child"]
        if node["decision_type"] == "==":
            members = [float(each) for each in node["threshold"].split("||")]
            return self._trees.split(feature, MEMBER, members, self.node(left), self.node(right))
        threshold, below, above = float(node["threshold"]), self.node(left), self.node(right)
        if abs(threshold) > _ZERO:
            mode = LEQ
        else:  # zero is on the side where LightGBM has all that is near it
            mode, threshold = LT if threshold < 0 else LEQ, 0.0
        split, zero_left = self._trees.split, threshold > 0 or (threshold == 0 and mode == LEQ)
        # What is missing is zero, unless the node says where it goes.
        missing = zero_left if node["missing_type"] == "None" else bool(node["default_left"])
        node_of_all = split(feature, mode, [threshold], below, above, missing=missing)
        if node["missing_type"] != "Zero" or zero_left == node["default_left"]:
            return node_of_all
        # Zero is missing, and does not go where the threshold has it.
        beyond = node_of_all if zero_left else above
        under = below if zero_left else node_of_all
        zero = above if zero_left else below
        return split(feature, LT, [0.0], under, split(feature, LEQ, [0.0], zero, beyond, missing=True))

    def _leaf(self, node: Mapping[str, Any]) -> NDArray[np.float64]:
        """[scores, 1 + features]"""
        value = np.zeros((self._scores, 1 + self._features))
        if "leaf_coeff" not in node:
            value[self._score, 0] = node["leaf_value"]
        else:
            value[self._score, 0] = node["leaf_const"]
            value[self._score, 1 + np.array(node["leaf_features"], np.int64)] = node["leaf_coeff"]
        return value
