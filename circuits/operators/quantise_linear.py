"""Models that are quantised already, as onnxruntime writes them: scales and zero points are taken over.

QDQ models hold QuantizeLinear and DequantizeLinear around operators on floats, QOperator models operators on
integers. Both become operators on floats whose outputs are clamped to the interval of their declared type,
which is all of its meaning but the rounding. The quantiser adds the rounding.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.retyping import Retype
from zenserve.circuits.graphs.types import Declared, FloatArray, Shape
from zenserve.circuits.onnx.constants import INTEGERS, Constant, Element
from zenserve.circuits.onnx.naming import require_finite, where
from zenserve.circuits.onnx.step import Data, Measured, Step, Value
from zenserve.circuits.operators.clip import Clip

_KINDS: Final = {type_: kind for kind, type_ in INTEGERS.items()}


def spread(step: Step, values: NDArray[Any], shape: Shape) -> NDArray[Any]:
    """Scales or zero points of a tensor, of each channel along ``axis`` or of each block there, so that they
    broadcast to its shape."""
    if values.size == 1:
        return values.reshape(())
    (axis,) = step.axes([step.attributes.get("axis", 1)], len(shape))
    block = int(step.attributes.get("block_size", 0))
    if not block:
        if values.shape != shape[axis : axis + 1]:
            raise step.refuse("quantisation", f"has {values.size} scales for {shape[axis]} channels")
        return values.reshape([-1 if each == axis else 1 for each in range(len(shape))])
    blocks = (*shape[:axis], -(-shape[axis] // block), *shape[axis + 1 :])
    if block < 0 or values.shape != blocks:
        raise step.refuse(
            "quantisation", f"has scales of shape {[*values.shape]} for blocks of {block} along axis {axis}"
        )
    step.spend(math.prod(shape))
    return values.repeat(block, axis).take(range(shape[axis]), axis)


def operands(step: Step) -> list[Value]:
    """Two operands, each with its scale and zero point behind it, as real numbers."""
    return [
        Data(integer(step, at), shape=step.whole(at), kind=Element.FLOAT)
        if step.is_data(at)
        else replace(real(step, at, at + 1, 0), declared=None)
        for at in (0, 3)
    ]


def typed(step: Step, tensor: str, declared: Declared, kind: int | None = None) -> Data:
    """The integers of ``tensor`` as this type. ``kind``: of the ONNX tensor, where that has more bits."""
    building = step.building
    known = building.declared.get(tensor)
    if any(tensor == entry.name for entry in building.inputs) and known is None:
        building.declared[tensor] = declared
    elif known is None or not known.matches(declared):
        tensor = step.emit(Clip, (tensor,), *declared.interval)
        building.declared[tensor] = declared
    return Data(tensor, declared, kind=kind or _KINDS[declared.bits, declared.signed])


def integer(step: Step, position: int) -> str:
    """The typed tensor of an input of integers, read by the scale and zero point behind it."""
    data, declared = step.data(position), declared_at(step, position + 1)
    known, building = data.integer, step.building
    if known is None and data.kind not in INTEGERS:
        raise step.refuse("quantisation", f"reads floats as its input {position}, which must be integers")
    if known is None:
        known = building.declared.setdefault(data.tensor, declared_kind(data.kind or 0))
    if known.reads_as(declared):
        return data.tensor
    after = replace(known, scale=declared.scale, zero_point=declared.zero_point)
    if isinstance(known, Measured) or not after.has_zero:
        raise step.refuse(
            "quantisation", f"reads its input {position} by another scale or zero point than it was written"
        )
    made = step.emit(Retype, (data.tensor,), known.affine, after.affine)
    building.declared[made] = after
    return made


def declared_kind(kind: int) -> Declared:
    """Integers of this kind as the numbers that they are."""
    bits, signed = INTEGERS[kind]
    return Declared(np.array(1.0), np.array(0), bits, signed)


def declared_at(step: Step, position: int, kind: int = 0) -> Declared:
    """The per-tensor type whose scale and zero point are the inputs at ``position``."""
    kind = kind_at(step, kind, position)
    scales, zero = scales_at(step, position)
    if (scales.size, zero.size) != (1, 1):
        raise step.refuse("quantisation", "must quantise a computed tensor as a whole, by one scale")
    return replace(declared_kind(kind), scale=scales.reshape(()), zero_point=zero.reshape(()))


def kind_at(step: Step, kind: int, position: int = 1) -> int:
    """Of the integers that a tensor is quantised to. ``kind``: without a zero point."""
    kind = step.constant(position + 1).kind if step.has(position + 1) else kind or Element.UINT8
    if kind not in INTEGERS:
        raise step.refuse(
            "quantisation", "must quantise to integers of 16, 8, 4 or 2 bits, and not to small floats"
        )
    return kind


def scales_at(step: Step, position: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """The scales at ``position`` and the zero points behind them."""
    scales = step.weights(position).array
    zero = step.constant(position + 1).array if step.has(position + 1) else np.zeros((), np.int64)
    if not (scales > 0).all():
        raise step.refuse("quantisation", "has a scale that is not positive")
    if zero.dtype == np.float64 and not zero.any():
        zero = np.zeros((), np.int64)  # of small floats there is no other
    if zero.dtype != np.int64 or zero.size not in (1, scales.size):
        raise step.refuse(
            "quantisation",
            f"has {zero.size} zero points for {scales.size} scales, or other numbers than integers",
        )
    return scales, zero


def real(step: Step, position: int, scale_position: int, axis: int) -> Constant:
    """A constant of integers as the floats that it stands for. ``axis``: of scales per channel."""
    constant, (scales, zero) = step.constant(position), scales_at(step, scale_position)
    array, whole = constant.array, constant.array.dtype == np.int64
    step.spend(array.size)
    along = replace(step, attributes={**step.attributes, "axis": axis})
    wide, zeros = (spread(along, each, array.shape) for each in (scales, zero))
    made = (array - zeros) * wide
    require_finite(f"the dequantised weight of {where(step.node)}", made)
    blocks = step.attributes.get("block_size", 0) and scales.size > 1
    if not whole or constant.kind not in INTEGERS or blocks:
        return Constant(made, Element.FLOAT)
    if scales.size == zero.size == 1:
        scales, zero, axis = scales.reshape(()), zero.reshape(()), 0
    else:
        (axis,), scales = step.axes([axis], array.ndim), scales.reshape(-1)
        zero = np.broadcast_to(zero.reshape(-1), scales.shape)
    kinds = [each for each in (constant.declared, declared_kind(constant.kind)) if each]
    types = [replace(each, scale=scales, zero_point=zero) for each in kinds]
    declared = next((each for each in types if each.has_zero), None)
    return Constant(made, Element.FLOAT, declared, axis)


def bias_of(step: Step, position: int, weight: Constant) -> FloatArray:
    """A bias of int32 at the scale of the products of the first input and weights."""
    bias = step.constant(position).array
    if bias.dtype != np.int64 or bias.ndim != 1:
        raise step.refuse("tensor_type", "needs its bias as a vector of int32")
    if weight.declared is None:
        raise step.refuse("tensor_type", "needs a weight of int16, uint16, int8, uint8, int4 or uint4")
    if weight.declared.scale.size not in (1, bias.size):
        raise step.refuse("quantisation", f"has {bias.size} biases for {weight.declared.scale.size} scales")
    real: FloatArray = bias * weight.declared.scale * declared_at(step, 1).scale
    return real
