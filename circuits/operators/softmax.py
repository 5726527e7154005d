"""Softmax and LogSoftmax, made of largest entries, exponentials and their sums. At the end of a network, over
its classes, they are left out: the label is the same without."""

from __future__ import annotations

from functools import partial

from circuits.onnx.step import Data, Operator, Step, Value
from circuits.operators.add import Sub
from circuits.operators.entry import Entry
from circuits.operators.largest import ranks
from circuits.operators.multiply import Div
from circuits.operators.quantise_linear import declared_at, integer, typed
from circuits.operators.reduce import Rows, function


def _softmax(step: Step, logarithm: bool) -> Value:
    """Before opset 13 it runs over all axes from ``axis`` on."""
    rank = len(step.whole())
    (axis,) = step.axes([step.attributes.get("axis", -1 if step.opset >= 13 else 1)], rank)
    axes = [axis] if step.opset >= 13 else [*range(axis, rank)]
    made = softmax(step, Data(step.floats(), shape=step.whole()), axes, logarithm=logarithm)
    ranks(step, made.tensor, axis)
    return made


def softmax(step: Step, data: Data, axes: list[int], *, logarithm: bool = False) -> Data:
    """Less the largest, exponentials are 1 at most and their sums no less."""
    rows = Rows(step, data, axes)
    less = step.emit(Sub, (rows.image, rows.spread(rows.largest(rows.image))))
    exponentials = function(step, less, "exp(x)")
    sums = rows.sums(exponentials)
    if logarithm:
        made = step.emit(Sub, (less, rows.spread(function(step, sums, "log(x)"))))
    else:
        made = step.emit(Div, (exponentials, rows.spread(sums)))
    return rows.back(made)


def _linear_softmax(step: Step) -> Value:
    data = Data(integer(step, 0), shape=step.whole())
    (axis,) = step.axes([step.attributes.get("axis", -1)], len(step.whole()))
    if step.attributes.get("opset", 13) < 13 and axis < len(step.whole()) - 1:
        raise step.refuse("unsupported_attribute", "runs over several axes; export it with opset 13 or more")
    made = typed(step, softmax(step, data, [axis]).tensor, declared_at(step, 3))
    ranks(step, made.tensor, axis)
    return made


_AXIS = {"axis": "i"}

ENTRY = Entry(
    onnx={
        "LogSoftmax": Operator(partial(_softmax, logarithm=True), _AXIS),
        "Softmax": Operator(partial(_softmax, logarithm=False), _AXIS),
    },
    microsoft={"QLinearSoftmax": Operator(_linear_softmax, {"axis": "i", "opset": "i"}, 5, 5)},
)
