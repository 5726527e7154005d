"""Linear models as scikit-learn's users have them: a layer, and for classifiers the label that it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zenserve.circuits.onnx.constants import Element
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.dense import layer
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.labels import class_names, named
from zenserve.circuits.operators.reduce import function
from zenserve.circuits.operators.reshape import shaped
from zenserve.circuits.operators.scores import classified, of_two, transformed


def _scores(step: Step, count: int) -> Data:
    """[rows, count]"""
    data = rows(step)
    features = (data.shape or ())[1]
    weight = step.vector("coefficients", count * features).reshape(count, features)
    bias = step.vector("intercepts", count) if "intercepts" in step.attributes else np.zeros(count)
    return replace(layer(step, data, weight, bias), kind=Element.FLOAT)


def rows(step: Step) -> Data:
    """The input as [rows, features]: a vector is one row."""
    data, whole = Data(step.floats(), shape=step.whole()), step.whole()
    if len(whole) not in (1, 2):
        raise step.refuse("shape", f"reads shape {[*whole]}, not [rows, features]")
    return data if len(whole) == 2 else shaped(step, data, (1, *whole))


def _classifier(step: Step) -> Sequence[Value]:
    count = len(step.vector("intercepts"))
    scores = _scores(step, count)
    if count > 1:
        return classified(step, scores)
    names = class_names(step)
    if len(names) != 2:
        raise step.refuse("shape", f"has one score for {len(names)} classes")
    positive = Data(function(step, scores.tensor, "less(0.0, x)"))
    return named(step, shaped(step, positive, (scores.shape or ())[:1]), names), of_two(step, scores, 1.0)


def _regressor(step: Step) -> Value:
    return transformed(step, _scores(step, step.attributes.get("targets", 1)))


_MODEL = {"coefficients": "floats", "intercepts": "floats", "post_transform": "s"}
CLASSES = {"classlabels_ints": "ints", "classlabels_strings": "strings"}

ENTRY = Entry(
    learned={
        "LinearClassifier": Operator(_classifier, {**_MODEL, **CLASSES, "multi_class": "i"}),
        "LinearRegressor": Operator(_regressor, {**_MODEL, "targets": "i"}),
    }
)
