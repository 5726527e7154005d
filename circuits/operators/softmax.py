"""Softmax and LogSoftmax, made of largest entries, exponentials and their sums. At the end of a network, over
its classes, they are left out: the label is the same without."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

import numpy as np
from numpy.typing import NDArray

from circuits.graphs.types import Shape
from circuits.onnx.step import Data, Operator, Step, Value
from circuits.operators.add import Sub
from circuits.operators.entry import Entry
from circuits.operators.largest import ranks
from circuits.operators.masks import Only
from circuits.operators.moving import broadcast, picked
from circuits.operators.multiply import Div
from circuits.operators.quantise_linear import declared_at, integer, typed
from circuits.operators.reduce import Rows, function
from relations.integers import IntArray


def _softmax(step: Step, logarithm: bool) -> Value:
    """Before opset 13 it runs over all axes from ``axis`` on."""
    rank = len(step.whole())
    (axis,) = step.axes([step.attributes.get("axis", -1 if step.opset >= 13 else 1)], rank)
    axes = [axis] if step.opset >= 13 else [*range(axis, rank)]
    made = softmax(step, Data(step.floats(), shape=step.whole()), axes, logarithm=logarithm)
    ranks(step, made.tensor, axis)
    return made


def softmax(step: Step, data: Data, axes: Sequence[int], *, logarithm: bool = False) -> Data:
    """Over these axes together, of what masks leave; they leave all to logarithms."""
    whole, known = data.shape or (), step.building.masked.get(data.tensor)
    if known is not None and isinstance(known.before, Data) and not logarithm:
        masks = [broadcast(step, each, whole) for each in known.kept if isinstance(each, Data)]
        kept = np.ones(whole, np.bool_)
        for each in known.kept:
            kept &= each if not isinstance(each, Data) else True
        if kept.any(axis=tuple(axes)).all():
            return _over(step, broadcast(step, known.before, whole), axes, kept=kept, masks=masks)
    return _over(step, data, axes, logarithm=logarithm)


def _over(
    step: Step,
    data: Data,
    axes: Sequence[int],
    *,
    logarithm: bool = False,
    kept: NDArray[np.bool_] | None = None,
    masks: Sequence[Data] = (),
) -> Data:
    """Less the largest, exponentials are 1 at most and their sums no less. What is not ``kept`` is 0, and of
    it nothing is computed; what the masks leave out becomes the least score there is, then 0."""
    rows = Rows(step, data, axes)
    left = np.ones((rows.count, rows.length), np.bool_) if kept is None else rows.ordered(kept)
    row, _ = np.nonzero(left)
    shape = left.shape if left.all() else (1, len(row))
    at = np.full(left.shape, -1)
    at[left] = np.arange(len(row))

    def taken(places: IntArray, image: str, of: Shape) -> str:
        return picked(step, places[np.newaxis, np.newaxis], [Data(image, shape=(1, 1, *of))]).tensor

    def spread(column: str) -> str:
        return taken(row.reshape(shape), column, (rows.count, 1))

    def gathered(image: str, places: IntArray) -> str:
        return taken(places, image, shape)

    chosen, whole = np.flatnonzero(left).reshape(shape), left.shape
    only = [taken(chosen, Rows(step, mask, axes).image, whole) for mask in masks]
    scores = reduce(partial(_only, step), only, taken(chosen, rows.image, whole))
    first = at[np.arange(rows.count), left.argmax(axis=1)]
    largest = rows.largest(gathered(scores, np.where(left, at, first[:, np.newaxis])))
    less = step.emit(Sub, (scores, spread(largest)))
    exponentials = reduce(partial(_only, step), only, function(step, less, "exp(x)"))
    sums = rows.sums(gathered(exponentials, at))
    if logarithm:
        made = step.emit(Sub, (less, spread(function(step, sums, "log(x)"))))
    else:
        made = step.emit(Div, (exponentials, spread(sums)))
    return rows.back(gathered(made, at))


def _only(step: Step, image: str, mask: str) -> str:
    return step.emit(Only, (image, mask))


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
