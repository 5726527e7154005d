"""The exact cost of each way to prove a relation, before any of it is built.

Range checks share their tables, and equal clamps and powers of challenges are shared by all their users: so
costs are added up first, and only the sum has a number of rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from zenserve.circuits.r1cs.powers import missing
from zenserve.circuits.r1cs.ranges import rows_by_limb
from zenserve.circuits.r1cs.table import Table

# (challenge, stride, count): the progression that ``zenserve.circuits.r1cs.powers.Powers`` is asked for.
Progression = tuple[int, int, int]


@dataclass(frozen=True)
class Cost:
    """``rows`` of its own; ``ranges``: how many values are range-checked to so many bits; ``tables`` that are
    looked up; ``powers`` of challenges, in the order in which they are asked for."""

    rows: int = 0
    ranges: Counter[int] = field(default_factory=Counter)
    tables: frozenset[Table] = frozenset()
    powers: tuple[Progression, ...] = ()

    @classmethod
    def range_checks(cls, bits: int, count: int) -> Cost:
        return cls(ranges=Counter({bits: count}))

    @classmethod
    def sum(cls, costs: Iterable[Cost]) -> Cost:
        rows, ranges, tables = 0, Counter[int](), set[Table]()
        powers: dict[Progression, None] = {}
        for cost in costs:
            rows += cost.rows
            ranges.update(cost.ranges)
            tables |= cost.tables
            powers |= dict.fromkeys(cost.powers)
        return cls(rows, ranges, frozenset(tables), tuple(powers))

    def times(self, count: int) -> Cost:
        """Of so many alike."""
        ranges = Counter({bits: count * each for bits, each in self.ranges.items()})
        return Cost(count * self.rows, ranges, self.tables, self.powers)

    def __add__(self, other: Cost) -> Cost:
        return Cost.sum((self, other))

    def total(self, *, by_digits: bool) -> int:
        """All rows, where range checks are by binary digits or by lookups."""
        tables = sum(map(_table_rows, self.tables))
        return self.rows + _check_rows(self.ranges, by_digits) + tables + _power_rows(self.powers)

    @cached_property
    def shared(self) -> Hashable:
        """The same for costs that differ by their own rows alone, and for no others."""
        return frozenset(self.ranges.items()), frozenset(table.name for table in self.tables), self.powers


class Tally:
    """A sum of costs that others join and leave, each in the time that it takes alone."""

    def __init__(self, costs: Iterable[Cost], *, by_digits: bool) -> None:
        self._by_digits = by_digits
        self._rows = 0
        self._ranges, self._tables = Counter[int](), Counter[str]()
        self._powers = Counter[Progression]()
        for cost in costs:
            self.add(cost)

    def add(self, cost: Cost, times: int = 1) -> None:
        """``times`` -1: ``cost`` leaves."""
        self._rows += times * cost.rows
        for bits, count in cost.ranges.items():
            self._ranges[bits] += times * count
        for table in cost.tables:
            self._tables[table.name] += times
            if self._tables[table.name] == max(0, times):
                self._rows += times * _table_rows(table)
        for each in cost.powers:
            self._powers[each] += times
        self._ranges, self._powers = +self._ranges, +self._powers

    def total(self, cost: Cost) -> int:
        """All rows with ``cost``."""
        ranges = self._ranges + cost.ranges
        tables = sum(_table_rows(table) for table in cost.tables if not self._tables[table.name])
        powers = (*self._powers, *(each for each in cost.powers if each not in self._powers))
        return self._rows + cost.rows + _check_rows(ranges, self._by_digits) + tables + _power_rows(powers)


def _table_rows(table: Table) -> int:
    return len(table.columns) + 1


def _check_rows(ranges: Counter[int], by_digits: bool) -> int:
    return _digit_rows(ranges) if by_digits else _limb_rows(ranges)


def _digit_rows(ranges: Counter[int]) -> int:
    return sum(bits * count for bits, count in ranges.items())


def _limb_rows(ranges: Counter[int]) -> int:
    return _fewest_limb_rows(frozenset((bits, count) for bits, count in ranges.items() if count))


@lru_cache(maxsize=4096)
def _fewest_limb_rows(counts: frozenset[tuple[int, int]]) -> int:
    return int(rows_by_limb(dict(counts)).min()) if counts else 0


@lru_cache(maxsize=4096)
def _power_rows(powers: tuple[Progression, ...]) -> int:
    known: dict[int, set[int]] = {}
    for challenge, stride, count in powers:
        exponents = known.setdefault(challenge, {0, 1})
        exponents.update(missing(exponents, stride, count))
    return sum(len(exponents) - 2 for exponents in known.values())
