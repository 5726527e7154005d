"""The float network: typed nodes in topological order, what an ONNX file becomes before quantisation.

Tensors are named: each input is one, and every node makes one that is named like the node. An image is
(channels, height, width). A network built by hand is checked like one that was imported: ``ModelError`` with

    model.graph       names that are not unique, or a node that reads what no earlier node makes
    model.shape       shapes that do not fit together
    model.not_finite  NaN or infinity in a weight
    model.too_large   a tensor of more than ``MOST_ELEMENTS``
    model.inputs      several inputs or none where one is asked for; model.outputs of outputs
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeVar

from zenserve.circuits.graphs.node import Node, require_size
from zenserve.circuits.graphs.tensors import by_name
from zenserve.circuits.graphs.types import Declared, FloatArray, Shape
from zenserve.errors import ModelError

Only = TypeVar("Only")
Values = Literal["real", "integer", "boolean"]
# Of one input an array; of several, one for each by its name.
Tensors = FloatArray | Mapping[str, FloatArray]


@dataclass(frozen=True)
class Input:
    """An input of a network. ``values``: integers and booleans, which are 0 and 1, are exact. ``features``:
    the input is a row of a table, whose columns may have very different ranges."""

    name: str
    shape: Shape
    values: Values = "real"
    features: bool = False


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in topological order over ``inputs``. ``outputs``: by their names the tensors that are asked for.

    ``declared`` maps names of tensors to the quantisation that the file prescribes for them, if any.
    ``tied``: for names of tensors an earlier one's that has their type, as those of a step that is repeated
    have; names of no tensors tie nothing. ``integers``: names of tensors that are of integers or booleans in
    the file. ``values``: names of outputs of several entries that are no scores of classes. ``ranked``: names
    of outputs of which nothing is asked but the places of their largest entries. ``measured``: runtimes round
    some tensors by scales that they measure on each input, which this network does not.
    """

    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: Mapping[str, str]
    declared: Mapping[str, Declared] = field(default_factory=dict)
    tied: Mapping[str, str] = field(default_factory=dict)
    integers: frozenset[str] = frozenset()
    values: tuple[str, ...] = ()
    ranked: frozenset[str] = frozenset()
    measured: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        shape: Shape,
        nodes: tuple[Node, ...],
        output: str,
        declared: Mapping[str, Declared] | None = None,
    ) -> Graph:
        """A network of one input of real numbers, and one output, the tensor ``output``."""
        return cls((Input(name, shape),), nodes, {output: output}, declared or {})

    def __post_init__(self) -> None:
        missing = {*self.outputs.values(), *self.declared} - set(self.shapes)
        if missing:
            raise ModelError("model.graph", f"no node makes the tensor {min(missing)[:80]!r}")

    @property
    def input(self) -> Input:
        """The only input. Raises ``ModelError`` (``model.inputs``) where there are others."""
        return only_input(self.inputs)

    @property
    def output(self) -> str:
        """The tensor that is the only output. Raises ``ModelError`` (``model.outputs``) where there are
        others."""
        return only_output(self.outputs)

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """The shape of every tensor."""
        shapes: dict[str, Shape] = {}
        for entry in self.inputs:
            if entry.name in shapes:
                raise ModelError("model.graph", f"two inputs have the name {entry.name[:80]!r}")
            require_size(entry.name, entry.shape)
            shapes[entry.name] = entry.shape
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

    @property
    def entries(self) -> dict[str, Shape]:
        """The shapes of the inputs by their names."""
        return {entry.name: entry.shape for entry in self.inputs}

    @property
    def readers(self) -> Counter[str]:
        """The number of times that each tensor is read: by nodes, and once if it is an output."""
        read = [name for node in self.nodes for name in node.inputs]
        return Counter([*read, *set(self.outputs.values())])

    def named(self, x: Tensors) -> dict[str, FloatArray]:
        """The inputs [n, *shape] by their names, of one input from the array alone. Raises ``TensorError``
        (``input.names``)."""
        return by_name(x, self.entries, field="input")

    def run(self, x: Tensors) -> FloatArray:
        """The only output [n, *shape] for inputs [n, *input shape]."""
        (value,) = self.run_all(x, {self.output}).values()
        return value

    def run_all(self, x: Tensors, names: Collection[str]) -> dict[str, FloatArray]:
        """The tensors of these names for inputs [n, *input shape]."""
        return {name: value for name, value in self.tensors(x) if name in names}

    def tensors(self, x: Tensors) -> Iterator[tuple[str, FloatArray]]:
        """Name and value of every tensor in order, the inputs first; each is let go after its last reader.
        What the file declares quantised has the values of its type."""
        last_reader = {name: node.name for node in self.nodes for name in node.inputs}
        values = {name: self._rounded(name, value) for name, value in self.named(x).items()}
        yield from [*values.items()]
        for node in self.nodes:
            made = node.run(*(values[name] for name in node.inputs))
            values[node.name] = self._rounded(node.name, made)
            for name in set(node.inputs):
                if last_reader[name] == node.name:
                    del values[name]
            yield node.name, values[node.name]

    def _rounded(self, name: str, value: FloatArray) -> FloatArray:
        declared = self.declared.get(name)
        return value if declared is None else declared.nearest(value)


def only_input(inputs: Sequence[Only]) -> Only:
    """Raises ``ModelError`` (``model.inputs``)."""
    if len(inputs) != 1:
        raise ModelError("model.inputs", f"this takes a network of one input, and it has {len(inputs)}")
    return inputs[0]


def only_output(outputs: Mapping[str, str]) -> str:
    """The tensor. Raises ``ModelError`` (``model.outputs``)."""
    if len(outputs) != 1:
        raise ModelError("model.outputs", f"this takes a network of one output, and it has {len(outputs)}")
    return next(iter(outputs.values()))
