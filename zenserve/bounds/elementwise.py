"""Functions of each entry alone, between two lines: clamps, requantisations, tables and formulas.

A line may have any slope. What makes it valid is its offset, the largest (or least) ``f(x) - slope x`` over
the interval: at corners of what is made of straight pieces, over all entries of a table, or as ``curves``
proves it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, ClassVar, Final, NamedTuple, Protocol, Self

import numpy as np

from zenserve.bounds.arrays import UNIT, Array, Interval, Mask, Namespace, Sums, fused, namespace, together
from zenserve.bounds.given import Given, Rules
from zenserve.bounds.network import Forms, Operation, Relaxed
from zenserve.circuits.graphs.types import Affine, Rescale
from zenserve.circuits.operators.absolute import Abs
from zenserve.circuits.operators.activation import QuantActivation
from zenserve.circuits.operators.clip import Clip, Requantise
from zenserve.circuits.operators.leaky_relu import LeakyRelu, PiecewiseLinear, PRelu, QuantPRelu


class Lines(NamedTuple):
    """``low_slope x + low_offset <= f(x) <= high_slope x + high_offset``, each [n, *shape]."""

    low_slope: Array
    low_offset: Array
    high_slope: Array
    high_offset: Array


class Band(NamedTuple):
    """``slope x + low <= f(x) <= slope x + high``, each [n, *shape]."""

    slope: Array
    low: Array
    high: Array


class Function(Protocol):
    """Of one number. ``of_numbers``: no array belongs to it, it is equal to others that say the same, and
    bounding it is little work beside reading a form's slopes."""

    of_numbers: ClassVar[bool]

    def value(self, x: Array) -> Array: ...

    def slope(self, x: Array) -> Array:
        """Its slope, or that of what it is a staircase of."""
        ...

    def image(self, x: Interval) -> Interval: ...

    def lines(self, x: Interval) -> Lines: ...

    def band(self, x: Interval) -> Band: ...

    def straight(self, x: Interval) -> Mask:
        """Return whether the lines of a narrower interval would be no tighter, booleans [n, *shape]."""
        ...

    def on(self, xp: Namespace) -> Self: ...


@dataclass(frozen=True, eq=False)
class Elementwise(Operation):
    """``function`` of each entry."""

    function: Function

    def value(self, *read: Array) -> Array:
        return self.function.value(read[0])

    def image(self, *read: Interval) -> Interval:
        return self.function.image(read[0])

    def relaxed(self, *read: Interval) -> Relaxed:
        return _Over(self.function, read[0])

    def tangent(self, *read: Array) -> Relaxed:
        slope = self.function.slope(read[0])
        nothing = namespace(slope).zeros_like(slope)
        return Between(Lines(slope, nothing, slope, nothing), abs(read[0]))

    def curved(self, *read: Interval) -> Sequence[Mask | None]:
        return [~self.function.straight(read[0])]

    def keeps(self) -> bool:
        return True

    def on(self, xp: Namespace) -> Self:
        return replace(self, function=self.function.on(xp))


class Between(NamedTuple):
    """The result of a function between two lines over its input, whose entries have absolute values up to
    ``magnitude``."""

    lines: Lines
    magnitude: Array

    @property
    def scale(self) -> Array:
        largest: Array = fused(_largest, *self.lines, self.magnitude)[0]
        return largest

    def back(self, lines: Array, added: Sums) -> list[Array]:
        made, paid = fused(_through, lines, *(each[:, np.newaxis] for each in self.lines))
        added.add(paid)
        return [made]

    def forward(self, read: Sequence[Forms]) -> Forms:
        raise NotImplementedError("forms have one slope")


def _largest(
    low_slope: Array, low_offset: Array, high_slope: Array, high_offset: Array, magnitude: Array
) -> tuple[Array]:
    xp = namespace(magnitude)
    slope, offset = (
        xp.maximum(abs(one), abs(other))
        for one, other in ((low_slope, high_slope), (low_offset, high_offset))
    )
    return (slope * magnitude + offset,)


def _through(
    lines: Array, low_slope: Array, low_offset: Array, high_slope: Array, high_offset: Array
) -> tuple[Array, Array]:
    """Lines of what is read, and what each pays."""
    xp = namespace(lines)
    above, below = xp.maximum(lines, 0.0), xp.minimum(lines, 0.0)
    return above * low_slope + below * high_slope, above * low_offset + below * high_offset


