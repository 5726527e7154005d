"""Bits of integers, of which one operand is a number of the file's: sums of floors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs import formula
from zenserve.circuits.onnx.constants import Element
from zenserve.circuits.onnx.step import Operator, Step, Value
from zenserve.circuits.operators.activation import applied
from zenserve.circuits.operators.constants import both_constant, folded
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.parameters import by_formula

Function = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]

# Of unsigned types, how many they have.
_UNSIGNED: Final = {Element.UINT4: 4, Element.UINT8: 8, Element.UINT16: 16, 12: 32, 13: 64}
_MOST: Final = 62


def _bitwise(step: Step, function: Function, text: str) -> Value:
    """``text``: the formula of x, of a number c and of the bits that both have, b."""
    if not (step.is_whole(0) and step.is_whole(1)):
        raise step.refuse("tensor_type", "takes integers")
    if both_constant(step):
        return folded(step, function)
    if step.is_data(0) and step.is_data(1):
        raise step.refuse(
            "unsupported_operator", "takes bits of two computed tensors; one of them must be a constant"
        )
    return by_formula(step, partial(_formula, step, text))


def _formula(step: Step, text: str, given: float) -> str:
    number = int(given)
    if abs(number) >= 1 << _MOST:
        raise step.refuse("tensor_type", f"takes bits of {number}")
    both = " + ".join(_common(number)) or "0.0"
    made = text.format(x="x", c=formula.number(number), b=f"({both})")
    if len(made) > formula.LONGEST:
        raise step.refuse("unsupported_operator", f"takes the bits of {number}, which are too scattered")
    return made


def _common(number: int) -> Iterator[str]:
    """Yield formulas whose sum is x at the bits of the number, one for each run of bits; all bits above for a
    number below 0."""
    low = 0
    while low <= _MOST:
        high = low
        while high <= _MOST and number >> high & 1:
            high += 1
        if high > low:
            yield _above(low) if high > _MOST else f"{_above(low)} - {_above(high)}"
        low = high + 1


def _above(low: int) -> str:
    """x without the bits below ``low``."""
    return f"{2.0**low} * floor(x / {2.0**low} + 1e-09)" if low else "x"


def _not(step: Step) -> Value:
    """-1 less x, of unsigned integers the largest less x."""
    if not step.is_whole(0):
        raise step.refuse("tensor_type", "takes integers")
    bits = _UNSIGNED.get(step.value(0).kind or 0, 0)
    if step.is_data(0):
        # A table, which is exact or refused; a sum may be neither.
        return applied(step, f"floor({formula.number((1 << bits) - 1 if bits else -1)} - x + 0.5)")
    constant = step.plain(0)
    return step.folded(((1 << bits) - 1 if bits else -1) - constant.array, constant.kind)


def _operator(function: Function, text: str) -> Operator:
    return Operator(partial(_bitwise, function=function, text=text), {}, 2, 2)


ENTRY = Entry(
    onnx={
        "BitwiseAnd": _operator(np.bitwise_and, "{b}"),
        "BitwiseNot": Operator(_not, elementwise=True),
        "BitwiseOr": _operator(np.bitwise_or, "{x} + {c} - {b}"),
        "BitwiseXor": _operator(np.bitwise_xor, "{x} + {c} - 2.0 * {b}"),
    }
)
