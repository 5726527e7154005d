"""Level 5: ranges, clamps and comparisons by lookups in tables that the whole circuit shares.

Everything that a challenge checks must be fixed before it is drawn: what the prover chooses stands in a
segment, and the rest is determined by rows without challenges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from zenserve.circuits.lowering.arithmetic import Arithmetic
from zenserve.circuits.lowering.clamps import Clamp, clamps, values_table
from zenserve.circuits.lowering.cost import Cost
from zenserve.circuits.lowering.joint import Rounds, rounds
from zenserve.circuits.r1cs import gadgets
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.gadgets import require_fit
from zenserve.circuits.r1cs.linear import Linear, LinearCombinations, Weighted
from zenserve.circuits.r1cs.lookups import Lookups
from zenserve.circuits.r1cs.ranges import RangeChecks
from zenserve.circuits.r1cs.sources import Source
from zenserve.circuits.r1cs.steps import Maximum, Product, Tabulate
from zenserve.circuits.r1cs.table import Table
from zenserve.relations.functions import Requantisation, Tabulation
from zenserve.relations.integers import IntArray, Interval

# Bits of the arguments of functions that tables are always made for.
_SMALL = 8


class Tables(Arithmetic):
    """All lookups and products of a circuit share their tables, and the challenge's powers."""

    by_digits = False

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self._lookups = Lookups(builder)
        self._ranges = RangeChecks(self._lookups)

    def chosen(self, name: str, *shape: int) -> IntArray:
        return self.builder.auxiliary(name, *shape)

    def ranged(self, name: str, value: LinearCombinations, bits: int, lowest: int = 0) -> None:
        self._ranges.check(name, value, bits, lowest)

    def look_up(self, name: str, table: Table, values: Sequence[LinearCombinations]) -> None:
        """Each tuple of values is a row of the table. Rows: as many as columns."""
        self._lookups.look_up(name, table, [value.whole() for value in values])

    def look_up_sums(self, name: str, table: Table, sums: LinearCombinations) -> None:
        """Sums of any number of wires are rows of a table of one column. Rows: 1."""
        self._lookups.look_up_sums(name, table, sums)

    def look_up_among(
        self, name: str, entries: Sequence[Linear], values: Sequence[Linear], places: Linear
    ) -> None:
        """The same of a table whose entries are wires, too (``Lookups.look_up_among``)."""
        self._lookups.look_up_among(name, entries, values, places.compact)

    def margins(self, name: str, value: Linear, bits: int) -> Linear:
        self.ranged(name, value, bits)
        return value

    def margins_cost(self, count: int, bits: int) -> Cost:
        return Cost.range_checks(bits, count)

    def clamps(
        self, function: Requantisation, scaled: Interval, widths: Iterable[int]
    ) -> Sequence[Clamp | None]:
        return list(clamps(function, scaled, widths))

    def requantise(
        self, layer: str, source: Source, function: Requantisation, clamp: Clamp | None
    ) -> IntArray:
        require_fit(f"{layer}/requantise", source.interval)
        assert clamp is not None  # noqa: S101  ``clamps`` has no None
        require_fit(f"{layer}/requantise", clamp.interval)
        return clamp.lower(self, layer, source)

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
        assert clamp is not None  # noqa: S101  ``clamps`` has no None
        return clamp.cost(count, inline=short), None if short or clamp.reads_sums else clamp.interval

    def tabulate(self, layer: str, value: IntArray, function: Tabulation, total: int = 0) -> IntArray:
        """Rows: 2, and once the table's; or those of ``gadgets.tabulate``.

        Sound: (value, out) is a row of the table, which has one for each value.
        """
        if _is_by_digits(max(total, len(value)), function):
            return gadgets.tabulate(self.builder, layer, value, function, ahead=True)
        out = self.chosen(f"{layer}/out", len(value))
        self.builder.fill(Tabulate(f"{layer}/out", out, value, function))
        self.look_up(f"{layer}/table", values_table(function), [Weighted.wires(value), Weighted.wires(out)])
        return out

    def tabulate_cost(self, count: int, function: Tabulation, total: int = 0) -> Cost:
        if _is_by_digits(max(total, count), function):
            return Cost(rows=count * gadgets.tabulate_cost(function, None))
        return Cost(rows=2 * count, tables=frozenset({values_table(function)}))

    def largest(self, name: str, wires: IntArray, bits: int) -> IntArray:
        """Rows: k range checks of ``bits``, and k - 1; of few bits those of ``joint`` where they are fewer.

        Sound: no value exceeds it, and the product of what each lacks is 0, so that it equals one of them.
        """
        by_tables = _rounds(len(wires), wires.shape[1], bits)
        if by_tables is not None:
            return by_tables.largest(self, name, wires)
        builder, (count, width) = self.builder, wires.shape
        out = self.chosen(f"{name}/chosen", count)
        builder.fill(Maximum(f"{name}/chosen", out, wires.ravel()))
        repeated = Linear.wires(np.repeat(out, width))
        self.ranged(f"{name}/lacking", repeated - Linear.wires(wires.ravel()), bits)
        lacking = [Linear.wires(out) - Linear.wires(column) for column in wires.T]
        product = lacking[0]
        for index, factor in enumerate(lacking[1:-1], 1):
            following = builder.private(f"{name}/product{index}", count)
            builder.multiply(f"{name}/product", product, factor, Linear.wires(following))
            # A product of field elements: it may exceed 64 bits.
            builder.derive(Product(f"{name}/product{index}", following, product.compact, factor.compact))
            product = Linear.wires(following)
        builder.multiply(f"{name}/one_of_them", product, lacking[-1], Linear.empty(count))
        return out

    def largest_cost(self, count: int, width: int, bits: int) -> Cost:
        by_tables = _rounds(count, width, bits)
        return by_tables.cost(count, width) if by_tables else _largest_by_products(count, width, bits)


def _rounds(count: int, width: int, bits: int) -> Rounds | None:
    """Return the rounds of tables of their own for the largest of values of few bits, if they are cheaper;
    else None."""
    return rounds(count, width, bits, _largest_by_products(count, width, bits).total(by_digits=False))


def _largest_by_products(count: int, width: int, bits: int) -> Cost:
    return Cost.range_checks(bits, width * count) + Cost(rows=(width - 1) * count)


def _is_by_digits(count: int, function: Tabulation) -> bool:
    """Return whether few values of a function are cheaper by their digits than by its table. A table of 2^8
    rows or less is always looked up, since nodes with the same function share it."""
    rows = len(function.values) + 1 + 2 * count
    return function.bits > _SMALL and count * gadgets.tabulate_cost(function, None) < rows
