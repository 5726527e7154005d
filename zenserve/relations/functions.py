"""Functions of one integer that lookups prove."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from zenserve.relations.bounds import Bound
from zenserve.relations.integers import IntArray, Interval


@dataclass(frozen=True, eq=False)
class Requantisation:
    """From sums to a tensor of few bits:

        T = multiplier · a + offset
        q = clamp(floor(T / 2^shift), low, high)

    ``multiplier``: int64, positive, broadcasts to the shape of one sample.
    """

    multiplier: IntArray = field(repr=False)
    offset: int
    shift: int
    low: int
    high: int

    def apply(self, a: IntArray) -> IntArray:
        """``q`` of each ``a``, int64; the last axes are those of one sample."""
        q: IntArray = np.clip((self.multiplier * a + self.offset) >> self.shift, self.low, self.high)
        return q

    @property
    def key(self) -> tuple[bytes, int, int, int, int]:
        """The same of functions that are the same."""
        return self.multiplier.tobytes(), self.offset, self.shift, self.low, self.high

    def scaled(self, bound: Bound) -> Interval:
        """The least and the largest T for sums within ``bound``. Exact, in Python integers."""
        low, high = (
            _broadcast_product(self.multiplier, end) + np.array(self.offset, dtype=object)
            for end in (bound.low, bound.high)
        )
        return int(low.min()), int(high.max())


@dataclass(frozen=True, eq=False)
class Tabulation:
    """Any function of few integers: ``values[x - first]`` for x from ``first`` on, int64[entries]."""

    values: IntArray = field(repr=False)
    first: int = 0

    def apply(self, x: IntArray) -> IntArray:
        """The value of each ``x``, int64; beyond either end that of the end."""
        found: IntArray = self.values[np.clip(x - self.first, 0, len(self.values) - 1)]
        return found

    @property
    def key(self) -> tuple[bytes, int]:
        """The same of functions that are the same."""
        return self.values.tobytes(), self.first

    def within(self, low: int, high: int) -> Tabulation:
        """The same for arguments in [low, high] alone, or clamped to it."""
        return Tabulation(self.apply(np.arange(low, high + 1)), low)

    @property
    def bits(self) -> int:
        """The least b >= 1 for which 2^b entries hold all of them."""
        return max(1, (len(self.values) - 1).bit_length())

    @property
    def bound(self) -> Bound:
        """The least and the largest value."""
        return Bound.of(int(self.values.min()), int(self.values.max()))


class Rule(Protocol):
    """The rule by which a prover chooses values that no relation determines."""

    def choose(self, *values: IntArray) -> IntArray:
        """Of values, int64[n] each, what is chosen for each entry, int64[n]."""


def slack_factor(overflow_digits: int) -> int:
    """Return the factor that makes the clamp's slack an integer: the least common multiple of all counts of
    overflow."""
    return math.lcm(*range(1, overflow_digits + 2))


def _broadcast_product(multiplier: IntArray, end: IntArray) -> NDArray[np.object_]:
    """Never overflows."""
    return np.asarray(multiplier.astype(object) * end.astype(object), dtype=object)
