"""Comparisons, and what logic makes of them. A boolean is a number, 1 or 0, and all of these are
tables of one value: of the tensor, of a difference, or of a sum of booleans."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs import formula
from zenserve.circuits.onnx.constants import Constant, Element
from zenserve.circuits.onnx.naming import require_finite, where
from zenserve.circuits.onnx.step import Data, Operator, Step, Value, of_kind
from zenserve.circuits.operators.activation import Activation
from zenserve.circuits.operators.add import add, subtract
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.gather import Gather
from zenserve.circuits.operators.matmul import reshaped
from zenserve.circuits.operators.moving import rearranged
from zenserve.circuits.operators.selection import placed

# A function of two arrays of numbers.
Function = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]


def _compare(step: Step, text: str, function: Function) -> Value:
    """``text``: the formula of two numbers. Of two tensors it is that of their difference and 0. Beside
    infinity all computed numbers are alike."""
    for position in (0, 1):
        if not step.is_data(position):
            array = step.plain(position).array
            if array.size and np.isinf(array).all():
                return _beside_infinity(step, function, position)
            array = _numbers(step, position).array
            if array.size == 1 and array.ndim <= len(step.whole(1 - position)):
                operands = ["x", "x"]
                operands[position] = formula.number(float(array.item()))
                made = step.emit(Activation, (step.floats(1 - position),), text.format(*operands))
                return Data(made, shape=step.whole(1 - position), kind=Element.BOOL)
    if step.is_data(0) and step.is_data(1) and not (step.is_whole(0) or step.is_whole(1)):
        _alike(step)
    return _of(step, subtract(with_numbers(step)), text.format("x", "0.0"))


def _beside_infinity(step: Step, function: Function, position: int) -> Value:
    """``position``: of the constant."""
    try:
        shape = np.broadcast_shapes(step.whole(0), step.whole(1))
    except ValueError:
        raise step.refuse("shape", "compares shapes that do not fit") from None
    step.allowance.require(math.prod(shape), where(step.node))
    numbers = [step.plain(at).array if at == position else np.zeros(()) for at in (0, 1)]
    return step.folded(np.broadcast_to(function(*numbers), shape), Element.BOOL)


def _equal(step: Step) -> Value:
    """A whole number beside all places from zero on is a place: booleans, one for each."""
    for at in (0, 1):
        data, constant = step.value(at), step.value(1 - at)
        if isinstance(data, Data) and isinstance(constant, Constant) and step.is_whole(at):
            size = constant.array.shape[-1] if constant.array.ndim else 1
            column = _column(step, data, size)
            if size > 1 and column and np.array_equal(constant.array.ravel(), np.arange(size)):
                whole = np.broadcast_shapes(data.shape or (), constant.array.shape)
                hot = reshaped(step, placed(step, column, size, outside="none", wraps=False), whole)
                return of_kind(hot, Element.BOOL)
    return _compare(step, *_COMPARISONS["Equal"])


def _alike(step: Step) -> None:
    """Of one type two real numbers compare as their integers do."""
    first, second = (step.floats(at) for at in (0, 1))
    made = [*step.building.shapes]
    if made.index(second) < made.index(first):
        first, second = second, first
    if first != second:
        step.building.tied.setdefault(second, first)


def _column(step: Step, data: Data, size: int) -> Data | None:
    """Of rows of this size, or of 1, whose numbers are all the same the first each."""
    whole = data.shape or ()
    if whole[-1:] == (1,):
        return data
    maker = step.building.makers.get(data.tensor)
    if whole[-1:] != (size,) or not isinstance(maker, Gather):
        return None
    rows = maker.places.reshape(-1, size)
    if (rows != rows[:, :1]).any():
        return None
    found = rearranged(replace(step, inputs=[data]), lambda places: places[..., :1], 0)
    return found if isinstance(found, Data) else None


def _combine(step: Step, text: str) -> Value:
    """``text``: the formula of the sum of two booleans."""
    return _of(step, add(with_numbers(step)), text)


def _of(step: Step, value: Value, text: str) -> Data:
    assert isinstance(value, Data)  # noqa: S101  one of two operands is computed
    return replace(value, tensor=step.emit(Activation, (value.tensor,), text), kind=Element.BOOL)


def _numbers(step: Step, position: int) -> Constant:
    """A constant of any type as floats."""
    constant = step.plain(position)
    require_finite(f"the constant of {where(step.node)}", constant.array)
    return Constant(constant.array.astype(np.float64), Element.FLOAT)


def with_numbers(step: Step) -> Step:
    """The same node, its constants floats."""
    given = [step.value(at) if step.is_data(at) else _numbers(step, at) for at in range(len(step.inputs))]
    return replace(step, inputs=given)


def negated(step: Step) -> Data:
    return Data(step.emit(Activation, (step.floats(),), "less(x, 0.5)"), shape=step.whole())


_COMPARISONS: Final[dict[str, tuple[str, Function]]] = {
    "Equal": ("equal({0}, {1})", np.equal),
    "Greater": ("less({1}, {0})", np.greater),
    "GreaterOrEqual": ("1.0 - less({0}, {1})", np.greater_equal),
    "Less": ("less({0}, {1})", np.less),
    "LessOrEqual": ("1.0 - less({1}, {0})", np.less_equal),
}
_LOGIC: Final = {"And": "less(1.5, x)", "Or": "less(0.5, x)", "Xor": "equal(x, 1.0)"}

ENTRY = Entry(
    onnx={
        **{
            name: Operator(partial(_compare, text=text, function=function), {}, 2, 2)
            for name, (text, function) in _COMPARISONS.items()
        },
        "Equal": Operator(_equal, {}, 2, 2),
        **{name: Operator(partial(_combine, text=text), {}, 2, 2) for name, text in _LOGIC.items()},
        "Not": Operator(negated, elementwise=True),
    },
)
