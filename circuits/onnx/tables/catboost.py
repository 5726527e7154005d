"""CatBoost's models, by what they save of themselves as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from zenserve.circuits.onnx.tables.ensemble import LEQ, Ensemble, Link, Trees
from zenserve.errors import ModelError

_CLASSIFIERS: Final[Mapping[str, Link]] = {
    **dict.fromkeys(("Logloss", "CrossEntropy", "Focal", "MultiClassOneVsAll"), "sigmoid"),
    "MultiClass": "softmax",
}
_SHOWN: Final = 8
_LINKS: Final[Mapping[str, Link]] = {
    "Poisson": "exp",
    "Tweedie": "exp",
    "RMSEWithUncertainty": "uncertainty",
}


def ensemble_of(model: Any) -> Ensemble:
    """A model whose features are all numbers."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        model.save_model(str(file), format="json")
        held = json.loads(file.read_text())
    if {*held["features_info"]} - {"float_features"}:
        others = [name for kind, name in _features(held["features_info"]) if kind != "float_features"]
        shown = ", ".join(repr(name[:40]) for name in others[:_SHOWN]) + ", …" * (len(others) > _SHOWN)
        raise ModelError(
            "model.export",
            f"it was trained with columns of categories, text or embeddings ({shown}), and a circuit has"
            " numbers alone: train it without cat_features, behind an encoder of these columns, in"
            " make_pipeline(make_column_transformer((OrdinalEncoder(), […]), remainder='passthrough'),"
            " CatBoostClassifier(…))",
        )
    loss = held["model_info"]["params"]["loss_function"]["type"]
    is_classifier = bool(len(getattr(model, "classes_", ())))
    if is_classifier and loss not in _CLASSIFIERS:
        raise ModelError(
            "model.export", f"CatBoost's classifiers with the loss {loss[:40]!r} have no circuit"
        )
    factor, base = held["scale_and_bias"]
    reader = _Reader(Trees(), held["features_info"].get("float_features", []))
    for tree in held.get("oblivious_trees", []):
        values = factor * np.array(tree["leaf_values"]).reshape(-1, len(base))
        reader.trees.add(reader.oblivious(tree.get("splits") or [], values))
    for tree in held.get("trees", []):
        reader.trees.add(reader.node(tree, factor))
    link = _CLASSIFIERS[loss] if is_classifier else _LINKS.get(loss, "identity")
    classes = [*model.classes_] if is_classifier else None
    return Ensemble(reader.trees, np.array(base, np.float64), link, classes=classes)


def _features(held: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Of each column its kind and its name, or its place where it has none."""
    for kind, columns in held.items():
        for column in columns:
            yield kind, str(column.get("feature_id") or column.get("flat_feature_index", ""))


class _Reader:
    """``features``: what the model says of its columns of numbers."""

    def __init__(self, trees: Trees, features: list[Mapping[str, Any]]) -> None:
        self.trees = trees
        # What is missing is less than all numbers, unless it is more.
        self._most = {each["feature_index"] for each in features if each["nan_value_treatment"] == "AsTrue"}

    def oblivious(self, splits: list[Mapping[str, Any]], values: Any) -> int:
        """All nodes of a level ask for the same: the last one for the highest bit of the leaf's number."""
        if not splits:
            return self.trees.leaf(values[0])
        half = len(values) // 2
        below, above = (self.oblivious(splits[:-1], part) for part in (values[:half], values[half:]))
        return self._split(splits[-1], below, above)

    def node(self, node: Mapping[str, Any], factor: float) -> int:
        if "split" not in node:
            return self.trees.leaf(factor * np.atleast_1d(node["value"]))
        left, right = (self.node(node[side], factor) for side in ("left", "right"))
        return self._split(node["split"], left, right)

    def _split(self, split: Mapping[str, Any], left: int, right: int) -> int:
        """Beyond the border is the right."""
        feature, border = split["float_feature_index"], float(np.float32(split["border"]))
        return self.trees.split(feature, LEQ, [border], left, right, missing=feature not in self._most)
