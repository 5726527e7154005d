"""Zeros around a tensor, or what is less than all numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Constants, Mover, Node, Number, Written, dims
from zenserve.circuits.graphs.rewriting import join
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import Affine, FloatArray, Shape
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.errors import ModelError
from zenserve.relations.planes import Pair


@dataclass(frozen=True, eq=False)
class Pad(Mover):
    """Zeros around a tensor: ``padding`` has (before, after) for each axis."""

    called = "pad"
    keeps_declared = False

    padding: tuple[Pair, ...]

    def shape(self, *shapes: Shape) -> Shape:
        if len(self.padding) != len(shapes[0]) or any(min(pair) < 0 for pair in self.padding):
            raise self.refuse(f"pads shape [batch, {dims(shapes[0])}] by {self.padding}")
        return tuple(size + sum(pair) for size, pair in zip(shapes[0], self.padding, strict=True))

    def move(self, inputs: Sequence[NDArray[Number]], zero: int) -> NDArray[Number]:
        return np.pad(inputs[0], ((0, 0), *self.padding), constant_values=zero)

    def constant(self, types: Sequence[Affine | None]) -> int | None:
        return types[0].zero_point if types[0] else None

    def written(self, constant: Constants) -> Written:
        befores, afters = zip(*self.padding, strict=True)
        return Written("Pad", [constant("padding", [0, *befores, 0, *afters])])


@dataclass(frozen=True, eq=False)
class LeastPad(Pad):
    """Minus infinity around a tensor, which a max pool alone may read: it becomes padding of that."""

    def run(self, *inputs: FloatArray) -> FloatArray:
        return np.pad(inputs[0], ((0, 0), *self.padding), constant_values=-np.inf)

    def quantise(self, site: Site) -> Self:
        raise ModelError(
            "model.unsupported_operator",
            f"node {self.name[:80]!r} (Pad) pads with minus infinity, which only a MaxPool may read whose "
            "windows all have other entries, too; pad with a number",
        )

    def written(self, constant: Constants) -> Written:
        operator, constants, _ = super().written(constant)
        return Written(operator, [*constants, constant("least", np.array(-np.inf))])


def pad_into_windows(graph: Graph) -> Graph:
    """Zeros around an image into the padding of the convolution after them, and minus infinity into that of
    the max pool."""
    return join(graph, _padded)


def _padded(graph: Graph, before: Node, node: Node) -> Node | None:
    if not isinstance(before, Pad) or any(before.padding[0]):
        return None
    if not isinstance(node, MaxPool if isinstance(before, LeastPad) else Conv):
        return None
    befores, afters = zip(*before.padding[1:], strict=True)
    padding = tuple(map(sum, zip(node.padding, befores + afters, strict=True)))
    joined = replace(node, inputs=before.inputs, padding=padding)
    holds = isinstance(joined, MaxPool) and joined.holds_whole_windows(graph.shapes[before.inputs[0]])
    return None if holds else joined


ENTRY = Entry(integers=(Pad,), passes=(pad_into_windows,))
