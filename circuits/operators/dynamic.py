"""Products of integers whose scale is measured on the input, as onnxruntime quantises dynamically.

They are read as the float network that they stand for: what DynamicQuantizeLinear makes is its input, of
scale 1 and zero point 0, so that whatever multiplies by the scale afterwards multiplies by one. The rounding
is the quantiser's own, by calibration, not by each input's range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zenserve.circuits.onnx.constants import Constant, Element
from zenserve.circuits.onnx.step import Data, Measured, Operator, Step, Value, of_kind
from zenserve.circuits.operators import convolution
from zenserve.circuits.operators.add import add
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.matmul import product
from zenserve.circuits.operators.multiply import multiply
from zenserve.circuits.operators.quantise_linear import integer, real
from zenserve.circuits.operators.scale import affine_of

_MEASURED = Measured(np.array(1.0), np.array(0), 8, False)


def _measured(step: Step) -> Sequence[Value]:
    step.building.measured = True
    data = Data(step.floats(), _MEASURED, step.whole(), Element.UINT8)
    return data, Constant(np.array(1.0), Element.FLOAT), Constant(np.array(0), Element.UINT8)


def _centred(step: Step, position: int, zero_position: int, *, rows: bool = False) -> tuple[Value, float]:
    """A factor less its zero point, and the scale by which it is too large. ``rows``: each row has its own
    zero point."""
    zero = step.constant(zero_position).array if step.has(zero_position) else np.array(0)
    if zero.dtype != np.int64:
        raise step.refuse("tensor_type", "needs an integer zero point")
    value = step.value(position)
    if isinstance(value, Constant):
        if value.array.dtype != np.int64:
            raise step.refuse("tensor_type", "multiplies integers")
        zero = zero.reshape(-1, 1) if rows and zero.ndim == 1 and zero.size > 1 else zero
        try:
            array = value.array - zero
        except ValueError:
            raise step.refuse("quantisation", f"has {zero.size} zero points that do not fit") from None
        return Constant(array.astype(np.float64), Element.FLOAT), 1.0
    known = value.integer
    if known is None:
        if not step.is_whole(position) or zero.size != 1:
            raise step.refuse("tensor_type", "multiplies integers, of one zero point where they are computed")
        whole = replace(value, shape=step.whole(position))
        return (affine_of(step, whole, 1.0, -float(zero.item())) if zero.item() else whole), 1.0
    if zero.size != 1 or zero.item() != int(known.zero_point):
        raise step.refuse("quantisation", "reads integers by another zero point than they were written with")
    return replace(value, integer=None, shape=step.whole(position)), float(known.scale)


def _whole_product(step: Step) -> Value:
    left, by = _centred(step, 0, 2, rows=True)
    right, other = _centred(step, 1, 3)
    return of_kind(_shrunk(step, product(step, left, right), by * other), Element.INT32)


def _shrunk(step: Step, value: Value, scale: float) -> Value:
    """Of real numbers the integers that they stand for."""
    if scale == 1:
        return value
    return multiply(replace(step, inputs=[value, Constant(np.array(1 / scale), Element.FLOAT)]))


def _whole_convolution(step: Step) -> Value:
    data, by = _centred(step, 0, 2)
    zero = step.constant(3).array if step.has(3) else np.array(0)
    weight = step.plain(1)
    if (
        weight.array.dtype != np.int64
        or zero.dtype != np.int64
        or zero.size not in (1, *weight.array.shape[:1])
    ):
        raise step.refuse(
            "tensor_type", "needs weights of integers, with a zero point or one for each output"
        )
    along = zero.reshape(-1, *(1,) * (weight.array.ndim - 1)) if zero.size > 1 else zero.reshape(())
    kernel = Constant((weight.array - along).astype(np.float64), Element.FLOAT)
    made = convolution.ENTRY.onnx["Conv"].read(replace(step, inputs=[data, kernel]))
    assert isinstance(made, Data)  # noqa: S101  a convolution makes one computed tensor
    return of_kind(
        _shrunk(step, replace(made, shape=(1, *step.building.shapes[made.tensor])), by), Element.INT32
    )


def _measured_product(step: Step) -> Value:
    """``a (b - zero) scale + bias``"""
    step.building.measured = True
    data, weight = Data(step.floats(0), shape=step.whole(0)), _factor(step)
    made = product(step, data, weight)
    return add(replace(step, inputs=[made, step.weights(4)])) if step.has(4) else made


def _factor(step: Step) -> Value:
    """Weights, or integers that are computed, by the scale and zero point behind them."""
    if not step.is_data(1):
        return replace(real(step, 1, 2, -1), declared=None)
    return Data(integer(step, 1), shape=step.whole(1))


def _product_to_floats(step: Step) -> Value:
    """``(a - zero) (b - zero) scale_a scale_b + bias``"""
    whole = replace(
        step, inputs=[*step.inputs[:2], *(step.inputs[at] if step.has(at) else None for at in (4, 5))]
    )
    made = _whole_product(whole)
    for position in (2, 3):
        made = multiply(replace(step, inputs=[of_kind(made, Element.FLOAT), step.weights(position)]))
    made = add(replace(step, inputs=[made, step.weights(6)])) if step.has(6) else made
    return of_kind(made, Element.FLOAT)


ENTRY = Entry(
    onnx={
        "ConvInteger": Operator(_whole_convolution, convolution.ATTRIBUTES, 2, 4),
        "DynamicQuantizeLinear": Operator(_measured),
        "MatMulInteger": Operator(_whole_product, {}, 2, 4),
    },
    microsoft={
        "DynamicQuantizeMatMul": Operator(_measured_product, {}, 3, 5),
        "MatMulIntegerToFloat": Operator(_product_to_floats, {}, 4, 7),
    },
)
