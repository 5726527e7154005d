"""The largest of each row: max pools, and what else takes them.

From below it is the entry that is certainly largest at its least; from above that entry where no other can
be larger, else the largest number that any entry reaches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from zenserve.bounds.arrays import Array, Interval, Mask, Sums, namespace
from zenserve.bounds.given import Given, Rules
from zenserve.bounds.linear import Linear
from zenserve.bounds.maps import Moved
from zenserve.bounds.network import Forms, Operation, Relaxed
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.relations import planes


@dataclass(frozen=True, eq=False)
class Maximum(Operation):
    """Along the last axis of what it reads."""

    def value(self, *read: Array) -> Array:
        made: Array = read[0].max(axis=-1)
        return made

    def image(self, *read: Interval) -> Interval:
        return Interval(read[0].low.max(axis=-1), read[0].high.max(axis=-1))

    def relaxed(self, *read: Interval) -> Relaxed:
        return _First.of(read[0])

    def curved(self, *read: Interval) -> Sequence[Mask | None]:
        first = _First.of(read[0])
        xp = namespace(read[0].low)
        possible = read[0].high > read[0].low.max(axis=-1, keepdims=True)
        return [xp.logical_and(possible, ~first.alone[..., np.newaxis])]


class _First(NamedTuple):
    """``index`` of the entry that is largest at its least, whether no other can be larger (``alone``), and
    the ``least`` and the ``most`` of all."""

    index: Any
    alone: Any
    least: Array
    most: Array
    length: int
    scale: Array

    @classmethod
    def of(cls, x: Interval) -> _First:
        xp, length = namespace(x.low), x.low.shape[-1]
        index = x.low.argmax(axis=-1)
        own = xp.arange(length) == index[..., np.newaxis]
        others = xp.where(own, -np.inf, x.high).max(axis=-1)
        least = x.low.max(axis=-1)
        alone = others <= least
        return cls(index, alone, least, x.high.max(axis=-1), length, x.magnitude.max(axis=-1))

    def back(self, lines: Array, added: Sums) -> list[Array]:
        xp = namespace(lines)
        alone = self.alone[:, np.newaxis]
        slope = xp.where(alone, lines, xp.maximum(lines, 0))
        constant = xp.where(alone, 0.0, xp.minimum(lines, 0)) * self.most[:, np.newaxis]
        own = xp.arange(self.length) == self.index[:, np.newaxis, ..., np.newaxis]
        added.add(constant)
        return [slope[..., np.newaxis] * own]

    def forward(self, read: Sequence[Forms]) -> Forms:
        """Return the forms of the maxima. Where another entry may be larger, the form is the sum of half the
        entry's form and half the interval from ``least`` to ``most``."""
        (x,), xp = read, namespace(self.most)
        slope = xp.take_along_axis(x.slope, self.index[..., np.newaxis, np.newaxis], axis=-2)[..., 0, :]
        offset, rest, size = (
            xp.take_along_axis(each, self.index[..., np.newaxis], axis=-1)[..., 0] for each in x[1:4]
        )
        share = xp.where(self.alone, 1.0, 0.5)
        middle, around = (
            xp.where(self.alone, 0.0, each) for each in (self.most / 2, self.most / 2 - self.least / 2)
        )
        return Forms(
            share[..., np.newaxis] * slope,
            share * offset + middle,
            share * rest + around,
            share * size + abs(middle) + around,
        )


def _pool(given: Given, node: MaxPool) -> list[Operation]:
    """Over windows, their entries side by side; in place of padding the first that is there."""
    (shape,) = given.shapes
    places = np.arange(math.prod(shape)).reshape(1, *shape)
    rank = len(node.kernel)
    seen = planes.slide(places, node.kernel, node.stride, node.padding, -1, node.dilation)[0]
    seen = seen.reshape(*seen.shape[: 1 + rank], -1)
    seen = np.where(seen < 0, seen.max(axis=-1, keepdims=True), seen)
    windows = Linear(
        f"{node.name}/windows", given.inputs, seen.shape, given.whole, (Moved(seen, shape),), np.zeros(())
    )
    return [windows, Maximum(given.name, (windows.name,), given.shape, given.whole)]


RULES: Rules = {MaxPool: _pool}
