"""Operators that change nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from circuits.onnx.constants import FLOATS, Constant, Element
from circuits.onnx.step import Data, Held, Operator, Step, TensorList, Value
from circuits.operators.activation import TRUNCATED, Activation
from circuits.operators.entry import Entry


def _identity(step: Step) -> Held:
    held = step.inputs[0]
    return held if isinstance(held, TensorList) else step.value(0)


def _dropout(step: Step) -> Value:
    if step.number(2, 0):
        raise step.refuse(
            "unsupported_attribute", "is in training mode; export the model after module.eval()"
        )
    return step.value(0)


def _cast(step: Step) -> Value:
    return _as(step, step.attributes.get("to", 0))


def _cast_like(step: Step) -> Value:
    return _as(step, step.value(1).kind or 0)


def _as(step: Step, kind: int) -> Value:
    value = step.value(0)
    if isinstance(value, Constant):
        if kind not in (*FLOATS, Element.INT64, Element.INT32, Element.BOOL):
            raise step.refuse(
                "tensor_type", "casts a constant to a type that is neither float, int32 nor int64"
            )
        array = step.plain(0).array
        if kind == Element.BOOL:
            return step.folded(array != 0, kind)
        if kind not in FLOATS and not (np.abs(array) <= 2.0**62).all():
            raise step.refuse("tensor_type", "casts a constant to integers that it exceeds")
        return step.folded(array, kind)
    if value.integer:
        raise step.refuse("unsupported_operator", "casts quantised integers; remove the Cast")
    same = kind in _WHOLE and (value.kind == Element.BOOL or (step.is_whole(0) and kind != Element.BOOL))
    if kind in FLOATS or same:
        return replace(value, kind=kind)
    if kind not in _WHOLE:
        raise step.refuse("tensor_type", "casts to a type that is neither float, integer nor bool")
    return Data(step.emit(Activation, (value.tensor,), _WHOLE[kind]), shape=step.whole(), kind=kind)


# What casts to whole numbers and booleans make of real numbers.
_WHOLE: Final[dict[int, str]] = {
    Element.BOOL: "less(0.0, abs(x))",
    Element.INT8: TRUNCATED,
    Element.INT16: TRUNCATED,
    Element.INT32: TRUNCATED,
    Element.INT64: TRUNCATED,
    Element.UINT8: TRUNCATED,
    Element.UINT16: TRUNCATED,
}


ENTRY = Entry(
    onnx={
        "Cast": Operator(_cast, {"round_mode": "s", "saturate": "i", "to": "i"}),
        "CastLike": Operator(_cast_like, {"round_mode": "s", "saturate": "i"}, 2, 2),
        "Dropout": Operator(_dropout, {"ratio": "f", "seed": "i"}, 1, 3),
        "Identity": Operator(_identity),
    }
)
