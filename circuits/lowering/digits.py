"""Levels 0 to 4: everything that is compared or divided is decomposed into binary digits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from zenserve.circuits.lowering.arithmetic import Arithmetic
from zenserve.circuits.lowering.clamps import Clamp
from zenserve.circuits.lowering.cost import Cost
from zenserve.circuits.r1cs import gadgets
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import Linear, LinearCombinations, Weighted
from zenserve.circuits.r1cs.sources import Source
from zenserve.relations.functions import Requantisation, Tabulation
from zenserve.relations.integers import IntArray, Interval


class Digits(Arithmetic):
    """``full``: into all 254 digits of a field element (levels 0 and 1), or as many as the types need."""

    by_digits = True

    def __init__(self, builder: Builder, *, full: bool) -> None:
        super().__init__(builder)
        self._full = full
        self._digits = builder.capacity if full else None

    def chosen(self, name: str, *shape: int) -> IntArray:
        return self.builder.private(name, *shape)

    def ranged(self, name: str, value: LinearCombinations, bits: int, lowest: int = 0) -> None:
        gadgets.range_check(self.builder, name, value, bits, lowest)

    def attain(self, name: str, chosen: Linear, margin: Linear, bits: int) -> None:
        """All 254 digits say only that a margin is below 2^254: sums of two such reach the modulus. That one
        is chosen takes rows of its own then, and its margin, 0, bounds the others."""
        if not self._full:
            super().attain(name, chosen, margin, bits)
            return
        gadgets.decompose_fully(self.builder, f"{name}_margin", margin, bits)
        nothing = Linear.empty(chosen.rows)
        self.builder.multiply(f"{name}_one_hot", chosen, chosen.shift(-1), nothing)
        self.builder.multiply(f"{name}_attained", chosen, margin, nothing)

    def attain_cost(self, count: int, bits: int) -> Cost:
        if not self._full:
            return super().attain_cost(count, bits)
        return Cost(rows=count * (2 + gadgets.decompose_cost(bits, self._digits)))

    def margins(self, name: str, value: Linear, bits: int) -> Linear:
        """The digits stand for a value, which spares the proving key long sums in B."""
        return Linear.digits(gadgets.decompose(self.builder, name, value, bits))

    def margins_cost(self, count: int, bits: int) -> Cost:
        return Cost(rows=count * gadgets.decompose_cost(bits, None))

    def clamps(
        self, function: Requantisation, scaled: Interval, widths: Iterable[int]
    ) -> Sequence[Clamp | None]:
        return [None]

    def requantise(
        self, layer: str, source: Source, function: Requantisation, clamp: Clamp | None
    ) -> IntArray:
        return gadgets.requantise(self.builder, layer, source, function, full=self._full)

    def requantise_cost(
        self,
        count: int,
        scaled: Interval,
        function: Requantisation,
        clamp: Clamp | None,
        *,
        readable: bool,
        short: bool,
    ) -> tuple[Cost, Interval | None]:
        rows, interval = gadgets.requantise_cost(scaled, function, readable=readable, full=self._digits)
        return Cost(rows=count * rows), interval

    def tabulate(self, layer: str, value: IntArray, function: Tabulation, total: int = 0) -> IntArray:
        return gadgets.tabulate(self.builder, layer, value, function, full=self._full)

    def tabulate_cost(self, count: int, function: Tabulation, total: int = 0) -> Cost:
        return Cost(rows=count * gadgets.tabulate_cost(function, self._digits))

    def largest(self, name: str, wires: IntArray, bits: int) -> IntArray:
        best = wires[:, 0]
        for index in range(1, wires.shape[1]):
            sums = Weighted.wires(best), Weighted.wires(wires[:, index])
            best = gadgets.chosen(self.builder, f"{name}/{index}", *sums, bits, larger=True, full=self._full)
        return best

    def largest_cost(self, count: int, width: int, bits: int) -> Cost:
        return Cost(rows=count * (width - 1) * (gadgets.decompose_cost(bits + 1, self._digits) + 1))
