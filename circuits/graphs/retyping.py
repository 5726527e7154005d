"""The same integers under another type. It costs nothing, since the circuit has them already."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from zenserve.circuits.graphs.node import Constants, Node, QuantNode, Written
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import MOST_COMPARED_BITS, Affine, FloatArray, Shape, require
from zenserve.errors import ModelError
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Move, Relation, Tensor
from zenserve.verifier.schemes import Privacy


@dataclass(frozen=True, eq=False)
class Retype(Node):
    """The conversion of each entry to the integer that ``before`` gives it, and of that integer to its value
    under ``after``. Both types have the same integers: so a file computes with quantised integers as with
    numbers."""

    called = "retype"

    before: Affine
    after: Affine

    def run(self, *inputs: FloatArray) -> FloatArray:
        return self.after.real(self.before.quantise(inputs[0]))

    def quantise(self, site: Site) -> QuantRetype:
        if site.incoming() != self.before:
            raise ModelError(
                "model.quantised",
                f"node {self.name[:80]!r} reads the integers of {site.inputs[0]!r} in a type that the file "
                "does not give it",
            )
        return QuantRetype(site.name, site.inputs, self.after)

    def written(self, constant: Constants) -> Written:
        raise ModelError("model.unsupported_operator", "another type of integers is no operator of ONNX")


@dataclass(frozen=True, eq=False)
class Shift(Node):
    """``x - origin`` of whole numbers that inputs name: the same integers, whose zero is another number. So
    timestamps are exact, however far from zero they are."""

    called = "shift"
    widest = MOST_COMPARED_BITS

    taken: int

    @property
    def origin(self) -> int:
        return self.taken

    def run(self, *inputs: FloatArray) -> FloatArray:
        return inputs[0] - self.taken

    def quantise(self, site: Site) -> QuantRetype:
        kind = site.incoming()
        return QuantRetype(site.name, site.inputs, replace(kind, zero_point=kind.zero_point + self.taken))

    def written(self, constant: Constants) -> Written:
        return Written("Sub", [constant("origin", np.array(float(self.taken)))])


@dataclass(frozen=True, eq=False)
class QuantRetype(QuantNode):
    """``q_y = q``, of the type ``output``."""

    output: Affine

    def needs_zero(self, types: Sequence[Affine | None]) -> bool:
        return False

    def execute(self, inputs: Sequence[IntArray], types: Sequence[Affine | None]) -> IntArray:
        return inputs[0]

    def output_type(self, types: Sequence[Affine | None]) -> Affine | None:
        return self.output

    def check(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> None:
        require(types[0].bits == self.output.bits, f"node {self.name[:80]!r} changes how many bits there are")

    def relate(
        self, inputs: Sequence[Tensor], types: Sequence[Affine | None], privacy: Privacy
    ) -> list[Relation]:
        (value,) = inputs
        places = np.arange(math.prod(value.shape[1:])).reshape(value.shape[1:])
        return [Move(self.name, self._made(inputs, value.bound, value.bits), (value,), places)]
