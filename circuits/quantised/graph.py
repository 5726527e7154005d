"""The quantised network and its one integer semantics (docs/quantisation.md).

Every tensor is affine, and every sum exact (ZEN, Feng et al., section 4). Integers are int64 and provably
never overflow: the constructor refuses a node in which any weights and inputs of its types could bring an
intermediate value to 2^62.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from circuits.graphs.node import MOST_ELEMENTS, QuantNode
from circuits.graphs.tensors import as_finite_tensor, first_index
from circuits.graphs.types import Affine, Shape, require
from circuits.operators.sums import Accumulating
from circuits.quantised import file
from relations.integers import IntArray
from zenerrors import FileFormatError, ModelError, TensorError

# Names of nodes are the first part of the names of wires and blocks.
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True)
class Output:
    """What the network says: the first index of the largest logit, and the integer logits."""

    label: int
    logits: IntArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class QuantGraph:
    """Nodes in topological order over an input of type ``input_type``, and what they make of it, ``output``.

    Sums that no ``rescale`` brings into a type may only be reshaped and transposed on their way to the
    output. Raises ``ModelError`` (``model.quantised``, ``model.range_too_wide``) where the parts do not make
    an exact, overflow-free integer network.
    """

    input_name: str
    input_shape: Shape
    input_type: Affine
    nodes: tuple[QuantNode, ...]
    output: str

    def __post_init__(self) -> None:
        require(all(size > 0 for size in self.input_shape), "the input shape must be positive")
        require(self.output in self.types, f"no node makes the output {self.output[:80]!r}")
        for node in self.nodes:
            if not node.permutes:
                node.check(self.types_of(node), self.shapes_of(node))

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """The shape of every tensor."""
        shapes = {self.input_name: self.input_shape}
        for node in self.nodes:
            require(_NAME.fullmatch(node.name) is not None, f"node {node.name[:80]!r} needs a plain name")
            known = all(name in shapes for name in node.inputs) and node.name not in shapes
            require(known, f"node {node.name[:80]!r} is out of order")
            arity = len(node.inputs) if node.arity is None else node.arity
            require(len(node.inputs) == arity >= 1, f"node {node.name[:80]!r} has {len(node.inputs)} inputs")
            try:
                shapes[node.name] = node.shape(*(shapes[name] for name in node.inputs))
            except ModelError as error:
                raise ModelError("model.quantised", error.message) from None
            require(math.prod(shapes[node.name]) <= MOST_ELEMENTS, f"node {node.name[:80]!r} is too large")
        return shapes

    @cached_property
    def types(self) -> dict[str, Affine | None]:
        """The type of every tensor, None for sums without one."""
        types: dict[str, Affine | None] = dict.fromkeys(self.shapes)
        types[self.input_name] = self.input_type
        for node in self.nodes:
            types[node.name] = node.output_type([types[name] for name in node.inputs])
        return types

    @property
    def output_scale(self) -> tuple[float, int] | None:
        """What the outputs stand for: ``real = scale (q - zero_point)``. None where they are sums that have
        no one scale.
        """
        if kind := self.types[self.output]:
            return kind.scale, kind.zero_point
        nodes = {node.name: node for node in self.nodes}
        node = nodes[self.output]
        while not isinstance(node, Accumulating):  # what moves integers leaves them as they are
            node = nodes[node.inputs[0]]
        step = node.step(self.types_of(node))
        return None if step is None else (step, 0)

    def types_of(self, node: QuantNode) -> list[Affine]:
        """The types of what ``node`` reads. Raises ``ModelError`` where it reads sums without a type."""
        types = [self.types[name] for name in node.inputs]
        require(None not in types, f"node {node.name[:80]!r} reads sums without a type")
        return [kind for kind in types if kind is not None]

    def shapes_of(self, node: QuantNode) -> list[Shape]:
        """The shapes of what ``node`` reads."""
        return [self.shapes[name] for name in node.inputs]

    @cached_property
    def architecture(self) -> QuantGraph:
        """All of the network but its weights and biases: these are 0, and the largest of their types.

        Whoever has it can compile every circuit whose weights are committed.
        """
        nodes = tuple(node.blank() for node in self.nodes)
        return replace(self, nodes=nodes)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of ``to_bytes``."""
        return hashlib.sha256(self.to_bytes()).digest()

    @property
    def has_classes(self) -> bool:
        """Whether a label, the argmax, can be said of the outputs."""
        return self.classes >= 2

    @property
    def classes(self) -> int:
        """How many outputs there are."""
        return math.prod(self.shapes[self.output])

    def quantise_input(self, x: ArrayLike) -> IntArray:
        """The integers of the float input ``x``, int64[*input_shape].

        Raises ``TensorError``: ``input.not_numeric``, ``input.shape``, ``input.not_finite``, and
        ``input.out_of_range`` for a value outside the calibrated range by more than rounding.
        """
        tensor = as_finite_tensor(x, self.input_shape, field="input")
        low, high = self.input_type.interval
        bad = first_index((tensor < low) | (tensor > high))
        if bad is not None:
            raise TensorError(
                "input.out_of_range",
                f"input{list(bad)} lies outside the calibrated range, [{low:.6g}, {high:.6g}]",
                field="input",
            )
        return self.input_type.quantise(tensor)

    def execute(self, q: IntArray) -> Output:
        """Run on one input ``q``, int64[*input_shape] with values in [0, 2^bits). Exact."""
        logits = self.run(q[np.newaxis])[0]
        return Output(int(np.argmax(logits)), logits)

    def run(self, q: IntArray) -> IntArray:
        """The logits int64[n, classes] of inputs int64[n, *input_shape]."""
        value = next(value for name, value in self.tensors(q) if name == self.output)
        return value.reshape(len(q), -1)

    def to_bytes(self) -> bytes:
        """The network in the format of ``circuits.quantised.file``. Holds the weights."""
        return file.write(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> QuantGraph:
        """Raises ``FileFormatError``: the codes of ``file.read``, and ``file.value`` for parts that make no
        exact integer network."""
        try:
            return file.read(cls, data)
        except ModelError as error:
            raise FileFormatError("file.value", error.message) from error

    def tensors(self, q: IntArray) -> Iterator[tuple[str, IntArray]]:
        """Name and value of every tensor in order, the input first; each is let go after its last reader."""
        last_reader = {name: node.name for node in self.nodes for name in node.inputs}
        values = {self.input_name: q}
        yield self.input_name, q
        for node in self.nodes:
            values[node.name] = node.execute(
                [values[name] for name in node.inputs], [self.types[name] for name in node.inputs]
            )
            for name in set(node.inputs):
                if last_reader[name] == node.name:
                    del values[name]
            yield node.name, values[node.name]
