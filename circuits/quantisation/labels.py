"""The meaning of samples' labels: the class that one output should name, or the value of the only output."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray, Shape
from zenserve.errors import TensorError
from zenserve.relations.integers import IntArray


class Right(NamedTuple):
    """Of ``output``, by its name in the file, either ``classes`` [n] or ``targets`` [n, size]."""

    output: str
    classes: IntArray | None
    targets: FloatArray | None


def is_of_classes(shape: Shape) -> bool:
    """Return whether an output of that shape may have a score for each of several classes."""
    size = math.prod(shape)
    return size >= 2 and max(shape) == size


def right(graph: Graph, labels: ArrayLike, count: int) -> Right:
    """``labels``: of ``count`` samples. One number for each is its class, where a single output is of
    classes; else labels are targets, for each sample as many as the only output has values.

    Raises ``TensorError`` (``input.*``, field ``labels``).
    """
    found = np.asarray(labels)
    shapes = {name: graph.shapes[tensor] for name, tensor in graph.outputs.items()}
    scores = [name for name, shape in shapes.items() if is_of_classes(shape)]
    if found.shape[:1] != (count,):
        given = len(found) if found.ndim else "one"
        reason = f"there are labels of {given}, and {count} samples: give one for each"
        raise TensorError("input.shape", reason, field="labels")
    if found.dtype.kind not in "biuf":
        raise TensorError("input.not_numeric", "labels must be numbers", field="labels")
    if found.ndim == 1 and len(scores) == 1:
        return Right(scores[0], _classes(found, math.prod(shapes[scores[0]])), None)
    if len(shapes) == 1:
        ((output, shape),) = shapes.items()
        if found.size == count * math.prod(shape):
            return Right(output, None, found.reshape(count, -1).astype(np.float64))
        what = f"the output has {math.prod(shape)} values: give so many for each sample"
    else:
        what = f"of several outputs one alone may be of classes, and there are {', '.join(scores) or 'none'}"
    raise TensorError("input.shape", f"labels do not fit: {what}", field="labels")


def _classes(labels: NDArray[Any], classes: int) -> IntArray:
    with np.errstate(invalid="ignore"):  # what is no integer is refused below
        found = labels.astype(np.int64)
    wrong = np.flatnonzero((found != labels) | (found < 0) | (found >= classes))
    if len(wrong):
        reason = f"labels[{wrong[0]}] is no class: labels are whole numbers from 0 to {classes - 1}"
        raise TensorError("input.out_of_range", reason, field="labels")
    return found
