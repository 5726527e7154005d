"""Operators that change nothing."""

from __future__ import annotations

import numpy as np

from circuits.onnx.constants import FLOATS, Constant, Element
from circuits.onnx.step import Operator, Step, Value
from circuits.operators.entry import Entry


def _identity(step: Step) -> Value:
    return step.passed()


def _dropout(step: Step) -> Value:
    if step.number(2, 0):
        raise step.refuse(
            "unsupported_attribute", "is in training mode; export the model after module.eval()"
        )
    return step.passed()


def _cast(step: Step) -> Value:
    kind, value = step.attributes.get("to", 0), step.passed()
    if isinstance(value, Constant):
        if kind not in (*FLOATS, Element.INT64, Element.INT32, Element.BOOL):
            raise step.refuse(
                "tensor_type", "casts a constant to a type that is neither float, int32 nor int64"
            )
        array = step.plain(0).array
        if kind not in FLOATS and not (np.abs(array) <= 2.0**62).all():
            raise step.refuse("tensor_type", "casts a constant to integers that it exceeds")
        return step.folded(array, kind)
    if value.integer or (kind not in FLOATS and value.after != "ArgMax"):
        raise step.refuse(
            "unsupported_operator", "casts a computed tensor to or from integers; remove the Cast"
        )
    return value


ENTRY = Entry(
    onnx={
        "Cast": Operator(_cast, {"round_mode": "s", "saturate": "i", "to": "i"}),
        "Dropout": Operator(_dropout, {"ratio": "f", "seed": "i"}, 1, 3),
        "Identity": Operator(_identity),
    }
)