@dataclass(frozen=True, eq=False)
class _Over:
    """A function over an interval: between lines on the way back, in a band on the way there."""

    function: Function
    x: Interval

    @cached_property
    def _between(self) -> Between:
        return Between(self.function.lines(self.x), self.x.magnitude)

    @cached_property
    def scale(self) -> Array:
        return self._between.scale

    def back(self, lines: Array, added: Sums) -> list[Array]:
        return self._between.back(lines, added)

    def forward(self, read: Sequence[Forms]) -> Forms:
        (x,), band = read, self.function.band(self.x)
        slope, constants = together(
            lambda: fused(_scaled, x.slope, band.slope[..., np.newaxis])[0],
            lambda: fused(banded, *x[1:4], *band),
            x.slope,
        )
        made = Forms(slope, *constants)
        return made if x.most is None else made._replace(most=fused(reached, x.most, band.slope)[0])


def _scaled(x: Array, factor: Array) -> tuple[Array]:
    return (x * factor,)


def reached(most: Array, slope: Array) -> tuple[Array]:
    """Return the ``most`` of forms after their slopes were multiplied by ``slope``, including the rounding of
    each entry of the slopes."""
    return (abs(slope) * most * (1 + 8 * UNIT),)


def banded(
    offset: Array, rest: Array, size: Array, slope: Array, low: Array, high: Array
) -> tuple[Array, Array, Array]:
    """Offset, rest and size of what is in a band of what has these."""
    largest = namespace(offset).maximum(abs(low), abs(high))
    return (
        slope * offset + (high / 2 + low / 2),
        abs(slope) * rest + (high / 2 - low / 2),
        abs(slope) * size + largest,
    )


def above(points: Sequence[Array], values: Sequence[Array], steepest: Array | float) -> tuple[Array, Array]:
    """The line over a function made of straight pieces that is lowest in the middle: slope and offset.

    ``points``: the interval's ends, the corners between them; the function's ``values`` there. The lowest
    line lies on two corners. ``steepest``: the steepest piece: corners may be a unit in the last place off.
    """
    xp = namespace(points[0])
    middle = points[0] / 2 + points[-1] / 2
    size = abs(values[0])
    for each in values[1:]:
        size = xp.maximum(size, abs(each))
    reach = xp.maximum(abs(points[0]), abs(points[-1]))
    slope, offset = xp.zeros_like(size), values[0]
    for each in values[1:]:
        offset = xp.maximum(offset, each)
    best = offset
    for first in range(len(points)):
        for second in range(first + 1, len(points)):
            width = points[second] - points[first]
            with np.errstate(all="ignore"):
                steep = (values[second] - values[first]) / width
            steep = xp.where((width > 0) & xp.isfinite(steep), steep, 0.0)
            over = values[0] - steep * points[0]
            for point, value in zip(points[1:], values[1:], strict=True):
                over = xp.maximum(over, value - steep * point)
            # A slope of 0 is exact.
            error = 8 * UNIT * ((abs(steep) + steepest) * reach + size)
            over = xp.where(steep == 0, over, over + error)
            here = steep * middle + over
            better = here < best
            slope, offset, best = (
                xp.where(better, one, other) for one, other in ((steep, slope), (over, offset), (here, best))
            )
    return slope, offset


def around_pieces(
    under: tuple[Sequence[Array], Sequence[Array]],
    over: tuple[Sequence[Array], Sequence[Array]],
    steepest: Array | float,
) -> Band:
    """Around functions made of straight pieces, of two corners' slope the narrowest: see ``above``. Points
    and values of what is below, and of what is above."""
    xp, (points, values) = namespace(over[0][0]), over
    size = reduce(xp.maximum, map(abs, (*values, *under[1])))
    reach = xp.maximum(abs(points[0]), abs(points[-1]))
    best = Band(xp.zeros_like(size), reduce(xp.minimum, under[1]), reduce(xp.maximum, values))
    for first, second in itertools.combinations(range(len(points)), 2):
        width = points[second] - points[first]
        with np.errstate(all="ignore"):
            steep = (values[second] - values[first]) / width
        steep = xp.where((width > 0) & xp.isfinite(steep), steep, 0.0)
        error = 8 * UNIT * ((abs(steep) + steepest) * reach + size)
        low = reduce(xp.minimum, (value - steep * point for point, value in zip(*under, strict=True)))
        high = reduce(xp.maximum, (value - steep * point for point, value in zip(*over, strict=True)))
        best = narrower(best, Band(steep, low - error, high + error))
    return best


def narrower(one: Band, other: Band) -> Band:
    xp = namespace(one.slope)
    better = other.high - other.low < one.high - one.low
    return Band(*(xp.where(better, new, old) for new, old in zip(other, one, strict=True)))


def _between(low: tuple[Array, Array], high: tuple[Array, Array]) -> Lines:
    """``low`` is a line over the opposite."""
    return Lines(-low[0], -low[1], *high)


