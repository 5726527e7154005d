"""QuantizeLinear and DequantizeLinear: of tensors, of channels and of blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.retyping import QuantRetype
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.onnx.constants import INTEGERS, Constant, Element
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.quantise_linear import (
    declared_at,
    declared_kind,
    integer,
    kind_at,
    real,
    scales_at,
    spread,
    typed,
)
from zenserve.circuits.operators.scale import affine


def _quantise_linear(step: Step) -> Value:
    if not step.is_data(0):
        return _quantised_constant(step)
    value, kind = step.data(0), kind_at(step, step.attributes.get("output_dtype", 0))
    scales, zero = scales_at(step, 1)
    if scales.size > 1 or zero.size > 1:
        return _quantised_apart(step, kind, scales, zero)
    made, ranked = typed(step, step.floats(), declared_at(step, 1, kind)), step.building.ranked
    if value.tensor in ranked:
        ranked[made.tensor] = ranked[value.tensor]
    return made


def _quantised_constant(step: Step) -> Constant:
    """The file divides floats of 32 bits, and rounds halves to even."""
    array, kind = step.weights(0).array, kind_at(step, step.attributes.get("output_dtype", 0))
    scales, zero = (spread(step, each, array.shape) for each in scales_at(step, 1))
    nearest = np.rint((array.astype(np.float32) / scales.astype(np.float32)).astype(np.float64)) + zero
    return step.folded(np.clip(nearest, *declared_kind(kind).integers), kind)


def _quantised_apart(step: Step, kind: int, scales: FloatArray, zero: NDArray[np.int64]) -> Value:
    """Of scales per channel or block: whole numbers, the file's integers, as numbers of one type."""
    shape = step.whole()
    scales, zero = spread(step, scales, shape), spread(step, zero, shape)
    inside = affine(step, 0, 1 / scales, zero.astype(np.float64))
    made = typed(step, inside.tensor, declared_kind(kind))
    return replace(made, shape=inside.shape)


def _dequantise_linear(step: Step) -> Value:
    value = step.value(0)
    if isinstance(value, Constant):
        return real(step, 0, 1, step.attributes.get("axis", 1))
    scales, zero = scales_at(step, 1)
    if scales.size == zero.size == 1 and (value.integer or value.kind in INTEGERS):
        return Data(integer(step, 0), kind=Element.FLOAT)
    if not step.is_whole(0) and value.integer is None:
        raise step.refuse("quantisation", "reads floats as its input 0, which must be integers")
    scales, zero = (spread(step, each, step.whole()) for each in (scales, zero))
    return replace(affine(step, 0, scales, -zero * scales), kind=Element.FLOAT)


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

ENTRY = Entry(onnx=_BOTH, microsoft=_BOTH, integers=(QuantRetype,))
