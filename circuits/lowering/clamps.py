"""Clamps clamp(floor(T / 2^k), low, high) of a sum T by lookups: five ways, and one where nothing is cut.

Where tables hold the clamped values they can as well hold a function of the clamped values: the function then
needs no lookup of its own, but a table.

All but ``Whole`` and ``Joined`` commit to a quotient t and say ``T = 2^k t + ρ`` with ρ range-checked to k
bits: a table or a range check proves that t is an integer, and then ρ and t are unique. Where rows may
read T (it is a short sum), ρ is no wire but ``T - 2^k t``, and neither it nor the equation costs a row.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar, Protocol

import numpy as np

from zenserve.circuits.lowering.cost import Cost
from zenserve.circuits.lowering.joint import MOST_BITS, Choosing, Joint, joints
from zenserve.circuits.r1cs.linear import Linear, LinearCombinations, Weighted
from zenserve.circuits.r1cs.lookups import FOLD
from zenserve.circuits.r1cs.sources import Source
from zenserve.circuits.r1cs.steps import Clip, Compare, Digits, Product, Sum, Tabulate
from zenserve.circuits.r1cs.table import Table
from zenserve.relations.functions import Requantisation, Tabulation
from zenserve.relations.integers import INTEGER_LIMIT, IntArray, Interval

# Tables have up to 2^16 rows.
_WIDEST = 16


class Tools(Choosing, Protocol):
    """The tools that build clamps: ``zenserve.circuits.lowering.tables``."""

    def ranged(self, name: str, value: LinearCombinations, bits: int, lowest: int = 0) -> None: ...


@dataclass(frozen=True)
class Clamp(ABC):
    """For T in ``scaled``. ``rescale`` says what k, low and high are.

    ``tabulates``: clamped values come from a table. ``function``: of these, where the table has it instead.
    ``reads_sums``: rows read T, however long it is.
    """

    tabulates: ClassVar[bool] = False
    reads_sums: ClassVar[bool] = False

    rescale: Requantisation
    scaled: Interval
    function: Tabulation | None = field(default=None, kw_only=True)

    def __str__(self) -> str:
        return self._way if self.function is None else f"{self._way}, of the function with them"

    @property
    @abstractmethod
    def _way(self) -> str: ...

    @property
    @abstractmethod
    def interval(self) -> Interval:
        """The interval in which the value that is equated with T is proven to lie."""

    @abstractmethod
    def cost(self, count: int, *, inline: bool) -> Cost:
        """Of ``count`` values, less the rows of ``Source.equate``. ``inline``: rows may read T."""

    @abstractmethod
    def lower(self, tools: Tools, layer: str, source: Source) -> IntArray:
        """Adds the rows: wires for the clamped values."""

    def including(self, function: Tabulation) -> Clamp | None:
        """The same with a function of the clamped values in their place; None where no table has these."""
        function = function.within(self.rescale.low, self.rescale.high)
        return replace(self, function=function) if self.tabulates else None

    def _table_of(self, values: Interval, shift: int, step: int = 1) -> Table:
        """Of all these values, in steps of ``step``, and clamp(floor(value / 2^shift)) beside them, or the
        function of that."""
        return _clamp_table(*values, shift, self.rescale.low, self.rescale.high, self.function, step)

    def _look_up(
        self, tools: Tools, layer: str, table: Table, value: LinearCombinations, shift: int
    ) -> IntArray:
        """Wires for what the table has beside the values. Rows: 2."""
        name, (low, high) = f"{layer}/out", (self.rescale.low, self.rescale.high)
        out = tools.chosen(name, value.rows)
        if self.function is None:
            tools.builder.fill(Clip(name, out, value, shift, low, high))
        else:
            tools.builder.fill(Tabulate(name, out, value, self.function, shift))
        tools.look_up(f"{layer}/clamp", table, [value, Weighted.wires(out)])
        return out

    @property
    def quotients(self) -> Interval:
        """The interval of floor(T / 2^k)."""
        return self.scaled[0] >> self.rescale.shift, self.scaled[1] >> self.rescale.shift


class Whole(Clamp):
    """(T, clamp(floor(T / 2^k))) is a row of a table of all T. Rows: 2."""

    tabulates = True

    @property
    def _way(self) -> str:
        return "one table of all sums"

    @property
    def interval(self) -> Interval:
        return self.scaled

    @property
    def _table(self) -> Table:
        return self._table_of(self.scaled, self.rescale.shift, _step(self.rescale))

    def cost(self, count: int, *, inline: bool) -> Cost:
        return Cost(rows=2 * count, tables=frozenset({self._table}))

    def lower(self, tools: Tools, layer: str, source: Source) -> IntArray:
        total = source.sums
        if total is None or not source.short:
            wires = tools.chosen(f"{layer}/total", source.rows)
            tools.builder.fill(Sum(f"{layer}/total", wires, source.values))
            total = Weighted.wires(wires)
            source.equate(f"{layer}/divide", total, self.scaled)
        return self._look_up(tools, layer, self._table, total, self.rescale.shift)


@dataclass(frozen=True)
class Joined(Clamp):
    """Outputs of few bits, looked up with the T that rows can read, which are an integer each (``joint``)."""

    reads_sums = True

    joint: Joint

    @property
    def _way(self) -> str:
        return f"one table of all sums with their outputs, and one of {self.joint.group} outputs"

    @property
    def interval(self) -> Interval:
        return self.scaled

    def cost(self, count: int, *, inline: bool) -> Cost:
        return self.joint.cost(count)

    def lower(self, tools: Tools, layer: str, source: Source) -> IntArray:
        name, low = f"{layer}/out", self.rescale.low
        assert source.sums is not None  # noqa: S101  the plan knows what is hidden
        out = tools.chosen(name, source.rows)
        tools.builder.fill(Clip(name, out, source.sums, self.rescale.shift, low, self.rescale.high))
        self.joint.lower(tools, layer, source.sums, Linear.wires(out).shift(-low), short=source.short)
        return out


class _Divided(Clamp):
    """``T = 2^k t + ρ``, and what is done with t in [_lowest, _highest]."""

    @property
    @abstractmethod
    def _proven(self) -> Interval:
        """The interval of t."""

    @abstractmethod
    def _cost(self, count: int) -> Cost: ...

    @abstractmethod
    def _clamp(self, tools: Tools, layer: str, source: Source) -> tuple[IntArray, LinearCombinations]:
        """Wires for clamp(t), and t as a combination of wires that are proven to make an integer."""

    @property
    def interval(self) -> Interval:
        low, high = self._proven
        return low << self.rescale.shift, ((high + 1) << self.rescale.shift) - 1

    def cost(self, count: int, *, inline: bool) -> Cost:
        shift = self.rescale.shift
        rest = Cost.range_checks(shift, count) if shift else Cost(rows=count if inline else 0)
        return rest + self._cost(count)

    def lower(self, tools: Tools, layer: str, source: Source) -> IntArray:
        shift = self.rescale.shift
        out, quotient = self._clamp(tools, layer, source)
        whole = quotient.scale(1 << shift)
        if source.short and source.sums is not None:
            if shift:
                tools.ranged(f"{layer}/remainder", source.sums - whole, shift)
            else:
                tools.builder.zero(f"{layer}/divide", source.sums - whole)
            return out
        if shift:
            name = f"{layer}/remainder"
            remainder = tools.chosen(name, source.rows)
            tools.builder.fill(Digits.remainder(name, remainder, source.values, shift))
            tools.ranged(name, Weighted.wires(remainder), shift)
            whole += Weighted.wires(remainder)
        source.equate(f"{layer}/divide", whole, self.interval)
        return out

    def _quotient(self, tools: Tools, name: str, source: Source) -> IntArray:
        quotient = tools.chosen(name, source.rows)
        tools.builder.fill(Digits.floor(name, quotient, source.values, self.rescale.shift))
        return quotient


@dataclass(frozen=True)
class Uncut(_Divided):
    """For t that cannot leave [low, high]. Rows: its range check, or, where so many bits of its ``absolute``
    value are range-checked anyway, none: t is that integer or the opposite."""

    absolute: int | None = None

    @property
    def _way(self) -> str:
        return "a range check: nothing to clamp" if self.absolute is None else "by its absolute value"

    @property
    def _bits(self) -> int:
        low, high = self.quotients
        return max(1, (high - low).bit_length())

    @property
    def _proven(self) -> Interval:
        if self.absolute is not None:
            return 1 - (1 << self.absolute), (1 << self.absolute) - 1
        low = self.quotients[0]
        return low, low + (1 << self._bits) - 1

    def _cost(self, count: int) -> Cost:
        return Cost.range_checks(self._bits, count) if self.absolute is None else Cost()

    def _clamp(self, tools: Tools, layer: str, source: Source) -> tuple[IntArray, LinearCombinations]:
        out = self._quotient(tools, f"{layer}/out", source)
        if self.absolute is None:
            tools.ranged(f"{layer}/quotient", Weighted.wires(out), self._bits, self.quotients[0])
        return out, Weighted.wires(out)


@dataclass(frozen=True)
class ByTable(_Divided):
    """(t, clamp(t)) is a row of the table of all t in [-2^bits, 2^bits). Rows: 2."""

    tabulates = True

    bits: int

    @property
    def _way(self) -> str:
        return f"a table of the quotients, of {2 << self.bits:,} rows"

    @property
    def _proven(self) -> Interval:
        return -(1 << self.bits), (1 << self.bits) - 1

    @property
    def _table(self) -> Table:
        return self._table_of(self._proven, 0)

    def _cost(self, count: int) -> Cost:
        return Cost(rows=2 * count, tables=frozenset({self._table}))

    def _clamp(self, tools: Tools, layer: str, source: Source) -> tuple[IntArray, LinearCombinations]:
        quotient = Weighted.wires(self._quotient(tools, f"{layer}/quotient", source))
        return self._look_up(tools, layer, self._table, quotient, 0), quotient


class ByParts(_Divided):
    """t - low = 2^b u + d with d of b bits, and (u, [u = 0], [u > 0]) a row of a table of all u.

    Rows: the range check of d, 3 for the table, 1 for the output; and, where high - low + 1 is no power of
    two, 1 and two range checks for the smaller of output and high.
    Sound: u and d are unique, so that ``inside · d = out - low - above (2^b - 1)`` has the clamp to
    [low, low + 2^b) as its one solution.
    """

    @property
    def _way(self) -> str:
        return "a table of the quotients' upper digits"

    @property
    def _width(self) -> int:
        return (self.rescale.high - self.rescale.low).bit_length()

    @property
    def upper_bits(self) -> int:
        """The table has twice 2^upper_bits rows."""
        low, high = (end - self.rescale.low >> self._width for end in self.quotients)
        return max(high.bit_length(), (-low - 1).bit_length() if low < 0 else 0)

    @property
    def _proven(self) -> Interval:
        reach = 1 << self.upper_bits + self._width
        return self.rescale.low - reach, self.rescale.low + reach - 1

    @property
    def _caps(self) -> bool:
        return self.rescale.high - self.rescale.low + 1 < 1 << self._width

    def _cost(self, count: int) -> Cost:
        table = frozenset({_sign_table(self.upper_bits)})
        cost = Cost(4 * count, Counter({self._width: count}), table, ((FOLD, 1, 3),))
        return cost + Cost(count, Counter({self._width: 2 * count})) if self._caps else cost

    def _clamp(self, tools: Tools, layer: str, source: Source) -> tuple[IntArray, LinearCombinations]:
        builder, (low, width), count = tools.builder, (self.rescale.low, self._width), source.rows
        shift, top = self.rescale.shift, (1 << width) - 1
        upper, lower, inside, above = (
            tools.chosen(f"{layer}/{part}", count) for part in ("upper", "lower", "inside", "above")
        )
        out = builder.private(f"{layer}/out", count)
        parts = np.stack([lower, upper], axis=1)
        lifted = source.values.shift(-low << shift)
        builder.fill(
            Digits(f"{layer}/lower", parts, lifted, np.array([shift, shift + width]), np.array([top, -1]))
        )
        builder.fill(Compare(f"{layer}/inside", inside, upper, "zero"))
        builder.fill(Compare(f"{layer}/above", above, upper, "positive"))
        beyond = Weighted.wires(above).scale(top).shift(low)
        builder.fill(Product(f"{layer}/out", out, inside, lower, beyond))
        tools.ranged(f"{layer}/lower", Weighted.wires(lower), width)
        triple = [Weighted.wires(wires) for wires in (upper, inside, above)]
        tools.look_up(f"{layer}/sign", _sign_table(self.upper_bits), triple)
        excess = Weighted.wires(out).shift(-low) - Weighted.wires(above).scale(top)
        builder.multiply(f"{layer}/clamp", Weighted.wires(inside), Weighted.wires(lower), excess)
        quotient = (Weighted.wires(upper).scale(1 << width) + Weighted.wires(lower)).shift(low)
        if self._caps:
            return _capped(tools, layer, Weighted.wires(out), self.rescale.high, width, width), quotient
        return out, quotient


class BySign(_Divided):
    """With s = [t >= low] the larger of t and low is low + v, v = s (t - low), and the smaller of that and
    high is clamp(t). For quotients of too many bits for a table.

    Rows: 3, two range checks as wide as t - low can be, and one as wide as high - low.
    Sound: s is boolean and ``(2 s - 1)(t - low) + s - 1 = 2 v - (t - low) + s - 1`` is range-checked, so that
    t is an integer, and s its sign.
    """

    @property
    def _way(self) -> str:
        return "signs and comparisons"

    @property
    def _bits(self) -> int:
        low, high = (end - self.rescale.low for end in self.quotients)
        return max(1, high.bit_length(), (-low - 1).bit_length() if low < 0 else 0)

    @property
    def _proven(self) -> Interval:
        reach = 1 << self._bits
        return self.rescale.low - reach, self.rescale.low + reach - 1

    @property
    def _width(self) -> int:
        return (self.rescale.high - self.rescale.low).bit_length()

    def _cost(self, count: int) -> Cost:
        ranges = Counter({self._bits: 2 * count}) + Counter({self._width: count})
        return Cost(rows=3 * count, ranges=ranges)

    def _clamp(self, tools: Tools, layer: str, source: Source) -> tuple[IntArray, LinearCombinations]:
        low, high = self.rescale.low, self.rescale.high
        quotient = self._quotient(tools, f"{layer}/quotient", source)
        sign = tools.chosen(f"{layer}/sign", source.rows)
        above = tools.builder.private(f"{layer}/above", source.rows)
        over, signs = Weighted.wires(quotient).shift(-low), Weighted.wires(sign)
        tools.builder.fill(Compare(f"{layer}/sign", sign, over.shift(1), "positive"))
        tools.builder.fill(Product(f"{layer}/above", above, sign, over))
        tools.builder.boolean(f"{layer}/sign_bit", sign)
        tools.builder.multiply(f"{layer}/sign", signs, over, Weighted.wires(above))
        magnitude = (Weighted.wires(above).scale(2) - over + signs).shift(-1)
        tools.ranged(f"{layer}/sign_magnitude", magnitude, self._bits)
        larger = Weighted.wires(above).shift(low)
        return _capped(tools, layer, larger, high, self._bits, self._width), Weighted.wires(quotient)


def _capped(
    tools: Tools, layer: str, value: LinearCombinations, high: int, bits: int, width: int
) -> IntArray:
    """``min(value, high)``: neither is below it, and it equals one of them.

    ``value``, at least some low, exceeds it by less than 2^bits; high is less than low + 2^width.
    """
    name = f"{layer}/cap/chosen"
    out = tools.chosen(name, value.rows)
    tools.builder.fill(Clip(name, out, value, 0, -INTEGER_LIMIT, high))
    under_value = value.whole() - Linear.wires(out)
    under_high = Linear.wires(out).scale(-1).shift(high)
    tools.ranged(f"{layer}/cap/value", under_value, bits)
    tools.ranged(f"{layer}/cap/high", under_high, width)
    tools.builder.multiply(f"{layer}/cap", under_value, under_high, Linear.empty(len(out)))
    return out


def clamps(rescale: Requantisation, scaled: Interval, widths: Iterable[int] = ()) -> Iterator[Clamp]:
    """The ways there are. ``widths``: the bits of tables that others might look up anyway."""
    low, high = scaled[0] >> rescale.shift, scaled[1] >> rescale.shift
    if scaled[1] - scaled[0] < _step(rescale) << _WIDEST:
        yield Whole(rescale, scaled)
        if rescale.high - rescale.low < 1 << MOST_BITS:
            yield from (Joined(rescale, scaled, each) for each in _joints(rescale, scaled))
    if rescale.low <= low and high <= rescale.high:
        yield Uncut(rescale, scaled)
        return
    least = quotient_bits(rescale, scaled)
    for bits in sorted({least, *widths}):
        if least <= bits < _WIDEST and 1 << bits + rescale.shift < INTEGER_LIMIT:
            yield ByTable(rescale, scaled, bits)
    by_parts = ByParts(rescale, scaled)
    if by_parts.upper_bits < _WIDEST:
        yield by_parts
    yield BySign(rescale, scaled)


def _joints(rescale: Requantisation, scaled: Interval) -> Iterator[Joint]:
    low, high = rescale.low, rescale.high
    clamped = _clamp_table(*scaled, rescale.shift, low, high, None, _step(rescale))
    from_zero = Table(f"{clamped.name}_from_zero", clamped.columns - (0, low))
    yield from joints(from_zero, (high - low).bit_length(), (scaled[1] - scaled[0]).bit_length())


def _step(rescale: Requantisation) -> int:
    """Tables of outputs of few bits hold only what T can be: all are multiples of it from the first on."""
    few = rescale.high - rescale.low < 1 << MOST_BITS
    return int(np.gcd.reduce(rescale.multiplier, axis=None)) if few else 1


def quotient_bits(rescale: Requantisation, scaled: Interval) -> int:
    """The least b with floor(T / 2^k) in [-2^b, 2^b)."""
    low, high = scaled[0] >> rescale.shift, scaled[1] >> rescale.shift
    return max(high.bit_length(), (-low - 1).bit_length() if low < 0 else 0)


@lru_cache(maxsize=64)
def _clamp_table(
    first: int, last: int, shift: int, low: int, high: int, function: Tabulation | None, step: int
) -> Table:
    values = np.arange(first, last + 1, step)
    made, name = (
        np.clip(values >> shift, low, high),
        "_".join(map(str, ("clamp", first, last, shift, low, high))),
    )
    if step > 1:
        name = f"{name}_{step}"
    if function is not None:
        made, name = function.apply(made), f"{name}_{digest(function)}"
    return Table(name, np.stack([values, made], axis=1))


@lru_cache(maxsize=64)
def values_table(function: Tabulation) -> Table:
    """Arguments and values."""
    arguments = function.first + np.arange(len(function.values))
    return Table(f"values_{digest(function)}", np.stack([arguments, function.values], axis=1))


def digest(function: Tabulation) -> str:
    """The same for equal functions, and for no others."""
    content = np.array([function.first, *function.values], "<i8").tobytes()
    return hashlib.sha256(content).hexdigest()[:16]


@lru_cache(maxsize=64)
def _sign_table(bits: int) -> Table:
    values = np.arange(-(1 << bits), 1 << bits)
    columns = np.stack([values, values == 0, values > 0], axis=1).astype(np.int64)
    return Table(f"sign{bits}", columns)