@dataclass(frozen=True)
class Clamp:
    """``min(max(x, low), high)``."""

    of_numbers: ClassVar[bool] = True

    low: float
    high: float

    def value(self, x: Array) -> Array:
        made: Array = namespace(x).clip(x, self.low, self.high)
        return made

    def slope(self, x: Array) -> Array:
        return ((x > self.low) & (x < self.high)).astype(np.float64)

    def image(self, x: Interval) -> Interval:
        return Interval(self.value(x.low), self.value(x.high))

    def lines(self, x: Interval) -> Lines:
        return Lines(*fused(_clamped, *x, of=(self.low, self.high)))

    def band(self, x: Interval) -> Band:
        return Band(*fused(_clamped_band, *x, of=(self.low, self.high)))

    def straight(self, x: Interval) -> Mask:
        inside = (x.low >= self.low) & (x.high <= self.high)
        flat: Mask = inside | (x.high <= self.low) | (x.low >= self.high)
        return flat

    def on(self, xp: Namespace) -> Clamp:
        return self


def _corners(least: float, most: float, low: Array, high: Array) -> tuple[list[Array], list[Array]]:
    x, function = Interval(low, high), Clamp(least, most)
    points = [low, *(x.nearest(end) for end in (least, most) if np.isfinite(end)), high]
    return points, [function.value(each) for each in points]


def _clamped(least: float, most: float, low: Array, high: Array) -> Lines:
    points, values = _corners(least, most, low, high)
    return _between(above(points, [-each for each in values], 1.0), above(points, values, 1.0))


def _clamped_band(least: float, most: float, low: Array, high: Array) -> Band:
    corners = _corners(least, most, low, high)
    return around_pieces(corners, corners, 1.0)


@dataclass(frozen=True, eq=False)
class Bend:
    """``below x`` where x is negative, else ``above x``: numbers that broadcast to the tensor's shape."""

    of_numbers: ClassVar[bool] = False

    below: Array = field(repr=False)
    above: Array = field(repr=False)

    def value(self, x: Array) -> Array:
        made: Array = self.slope(x) * x
        return made

    def slope(self, x: Array) -> Array:
        made: Array = namespace(x).where(x < 0, self.below, self.above)
        return made

    def image(self, x: Interval) -> Interval:
        xp, widened = namespace(x.low), 4 * UNIT
        ends = [self.value(x.low), self.value(x.high), self.value(x.nearest(0.0))]
        low, high = xp.minimum(xp.minimum(*ends[:2]), ends[2]), xp.maximum(xp.maximum(*ends[:2]), ends[2])
        if self._whole:
            return Interval(low, high)
        return Interval(low - widened * abs(low), high + widened * abs(high))

    def lines(self, x: Interval) -> Lines:
        return Lines(*fused(_bent_lines, *x, self.below, self.above))

    def band(self, x: Interval) -> Band:
        return Band(*fused(_bent_band, *x, self.below, self.above))

    def straight(self, x: Interval) -> Mask:
        flat: Mask = (x.low >= 0) | (x.high <= 0)
        return flat

    def on(self, xp: Namespace) -> Bend:
        return Bend(xp.asarray(self.below), xp.asarray(self.above))

    @cached_property
    def _whole(self) -> bool:
        xp = namespace(self.below)
        return all(bool((each == xp.rint(each)).all()) for each in (self.below, self.above))


def _bent_corners(
    low: Array, high: Array, below: Array, above_zero: Array
) -> tuple[list[Array], list[Array], Array]:
    """And the steepest of both slopes."""
    xp = namespace(low)
    points = [low, Interval(low, high).nearest(0.0), high]
    values = [xp.where(each < 0, below, above_zero) * each for each in points]
    return points, values, xp.maximum(abs(below), abs(above_zero))


def _bent_lines(low: Array, high: Array, below: Array, above_zero: Array) -> Lines:
    points, values, steepest = _bent_corners(low, high, below, above_zero)
    return _between(above(points, [-each for each in values], steepest), above(points, values, steepest))


def _bent_band(low: Array, high: Array, below: Array, above_zero: Array) -> Band:
    points, values, steepest = _bent_corners(low, high, below, above_zero)
    return around_pieces((points, values), (points, values), steepest)


