"""Range checks by lookups: about one row for a limb, where digits take one for a bit.

All checks of a circuit share a table of the 2^k limbs of k bits; k is what makes the circuit smallest. The
top limb of a value is no wire but ``(v - sum 2^(ki) limb_i) / 2^(k(n-1))``, a quotient in the field, which
the table holds only if it is an integer below 2^k. A top limb x of w < k bits is looked up
- as a digit, x (x - 1) = 0, where w = 1;
- in a table of its own, of 2^w rows, shared by all such limbs; or
- twice, as x and as 2^(k-w) x. The first makes x an integer below 2^k; so 2^(k-w) x is one below 2^2k < r,
  equal to an entry of the table as an integer, and x < 2^w;
whichever adds fewer rows. So v - lowest is a sum of limbs below 2^bits <= 2^61, as an integer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import overload

import numpy as np

from zenserve.circuits.r1cs.gadgets import require_fit
from zenserve.circuits.r1cs.linear import Linear, LinearCombinations
from zenserve.circuits.r1cs.lookups import Lookups
from zenserve.circuits.r1cs.steps import Digits
from zenserve.circuits.r1cs.table import Table
from zenserve.errors import StatementError
from zenserve.relations.integers import IntArray

_WIDEST_LIMB = 20
_MOST_BITS = 61


@dataclass(frozen=True)
class Plan:
    """``limb``: its bits k, 1 for digits. ``tables``: the widths that get one. ``rows``: in all."""

    limb: int
    tables: frozenset[int]
    rows: int

    @classmethod
    def cheapest(cls, counts: Mapping[int, int]) -> Plan:
        """For ``counts[bits]`` values of each width."""
        rows = rows_by_limb(counts)
        limb = int(rows.argmin()) + 1
        tops: Counter[int] = Counter()
        for bits, count in counts.items():
            tops[bits % limb] += count
        tables = {width for width, count in tops.items() if width > 1 and _table_rows(width) < count}
        return cls(limb, frozenset({limb, *tables} if limb > 1 else ()), int(rows[limb - 1]))


def rows_by_limb(counts: Mapping[int, int]) -> IntArray:
    """All rows with limbs of 1, 2, 3 .. bits, up to the widest that makes sense."""
    bits, values = list(counts), np.array(list(counts.values()))
    limbs = np.arange(1, min(max(counts), _WIDEST_LIMB) + 1)
    full = _FULL_LIMBS[: len(limbs), bits] @ values
    tops = _TOP_LIMBS[: len(limbs), :, bits] @ values
    widths = np.arange(tops.shape[1])
    alone, twice = tops + _table_rows(widths), 2 * tops
    by_top = np.where(widths < 2, tops * widths, np.where(tops > 0, np.minimum(alone, twice), 0))
    rows: IntArray = full + by_top.sum(axis=1) + np.where(limbs > 1, _table_rows(limbs), 0)
    return rows


@overload
def _table_rows(width: int) -> int: ...
@overload
def _table_rows(width: IntArray) -> IntArray: ...
def _table_rows(width: int | IntArray) -> int | IntArray:
    return (1 << width) + 1


# For limbs of 1, 2, 3 .. bits and values of 0, 1, 2 .. bits how many whole limbs there are, and, for each
# width of a top limb, whether there is one.
_BITS = np.arange(_MOST_BITS + 1)
_LIMBS = np.arange(1, _WIDEST_LIMB + 1)[:, np.newaxis]
_FULL_LIMBS = _BITS // _LIMBS
_TOP_LIMBS = ((_BITS % _LIMBS)[:, np.newaxis, :] == np.arange(_WIDEST_LIMB)[:, np.newaxis]).astype(np.int64)


@dataclass(frozen=True)
class _Request:
    name: str
    value: LinearCombinations
    bits: int
    lowest: int


class RangeChecks:
    """All range checks of a circuit, made when it is complete."""

    def __init__(self, lookups: Lookups) -> None:
        self._lookups = lookups
        self._builder = lookups.builder
        self._requests: list[_Request] = []
        self._tables: dict[int, Table] = {}

    def check(self, name: str, value: LinearCombinations, bits: int, lowest: int = 0) -> None:
        """``lowest <= value < lowest + 2^bits`` in each row, for the value modulo r. ``bits`` is at most 61.

        A combination of wires is the integer that it looks like where their own bounds keep it below r/2.
        Where limbs are looked up, values must be fixed before the challenges (``Builder.fixed``).
        """
        require_fit(name, (min(lowest, 0), abs(lowest) + (1 << bits)))
        if bits < 1:
            raise StatementError("statement.range", f"{name}: a range of 2^{bits} values; use a constant")
        if not self._requests:
            self._builder.defer(self._close)
        self._requests.append(_Request(name, value, bits, lowest))

    def _close(self) -> None:
        requests, self._requests = self._requests, []
        counts: Counter[int] = Counter()
        for request in requests:
            counts[request.bits] += request.value.rows
        plan = Plan.cheapest(counts)
        for width in sorted(plan.tables):
            entries = np.arange(1 << width)[:, np.newaxis]
            self._tables[width] = Table(f"range{width}", entries)
        for request in requests:
            self._decompose(request, plan.limb)

    def _decompose(self, request: _Request, limb: int) -> None:
        """Lower limbs as wires, the top one as what they leave."""
        count = request.value.rows
        lower = (request.bits - 1) // limb
        scale = 1 << (limb * lower)
        top = request.value.whole().shift(-request.lowest)
        if lower:
            take = self._builder.private if limb == 1 else self._builder.auxiliary
            name = f"{request.name}/limbs"
            wires = take(name, count, lower)
            top -= Linear.weighted(wires, np.int64(1) << limb * np.arange(lower))
            self._within(name, Linear.wires(wires.ravel()), limb, 1, limb)
            self._builder.fill(Digits.of(name, wires, request.value.shift(-request.lowest), limb))
        self._within(f"{request.name}/top", top, request.bits - limb * lower, scale, limb)

    def _within(self, name: str, value: Linear, width: int, scale: int, limb: int) -> None:
        """``value / scale`` is an integer in [0, 2^width), width <= limb."""
        if width == 1:
            self._builder.multiply(name, value, value.shift(-scale), Linear.empty(value.rows))
        elif width in self._tables:
            self._lookups.look_up(name, self._tables[width], [value], scale)
        else:
            table, factor = self._tables[limb], 1 << (limb - width)
            self._lookups.look_up(name, table, [value], scale)
            raised = (value, scale // factor) if scale > 1 else (value.scale(factor), 1)
            self._lookups.look_up(f"{name}_raised", table, [raised[0]], raised[1])
