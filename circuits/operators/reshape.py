"""The same values under another shape, and axes of size 1 that come and go."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from numpy.typing import NDArray

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Constants, Mover, Node, Number, Written, dims
from zenserve.circuits.graphs.rewriting import join
from zenserve.circuits.graphs.types import Shape
from zenserve.circuits.onnx.constants import MOST_DIMENSIONS, MOST_WEIGHTS, Constant
from zenserve.circuits.onnx.step import Data, Operator, Step, Value, typed_shape
from zenserve.circuits.operators.entry import Entry


@dataclass(frozen=True, eq=False)
class Reshape(Mover):
    """The same values in row-major order under another shape. Flatten is one of these."""

    called = "reshape"
    permutes = True

    target: Shape

    def shape(self, *shapes: Shape) -> Shape:
        if any(size < 1 for size in self.target) or math.prod(self.target) != math.prod(shapes[0]):
            raise self.refuse(f"reshapes [batch, {dims(shapes[0])}] to [batch, {dims(self.target)}]")
        return self.target

    def move(self, inputs: Sequence[NDArray[Number]], zero: int) -> NDArray[Number]:
        return inputs[0].reshape(len(inputs[0]), *self.target)

    def written(self, constant: Constants) -> Written:
        if len(self.target) == 1:
            return Written("Flatten")
        return Written("Reshape", [constant("shape", [0, *self.target])])


def merge_reshapes(graph: Graph) -> Graph:
    """A Reshape of a Reshape is one."""
    return join(graph, _merged)


def _merged(graph: Graph, before: Node, node: Node) -> Node | None:
    both = isinstance(before, Reshape) and isinstance(node, Reshape)
    return replace(node, inputs=before.inputs) if both else None


def shaped(step: Step, data: Data, shape: Shape) -> Data:
    """The tensor under another ONNX shape."""
    typed = typed_shape(shape)
    if typed != step.building.shapes[data.tensor]:
        data = replace(data, tensor=step.emit(Reshape, (data.tensor,), typed))
    return replace(data, shape=shape)


def _reshape(step: Step) -> Value:
    target = step.numbers("shape", 1)
    if step.attributes.get("allowzero", 0) and 0 in target:
        raise step.refuse("shape", f"reshapes to {target}, which holds nothing")
    return _under(step, _sizes(step, target, step.whole()))


def _sizes(step: Step, target: list[int], shape: Shape) -> Shape:
    """``target`` with 0 replaced by the size that stood there, and -1 by what is left."""
    if any(size == 0 and axis >= len(shape) for axis, size in enumerate(target)):
        raise step.refuse("shape", "copies a dimension that the input does not have")
    sizes = [shape[axis] if size == 0 else size for axis, size in enumerate(target)]
    if sizes.count(-1) == 1:
        known = -math.prod(sizes)
        sizes[sizes.index(-1)] = math.prod(shape) // known if known > 0 else 0
    return tuple(sizes)


def _under(step: Step, shape: Shape) -> Value:
    """The values under another shape, row-major."""
    whole, value = step.whole(), step.value(0)
    if len(shape) > MOST_DIMENSIONS:
        raise step.refuse("shape", f"reshapes to {len(shape)} dimensions")
    inside = all(0 <= size <= MOST_WEIGHTS for size in shape)
    if not inside or math.prod(shape) != math.prod(whole):
        raise step.refuse("shape", f"reshapes [{dims(whole)}] to [{dims(shape)}]")
    if isinstance(value, Constant):
        return step.folded(step.plain(0).array.reshape(shape), value.kind)
    return shaped(step, step.data(), shape)


def _flatten(step: Step) -> Value:
    whole = step.whole()
    axis = step.attributes.get("axis", 1)
    if not -len(whole) <= axis <= len(whole):
        raise step.refuse("shape", f"flattens shape [{dims(whole)}] from axis {axis} on")
    axis += len(whole) * (axis < 0)
    return _under(step, (math.prod(whole[:axis]), math.prod(whole[axis:])))


def _squeeze(step: Step) -> Value:
    whole = step.whole()
    given = step.integers("axes", 1)
    axes = step.axes(
        [axis for axis, size in enumerate(whole) if size == 1] if given is None else given, len(whole)
    )
    if any(whole[axis] != 1 for axis in axes):
        raise step.refuse("shape", f"drops axes {axes} of shape [{dims(whole)}]; only axes of size 1 can go")
    return _under(step, tuple(size for axis, size in enumerate(whole) if axis not in axes))


def _unsqueeze(step: Step) -> Value:
    whole, given = step.whole(), step.numbers("axes", 1)
    rank = len(whole) + len(given)
    axes, sizes = step.axes(given, rank), iter(whole)
    return _under(step, tuple(1 if axis in axes else next(sizes) for axis in range(rank)))


ENTRY = Entry(
    onnx={
        "Flatten": Operator(_flatten, {"axis": "i"}),
        "Reshape": Operator(_reshape, {"allowzero": "i"}, 2, 2),
        "Squeeze": Operator(_squeeze, {"axes": "ints"}, 1, 2),
        "Unsqueeze": Operator(_unsqueeze, {"axes": "ints"}, 1, 2),
    },
    integers=(Reshape,),
    passes=(merge_reshapes,),
)
