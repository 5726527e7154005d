"""The range of a tensor's values that its integers are to resolve."""

from __future__ import annotations

import math
from typing import Final, Literal, NamedTuple, get_args

import numpy as np

from zenserve.circuits.graphs.types import FloatArray

Method = Literal["min-max", "percentile", "mse"]
METHODS: tuple[Method, ...] = get_args(Method)

# What the percentile method leaves beyond each end.
_TAIL = 1e-4
# The methods that look at single values look at so many.
_SAMPLE = 1 << 16
# Multiples of the golden ratio fill [0, 1) evenly and, unlike a stride, keep step with no row or channel.
_GOLDEN_RATIO = (1 + math.sqrt(5)) / 2
# An interval that reaches so many times further than what matters of it has outliers.
OUTLYING: Final = 16.0
# Of an interval that is looked at: what calls take as long as, and passes over the values.
_CALLS: Final = 1 << 14
_PASSES: Final = 10
_SHRINKS: list[float] = np.arange(1.0, 0.2, -0.02).tolist()


class Interval(NamedTuple):
    """Real numbers from ``low`` <= 0 to ``high`` >= 0: zero must itself be exact."""

    low: float
    high: float

    @classmethod
    def of(cls, values: FloatArray) -> Interval:
        """Return the smallest interval that contains all ``values`` and zero."""
        return cls(min(0.0, float(values.min())), max(0.0, float(values.max())))

    def joined(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))


def without_outliers(whole: Interval, part: Interval) -> Interval:
    """Return the part of ``whole`` that matters, ``part``, if it is so small a part that the rest are
    outliers, as the values of masks are; else ``whole``."""
    low, high = max(whole.low, min(0.0, part.low)), min(whole.high, max(0.0, part.high))
    return Interval(low, high) if 0 < (high - low) * OUTLYING < whole.high - whole.low else whole


class Seen(NamedTuple):
    """The statistics of a tensor's values that calibration takes: their ends, and ``sample`` [n], a part of
    them."""

    ends: Interval
    sample: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> Seen:
        """``values``: any shape, finite."""
        return cls(Interval.of(values), _sample(values.ravel()))


def interval(seen: Seen, bits: int, method: Method) -> Interval:
    """The interval that 2^bits integers are to span for such values.

    min-max: all of them. percentile: all but 10^-4 at each end, which saturate. mse: the part of the min-max
    interval with the least mean squared error of rounding and saturation together.
    """
    whole, sample = seen
    if method == "min-max" or whole.low == whole.high:
        return whole
    if method == "percentile":
        low, high = np.quantile(sample, [_TAIL, 1 - _TAIL])
        return Interval(min(0.0, float(low)), max(0.0, float(high)))
    shrunk = [Interval(whole.low * shrink, whole.high * shrink) for shrink in _SHRINKS]
    return min(shrunk, key=lambda candidate: _squared_error(sample, candidate, bits))


def fitting_work(size: int) -> int:
    """Return the cost of fitting an interval to ``size`` values by ``mse``, in multiplications that take as
    long."""
    return len(_SHRINKS) * (_CALLS + _PASSES * min(size, _SAMPLE))


def _sample(flat: FloatArray) -> FloatArray:
    if len(flat) <= _SAMPLE:
        return flat
    places = np.arange(_SAMPLE) * _GOLDEN_RATIO % 1
    return flat[(places * len(flat)).astype(np.int64)]


def _squared_error(values: FloatArray, span: Interval, bits: int) -> float:
    top = (1 << bits) - 1
    scale = (span.high - span.low) / top
    zero = round(-span.low / scale)
    rounded = scale * (np.clip(np.rint(values / scale) + zero, 0, top) - zero)
    return float(np.mean((rounded - values) ** 2))
