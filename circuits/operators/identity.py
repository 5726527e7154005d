"""Operators that change nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from zenserve.circuits.graphs import formula
from zenserve.circuits.graphs.types import MOST_BITS
from zenserve.circuits.onnx.constants import FLOATS, WHOLE, Constant, Element
from zenserve.circuits.onnx.step import Data, Held, Operator, Step, TensorList, Value
from zenserve.circuits.operators.activation import TRUNCATED, Activation, wrapped
from zenserve.circuits.operators.entry import Entry


def _identity(step: Step) -> Held:
    held = step.inputs[0]
    return held if isinstance(held, TensorList) else step.value(0)


def _dropout(step: Step) -> Sequence[Value]:
    """All that is there, and that all is kept."""
    if step.number(2, 0):
        raise step.refuse(
            "unsupported_attribute", "is in training mode; export the model after module.eval()"
        )
    if len(step.node.output) < 2:
        return [step.value(0)]
    return [step.value(0), step.folded(np.ones(step.whole()), Element.BOOL)]


def _cast(step: Step) -> Value:
    return _as(step, step.attributes.get("to", 0))


def _cast_like(step: Step) -> Value:
    return _as(step, step.value(1).kind or 0)


def _as(step: Step, kind: int) -> Value:
    value = step.value(0)
    if kind not in (Element.BOOL, *FLOATS, *WHOLE):
        raise step.refuse("tensor_type", "casts to a type that is neither float, integer nor bool")
    if kind in _ROUNDED and not step.attributes.get("saturate", 1):
        raise step.refuse(
            "unsupported_attribute", "makes NaN of large numbers (saturate=0); export it with saturate=1"
        )
    if isinstance(value, Constant):
        return _constant_as(step, kind)
    text, tensor = _cast_text(step, kind), step.floats()
    if text == "x":
        return replace(value, tensor=tensor, integer=None, kind=kind)
    return Data(step.emit(Activation, (tensor,), text), shape=step.whole(), kind=kind)


def _constant_as(step: Step, kind: int) -> Value:
    array = step.plain(0).array
    if kind == Element.BOOL:
        return step.folded(array != 0, kind)
    if kind in FLOATS:
        return step.folded(formula.evaluate(_cast_text(step, kind), array.astype(np.float64)), kind)
    if not (np.abs(array) <= 2.0**62).all():
        raise step.refuse("tensor_type", "casts a constant to integers that it exceeds")
    bits, signed = WHOLE[kind]
    half = 1 << bits - 1 if signed else 0
    whole = array.astype(np.int64)
    return step.folded(whole if bits == _WIDEST else (whole + half) % (1 << bits) - half, kind)


def _cast_text(step: Step, kind: int) -> str:
    """The formula of a cast to this type. Integers wrap around, floats of few bits end at their largest."""
    if kind in FLOATS:
        return _rounded(step, kind) if kind in _ROUNDED else "x"
    given = step.value(0).kind
    if kind == Element.BOOL:
        return "x" if given == kind else "less(0.0, abs(x))"
    whole = "x" if step.is_whole(0) else TRUNCATED
    (bits, signed), (before, negative) = WHOLE[kind], _TYPES.get(given or 0, (_WIDEST, True))
    holds_all = before <= bits - (signed and not negative) and (signed or not negative)
    if bits > MOST_BITS or holds_all:
        return whole
    return wrapped(whole, bits, signed)


def _rounded(step: Step, kind: int) -> str:
    if kind == Element.FLOAT8E8M0:
        if step.attributes.get("round_mode", b"up") != b"up":
            raise step.refuse("unsupported_attribute", "has another round_mode than up")
        return f"2.0 ** max(ceil(log(abs(x)) / {math.log(2)} - 1e-09), -127.0)"
    digits, least, most = _ROUNDED[kind]
    unit = f"2.0 ** (max(floor(log(abs(x)) / {math.log(2)}), {least}) - {digits})"
    return formula.clipped(f"{unit} * round(x / {unit})", -most, most)


_WIDEST: Final = 64
_TYPES: Final = {Element.BOOL: (1, False), **WHOLE}
# Of floats of few bits: digits behind the first, the least exponent, and the largest number.
_ROUNDED: Final[dict[int, tuple[float, float, float]]] = {
    Element.FLOAT8E4M3FN: (3.0, -6.0, 448.0),
    Element.FLOAT8E4M3FNUZ: (3.0, -7.0, 240.0),
    Element.FLOAT8E5M2: (2.0, -14.0, 57344.0),
    Element.FLOAT8E5M2FNUZ: (2.0, -15.0, 57344.0),
    Element.FLOAT4E2M1: (1.0, 0.0, 6.0),
    Element.FLOAT8E8M0: (0.0, -127.0, 2.0**127),
}


ENTRY = Entry(
    onnx={
        "Cast": Operator(_cast, {"round_mode": "s", "saturate": "i", "to": "i"}),
        "CastLike": Operator(_cast_like, {"round_mode": "s", "saturate": "i"}, 2, 2),
        "Dropout": Operator(_dropout, {"ratio": "f", "seed": "i"}, 1, 3),
        "Identity": Operator(_identity),
    }
)
