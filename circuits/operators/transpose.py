"""Permutations of axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Constants, Mover, Node, Number, Written, dims
from zenserve.circuits.graphs.rewriting import without_dead_nodes
from zenserve.circuits.graphs.types import Shape
from zenserve.circuits.onnx.constants import Constant
from zenserve.circuits.onnx.step import Operator, Step, Value, typed_shape
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.moving import rearranged


@dataclass(frozen=True, eq=False)
class Transpose(Mover):
    """Axis i of the output is axis ``axes[i]`` of the input."""

    called = "transpose"
    permutes = True

    axes: tuple[int, ...]

    def shape(self, *shapes: Shape) -> Shape:
        if sorted(self.axes) != list(range(len(shapes[0]))):
            raise self.refuse(f"permutes shape [batch, {dims(shapes[0])}] by {self.axes}")
        return tuple(shapes[0][axis] for axis in self.axes)

    def move(self, inputs: Sequence[NDArray[Number]], zero: int) -> NDArray[Number]:
        return np.ascontiguousarray(inputs[0].transpose(0, *(axis + 1 for axis in self.axes)))

    def written(self, constant: Constants) -> Written:
        return Written("Transpose", (), {"perm": [0, *(axis + 1 for axis in self.axes)]})


def merge_transposes(graph: Graph) -> Graph:
    """A Transpose of a Transpose is one, or none where it takes the axes back."""
    made, gone, kept = dict[str, Node](), dict[str, str](), {*graph.declared, *graph.outputs.values()}
    for node in graph.nodes:
        node = replace(node, inputs=tuple(gone.get(name, name) for name in node.inputs))
        before = made.get(node.inputs[0])
        if isinstance(node, Transpose) and isinstance(before, Transpose):
            node = replace(node, inputs=before.inputs, axes=tuple(before.axes[axis] for axis in node.axes))
            if node.axes == tuple(range(len(node.axes))) and node.name not in kept:
                gone[node.name] = node.inputs[0]
                continue
        made[node.name] = node
    tied = {name: gone.get(first, first) for name, first in graph.tied.items()}
    return without_dead_nodes(replace(graph, nodes=tuple(made.values()), tied=tied))


def _transpose(step: Step) -> Value:
    value = step.value(0)
    whole = step.whole()
    rank = len(whole)
    axes = step.axes(step.integers("perm") or range(rank)[::-1], rank)
    if len(axes) != rank:
        raise step.refuse("shape", f"permutes {len(axes)} axes of a tensor with {rank}")
    if isinstance(value, Constant):
        return Constant(
            value.array.transpose(axes), value.kind, value.declared, axes.index(value.axis) if axes else 0
        )
    if axes == sorted(axes):
        return value
    if axes[0] == 0 and typed_shape(whole) == whole[1:]:
        return step.moved(step.emit(Transpose, (value.tensor,), tuple(axis - 1 for axis in axes[1:])))
    return rearranged(step, lambda places: places.transpose(axes), 0)


ENTRY = Entry(
    onnx={"Transpose": Operator(_transpose, {"perm": "ints"})},
    integers=(Transpose,),
    passes=(merge_transposes,),
)
