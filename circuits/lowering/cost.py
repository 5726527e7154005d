"""What a way to prove something costs, exactly, before any of it is built.

Range checks share their tables, and clamps and powers of challenges are shared by whoever uses the same: so
costs are added up first, and only the sum has a number of rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from circuits.r1cs.powers import missing
from circuits.r1cs.ranges import rows_by_limb
from circuits.r1cs.table import Table

# (challenge, stride, count): the progression that ``circuits.r1cs.powers.Powers`` is asked for.
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

    def __add__(self, other: Cost) -> Cost:
        return Cost.sum((self, other))

    def total(self, *, by_digits: bool) -> int:
        """All rows, where range checks are by binary digits or by lookups."""
        checks = _digit_rows(self.ranges) if by_digits else _limb_rows(self.ranges)
        tables = sum(len(table.columns) + 1 for table in self.tables)
        return self.rows + checks + tables + _power_rows(self.powers)


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
