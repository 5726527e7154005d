"""Support vector machines: how near the input is to each vector, by a kernel, and a layer over that. A linear
kernel is part of the layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from zenserve.circuits.graphs import formula
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.activation import Activation
from zenserve.circuits.operators.dense import layer
from zenserve.circuits.operators.distances import squared_distances
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.labels import class_names, named
from zenserve.circuits.operators.largest import largest
from zenserve.circuits.operators.linear_models import CLASSES, rows
from zenserve.circuits.operators.moving import picked
from zenserve.circuits.operators.reduce import function
from zenserve.circuits.operators.scale import affine_of
from zenserve.circuits.operators.scores import LOGISTIC, NONE, classified, of_two, transformed

_MOST_POWER = 16


class _Machine(NamedTuple):
    """Sums over kernels, a row each: weight[sums, vectors] and bias[sums], of vectors[count, features]."""

    vectors: FloatArray
    weight: FloatArray
    bias: FloatArray


def _sums(step: Step, data: Data, machine: _Machine) -> Data:
    """[rows, sums]"""
    vectors, weight, bias = machine
    kind = step.attributes.get("kernel_type", b"LINEAR")
    if kind == b"LINEAR":
        return layer(step, data, weight @ vectors, bias)
    gamma, shift, degree = step.vector("kernel_params", 3).tolist()
    if kind == b"RBF":
        if gamma <= 0:
            raise step.refuse("unsupported_attribute", f"has gamma={gamma}; it must be positive")
        distances = squared_distances(step, data, vectors, gamma)
        near = replace(distances, tensor=function(step, distances.tensor, "exp(-x)"))
    elif kind in (b"POLY", b"SIGMOID"):
        products = layer(step, data, gamma * vectors, np.full(len(vectors), shift))
        if kind == b"POLY" and not (degree == int(degree) and 1 <= degree <= _MOST_POWER):
            raise step.refuse("unsupported_attribute", f"has the degree {degree}; use 1 to {_MOST_POWER}")
        text = "tanh(x)" if kind == b"SIGMOID" else f"x ** {formula.number(degree)}"
        near = replace(products, tensor=function(step, products.tensor, text))
    else:
        said = kind.decode(errors="replace")[:20]
        raise step.refuse(
            "unsupported_attribute", f"has the kernel {said!r}; use LINEAR, RBF, POLY or SIGMOID"
        )
    return layer(step, near, weight, bias)


def _classifier(step: Step) -> Sequence[Value]:
    """Each pair of classes votes for one; scores are the pairs', or of two classes one each."""
    names, data, said = class_names(step), rows(step), step.attributes
    per_class = said.get("vectors_per_class", [])
    if not per_class:
        return _linear(step, data, len(names))
    if len(per_class) != len(names) or len(names) < 2 or min(per_class) < 0:
        raise step.refuse("shape", f"has vectors of {len(per_class)} classes and names {len(names)}")
    scores = _sums(step, data, _pairs(step, data, per_class))
    label = named(step, largest(step, _votes(step, scores, len(names))), names)
    if "prob_a" in said or "prob_b" in said:
        return label, _probabilities(step, scores)
    return label, of_two(step, scores, 0.0) if len(names) == 2 else transformed(step, scores)


def _pairs(step: Step, data: Data, per_class: Sequence[int]) -> _Machine:
    """A sum for each pair of classes, over the vectors of both. The coefficients have a row for each class
    that a vector can be told from."""
    classes, count = len(per_class), sum(per_class)
    features, bias = (data.shape or ())[1], step.vector("rho", classes * (classes - 1) // 2)
    vectors = step.vector("support_vectors", count * features).reshape(count, features)
    told = step.vector("coefficients", (classes - 1) * count).reshape(classes - 1, count)
    step.spend(len(bias) * count)
    owner, weight = np.repeat(np.arange(classes), per_class), np.zeros((len(bias), count))
    for row, (one, other) in zip(weight, combinations(range(classes), 2), strict=True):
        row[owner == one] = told[other - 1, owner == one]
        row[owner == other] = told[one, owner == other]
    return _Machine(vectors, weight, bias)


def _votes(step: Step, scores: Data, classes: int) -> Data:
    """Of each class how many pairs say it: the first one of a pair where the sum is positive."""
    pairs = [*combinations(range(classes), 2)]
    count = (scores.shape or ())[0]
    said = [
        replace(scores, tensor=step.emit(Activation, (scores.tensor,), text))
        for text in ("less(0.0, x)", "1.0 - less(0.0, x)")
    ]
    size = count * len(pairs)
    places = np.concatenate([np.arange(at, at + size).reshape(count, -1) for at in (0, size)], axis=1)
    weight = np.zeros((classes, 2 * len(pairs)))
    for column, pair in enumerate(pairs):
        for which, name in enumerate(pair):
            weight[name, which * len(pairs) + column] = 1
    return layer(step, picked(step, places, said), weight, np.zeros(classes))


def _probabilities(step: Step, scores: Data) -> Data:
    """Of two classes. Those of more are what an iteration comes to."""
    if (scores.shape or ())[1] != 1 or step.attributes.get("post_transform", NONE) != NONE:
        raise step.refuse(
            "unsupported_attribute",
            "has probabilities of three classes or more, which an iteration makes; train it with "
            "probability=False",
        )
    a, b = (float(step.vector(name, 1)[0]) for name in ("prob_a", "prob_b"))
    score = affine_of(step, scores, a, b)
    return of_two(replace(step, attributes={"post_transform": LOGISTIC}), score, 1.0)


def _linear(step: Step, data: Data, classes: int) -> Sequence[Value]:
    if classes < 3:
        raise step.refuse("shape", "scores fewer than three classes without vectors; use a LinearClassifier")
    features = (data.shape or ())[1]
    weight = step.vector("coefficients", classes * features).reshape(classes, features)
    return classified(step, layer(step, data, weight, np.full(classes, step.vector("rho")[0])))


def _regressor(step: Step) -> Value:
    data, count = rows(step), step.attributes.get("n_supports", 0)
    features = (data.shape or ())[1]
    if count:
        vectors = step.vector("support_vectors", count * features).reshape(count, features)
    else:
        count, vectors = features, np.eye(features)
    machine = _Machine(vectors, step.vector("coefficients", count)[np.newaxis], step.vector("rho")[:1])
    made = _sums(step, data, machine)
    if step.attributes.get("one_class", 0):
        return replace(made, tensor=function(step, made.tensor, "2.0 * less(0.0, x) - 1.0"))
    return made


_MACHINE = {
    "coefficients": "floats",
    "kernel_params": "floats",
    "kernel_type": "s",
    "post_transform": "s",
    "rho": "floats",
    "support_vectors": "floats",
}
_CLASSIFIER = {**_MACHINE, **CLASSES, "prob_a": "floats", "prob_b": "floats", "vectors_per_class": "ints"}

ENTRY = Entry(
    learned={
        "SVMClassifier": Operator(_classifier, _CLASSIFIER),
        "SVMRegressor": Operator(_regressor, {**_MACHINE, "n_supports": "i", "one_class": "i"}),
    }
)
