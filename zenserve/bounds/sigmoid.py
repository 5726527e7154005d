"""``shift + height tanh(steep x)``, as tanh and sigmoid are: of any slope, both lines are known.

Less a line of slope k, tanh falls to ``-t``, rises to ``t`` and falls again, where ``tanh'(t) = k``: so it is
largest at ``t`` or at an end of an interval, and least at ``-t`` or at an end. With ``s = tanh t =
sqrt(1 - k)`` it is ``s - k t`` at t, and ``t = log(1 + s) - log(k) / 2``. Nothing has to be looked at in
cells, as in ``curves``, but those slopes are tried that are tried there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar, Final, NamedTuple

import numpy as np

from zenserve.bounds.arrays import Array, Interval, fused, namespace
from zenserve.bounds.curves import CELLS, ULPS, Curve
from zenserve.bounds.elementwise import Band, Lines, narrower

_TINY: Final = 2.0**-1022


@dataclass(frozen=True)
class Sigmoid(Curve):
    """``height`` and ``steep`` are above zero, ``steep`` a power of two."""

    of_numbers: ClassVar[bool] = True

    shift: float
    height: float
    steep: float

    def value(self, x: Array) -> Array:
        made: Array = self.shift + self.height * namespace(x).tanh(self.steep * x)
        return made

    def slope(self, x: Array) -> Array:
        value = namespace(x).tanh(self.steep * x)
        made: Array = (self.height * self.steep) * (1 - value * value)
        return made

    def image(self, x: Interval) -> Interval:
        return Interval(*fused(_image, *x, of=(self,)))

    def lines(self, x: Interval) -> Lines:
        """On either side the one that is tightest in the middle."""
        return Lines(*fused(_lines, *x, of=(self,)))

    def band(self, x: Interval) -> Band:
        return Band(*fused(_band, *x, of=(self,)))

    def spread(self, band: Band) -> Band:
        """Of tanh over ``steep x`` as this function's: the slope, and what is left outward."""
        slope, low, high = band
        size = abs(self.shift) + self.height * namespace(slope).maximum(abs(low), abs(high))
        return Band(
            (self.height * self.steep) * slope,
            self.shift + self.height * low - ULPS * size,
            self.shift + self.height * high + ULPS * size,
        )


TANH: Final = Sigmoid(0.0, 1.0, 1.0)
SIGMOID: Final = Sigmoid(0.5, 0.5, 0.5)


def _image(function: Sigmoid, low: Array, high: Array) -> Interval:
    band = function.spread(_Ends.of(function.steep * low, function.steep * high).flat)
    return Interval(band.low, band.high)


def _band(function: Sigmoid, low: Array, high: Array) -> Band:
    ends = _Ends.of(function.steep * low, function.steep * high)
    return function.spread(reduce(narrower, ends.bands(), ends.flat))


def _lines(function: Sigmoid, low: Array, high: Array) -> Lines:
    ends = _Ends.of(function.steep * low, function.steep * high)
    xp, middle, (slope, least, most) = namespace(low), ends.middle, ends.flat
    below, above = (slope, least), (slope, most)
    for steep, least, most in ends.bands():
        better = steep * middle + least > below[0] * middle + below[1]
        below = xp.where(better, steep, below[0]), xp.where(better, least, below[1])
        better = steep * middle + most < above[0] * middle + above[1]
        above = xp.where(better, steep, above[0]), xp.where(better, most, above[1])
    low_band, high_band = (function.spread(Band(*each, each[1])) for each in (below, above))
    return Lines(low_band.slope, low_band.low, high_band.slope, high_band.high)


class _Ends(NamedTuple):
    """Of an interval, and tanh there: within ``ULPS``, relatively, as slopes times steep ends are."""

    low: Array
    high: Array
    least: Array
    most: Array

    @classmethod
    def of(cls, low: Array, high: Array) -> _Ends:
        xp = namespace(low)
        return cls(low, high, xp.tanh(low), xp.tanh(high))

    @property
    def middle(self) -> Array:
        return self.low / 2 + self.high / 2

    @property
    def flat(self) -> Band:
        return Band(
            namespace(self.low).zeros_like(self.low),
            self.least - (ULPS * abs(self.least) + _TINY),
            self.most + (ULPS * abs(self.most) + _TINY),
        )

    def bands(self) -> Iterator[Band]:
        """Of the chord, of two chords of halves, and of tangents."""
        xp, width = namespace(self.low), self.high - self.low
        places = range(0, CELLS + 1, 2)
        points = [
            self.low,
            *(xp.clip(self.low + width * (each / CELLS), self.low, self.high) for each in places[1:-1]),
            self.high,
        ]
        values = [self.least, *(xp.tanh(each) for each in points[1:-1]), self.most]
        half = len(points) // 2
        for first, last in ((0, -1), (0, half), (half, -1)):
            run = points[last] - points[first]
            with np.errstate(all="ignore"):
                slope = xp.where(run > 0, (values[last] - values[first]) / run, 0.0)
            slope = xp.minimum(xp.maximum(slope, _TINY), 1.0)
            touch = xp.sqrt(1 - slope)
            yield self._band(slope, touch, xp.log1p(touch) - xp.log(slope) / 2, 0.0)
        for point, value in zip(points, values, strict=True):
            # What it is off counts as far as the interval reaches from where it touches.
            yield self._band(1 - value * value, abs(value), abs(point), 4 * ULPS)

    def _band(self, slope: Array, value: Array, at: Array, off: float) -> Band:
        """Of a slope that tanh has ``at`` x >= 0, where it is ``value``."""
        xp = namespace(slope)
        first, last, turn = self.least - slope * self.low, self.most - slope * self.high, value - slope * at
        above = xp.where((at > self.low) & (at < self.high), turn, first)
        below = xp.where((-at > self.low) & (-at < self.high), -turn, last)
        reach = xp.maximum(abs(self.low), abs(self.high))
        size = slope * reach + xp.maximum(abs(self.least), abs(self.most)) + value
        error = 2 * ULPS * size + off * (self.high - self.low) + _TINY
        return Band(
            slope,
            xp.minimum(xp.minimum(first, last), below) - error,
            xp.maximum(xp.maximum(first, last), above) + error,
        )
