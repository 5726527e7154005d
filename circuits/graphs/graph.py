"""The float network: typed nodes in topological order, what an ONNX file becomes before quantisation.

Tensors are named: the input is one, and every node makes one that is named like the node. An image is
(channels, height, width). A network built by hand is checked like one that was imported: ``ModelError`` with

    model.graph       names that are not unique, or a node that reads what no earlier node makes
    model.shape       shapes that do not fit together
    model.not_finite  NaN or infinity in a weight
    model.too_large   a tensor of more than ``MOST_ELEMENTS``
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from circuits.graphs.node import Node, require_size
from circuits.graphs.types import Declared, FloatArray, Shape
from zenerrors import ModelError


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in topological order; the label is the argmax of the tensor ``output``.

    ``declared`` maps names of tensors to the quantisation that the file prescribes for them, if any.
    """

    input_name: str
    input_shape: Shape
    nodes: tuple[Node, ...]
    output: str
    declared: Mapping[str, Declared] = field(default_factory=dict)

    def __post_init__(self) -> None:
        missing = {self.output, *self.declared} - set(self.shapes)
        if missing:
            raise ModelError("model.graph", f"no node makes the tensor {min(missing)[:80]!r}")

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """The shape of every tensor."""
        shapes = {self.input_name: self.input_shape}
        require_size(self.input_name, self.input_shape)
        for node in self.nodes:
            arity = len(node.inputs) if node.arity is None else node.arity
            if len(node.inputs) != arity or arity < 1 or node.name in shapes:
                raise ModelError(
                    "model.graph", f"node {node.name[:80]!r} has {len(node.inputs)} inputs or no new name"
                )
            unknown = [name for name in node.inputs if name not in shapes]
            if unknown:
                raise ModelError(
                    "model.graph",
                    f"node {node.name[:80]!r} reads {unknown[0][:80]!r}, which no earlier node makes",
                )
            shapes[node.name] = node.shape(*(shapes[name] for name in node.inputs))
            require_size(node.name, shapes[node.name])
        return shapes

    def run(self, x: FloatArray) -> FloatArray:
        """The tensor ``output`` [n, *shape] for inputs [n, *input_shape]."""
        return next(value for name, value in self.tensors(x) if name == self.output)

    def tensors(self, x: FloatArray) -> Iterator[tuple[str, FloatArray]]:
        """Name and value of every tensor in order, the input first; each is let go after its last reader."""
        last_reader = {name: node.name for node in self.nodes for name in node.inputs}
        values = {self.input_name: x}
        yield self.input_name, x
        for node in self.nodes:
            values[node.name] = node.run(*(values[name] for name in node.inputs))
            for name in set(node.inputs):
                if last_reader[name] == node.name:
                    del values[name]
            yield node.name, values[node.name]
