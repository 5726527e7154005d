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

import numpy as np

from circuits.gadgets import require_fit
from circuits.integers import IntArray
from circuits.linear import Linear
from circuits.lookups import Lookups, Table
from zenerrors import StatementError

_WIDEST_LIMB = 20


@dataclass(frozen=True)
class Plan:
    """``limb``: its bits k, 1 for digits. ``tables``: the widths that get one. ``rows``: in all."""

    limb: int
    tables: frozenset[int]
    rows: int

    @classmethod
    def cheapest(cls, counts: Mapping[int, int]) -> Plan:
        """For ``counts[bits]`` values of each width."""
        widest = min(max(counts), _WIDEST_LIMB)
        return min(
            (cls._with_limb(limb, counts) for limb in range(1, widest + 1)), key=lambda plan: plan.rows
        )

    @classmethod
    def _with_limb(cls, limb: int, counts: Mapping[int, int]) -> Plan:
        if limb == 1:
            return cls(1, frozenset(), sum(bits * count for bits, count in counts.items()))
        rows = _table_rows(limb) + sum(bits // limb * count for bits, count in counts.items())
        tables = {limb}
        tops: Counter[int] = Counter()
        for bits, count in counts.items():
            tops[bits % limb] += count
        rows += tops.pop(1, 0)
        tops.pop(0, None)
        for width, count in tops.items():
            alone = count + _table_rows(width)
            if alone < 2 * count:
                tables.add(width)
            rows += min(alone, 2 * count)
        return cls(limb, frozenset(tables), rows)


def _table_rows(width: int) -> int:
    return (1 << width) + 1


@dataclass(frozen=True)
class _Request:
    name: str
    value: Linear
    bits: int


class RangeChecks:
    """All range checks of a circuit, made when it is complete."""

    def __init__(self, lookups: Lookups) -> None:
        self._lookups = lookups
        self._builder = lookups.builder
        self._requests: list[_Request] = []
        self._tables: dict[int, Table] = {}

    def check(self, name: str, value: Linear, bits: int, lowest: int = 0) -> None:
        """``lowest <= value < lowest + 2^bits`` in each row, for the value modulo r. ``bits`` is at most 61.

        A combination of wires is the integer that it looks like where their own bounds keep it below r/2.
        Where limbs are looked up, values must be fixed before the challenges (``Builder.fixed``).
        """
        require_fit(name, (min(lowest, 0), abs(lowest) + (1 << bits)))
        if bits < 1:
            raise StatementError("statement.range", f"{name}: a range of 2^{bits} values; use a constant")
        if not self._requests:
            self._builder.defer(self._close)
        self._requests.append(_Request(name, value.shift(-lowest), bits))

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
        top = request.value
        if lower:
            take = self._builder.private if limb == 1 else self._builder.auxiliary
            wires = take(f"{request.name}/limbs", count, lower)
            shifts = limb * np.arange(lower)
            top -= Linear.weighted(wires, np.int64(1) << shifts)
            self._within(f"{request.name}/limbs", Linear.wires(wires.ravel()), limb, 1, limb)

            def fill(z: IntArray) -> None:
                value = request.value.evaluate(z)
                z[wires] = value[:, np.newaxis] >> shifts & ((1 << limb) - 1)

            self._builder.fill(fill)
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
