"""Tensors of one constant, computed from nothing: what states begin with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from zenserve.circuits.graphs.node import Node, QuantNode
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import Affine, FloatArray, Shape, require
from zenserve.circuits.operators.entry import Entry
from zenserve.relations.bounds import Bound
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Move, Relation, Tensor
from zenserve.verifier.schemes import Privacy


@dataclass(frozen=True, eq=False)
class Filled(Node):
    """``value`` in every entry of a tensor of shape ``sizes``, whatever is read."""

    called = "filled"

    sizes: Shape
    value: float

    def shape(self, *shapes: Shape) -> Shape:
        return self.sizes

    def run(self, *inputs: FloatArray) -> FloatArray:
        return np.full((len(inputs[0]), *self.sizes), self.value)

    def quantise(self, site: Site) -> QuantFilled:
        output = site.output()
        value = int(output.quantise(np.array(self.value)))
        return QuantFilled(site.name, site.inputs, self.sizes, value, output)


@dataclass(frozen=True, eq=False)
class QuantFilled(QuantNode):
    """The integer ``value`` in every entry."""

    sizes: Shape
    value: int
    output: Affine

    def shape(self, *shapes: Shape) -> Shape:
        return self.sizes

    def execute(self, inputs: Sequence[IntArray], types: Sequence[Affine | None]) -> IntArray:
        return np.full((len(inputs[0]), *self.sizes), self.value)

    def output_type(self, types: Sequence[Affine | None]) -> Affine | None:
        return self.output

    def check(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> None:
        require(0 <= self.value <= self.output.top, f"node {self.name[:80]!r} has a value beyond its type")
        require(min(self.sizes, default=0) > 0, f"node {self.name[:80]!r} has no entries")

    def relate(
        self, inputs: Sequence[Tensor], types: Sequence[Affine | None], privacy: Privacy
    ) -> list[Relation]:
        out = self._made(inputs, Bound.of(self.value, self.value), self.output.bits)
        return [Move(self.name, out, tuple(inputs), np.full(self.sizes, -1), self.value)]

    def scales(self) -> dict[str, Any] | None:
        return {"name": self.name, "value": self.value, "rescale": {"output": asdict(self.output)}}


ENTRY = Entry(integers=(QuantFilled,))