@dataclass(frozen=True, eq=False)
class Rescaled:
    """Sums to the integers of a type, less its zero point: ``clamp(floor(T / 2^shift), low, high) - zero``.

    Between the sums times ``multiplier / 2^shift`` half a step less and half a step more. The ends of an
    interval of integers are made exactly.
    """

    of_numbers: ClassVar[bool] = False

    multiplier: Any = field(repr=False)
    rescale: Rescale

    def value(self, x: Array) -> Array:
        xp, rescale = namespace(x), self.rescale
        # Products stay within 62 bits: what is larger is clamped either way.
        far = ((1 << 62) - rescale.offset) // self.multiplier
        scaled = self.multiplier * xp.rint(xp.clip(x, -far, far)).astype(np.int64) + rescale.offset
        q = xp.clip(scaled >> rescale.shift, rescale.low, rescale.high) - rescale.output.zero_point
        return q.astype(np.float64)  # type: ignore[no-any-return]

    def slope(self, x: Array) -> Array:
        made = self.value(x) + self.rescale.output.zero_point
        inside = (made > self.rescale.low) & (made < self.rescale.high)
        slope: Array = namespace(x).where(inside, self._ratio, 0.0)
        return slope

    def image(self, x: Interval) -> Interval:
        return Interval(*map(self.value, x.known))

    def lines(self, x: Interval) -> Lines:
        """Over [low, high] the staircase stays within the integers that its ends are."""
        (points, values), over = self._sides(x.known)
        return _between(above(points, [-each for each in values], self._ratio), above(*over, self._ratio))

    def band(self, x: Interval) -> Band:
        return around_pieces(*self._sides(x.known), self._ratio)

    def straight(self, x: Interval) -> Mask:
        """Flat, or without a corner."""
        least, most = self.image(x)
        zero = self.rescale.output.zero_point
        flat: Mask = (least == most) | ((least + zero > self.rescale.low) & (most + zero < self.rescale.high))
        return flat

    def on(self, xp: Namespace) -> Rescaled:
        return replace(self, multiplier=xp.asarray(self.multiplier))

    @property
    def _ratio(self) -> Array:
        ratio: Array = self.multiplier.astype(np.float64) * 2.0**-self.rescale.shift
        return ratio

    def _sides(self, x: Interval) -> tuple[tuple[list[Array], list[Array]], tuple[list[Array], list[Array]]]:
        """Points and values below the staircase, and above it."""
        least, most = self.value(x.low), self.value(x.high)
        half = 0.5 if self.rescale.shift else 0.0
        under, over = (self._stairs(x, least, most, each) for each in (-half, half))
        return under, over

    def _stairs(self, x: Interval, least: Array, most: Array, half: float) -> tuple[list[Array], list[Array]]:
        """``clamp(ratio x + half, least, most)`` at the ends and the corners."""
        xp, ratio = namespace(x.low), self._ratio
        corners = [xp.clip((end - half) / ratio, x.low, x.high) for end in (least, most)]
        points = [x.low, *corners, x.high]
        return points, [xp.clip(ratio * each + half, least, most) for each in points]


# Slopes that are tried of a table's lines, and how many numbers may be kept for them.
_SLOPES: Final = 33
_KEPT: Final = 1 << 23
# Of a slope, in bits behind the point.
_FINE: Final = 16


