"""Levels 0 to 2: everything that is compared or divided is decomposed into binary digits."""

from __future__ import annotations

from circuits import gadgets
from circuits.builder import Builder
from circuits.integers import IntArray, Interval
from circuits.linear import Sums, Weighted
from circuits.lowering.arithmetic import Arithmetic
from circuits.quantised import Rescale


class Digits(Arithmetic):
    """``full``: into all 254 digits of a field element (levels 0 and 1), or as many as the types need (2)."""

    def __init__(self, builder: Builder, *, full: bool) -> None:
        super().__init__(builder)
        self._full = full

    def chosen(self, name: str, *shape: int) -> IntArray:
        return self.builder.private(name, *shape)

    def ranged(self, name: str, value: Sums, bits: int, lowest: int = 0) -> None:
        gadgets.range_check(self.builder, name, value, bits, lowest)

    def requantise(self, layer: str, total: Sums, scaled: Interval, rescale: Rescale) -> IntArray:
        return gadgets.requantise(self.builder, layer, total, scaled, rescale, full=self._full)

    def larger(self, name: str, left: IntArray, right: IntArray, bits: int) -> IntArray:
        sums = Weighted.wires(left), Weighted.wires(right)
        return gadgets.larger(self.builder, name, *sums, bits, full=self._full)
