"""Constants that the shape of a computed tensor alone says: how many entries it has, identities, and which of
its entries are infinite or no numbers."""

from __future__ import annotations

import math

import numpy as np

from circuits.onnx.constants import FLOATS, Constant, Element
from circuits.onnx.step import Operator, Step, Value
from circuits.operators.entry import Entry

_KINDS = (*FLOATS, Element.INT64, Element.INT32, Element.BOOL)


def _size(step: Step) -> Value:
    return step.folded(np.array(math.prod(step.whole())), Element.INT64)


def _eye(step: Step) -> Value:
    whole, kind = step.whole(), step.attributes.get("dtype", step.value(0).kind or Element.FLOAT)
    if len(whole) != 2:
        raise step.refuse("shape", f"makes a matrix of the shape {[*whole]}")
    if kind not in _KINDS:
        raise step.refuse("tensor_type", "makes numbers that are neither floats, int32, int64 nor booleans")
    step.spend(math.prod(whole))
    diagonal = min(max(step.attributes.get("k", 0), -whole[0]), whole[1])
    return step.folded(np.eye(*whole, k=diagonal), kind)


def _has(step: Step) -> Value:
    """Whether a number is infinite or none: no computed one is."""
    return Constant(np.zeros(step.whole(), np.int64), Element.BOOL)


ENTRY = Entry(
    onnx={
        "EyeLike": Operator(_eye, {"dtype": "i", "k": "i"}, folds=True),
        "IsInf": Operator(_has, {"detect_negative": "i", "detect_positive": "i"}, folds=True),
        "IsNaN": Operator(_has, folds=True),
        "Size": Operator(_size, folds=True),
    }
)
