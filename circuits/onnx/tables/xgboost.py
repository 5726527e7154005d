"""XGBoost's models, by what they save of themselves as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

import numpy as np

from zenserve.circuits.onnx.tables.ensemble import LT, MEMBER, Ensemble, Link, Trees
from zenserve.errors import ModelError

_LINKS: Final[Mapping[str, Link]] = {
    **dict.fromkeys(
        (
            "reg:squarederror", "reg:linear", "reg:squaredlogerror", "reg:pseudohubererror",
            "reg:absoluteerror", "reg:quantileerror", "reg:expectileerror", "rank:pairwise", "rank:ndcg",
            "rank:map", "binary:logitraw",
        ),
        "identity",
    ),
    **dict.fromkeys(("reg:logistic", "binary:logistic"), "sigmoid"),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie", "survival:aft", "survival:cox"), "exp"),
    **dict.fromkeys(("multi:softmax", "multi:softprob"), "softmax"),
    "binary:hinge": "step",
}  # fmt: skip


def categories_of(model: Any) -> dict[int, list[Any]]:
    """Of the columns of categories of the table that it was trained on, by their places, these in the order
    of their codes."""
    held = _saved(model)["gradient_booster"]
    found = (held.get("gbtree") or held).get("model", {}).get("cats", {}).get("enc", [])
    return {place: _names(each) for place, each in enumerate(found) if each["values"]}


def _names(held: Mapping[str, Any]) -> list[Any]:
    """Words stand one behind the other, and their ends among the offsets."""
    if "offsets" not in held:
        return [*held["values"]]
    text, ends = bytes(each & 255 for each in held["values"]), held["offsets"]
    if not text.isascii():
        raise ModelError(
            "model.export",
            "XGBoost cuts the names of categories that are not plain ASCII, so that they cannot be told "
            "apart: rename them before the model is trained",
        )
    return [text[first:end].decode() for first, end in pairwise(ends)]


def _saved(model: Any) -> dict[str, Any]:
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    learner: dict[str, Any] = json.loads(bytes(booster.save_raw("json")))["learner"]
    return learner


def ensemble_of(model: Any, *, coded: bool = False) -> Ensemble:
    """A booster, or a model of XGBoost's interface for scikit-learn. ``coded``: it is given the codes of
    categories."""
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    learner = _saved(model)
    objective, held = learner["objective"]["name"], learner["gradient_booster"]
    if objective not in _LINKS or (objective == "binary:logitraw" and hasattr(model, "classes_")):
        raise ModelError("model.export", f"XGBoost's objective {objective[:40]!r} has no circuit")
    rounds = rounds_of(model) if model is not booster else 0
    rows = np.zeros((1, booster.num_features()), np.float32)
    margin = said_margin(booster, rows, rounds)
    trees, weights = Trees(), None
    if held["name"] == "gblinear":
        weights = np.array(held["model"]["weights"]).reshape(-1, len(margin))[:-1]
        base = margin
    else:
        _read(trees, held, len(margin), rounds, coded=coded)
        base = margin - trees.scores(rows[0])
    return Ensemble(trees, base, _LINKS[objective], classes=_classes(model, objective), weights=weights)


def rounds_of(model: Any) -> int:
    """Return the number of rounds that predictions take: up to the best round of a model that stopped early,
    else 0 for all."""
    try:
        return int(model.best_iteration) + 1
    except AttributeError:
        return 0


def said_margin(booster: Any, rows: Any, rounds: int) -> Any:
    """Return the margins of one row before the link function. For a row of zeros they contain the terms
    outside the trees."""
    from xgboost import DMatrix

    kinds = booster.feature_types
    matrix = DMatrix(
        rows,
        feature_names=booster.feature_names,
        feature_types=kinds,
        enable_categorical=kinds is not None and "c" in kinds,
    )
    said = booster.predict(matrix, output_margin=True, iteration_range=(0, rounds))
    return np.asarray(said, np.float64).ravel()


def _classes(model: Any, objective: str) -> Any:
    if not objective.startswith(("binary:logistic", "binary:hinge", "multi:")):
        return None
    classes = getattr(model, "classes_", None)
    if classes is None and hasattr(model, "get_booster"):
        return None
    if classes is not None:
        return list(classes)
    return list(
        range(max(2, int(json.loads(model.save_config())["learner"]["learner_model_param"]["num_class"])))
    )


def _read(trees: Trees, held: Mapping[str, Any], scores: int, rounds: int, *, coded: bool) -> None:
    dropped = held.get("weight_drop")
    model = held["gbtree"]["model"] if "gbtree" in held else held["model"]
    if model.get("cats", {}).get("enc") and not coded:
        raise ModelError(
            "model.export",
            "it was trained on a table with columns of categories: train it on an array of their codes, with "
            "feature_types of 'c' for these",
        )
    count = model["iteration_indptr"][rounds] if rounds else len(model["trees"])
    for place, (tree, score) in enumerate(zip(model["trees"][:count], model["tree_info"], strict=False)):
        factor = dropped[place] if dropped else 1.0
        trees.add(_Tree(trees, tree, score, scores, factor).node(0))


class _Tree:
    def __init__(self, trees: Trees, tree: Mapping[str, Any], score: int, scores: int, factor: float) -> None:
        self._trees, self._tree, self._factor = trees, tree, factor
        self._score, self._scores = score, scores
        starts, sizes = tree["categories_segments"], tree["categories_sizes"]
        self._members = {
            node: tree["categories"][start : start + size]
            for node, start, size in zip(tree["categories_nodes"], starts, sizes, strict=True)
        }

    def node(self, at: int) -> int:
        tree = self._tree
        if tree["left_children"][at] == -1:
            return self._trees.leaf(self._factor * self._leaf(at))
        left, right = self.node(tree["left_children"][at]), self.node(tree["right_children"][at])
        feature, of_left = tree["split_indices"][at], bool(tree["default_left"][at])
        if at in self._members:
            # Its members lead to the right.
            return self._trees.split(feature, MEMBER, self._members[at], right, left, missing=not of_left)
        return self._trees.split(feature, LT, [tree["split_conditions"][at]], left, right, missing=of_left)

    def _leaf(self, at: int) -> Any:
        tree, size = self._tree, int(self._tree["tree_param"]["size_leaf_vector"])
        if size > 1:
            held, place = tree["base_weights"], at
            if "leaf_weights" in tree:
                held, place = tree["leaf_weights"], tree["right_children"][at]
            return np.array(held[place * size : (place + 1) * size])
        value = np.zeros(self._scores)
        value[self._score] = tree["split_conditions"][at]
        return value
