"""MaxPool of ONNX: the largest entry of each window, and where it is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from zenserve.circuits.graphs.types import Shape
from zenserve.circuits.onnx.constants import Element
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.labels import looked_up
from zenserve.circuits.operators.largest import largest
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.circuits.operators.moving import picked
from zenserve.circuits.operators.reshape import shaped
from zenserve.circuits.operators.scale import affine_of
from zenserve.circuits.operators.windows import POOL, geometry, pool
from zenserve.relations import planes
from zenserve.relations.integers import IntArray


def _max_pool(step: Step) -> Sequence[Value]:
    made = step.moved(pool(step, step.data().tensor, MaxPool))
    if not any(step.node.output[1:]):
        return [made]
    return [made, _places(step, (1, *step.building.shapes[made.tensor]))]


def _places(step: Step, whole: Shape) -> Value:
    """Of each window the place of its largest entry in the tensor, the first of equals: a table has those of
    all entries of all windows."""
    shape, kernel = step.shape(), tuple(step.attributes.get("kernel_shape", ()))
    entries, sides = np.arange(math.prod(shape)).reshape(1, *shape), shape[1:]
    plane = np.arange(math.prod(sides)).reshape(sides[::-1] if _is_turned(step) else sides)
    plane = plane.T if _is_turned(step) else plane
    named = (np.arange(shape[0]).reshape(-1, *(1 for _ in plane.shape)) * plane.size + plane).ravel()
    stride, padding, dilation, _ = geometry(step, shape, kernel)
    windows = planes.slide(entries, kernel, stride, padding, -1, dilation)
    step.spend(windows.size)
    rows = _filled(windows.reshape(-1, math.prod(kernel)))
    count, size = rows.shape
    if size == 1:
        return step.folded(named[rows].reshape(whole), Element.INT64)
    at = largest(step, picked(step, rows, [step.data()]))
    keys = affine_of(step, at, 1.0, size * np.arange(count, dtype=np.float64))
    values = named[rows.ravel()].astype(np.float64)
    made = looked_up(step, keys, np.arange(rows.size), values, 0.0, Element.INT64)
    return shaped(step, Data(made.tensor, kind=Element.INT64), whole)


def _filled(rows: IntArray) -> IntArray:
    """Places of windows, the first one in place of those that are outside: another of it changes nothing."""
    first = np.take_along_axis(rows, (rows >= 0).argmax(axis=1)[:, np.newaxis], 1)
    return np.where(rows < 0, first, rows)


def _is_turned(step: Step) -> bool:
    order: int = step.attributes.get("storage_order", 0)
    if order not in (0, 1):
        raise step.refuse("unsupported_attribute", f"has storage_order={order}; use 0 or 1")
    return bool(order)


ENTRY = Entry(onnx={"MaxPool": Operator(_max_pool, {**POOL, "storage_order": "i"})})
