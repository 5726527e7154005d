"""Values of few bits by one lookup with what they are made of, and one of several of them together.

A table of arguments and values has two columns, and a lookup in it two rows: one column would do where values
are proven small, which is a lookup itself. Of few bits many fit into one lookup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from zenserve.circuits.lowering.cost import Cost
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import Linear, LinearCombinations
from zenserve.circuits.r1cs.steps import Maximum
from zenserve.circuits.r1cs.table import Table
from zenserve.relations.integers import IntArray

MOST_BITS = 4
"""Of values."""
# How many values are looked up together, in tables of up to 2^12 rows.
_GROUPS, _WIDEST = (4, 3, 2), 12
# Bits of an integer that tables and steps hold.
_INTEGER_BITS = 62


class Lookups(Protocol):
    """The tools that look values up: ``zenserve.circuits.lowering.tables``."""

    def look_up(self, name: str, table: Table, values: Sequence[LinearCombinations]) -> None: ...
    def look_up_sums(self, name: str, table: Table, sums: LinearCombinations) -> None: ...


class Choosing(Lookups, Protocol):
    """And has wires for what the prover chooses."""

    builder: Builder

    def chosen(self, name: str, *shape: int) -> IntArray: ...


@dataclass(frozen=True)
class Joint:
    """``table``: arguments, integers that span less than 2^shift, and of each its value, of ``bits`` bits.

    With N = 2^shift, value q of argument x: x + N q is an ``a + N t`` of the table, and of each ``group`` of
    values ``sum_i 2^(w i) q_i``, w >= shift + bits, one of the sums of all ``e_i`` in [0, 2^bits).
    Rows: 1, and 1 for a group.

    Sound: by the first, N (t - q) = d for d = x - a, an integer below N in absolute value. By the second
    ``sum_i 2^(w i) (N (t_i - e_i) - d_i) = 0``, an equation of integers below N 2^bits <= 2^w in absolute
    value: all are 0, so that N divides d_i, which is 0, and q_i is t_i. An argument must be an integer of its
    span whatever the values of its group are: they are those of one call, whose arguments are known before.
    """

    table: Table
    bits: int
    shift: int
    group: int

    @property
    def _slot(self) -> int:
        return _INTEGER_BITS // self.group

    @property
    def fits(self) -> bool:
        return self.bits * self.group <= _WIDEST and self.shift + self.bits <= self._slot

    @property
    def _tables(self) -> tuple[Table, Table]:
        return _joined(self.table, self.shift), _digits(self.bits, self.group, self._slot)

    def cost(self, count: int) -> Cost:
        return Cost(rows=count - (-count // self.group), tables=frozenset(self._tables))

    def lower(
        self, tools: Lookups, name: str, arguments: LinearCombinations, values: Linear, *, short: bool
    ) -> None:
        """Add the rows. ``short``: arguments are of few wires each."""
        joined, digits = self._tables
        both = arguments + values.scale(1 << self.shift)
        if short:
            tools.look_up(f"{name}/joint", joined, [both])
        else:
            tools.look_up_sums(f"{name}/joint", joined, both)
        group, place = np.divmod(np.arange(values.rows), self.group)
        together = values.scale(np.left_shift(1, self._slot * place))
        tools.look_up(f"{name}/small", digits, [together.sums(group, int(group[-1]) + 1)])


def joints(table: Table, bits: int, shift: int) -> Iterator[Joint]:
    """The ways there are, of the most values together first; of more than ``MOST_BITS`` there is none."""
    if bits <= MOST_BITS:
        found = (Joint(table, bits, shift, group) for group in _GROUPS)
        yield from (each for each in found if each.fits)


@dataclass(frozen=True)
class Rounds:
    """The largest of values of ``bits`` bits: round after round of up to ``at_once``, digits of a number."""

    bits: int
    at_once: int

    def cost(self, count: int, width: int) -> Cost:
        """Of the largest of ``width`` values, ``count`` times."""
        costs = []
        while width > 1:
            sizes = self._sizes(width)
            costs += [self._joint(count, size).cost(count) for size in sizes if size > 1]
            width = len(sizes)
        return Cost.sum(costs)

    def largest(self, tools: Choosing, name: str, wires: IntArray) -> IntArray:
        """Of each row of wires[n, k]: wires [n]."""
        number = 0
        while wires.shape[1] > 1:
            ends = np.cumsum(self._sizes(wires.shape[1])).tolist()
            number, columns = number + 1, []
            for index, part in enumerate(np.split(wires, ends[:-1], axis=1)):
                columns.append(self._largest(tools, f"{name}/round{number}_{index}", part))
            wires = np.stack(columns, axis=1)
        return wires[:, 0]

    def _largest(self, tools: Choosing, name: str, wires: IntArray) -> IntArray:
        count, size = wires.shape
        if size == 1:
            return wires[:, 0]
        out = tools.chosen(name, count)
        tools.builder.fill(Maximum(name, out, wires.ravel()))
        digits = Linear.weighted(wires, np.left_shift(1, self.bits * np.arange(size)))
        self._joint(count, size).lower(tools, name, digits, Linear.wires(out), short=True)
        return out

    def _sizes(self, width: int) -> list[int]:
        return [min(self.at_once, width - first) for first in range(0, width, self.at_once)]

    def _joint(self, count: int, size: int) -> Joint:
        ways = joints(_largest_table(self.bits, size), self.bits, self.bits * size)
        return min(ways, key=lambda way: way.cost(count).total(by_digits=False))


@lru_cache(maxsize=256)
def rounds(count: int, width: int, bits: int, most: int) -> Rounds | None:
    """The cheapest, where it has fewer rows than ``most``, tables included."""
    ways = [Rounds(bits, at_once) for at_once in range(2, 1 + _WIDEST // bits)] if bits <= MOST_BITS else []
    rows = {way: way.cost(count, width).total(by_digits=False) for way in ways}
    found = min(ways, key=lambda way: rows[way], default=None)
    return found if found and rows[found] < most else None


@lru_cache(maxsize=64)
def _largest_table(bits: int, count: int) -> Table:
    """The largest of the ``count`` digits, of ``bits`` bits, of each integer."""
    integers = np.arange(1 << (bits * count))
    digits = integers[:, np.newaxis] >> (bits * np.arange(count)) & (1 << bits) - 1
    return Table(f"largest_{bits}_{count}", np.stack([integers, digits.max(axis=1)], axis=1))


@lru_cache(maxsize=64)
def _joined(table: Table, shift: int) -> Table:
    """Its two columns in one."""
    argument, value = table.columns.T
    return Table(f"{table.name}_joint_{shift}", (argument + (value << shift))[:, np.newaxis])


@lru_cache(maxsize=64)
def _digits(bits: int, count: int, slot: int) -> Table:
    """All sums of ``count`` digits of ``bits`` bits, each ``slot`` bits above the one before."""
    digits = np.indices((1 << bits,) * count).reshape(count, -1)
    sums = (digits << (slot * np.arange(count))[:, np.newaxis]).sum(axis=0)
    return Table(f"digits_{bits}_{count}_{slot}", sums[:, np.newaxis])
