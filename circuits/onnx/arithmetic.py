"""Elementwise operators: sums, constants per channel, batch norm, and clamps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from circuits.graphs.graph import Add, Clip, FloatArray, Scale, dims
from circuits.onnx.constants import Constant
from circuits.onnx.message import require_finite, where
from circuits.onnx.step import BATCH, Data, Operator, Step, Value


def _add(step: Step) -> Value:
    if _both_constant(step):
        return _folded(step, np.add)
    if step.is_data(0) and step.is_data(1):
        return Data(step.emit(Add, (step.floats(0), step.floats(1))))
    data = 0 if step.is_data(0) else 1
    return Data(scale(step, step.floats(data), 1.0, step.weights(1 - data).array))


def _sub(step: Step) -> Value:
    if _both_constant(step):
        return _folded(step, np.subtract)
    if not step.is_data(1):
        return Data(scale(step, step.floats(0), 1.0, -step.weights(1).array))
    minuend = 0.0 if step.is_data(0) else step.weights(0).array
    negated = scale(step, step.floats(1), -1.0, minuend)
    return Data(step.emit(Add, (step.floats(0), negated)) if step.is_data(0) else negated)


def _mul(step: Step) -> Value:
    if _both_constant(step):
        return _folded(step, np.multiply)
    if step.is_data(0) and step.is_data(1):
        raise step.refuse(
            "unsupported_operator",
            "multiplies two computed tensors; only constants in the file can be factors",
        )
    data = 0 if step.is_data(0) else 1
    return Data(scale(step, step.floats(data), step.weights(1 - data).array, 0.0))


def _div(step: Step) -> Value:
    if _both_constant(step):
        return _folded(step, _quotient)
    if step.is_data(1):
        raise step.refuse(
            "unsupported_operator", "divides by a computed tensor; only constants in the file can be divisors"
        )
    with np.errstate(divide="ignore"):
        inverse = 1.0 / step.weights(1).array
    return Data(scale(step, step.floats(0), inverse, 0.0))


def _batch_normalization(step: Step) -> Value:
    if step.attributes.get("training_mode", 0) or not step.attributes.get("spatial", 1):
        raise step.refuse(
            "unsupported_attribute",
            "is in training mode or not per channel; export the model after module.eval()",
        )
    gamma, beta, mean, variance = (step.weights(position).array for position in range(1, 5))
    if not gamma.shape == beta.shape == mean.shape == variance.shape == step.shape()[:1]:
        raise step.refuse("shape", f"needs four vectors of {step.shape()[0]} numbers, one for each channel")
    with np.errstate(all="ignore"):
        factor = gamma / np.sqrt(variance + step.attributes.get("epsilon", 1e-5))
        shift = beta - mean * factor
    channels = (-1,) + (1,) * (len(step.shape()) - 1)
    return Data(scale(step, step.floats(), factor.reshape(channels), shift.reshape(channels)))


def scale(step: Step, tensor: str, factor: FloatArray | float, shift: FloatArray | float) -> str:
    """``factor · tensor + shift``, both broadcast as ONNX does and constant in each channel."""
    weight, bias = (_per_channel(step, tensor, np.asarray(array)) for array in (factor, shift))
    return step.emit(Scale, (tensor,), weight, bias)


def _per_channel(step: Step, tensor: str, array: FloatArray) -> FloatArray:
    """``array`` against [batch, channels, ...] as a vector [channels]."""
    require_finite(f"the constant of {where(step.node)}", array)
    channels, *rest = shape = step.building.shapes[tensor]
    missing = 1 + len(shape) - array.ndim
    if missing >= 0:
        aligned = array.reshape((1,) * missing + array.shape)
        if aligned.shape in {(1, count, *[1] * len(rest)) for count in (1, channels)}:
            step.allowance.spend(channels, where(step.node))
            return np.broadcast_to(aligned.ravel(), (channels,))
    raise step.refuse(
        "unsupported_operator",
        f"combines shape [batch, {dims(shape)}] with a constant of shape {array.shape}; only constants per "
        "channel (or per output of a dense layer) are supported",
    )


def _relu(step: Step) -> Value:
    return Data(step.emit(Clip, (step.floats(),), 0.0, math.inf))


def _clip(step: Step) -> Value:
    low = step.attributes.get("min", step.number(1, -math.inf))
    high = step.attributes.get("max", step.number(2, math.inf))
    if (low, high) == (-math.inf, math.inf):
        return step.data()
    return Data(step.emit(Clip, (step.floats(),), low, high))


def _both_constant(step: Step) -> bool:
    return not step.is_data(0) and not step.is_data(1)


def _folded(step: Step, function: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]) -> Constant:
    """Arithmetic on constants, as shapes computed in the file need it."""
    left, right = step.plain(0), step.plain(1)
    if left.kind != right.kind:
        raise step.refuse("tensor_type", "combines constants of different types")
    if any((constant.array == BATCH).any() for constant in (left, right)):
        raise step.refuse("dynamic_shape", "computes with the batch size; reshape to (batch, -1) instead")
    try:
        shape = np.broadcast_shapes(left.array.shape, right.array.shape)
    except ValueError:
        raise step.refuse("shape", "combines constants whose shapes do not fit") from None
    step.allowance.spend(math.prod(shape), where(step.node))
    with np.errstate(all="ignore"):
        return Constant(function(left.array, right.array), left.kind)


def _quotient(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    quotient: NDArray[Any] = left / right if left.dtype == np.float64 else left // right
    return quotient


_BATCH_NORMALIZATION = {"epsilon": "f", "momentum": "f", "spatial": "i", "training_mode": "i"}

ARITHMETIC = {
    "Add": Operator(_add, {}, 2, 2),
    "BatchNormalization": Operator(_batch_normalization, _BATCH_NORMALIZATION, 5, 5),
    "Clip": Operator(_clip, {"max": "f", "min": "f"}, 1, 3),
    "Div": Operator(_div, {}, 2, 2),
    "Mul": Operator(_mul, {}, 2, 2),
    "Relu": Operator(_relu),
    "Sub": Operator(_sub, {}, 2, 2),
}
