"""Tensors that the file holds, and what it computes from them alone: shapes, most of all."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.onnx.constants import Constant, Element
from zenserve.circuits.onnx.step import Operator, Step, Value
from zenserve.circuits.operators.entry import Entry


def both_constant(step: Step) -> bool:
    return not step.is_data(0) and not step.is_data(1)


def folded(step: Step, function: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]) -> Constant:
    """Arithmetic on constants, as shapes computed in the file need it."""
    left, right = step.plain(0), step.plain(1)
    if left.kind != right.kind:
        raise step.refuse("tensor_type", "combines constants of different types")
    try:
        shape = np.broadcast_shapes(left.array.shape, right.array.shape)
    except ValueError:
        raise step.refuse("shape", "combines constants whose shapes do not fit") from None
    step.spend(math.prod(shape))
    with np.errstate(all="ignore"):
        return Constant(function(left.array, right.array), left.kind)


def quotient(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Of integers towards zero."""
    if left.dtype == np.float64:
        quotient: NDArray[Any] = left / right
    else:
        quotient = np.sign(left) * np.sign(right) * (np.abs(left) // np.abs(right))
    return quotient


def _constant(step: Step) -> Value:
    if len(step.attributes) != 1:
        raise step.refuse("unsupported_attribute", "must hold exactly one value")
    ((name, value),) = step.attributes.items()
    if name == "value":
        constant: Constant = value
        return constant
    kind = Element.FLOAT if "float" in name else Element.INT64
    return step.folded(np.array(value), kind)


def _constant_of_shape(step: Step) -> Value:
    shape = step.numbers("shape", 0)
    value: Constant = step.attributes.get("value", Constant(np.zeros(1), Element.FLOAT))
    if value.array.size != 1 or min(shape, default=1) < 0:
        raise step.refuse("shape", f"fills the shape {shape} with {value.array.size} values")
    step.spend(math.prod(shape))
    return Constant(np.full(shape, value.array.item()), value.kind)


def _shape(step: Step) -> Value:
    shape = step.whole()
    start, end = step.attributes.get("start", 0), step.attributes.get("end", len(shape))
    return step.folded(np.array(shape[start:end], dtype=np.int64), Element.INT64)


_CONSTANT = {
    "value": "t",
    "value_float": "f",
    "value_floats": "floats",
    "value_int": "i",
    "value_ints": "ints",
}

ENTRY = Entry(
    onnx={
        "Constant": Operator(_constant, _CONSTANT, 0, 0, folds=True),
        "ConstantOfShape": Operator(_constant_of_shape, {"value": "t"}, folds=True),
        "Shape": Operator(_shape, {"end": "i", "start": "i"}, folds=True),
    }
)
