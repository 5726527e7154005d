"""Models that are quantised already, as onnxruntime writes them: scales and zero points are taken over.

QDQ models hold QuantizeLinear and DequantizeLinear around operators on floats, QOperator models operators on
integers. Both become operators on floats whose outputs are clamped to the interval of their declared type,
which is all of its meaning but the rounding. The quantiser adds the rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from circuits.graphs.types import Declared, FloatArray
from circuits.onnx.constants import INTEGERS, Constant, Element
from circuits.onnx.naming import require_finite, where
from circuits.onnx.step import Data, Operator, Step, Value
from circuits.operators.clip import Clip
from circuits.operators.entry import Entry


def _quantise_linear(step: Step) -> Value:
    value = step.value(0)
    declared = declared_at(step, 1, step.attributes.get("output_dtype", 0))
    if isinstance(value, Data):
        made, ranked = typed(step, step.floats(), declared), step.building.ranked
        if value.tensor in ranked:
            ranked[made.tensor] = ranked[value.tensor]
        return made
    nearest = np.rint(step.weights(0).array / declared.scale) + declared.zero_point
    kind = next(kind for kind, type_ in INTEGERS.items() if type_ == (declared.bits, declared.signed))
    return step.folded(np.clip(nearest, *declared.integers), kind)


def _dequantise_linear(step: Step) -> Value:
    value = step.value(0)
    if isinstance(value, Constant):
        return real(step, 0, 1, step.attributes.get("axis", 1))
    return Data(integer(step, 0), kind=Element.FLOAT)


def operands(step: Step) -> tuple[str, FloatArray]:
    """The computed and the constant one of two operands, each with its scale and zero point behind it."""
    data, constant = (0, 3) if step.is_data(0) else (3, 0)
    return integer(step, data), real(step, constant, constant + 1, 0).array


def typed(step: Step, tensor: str, declared: Declared) -> Data:
    """The integers of ``tensor`` as this type."""
    building = step.building
    known = building.declared.get(tensor)
    if any(tensor == entry.name for entry in building.inputs) and known is None:
        building.declared[tensor] = declared
    elif known is None or not known.matches(declared):
        tensor = step.emit(Clip, (tensor,), *declared.interval)
        building.declared[tensor] = declared
    return Data(tensor, declared)


def integer(step: Step, position: int) -> str:
    """The typed tensor of an input of integers; the scale and zero point behind it must be its own."""
    data = step.data(position)
    if data.integer is None:
        raise step.refuse(
            "quantisation", f"reads floats as its input {position}, which must be quantised integers"
        )
    if not data.integer.matches(declared_at(step, position + 1)):
        raise step.refuse(
            "quantisation", f"reads its input {position} by another scale or zero point than it was written"
        )
    return data.tensor


def declared_at(step: Step, position: int, kind: int = 0) -> Declared:
    """The per-tensor type whose scale and zero point are the inputs at ``position``."""
    zero_point = step.constant(position + 1) if step.has(position + 1) else None
    kind = zero_point.kind if zero_point else kind or Element.UINT8
    scales = step.weights(position).array
    if kind not in INTEGERS or (scales.size, zero_point.array.size if zero_point else 1) != (1, 1):
        raise step.refuse(
            "quantisation",
            "must quantise a computed tensor as a whole, to int16, uint16, int8, uint8, int4 or uint4",
        )
    return _type(
        step, scales.reshape(()), zero_point.array.reshape(()) if zero_point else np.zeros((), np.int64), kind
    )


def real(step: Step, position: int, scale_position: int, axis: int) -> Constant:
    """A constant of integers as the floats that it stands for."""
    constant, scales = step.constant(position), step.weights(scale_position).array
    zero = step.constant(scale_position + 1).array if step.has(scale_position + 1) else np.zeros((), np.int64)
    if step.attributes.get("block_size", 0):
        raise step.refuse("unsupported_attribute", "quantises in blocks; quantise per tensor or per channel")
    if constant.array.dtype != np.int64 or zero.dtype != np.int64:
        raise step.refuse("tensor_type", "needs integers and an integer zero point")
    array = constant.array
    if scales.size == 1 and zero.size == 1:
        scales, zero, axis = scales.reshape(()), zero.reshape(()), 0
        spread: tuple[int, ...] = ()
    else:
        (axis,) = step.axes([axis], array.ndim)
        if scales.shape != (array.shape[axis],) or zero.shape not in ((), (1,), scales.shape):
            raise step.refuse("quantisation", f"has {scales.size} scales for {array.shape[axis]} channels")
        zero = np.broadcast_to(zero, scales.shape)
        spread = tuple(-1 if i == axis else 1 for i in range(array.ndim))
    step.spend(array.size)
    real = (array - zero.reshape(spread)) * scales.reshape(spread)
    require_finite(f"the dequantised weight of {where(step.node)}", real)
    declared = _type(step, scales, zero, constant.kind) if constant.kind in INTEGERS else None
    return Constant(real, Element.FLOAT, declared, axis)


def _type(step: Step, scales: FloatArray, zero: NDArray[np.int64], kind: int) -> Declared:
    if not (scales > 0).all():
        raise step.refuse("quantisation", "has a scale that is not positive")
    bits, signed = INTEGERS[kind]
    return Declared(scales, zero, bits, signed)


def bias_of(step: Step, position: int, tensor: str, weight: Constant) -> FloatArray:
    """A bias of int32 at the scale of the products."""
    bias = step.constant(position).array
    if bias.dtype != np.int64 or bias.ndim != 1:
        raise step.refuse("tensor_type", "needs its bias as a vector of int32")
    if weight.declared is None:
        raise step.refuse("tensor_type", "needs a weight of int16, uint16, int8, uint8, int4 or uint4")
    if weight.declared.scale.size not in (1, bias.size):
        raise step.refuse("quantisation", f"has {bias.size} biases for {weight.declared.scale.size} scales")
    real: FloatArray = bias * weight.declared.scale * step.building.declared[tensor].scale
    return real


_QUANTISE = Operator(
    _quantise_linear,
    {"axis": "i", "block_size": "i", "output_dtype": "i", "precision": "i", "saturate": "i"},
    2,
    3,
    elementwise=True,
)
_DEQUANTISE = Operator(
    _dequantise_linear, {"axis": "i", "block_size": "i", "output_dtype": "i"}, 2, 3, elementwise=True
)
_BOTH = {"DequantizeLinear": _DEQUANTISE, "QuantizeLinear": _QUANTISE}

ENTRY = Entry(onnx=_BOTH, microsoft=_BOTH)
