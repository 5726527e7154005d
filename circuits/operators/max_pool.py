"""Max pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.node import Mover, Number
from zenserve.circuits.graphs.types import Affine
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.windows import Pool
from zenserve.relations import planes
from zenserve.relations.bounds import Bound
from zenserve.relations.planes import Sliding
from zenserve.relations.relation import Maximum, Relation, Tensor
from zenserve.verifier.schemes import Privacy


@dataclass(frozen=True, eq=False)
class MaxPool(Pool, Mover):
    """The largest value in each window; padding never wins."""

    called = "max"

    def move(self, inputs: Sequence[NDArray[Number]], zero: int) -> NDArray[Number]:
        (x,) = inputs
        least = -np.inf if x.dtype == np.float64 else -1
        seen = planes.slide(x, self.kernel, self.stride, self.padding, least, self.dilation)
        largest: NDArray[Number] = seen.max(axis=tuple(range(-len(self.kernel), 0)))
        return largest

    def relate(
        self, inputs: Sequence[Tensor], types: Sequence[Affine | None], privacy: Privacy
    ) -> list[Relation]:
        (value,) = inputs
        image = value.shape[1:]
        sliding = Sliding(image, self.kernel, self.stride, self.padding, image[0], self.dilation)
        out = self._made(inputs, Bound.of(*value.bound.interval), value.bits)
        return [Maximum(self.name, out, value, sliding)]


ENTRY = Entry(integers=(MaxPool,))
