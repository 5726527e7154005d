"""Zeros around a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from circuits.graphs.graph import Graph
from circuits.graphs.node import Constants, Mover, Node, Number, Written, dims
from circuits.graphs.rewriting import join
from circuits.graphs.types import Affine, Shape
from circuits.operators.convolution import Conv
from circuits.operators.entry import Entry
from relations.planes import Pair


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


def pad_into_conv(graph: Graph) -> Graph:
    """Zeros around an image into the padding of the convolution after them."""
    return join(graph, _padded)


def _padded(graph: Graph, before: Node, node: Node) -> Node | None:
    if not isinstance(before, Pad) or not isinstance(node, Conv) or any(before.padding[0]):
        return None
    befores, afters = zip(*before.padding[1:], strict=True)
    padding = tuple(map(sum, zip(node.padding, befores + afters, strict=True)))
    return replace(node, inputs=before.inputs, padding=padding)


ENTRY = Entry(integers=(Pad,), passes=(pad_into_conv,))
