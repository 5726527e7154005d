"""Integers that rows equate with other wires: the sums of a node, before they are rescaled.

Many equations of bounded integers make one of the field: where ``|D_i| < 2^w`` for all i, and n w is at most
the bits of its capacity (254 for r),

    sum_i 2^(w i) D_i = 0 in Fr    exactly if every D_i = 0

The sum is below 2^254 < r in absolute value, hence zero as an integer; then D_0 is a multiple of 2^w, hence
zero, and so on. This is knit encoding (ZENO, section 6.5) where the D_i are sums of wires that are there
anyway; ``zenserve.circuits.lowering.encodings`` packs products, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import Knitted, LinearCombinations
from zenserve.relations.bounds import Capacity, slot_width
from zenserve.relations.integers import Interval


class Source(ABC):
    """``rows`` integers that are proven to lie in ``interval``.

    ``sums``: the combinations of wires that they are, where rows may read them as such. ``short``: they may
    do so in A and B, where a sum of many wires makes a proving key larger.
    """

    rows: int
    interval: Interval
    sums: LinearCombinations | None
    short: bool

    @property
    @abstractmethod
    def values(self) -> LinearCombinations:
        """The integers, as steps read them: ``sums``, or what no row may read."""

    @abstractmethod
    def equate(self, name: str, other: LinearCombinations, interval: Interval) -> None:
        """Adds rows that say that the integers equal ``other``, which is proven to lie in ``interval``."""


class Known(Source):
    """Sums of wires. ``knit``: as many equations as fit make one row."""

    def __init__(
        self,
        builder: Builder,
        sums: LinearCombinations,
        interval: Interval,
        *,
        knit: bool = False,
        short: bool = True,
    ) -> None:
        self._builder, self._knit, self.short = builder, knit, short
        self.sums: LinearCombinations = sums
        self.rows, self.interval = sums.rows, interval

    @property
    def values(self) -> LinearCombinations:
        return self.sums

    def equate(self, name: str, other: LinearCombinations, interval: Interval) -> None:
        difference = self.sums - other
        if self._knit:
            width = slot_width(self.interval, interval)
            difference = Knitted(difference, self._builder.capacity.slots(width), width)
        self._builder.zero(name, difference)


def knit_rows(count: int, left: Interval, right: Interval, capacity: Capacity) -> int:
    """The rows of ``Known.equate`` for so many integers, knit."""
    return -(-count // capacity.slots(slot_width(left, right)))
