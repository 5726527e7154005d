"""The sum, mean, largest and smallest of several tensors, entry by entry, and what lies between two."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.types import Shape
from zenserve.circuits.onnx.constants import FLOATS, Constant, Element
from zenserve.circuits.onnx.step import Data, Operator, Step, Value, of_kind
from zenserve.circuits.operators.activation import Activation
from zenserve.circuits.operators.add import add, subtract
from zenserve.circuits.operators.clip import Clip, between
from zenserve.circuits.operators.concat import Concat
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.circuits.operators.moving import aligned
from zenserve.circuits.operators.parameters import with_numbers
from zenserve.circuits.operators.reshape import shaped

_MOST = 1 << 10
# Bounds that are clamps of their own.
_FEW = 8


def _extreme(step: Step, function: Callable[..., NDArray[Any]], least: bool) -> Value:
    """Constants are bounds; of several tensors they are windows of a pool, the smallest as the largest of
    opposites."""
    positions = range(len(step.inputs))
    computed = [position for position in positions if step.is_data(position)]
    constants = [step.plain(position) for position in positions if position not in computed]
    bounds = _combined(step, constants, function) if constants else None
    data, shape = aligned(
        step, [Data(step.floats(position), shape=step.whole(position)) for position in computed]
    )
    made = data[0] if len(data) == 1 else Data(_pooled(step, data, shape, least), shape=shape)
    made = replace(made, kind=step.value(computed[0]).kind)
    return made if bounds is None else _bounded(step, made, bounds, least)


def _combined(
    step: Step, constants: Sequence[Constant], function: Callable[..., NDArray[Any]]
) -> NDArray[Any]:
    arrays = [constant.array for constant in constants]
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        raise step.refuse("shape", "combines constants whose shapes do not fit") from None
    step.spend(math.prod(shape))
    return reduce(function, arrays)


def _bounded(step: Step, data: Data, bounds: NDArray[Any], least: bool) -> Value:
    """By a bound for each entry. A few are as many clamps; others are taken off before one, and put back."""
    bound = Constant(bounds, data.kind or Element.FLOAT)
    both = replace(step, inputs=[data, bound])
    if bounds.size == 1 or data.kind not in FLOATS or len(np.unique(bounds)) <= _FEW:

        def clamped(tensor: str, number: float) -> str:
            return step.emit(Clip, (tensor,), *((-math.inf, number) if least else (number, math.inf)))

        return with_numbers(both, clamped)
    less = subtract(both)
    assert isinstance(less, Data)  # noqa: S101  of a computed tensor
    ends = (-math.inf, 0.0) if least else (0.0, math.inf)
    above = replace(less, tensor=step.emit(Clip, (less.tensor,), *ends))
    return of_kind(add(replace(step, inputs=[above, bound])), data.kind)


def _pooled(step: Step, data: list[Data], shape: Shape, least: bool) -> str:
    count, size = len(data), math.prod(shape)
    rows = [shaped(step, each, (1, size)).tensor for each in data]
    if least:
        rows = [step.emit(Activation, (row,), "-x") for row in rows]
    joined = shaped(step, Data(step.emit(Concat, tuple(rows))), (1, 1, count, size))
    largest = step.emit(MaxPool, (joined.tensor,), (count, 1), (count, 1))
    if least:
        largest = step.emit(Activation, (largest,), "-x")
    return shaped(step, Data(largest), shape).tensor


def _sum(step: Step, mean: bool) -> Value:
    values = [step.value(position) for position in range(len(step.inputs))]
    total = values[0]
    for value in values[1:]:
        total = add(replace(step, inputs=[total, value]))
    if not mean or len(values) == 1:
        return total
    if not isinstance(total, Data):
        return step.folded(total.array / len(values), total.kind)
    return replace(total, tensor=step.emit(Activation, (total.tensor,), f"x / {len(values)}.0"))


def _clip(step: Step) -> Value:
    """Between numbers of the file, or bounds that are computed: the smallest of the upper one and of the
    largest of the lower one and the input."""
    if not any(step.has(position) and step.is_data(position) for position in (1, 2)):
        return between(step)
    made = step.value(0)
    for position, function in ((1, np.maximum), (2, np.minimum)):
        if step.has(position):
            bounded = replace(step, inputs=[made, step.value(position)])
            made = _extreme(bounded, function, least=position == 2)
    return made


ENTRY = Entry(
    onnx={
        "Clip": Operator(_clip, {"max": "f", "min": "f"}, 1, 3, elementwise=True),
        "Max": Operator(partial(_extreme, function=np.maximum, least=False), {}, 1, _MOST),
        "Mean": Operator(partial(_sum, mean=True), {}, 1, _MOST),
        "Min": Operator(partial(_extreme, function=np.minimum, least=True), {}, 1, _MOST),
        "Sum": Operator(partial(_sum, mean=False), {}, 1, _MOST),
    }
)
