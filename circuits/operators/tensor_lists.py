"""Sequences of tensors and optional tensors: lists that exist while the file is read. Positions, lengths and
sizes are constants, so that each operation picks or joins tensors and none is left in the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zenserve.circuits.onnx.constants import Constant, Element
from zenserve.circuits.onnx.step import Operator, Step, TensorList, Value, of_kind
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.matmul import reshaped, shape_of
from zenserve.circuits.operators.moving import rearranged
from zenserve.circuits.operators.scatter import concat
from zenserve.relations.integers import IntArray

_MOST = 1 << 10


def joined(step: Step, values: Sequence[Value], axis: int) -> Value:
    """The tensors one after the other along an axis that they have."""
    if len({(*shape[:axis], *shape[axis + 1 :]) for shape in map(shape_of, values)}) != 1:
        raise step.refuse("shape", f"joins {len(values)} tensors of {len({*map(shape_of, values)})} shapes")
    if len(values) == 1:
        return values[0]
    first = shape_of(values[0])
    total = sum(shape_of(value)[axis] for value in values)
    made = of_kind(concat(replace(step, inputs=[*values], attributes={"axis": axis})), values[0].kind)
    return reshaped(step, made, (*first[:axis], total, *first[axis + 1 :]))


def stacked(step: Step, values: Sequence[Value], axis: int) -> Value:
    """The tensors one after the other along a new axis."""
    (axis,) = step.axes([axis], 1 + len(shape_of(values[0])))
    shapes = [shape_of(value) for value in values]
    wider = [(*shape[:axis], 1, *shape[axis:]) for shape in shapes]
    return joined(
        step, [reshaped(step, value, shape) for value, shape in zip(values, wider, strict=True)], axis
    )


def taken(step: Step, value: Value, axis: int, start: int, end: int) -> Value:
    """The entries from ``start`` to ``end`` along an axis."""

    def part(places: IntArray) -> IntArray:
        return places.take(range(start, end), axis)

    return of_kind(rearranged(replace(step, inputs=[value]), part, 0), value.kind)


def unstacked(step: Step, value: Value, axis: int) -> list[Value]:
    """The tensors along an axis, without it."""
    (axis,) = step.axes([axis], len(shape_of(value)))
    shape = shape_of(value)
    step.spend(shape[axis])
    parts = (taken(step, value, axis, at, at + 1) for at in range(shape[axis]))
    return [reshaped(step, part, (*shape[:axis], *shape[axis + 1 :])) for part in parts]


def _construct(step: Step) -> TensorList:
    return TensorList(tuple(step.value(at) for at in range(len(step.inputs))))


def _empty(step: Step) -> TensorList:
    return TensorList(())


def _position(step: Step, at: int, default: int, size: int) -> int:
    """A place in a list of this size, from zero."""
    place = int(step.number(at, default))
    if not -size <= place < size:
        raise step.refuse("shape", f"names place {place} of a list of {size}")
    return place % size


def _at(step: Step) -> Value:
    tensors = step.tensors()
    return tensors[_position(step, 1, 0, len(tensors))]


def _insert(step: Step) -> TensorList:
    tensors = step.tensors()
    if len(tensors) == _MOST:
        raise step.refuse("shape", f"makes a list of more than {_MOST} tensors")
    place = _position(step, 2, len(tensors), len(tensors) + 1) if step.has(2) else len(tensors)
    return TensorList((*tensors[:place], step.value(1), *tensors[place:]))


def _erase(step: Step) -> TensorList:
    tensors = step.tensors()
    place = _position(step, 1, -1, len(tensors))
    return TensorList((*tensors[:place], *tensors[place + 1 :]))


def _length(step: Step) -> Value:
    return step.folded(np.array(len(step.tensors())), Element.INT64)


def _split(step: Step) -> TensorList:
    """Into tensors of the sizes that an input says, of one size and a rest, or of 1."""
    value, whole = step.value(0), step.whole()
    (axis,) = step.axes([step.attributes.get("axis", 0)], len(whole))
    if not step.has(1):
        if not step.attributes.get("keepdims", 1):
            return TensorList(tuple(unstacked(step, value, axis)))
        sizes = [1] * whole[axis]
    elif step.constant(1).array.ndim:
        sizes = step.numbers("split", 1)
    else:
        each = int(step.number(1, 1))
        if each < 1:
            raise step.refuse("shape", f"splits into tensors of {each}")
        sizes = [min(each, whole[axis] - start) for start in range(0, whole[axis], each)]
    if len(sizes) > _MOST or min(sizes, default=0) < 1 or sum(sizes) != whole[axis]:
        raise step.refuse("shape", f"splits an axis of {whole[axis]} into {sizes[:8]}")
    ends = np.cumsum(sizes).tolist()
    return TensorList(
        tuple(taken(step, value, axis, end - size, end) for end, size in zip(ends, sizes, strict=True))
    )


def _concatenated(step: Step) -> Value:
    tensors = step.tensors()
    if not tensors:
        raise step.refuse("shape", "joins an empty list")
    axis, new = step.attributes.get("axis", 0), step.attributes.get("new_axis", 0)
    if new:
        return stacked(step, tensors, axis)
    return joined(step, tensors, step.axes([axis], len(shape_of(tensors[0])))[0])


def _optional(step: Step) -> TensorList:
    return TensorList((step.value(0),) if step.has(0) else ())


def _element(step: Step) -> Value:
    if not isinstance(step.inputs[0], TensorList):
        return step.value(0)
    if len(step.tensors()) != 1:
        raise step.refuse("shape", "takes the tensor of an optional that has none")
    return step.tensors()[0]


def _has(step: Step) -> Value:
    present = step.has(0) and (not isinstance(step.inputs[0], TensorList) or bool(step.tensors()))
    return Constant(np.array(int(present)), Element.BOOL)


ENTRY = Entry(
    onnx={
        "ConcatFromSequence": Operator(_concatenated, {"axis": "i", "new_axis": "i"}),
        "Optional": Operator(_optional, {"type": "tp"}, 0, 1),
        "OptionalGetElement": Operator(_element),
        "OptionalHasElement": Operator(_has, {}, 0, 1),
        "SequenceAt": Operator(_at, {}, 2, 2),
        "SequenceConstruct": Operator(_construct, {}, 1, _MOST),
        "SequenceEmpty": Operator(_empty, {"dtype": "i"}, 0, 0),
        "SequenceErase": Operator(_erase, {}, 1, 2),
        "SequenceInsert": Operator(_insert, {}, 2, 3),
        "SequenceLength": Operator(_length),
        "SplitToSequence": Operator(_split, {"axis": "i", "keepdims": "i"}, 1, 2),
    }
)
