"""e^x, and 1/x of positive x: chords lie above them, and of any slope the line that touches lies below.

Nothing has to be looked at in cells, as in ``curves``. A line of slope s that touches e^x does so at
``x = log s``, with the offset ``s - s log s``; of 1/x at ``1 / sqrt(-s)``, with ``2 sqrt(-s)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from zenserve.bounds.arrays import Array, Interval, fused, namespace
from zenserve.bounds.curves import ULPS, Curve
from zenserve.bounds.elementwise import Band, Lines

_TINY: Final = 2.0**-1022


class Convex(Curve):
    """The common part of both functions. Two instances of one class are equal."""

    of_numbers: ClassVar[bool] = True

    def value(self, x: Array) -> Array:
        raise NotImplementedError

    def slope(self, x: Array) -> Array:
        raise NotImplementedError

    def known(self, x: Interval) -> Interval:
        """Between the values at both ends, before they are rounded outward."""
        raise NotImplementedError

    def chord(self, x: Interval) -> Array:
        """Its slope, nearly."""
        raise NotImplementedError

    def touching(self, slope: Array) -> tuple[Array, Array]:
        """The offset of the line that touches, and what the absolute values of its terms add up to."""
        raise NotImplementedError

    def image(self, x: Interval) -> Interval:
        return Interval(*fused(_image, *x, of=(self,)))

    def lines(self, x: Interval) -> Lines:
        """The tangent in the middle, and the chord."""
        return Lines(*fused(_lines, *x, of=(self,)))

    def band(self, x: Interval) -> Band:
        return Band(*fused(_band, *x, of=(self,)))


@dataclass(frozen=True)
class Exp(Convex):
    def value(self, x: Array) -> Array:
        made: Array = namespace(x).exp(x)
        return made

    def slope(self, x: Array) -> Array:
        return self.value(x)

    def known(self, x: Interval) -> Interval:
        return Interval(self.value(x.low), self.value(x.high))

    def chord(self, x: Interval) -> Array:
        """Return the slope of the chord, clipped to the slopes of tangents where rounding leaves little of
        it."""
        xp, width, (least, most) = namespace(x.low), x.high - x.low, self.known(x)
        chord = xp.where(width > 0, (most - least) / xp.where(width > 0, width, 1.0), least)
        made: Array = xp.minimum(xp.maximum(chord, least), most)
        return made

    def touching(self, slope: Array) -> tuple[Array, Array]:
        xp = namespace(slope)
        term = slope * xp.log(xp.where(slope > 0, slope, 1.0))
        return slope - term, slope + abs(term)


@dataclass(frozen=True)
class Inverse(Convex):
    """Of what is not positive it may be anything."""

    def value(self, x: Array) -> Array:
        return 1.0 / x

    def slope(self, x: Array) -> Array:
        return -1.0 / (x * x)

    def known(self, x: Interval) -> Interval:
        xp, inside = namespace(x.low), x.low > 0
        least, most = (self.value(xp.where(inside, each, 1.0)) for each in (x.high, x.low))
        return Interval(xp.where(inside, least, -np.inf), xp.where(inside, most, np.inf))

    def chord(self, x: Interval) -> Array:
        least, most = self.known(x)
        return -least * most

    def touching(self, slope: Array) -> tuple[Array, Array]:
        offset: Array = 2 * namespace(slope).sqrt(-slope)
        return offset, offset


def _image(function: Convex, low: Array, high: Array) -> Interval:
    least, most = function.known(Interval(low, high))
    return Interval(least - (ULPS * abs(least) + _TINY), most + (ULPS * abs(most) + _TINY))


def _band(function: Convex, low: Array, high: Array) -> Band:
    x = Interval(low, high)
    slope = function.chord(x)
    return Band(slope, _below(function, slope), _above(function, slope, x))


def _lines(function: Convex, low: Array, high: Array) -> Lines:
    x, tangent = Interval(low, high), function.slope(low / 2 + high / 2)
    chord = function.chord(x)
    return Lines(tangent, _below(function, tangent), chord, _above(function, chord, x))


def _below(function: Convex, slope: Array) -> Array:
    offset, size = function.touching(slope)
    made: Array = offset - (2 * ULPS * size + _TINY)
    return made


def _above(function: Convex, slope: Array, x: Interval) -> Array:
    """A function that is convex leaves a line the most at an end."""
    xp, ends = namespace(slope), [function.value(each) for each in x]
    offset = xp.maximum(*(value - slope * each for value, each in zip(ends, x, strict=True)))
    size = xp.maximum(abs(ends[0]), abs(ends[1])) + abs(slope) * x.magnitude
    made: Array = offset + (2 * ULPS * size + _TINY)
    return made
