"""The same values under another shape, and axes of size 1 that come and go."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from numpy.typing import NDArray

from circuits.graphs.graph import Graph
from circuits.graphs.node import Constants, Mover, Node, Number, Written, dims
from circuits.graphs.rewriting import join
from circuits.graphs.types import Shape
from circuits.onnx.constants import Constant
from circuits.onnx.step import BATCH, Data, Operator, Step, Value
from circuits.operators.entry import Entry


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


def _reshape(step: Step) -> Value:
    target = step.numbers("shape", 1)
    if step.attributes.get("allowzero", 0) and 0 in target:
        raise step.refuse("shape", f"reshapes to {target}, which holds nothing")
    value = step.value(0)
    if isinstance(value, Constant):
        return step.folded(step.plain(0).array.reshape(_sizes(step, target, value.array.shape)), value.kind)
    if target[:1] not in ([0], [1], [-1], [BATCH]) or target.count(-1) > 1:
        raise step.refuse(
            "shape",
            f"reshapes to {_readable(target)}; the first dimension must stay the batch (0, 1 or -1), and at "
            "most one dimension may be -1",
        )
    return _reshaped(step, _sizes(step, target[1:], step.shape()))


def _sizes(step: Step, target: list[int], shape: Shape) -> Shape:
    """``target`` with 0 replaced by the size that stood there, and -1 by what is left."""
    if len(target) > _MOST_DIMENSIONS:
        raise step.refuse("shape", f"reshapes to {len(target)} dimensions")
    if any(size == 0 and axis >= len(shape) for axis, size in enumerate(target)):
        raise step.refuse("shape", "copies a dimension that the input does not have")
    sizes = [shape[axis] if size == 0 else size for axis, size in enumerate(target)]
    if sizes.count(-1) == 1:
        known = -math.prod(sizes)
        sizes[sizes.index(-1)] = math.prod(shape) // known if known > 0 else 0
    if min(sizes, default=1) < 1 or math.prod(sizes) != math.prod(shape):
        raise step.refuse("shape", f"reshapes [{dims(shape)}] to {_readable(sizes)}, the batch apart")
    return tuple(sizes)


def _readable(target: Sequence[int]) -> str:
    return f"[{', '.join('batch' if size == BATCH else str(size) for size in target)}]"


def _reshaped(step: Step, shape: Shape) -> Data:
    data = step.data()
    if shape == step.shape():
        return data
    return step.moved(step.emit(Reshape, (data.tensor,), shape))


def _flatten(step: Step) -> Value:
    shape = step.shape()
    if step.attributes.get("axis", 1) not in (1, -len(shape)):
        raise step.refuse("unsupported_attribute", "flattens the batch into the data; export it with axis=1")
    return _reshaped(step, (math.prod(shape),))


def _squeeze(step: Step) -> Value:
    value = step.value(0)
    old = list(value.array.shape) if isinstance(value, Constant) else [BATCH, *step.shape()]
    given = step.integers("axes", 1)
    if given is None and isinstance(value, Data):
        raise step.refuse("unsupported_attribute", "names no axes, which might drop the batch; name them")
    axes = step.axes(
        [axis for axis, size in enumerate(old) if size == 1] if given is None else given, len(old)
    )
    if any(old[axis] != 1 for axis in axes):
        raise step.refuse("shape", f"drops axes {axes} of shape {_readable(old)}; only axes of size 1 can go")
    return _with_axes(step, [size for axis, size in enumerate(old) if axis not in axes])


def _unsqueeze(step: Step) -> Value:
    value = step.value(0)
    old = list(value.array.shape) if isinstance(value, Constant) else [BATCH, *step.shape()]
    given = step.numbers("axes", 1)
    axes, sizes = step.axes(given, len(old) + len(given)), iter(old)
    if len(old) + len(given) > _MOST_DIMENSIONS:
        raise step.refuse("shape", f"reshapes to {len(old) + len(given)} dimensions")
    return _with_axes(step, [1 if axis in axes else next(sizes) for axis in range(len(old) + len(given))])


def _with_axes(step: Step, shape: list[int]) -> Value:
    """The values under a shape that gained or lost axes of size 1."""
    value = step.value(0)
    if isinstance(value, Constant):
        return step.folded(step.plain(0).array.reshape(shape), value.kind)
    if shape[0] != BATCH:
        raise step.refuse("unsupported_attribute", "puts an axis before the batch, which must stay the first")
    return _reshaped(step, tuple(shape[1:]))


_MOST_DIMENSIONS = 8

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
