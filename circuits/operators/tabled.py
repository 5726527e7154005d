"""Nodes that look each entry up: ``q_y = values[q]``."""

from __future__ import annotations

from collections.abc import Sequence

from zenserve.circuits.graphs.node import QuantNode
from zenserve.circuits.graphs.types import Affine, Shape, require
from zenserve.relations.functions import Tabulation
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Relation, Tabulated, Tensor
from zenserve.verifier.schemes import Privacy


class Tabled(QuantNode):
    """No dataclass of its own: each kind of node says in which order files have its fields."""

    values: IntArray
    output: Affine

    def execute(self, inputs: Sequence[IntArray], types: Sequence[Affine | None]) -> IntArray:
        return Tabulation(self.values).apply(inputs[0])

    def output_type(self, types: Sequence[Affine | None]) -> Affine | None:
        return self.output

    def check(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> None:
        name, entries = self.name[:80], types[0].top + 1
        require(self.values.shape == (entries,), f"node {name!r} needs a table of {entries} integers")
        inside = (self.values >= 0) & (self.values <= self.output.top)
        require(bool(inside.all()), f"node {name!r} has entries beyond [0, {self.output.top}]")

    def relate(
        self, inputs: Sequence[Tensor], types: Sequence[Affine | None], privacy: Privacy
    ) -> list[Relation]:
        function = Tabulation(self.values)
        out = self._made(inputs, function.bound, self.output.bits)
        return [Tabulated(self.name, out, inputs[0], function)]
