"""Entries of a vector, some of them, in any order: ``moving`` has the operators that become this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from numpy.typing import NDArray

from zenserve.circuits.graphs.node import Constants, Mover, Number, Written, dims
from zenserve.circuits.graphs.types import Shape
from zenserve.circuits.operators.entry import Entry
from zenserve.relations.integers import IntArray


@dataclass(frozen=True, eq=False)
class Gather(Mover):
    """Of a vector the entries at ``places``, int64 of any shape."""

    called = "gather"
    permutes = True

    places: IntArray = field(repr=False)

    def shape(self, *shapes: Shape) -> Shape:
        if len(shapes[0]) != 1 or not self.places.ndim or not self.places.size:
            raise self.refuse(f"reads shape [batch, {dims(shapes[0])}]; it takes some entries of a vector")
        if not 0 <= self.places.min() <= self.places.max() < shapes[0][0]:
            raise self.refuse(f"reads beyond a vector of {shapes[0][0]} entries")
        return self.places.shape

    def move(self, inputs: Sequence[NDArray[Number]], zero: int) -> NDArray[Number]:
        return inputs[0][:, self.places]

    def written(self, constant: Constants) -> Written:
        return Written("Gather", [constant("places", self.places)], {"axis": 1})


ENTRY = Entry(integers=(Gather,))
