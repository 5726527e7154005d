"""Tensors one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Constants, Mover, Node, Number, Written, dims
from zenserve.circuits.graphs.rewriting import fresh
from zenserve.circuits.graphs.types import Affine, Shape, require
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.quantise_linear import declared_at, integer, typed


@dataclass(frozen=True, eq=False)
class Concat(Mover):
    """Two or more tensors one after the other along ``axis``; integers of one type."""

    arity = None
    called = "concat"

    axis: int = 0

    def shape(self, *shapes: Shape) -> Shape:
        first = shapes[0]
        if not 0 <= self.axis < len(first):
            raise self.refuse(f"joins axis {self.axis} of shape [batch, {dims(first)}]")
        rests = {(*shape[: self.axis], *shape[self.axis + 1 :], len(shape)) for shape in shapes}
        if len(rests) > 1:
            raise self.refuse("joins tensors that differ in more than the joined axis")
        total = sum(shape[self.axis] for shape in shapes)
        return (*first[: self.axis], total, *first[self.axis + 1 :])

    def move(self, inputs: Sequence[NDArray[Number]], zero: int) -> NDArray[Number]:
        return np.concatenate(inputs, axis=self.axis + 1)

    def output_type(self, types: Sequence[Affine | None]) -> Affine | None:
        require(len(set(types)) == 1, f"node {self.name[:80]!r} joins tensors of several types")
        return types[0]

    def written(self, constant: Constants) -> Written:
        return Written("Concat", (), {"axis": self.axis + 1})


def joined(step: Step, parts: Sequence[Data], *, filled: bool = False) -> list[Data]:
    """Tensors that are joined: quantised integers of one type as they are, others as numbers. ``filled``:
    zeros are put beside them, which are integers, too."""
    first = parts[0].integer
    alike = all(first and part.integer and first.matches(part.integer) for part in parts)
    if alike and not (filled and first and first.zero_point.any()):
        return [*parts]
    return [replace(part, tensor=step.building.as_numbers(part), integer=None) for part in parts]


def _linear_concat(step: Step) -> Value:
    tensors = tuple(integer(step, position) for position in range(2, len(step.inputs), 3))
    (axis,) = step.axes([step.attributes.get("axis", 0)], 1 + len(step.shape(2)))
    if axis == 0:
        raise step.refuse("unsupported_attribute", "joins along the batch; join along axis 1, the channels")
    return typed(step, step.emit(Concat, tensors, axis - 1), declared_at(step, 0))


def declared_before_joins(graph: Graph) -> Graph:
    """Tensors of several types that are joined and then have another one have it before: they are rounded
    once."""
    readers, makers, taken = graph.readers, dict[str, Node](), set(graph.shapes)
    declared = dict(graph.declared)
    for node in graph.nodes:
        join, kind = makers.get(node.inputs[0]), declared.get(node.name)
        if not (isinstance(node, Clip) and isinstance(join, Concat) and kind):
            makers[node.name] = node
            continue
        if readers[join.name] > 1 or join.name in declared:
            makers[node.name] = node
            continue
        del makers[join.name]
        names = []
        for name in join.inputs:
            known = declared.get(name)
            if known is None or not known.matches(kind):
                clip = replace(node, name=fresh(f"{node.name}.part", taken), inputs=(name,))
                makers[clip.name], declared[clip.name], name = clip, kind, clip.name
            names.append(name)
        makers[node.name] = replace(join, name=node.name, inputs=tuple(names))
    return replace(graph, nodes=tuple(makers.values()), declared=declared)


ENTRY = Entry(
    microsoft={"QLinearConcat": Operator(_linear_concat, {"axis": "i"}, 5, 1 << 10)},
    integers=(Concat,),
    passes=(declared_before_joins,),
)