@dataclass(frozen=True, eq=False)
class Table:
    """``values[x + zero]``, float64[entries] of integers x.

    For a few slopes the largest and the least ``values - slope x`` over all runs of 2^k entries are known:
    two of these cover any interval, exactly.
    """

    of_numbers: ClassVar[bool] = False

    values: Array = field(repr=False)
    zero: int

    def value(self, x: Array) -> Array:
        made: Array = self.values[self._at(x)]
        return made

    def slope(self, x: Array) -> Array:
        at, last = self._at(x), len(self.values) - 1
        xp = namespace(x)
        low, high = xp.maximum(at - 1, 0), xp.minimum(at + 1, last)
        made: Array = (self.values[high] - self.values[low]) / xp.maximum(high - low, 1)
        return made

    def image(self, x: Interval) -> Interval:
        least, most = self._reach(x, 0)
        return Interval(least, most)

    def lines(self, x: Interval) -> Lines:
        xp, middle = namespace(x.low), x.centre
        low_offset, high_offset = self._reach(x, 0)
        low_slope = high_slope = xp.zeros_like(middle)
        for index, slope in enumerate(self._slopes[1:], 1):
            least, most = self._reach(x, index)
            better = slope * middle + least > low_slope * middle + low_offset
            low_slope, low_offset = xp.where(better, slope, low_slope), xp.where(better, least, low_offset)
            better = slope * middle + most < high_slope * middle + high_offset
            high_slope, high_offset = xp.where(better, slope, high_slope), xp.where(better, most, high_offset)
        return Lines(low_slope, low_offset, high_slope, high_offset)

    def band(self, x: Interval) -> Band:
        xp, tried = namespace(x.low), enumerate(self._slopes)
        bands = (Band(xp.full_like(x.low, slope), *self._reach(x, index)) for index, slope in tried)
        return reduce(narrower, bands)

    def straight(self, x: Interval) -> Mask:
        least, most = self._reach(x, 0)
        flat: Mask = least == most
        return flat

    def on(self, xp: Namespace) -> Table:
        return Table(xp.asarray(self.values), self.zero)

    def _at(self, x: Array) -> Any:
        xp, last = namespace(x), len(self.values) - 1
        return xp.clip(xp.rint(x) + self.zero, 0, last).astype(np.int64)

    def _reach(self, x: Interval, index: int) -> tuple[Array, Array]:
        """The least and the largest ``values - slope x`` on the interval."""
        xp, (first, last) = namespace(x.low), map(self._at, x.known)
        level = xp.frexp((last - first + 1).astype(np.float64))[1] - 1
        least, most = (each[index] for each in self._runs)
        second = last - (1 << level) + 1
        return (
            xp.minimum(least[level, first], least[level, second]),
            xp.maximum(most[level, first], most[level, second]),
        )

    @cached_property
    def _slopes(self) -> list[float]:
        """0, and others that the table has over an eighth of it or more."""
        values, entries = self.values, len(self.values)
        wide = max(1, entries // 8)
        secants = (values[wide:] - values[:-wide]) / wide
        room = _KEPT // (entries * entries.bit_length())
        tried = np.linspace(float(secants.min()), float(secants.max()), max(2, min(_SLOPES, room)))
        rounded = np.rint(np.ldexp(tried, _FINE)) / 2.0**_FINE
        return [0.0, *(float(each) for each in np.unique(rounded) if each)]

    @cached_property
    def _runs(self) -> tuple[Array, Array]:
        """[slopes, levels, entries]: from each entry on 2^level of them. Integers and slopes of few bits:
        exact."""
        xp, entries = namespace(self.values), len(self.values)
        x = xp.arange(entries) - self.zero
        tables = []
        for pick in (xp.minimum, xp.maximum):
            level = xp.stack([self.values - slope * x for slope in self._slopes])
            levels, size = [level], 1
            while 2 * size <= entries:
                level = level.copy()
                level[:, : entries - size] = pick(level[:, : entries - size], level[:, size:])
                levels.append(level)
                size *= 2
            tables.append(xp.stack(levels, axis=1))
        return tables[0], tables[1]


def rescaled(given: Given, sums: Operation, rescale: Rescale | None) -> list[Operation]:
    """The sums, and what brings them to a type."""
    if rescale is None:
        return [sums]
    function = Rescaled(rescale.multiplier, rescale)
    return [sums, Elementwise(given.name, (sums.name,), given.shape, True, function)]


def applied(given: Given, function: Function, whole: bool = False) -> list[Operation]:
    return [Elementwise(given.name, given.inputs, given.shape, whole, function)]


def _clip(given: Given, node: Clip) -> list[Operation]:
    return applied(given, Clamp(node.low, node.high))


def _requantise(given: Given, node: Requantise) -> list[Operation]:
    assert node.rescale is not None  # noqa: S101  it does nothing else
    return applied(given, Rescaled(node.rescale.multiplier, node.rescale), True)


def _leaky(given: Given, node: LeakyRelu) -> list[Operation]:
    return applied(given, Bend(np.array(node.alpha), np.array(1.0)))


def _absolute(given: Given, node: Abs) -> list[Operation]:
    return applied(given, Bend(np.array(-1.0), np.array(1.0)))


def _prelu(given: Given, node: PRelu) -> list[Operation]:
    return applied(given, Bend(node.slopes, np.array(1.0)))


def _bent(given: Given, node: PiecewiseLinear | QuantPRelu) -> list[Operation]:
    below, above_zero = node.bend
    function = Bend(below.astype(np.float64), np.array(float(above_zero)))
    sums = Elementwise(given.sums, given.inputs, given.shape, True, function)
    return rescaled(given, sums, node.rescale)


def _table(given: Given, node: QuantActivation) -> list[Operation]:
    (kind,) = given.types
    assert isinstance(kind, Affine)  # noqa: S101  tables are of typed tensors
    values = (node.values - node.output.zero_point).astype(np.float64)
    return applied(given, Table(values, kind.zero_point), True)


RULES: Rules = {
    Clip: _clip,
    Requantise: _requantise,
    LeakyRelu: _leaky,
    Abs: _absolute,
    PRelu: _prelu,
    PiecewiseLinear: _bent,
    QuantPRelu: _bent,
    QuantActivation: _table,
}
