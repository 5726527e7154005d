"""Distances of rows from vectors that the file holds: |x|² - 2 x v + |v|², with the vectors' mean as zero,
where these are small."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.add import add
from zenserve.circuits.operators.dense import layer
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.linear_models import rows
from zenserve.circuits.operators.moving import picked
from zenserve.circuits.operators.reduce import Rows, function
from zenserve.circuits.operators.scale import affine_of


def squared_distances(step: Step, data: Data, vectors: FloatArray, factor: float = 1.0) -> Data:
    """Of data [rows, features] from vectors[count, features], times a factor: [rows, count]."""
    middle, root = vectors.mean(axis=0), np.sqrt(factor)
    moved = affine_of(step, data, root, -root * middle)
    vectors = root * (vectors - middle)
    lines = Rows(step, moved, [1])
    squares = lines.sums(function(step, lines.image, "x * x"))
    count = (data.shape or ())[0]
    squared = picked(step, np.arange(count).reshape(count, 1), [Data(squares, shape=(1, count, 1))])
    products = layer(step, moved, -2 * vectors, (vectors**2).sum(axis=1))
    made = add(replace(step, inputs=[products, squared]))
    assert isinstance(made, Data)  # noqa: S101  of computed tensors
    return made


def _distances(step: Step) -> Value:
    """onnxruntime's CDist."""
    metric, vectors = step.attributes.get("metric", b"sqeuclidean"), step.weights(1).array
    if metric not in (b"euclidean", b"sqeuclidean"):
        said = metric.decode(errors="replace")[:20]
        raise step.refuse("unsupported_attribute", f"has metric={said!r}; use euclidean or sqeuclidean")
    data = rows(step)
    if vectors.ndim != 2 or not vectors.size or vectors.shape[1] != (data.shape or ())[1]:
        raise step.refuse("shape", f"measures {[*step.whole()]} from {[*vectors.shape]}")
    made = squared_distances(step, data, vectors)
    if metric == b"euclidean":
        made = replace(made, tensor=function(step, made.tensor, "sqrt(max(x, 0.0))"))
    return made


ENTRY = Entry(microsoft={"CDist": Operator(_distances, {"metric": "s"}, 2, 2)})
