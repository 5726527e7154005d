"""Softmax, of floats and of integers: exponentials, their sum, its reciprocal, and products.

A softmax does not change where a number is taken off a whole row, so exponentials are of what is left after
the largest end of the row: none is above 1, and some reach it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

import numpy as np

from zenserve.bounds.arrays import Array, Interval, Mask, Namespace, fused, namespace
from zenserve.bounds.convex import Exp, Inverse
from zenserve.bounds.elementwise import Band, Elementwise, Lines
from zenserve.bounds.given import Given, Rules
from zenserve.bounds.linear import Linear
from zenserve.bounds.maps import Moved
from zenserve.bounds.network import Operation
from zenserve.bounds.product import Product
from zenserve.circuits.graphs.types import Shape
from zenserve.circuits.operators.softmax import QuantSoftmax, Softmax
from zenserve.relations.integers import IntArray

_EXP: Final = Exp()


@dataclass(frozen=True, eq=False)
class Exponential:
    """``e^(step (x - largest))`` along the last axis, where ``kept`` [rows, n], else 0. The largest is that
    of the row's upper ends; what follows divides by the sum, and so it may be any number."""

    of_numbers: ClassVar[bool] = False

    step: float
    kept: Array

    def value(self, x: Array) -> Array:
        """Of points, each row its own largest."""
        made: Array = self.kept * namespace(x).exp(self.step * (x - self._largest(x)))
        return made

    def slope(self, x: Array) -> Array:
        return self.step * self.value(x)

    def image(self, x: Interval) -> Interval:
        return Interval(*fused(_exponential_image, *x, self._largest(x.high), self.kept, of=(self.step,)))

    def lines(self, x: Interval) -> Lines:
        return Lines(*fused(_exponential_lines, *x, self._largest(x.high), self.kept, of=(self.step,)))

    def band(self, x: Interval) -> Band:
        return Band(*fused(_exponential_band, *x, self._largest(x.high), self.kept, of=(self.step,)))

    def straight(self, x: Interval) -> Mask:
        flat: Mask = x.low == x.high
        return flat

    def on(self, xp: Namespace) -> Exponential:
        return replace(self, kept=xp.asarray(self.kept))

    def _largest(self, x: Array) -> Array:
        xp = namespace(x)
        largest: Array = xp.where(self.kept > 0, x, -np.inf).max(axis=-1, keepdims=True)
        return largest


def _shifted(step: float, low: Array, high: Array, largest: Array, kept: Array) -> Interval:
    low, high = step * (low - largest), step * (high - largest)
    # What is left out may be anything: it is zero either way.
    xp = namespace(low)
    high = xp.where(kept > 0, high, xp.minimum(high, 0.0))
    low = xp.minimum(low, high)
    return Interval(low - 4 * 2.0**-52 * abs(low), high + 4 * 2.0**-52 * abs(high))


def _exponential_image(
    step: float, low: Array, high: Array, largest: Array, kept: Array
) -> tuple[Array, Array]:
    made = _EXP.image(_shifted(step, low, high, largest, kept))
    return made.low * kept, made.high * kept


def _exponential_lines(step: float, low: Array, high: Array, largest: Array, kept: Array) -> Lines:
    made, ends = _EXP.lines(_shifted(step, low, high, largest, kept)), []
    for slope, offset, side in ((*made[:2], -1), (*made[2:], 1)):
        steep = slope * step
        ends += [steep * kept, _away(steep, offset, side, low, high, largest) * kept]
    return Lines(*ends)


def _exponential_band(step: float, low: Array, high: Array, largest: Array, kept: Array) -> Band:
    slope, *offsets = _EXP.band(_shifted(step, low, high, largest, kept))
    steep = slope * step
    ends = (_away(steep, each, side, low, high, largest) for each, side in zip(offsets, (-1, 1), strict=True))
    return Band(steep * kept, *(each * kept for each in ends))


def _away(steep: Array, offset: Array, side: int, low: Array, high: Array, largest: Array) -> Array:
    """The offset of what is left, as one of the numbers themselves."""
    reach = namespace(steep).maximum(abs(low - largest), abs(high - largest)) + abs(largest)
    error = 16 * 2.0**-52 * (abs(steep) * reach + abs(offset))
    moved: Array = offset - steep * largest + side * error
    return moved


@dataclass(frozen=True, eq=False)
class Shares:
    """``ratio x``, give or take ``slack``, within [0, most]: the integers of a softmax's shares."""

    of_numbers: ClassVar[bool] = True

    ratio: float
    slack: float
    most: float

    def value(self, x: Array) -> Array:
        made: Array = namespace(x).clip(namespace(x).rint(self.ratio * x), 0.0, self.most)
        return made

    def slope(self, x: Array) -> Array:
        return namespace(x).full_like(x, self.ratio)  # type: ignore[no-any-return]

    def image(self, x: Interval) -> Interval:
        xp = namespace(x.low)
        low, high = xp.floor(self.ratio * x.low - self.slack), xp.ceil(self.ratio * x.high + self.slack)
        return Interval(xp.clip(low, 0.0, self.most), xp.clip(high, 0.0, self.most))

    def lines(self, x: Interval) -> Lines:
        """Return the lines below and above the shares. Where the upper end of the type may cut shares off,
        the line below is constant."""
        xp = namespace(x.low)
        slope = xp.full_like(x.low, self.ratio)
        cut = self.ratio * x.high + self.slack > self.most
        least = self.image(x).low
        return Lines(
            xp.where(cut, 0.0, slope),
            xp.where(cut, least, -self.slack),
            slope,
            xp.full_like(slope, self.slack),
        )

    def band(self, x: Interval) -> Band:
        xp, (least, most) = namespace(x.low), self.image(x)
        cut = self.ratio * x.high + self.slack > self.most
        slope, slack = xp.full_like(x.low, self.ratio), xp.full_like(x.low, self.slack)
        return Band(xp.where(cut, 0.0, slope), xp.where(cut, least, -slack), xp.where(cut, most, slack))

    def straight(self, x: Interval) -> Mask:
        return namespace(x.low).ones(x.low.shape, bool)  # type: ignore[no-any-return]

    def on(self, xp: Namespace) -> Shares:
        return self


def _parts(given: Given, kept: IntArray | None, step: float, last: str) -> list[Operation]:
    """The shares, as the tensor ``last``."""
    (shape,) = given.shapes
    left = np.ones(shape[1:]) if kept is None else kept.astype(np.float64)
    rows, n = shape[1:]
    name = given.name
    exponentials = Elementwise(
        f"{name}/exponentials", given.inputs, shape, False, Exponential(step, left[np.newaxis])
    )
    column: Shape = (1, rows, 1)
    wide = np.broadcast_to(np.arange(rows).reshape(column), shape)
    sums = Linear(f"{name}/sums", (exponentials.name,), column, False, (_Rows(n),), np.zeros(()))
    inverse = Elementwise(f"{name}/inverse", (sums.name,), column, False, Inverse())
    spread = Linear(f"{name}/spread", (inverse.name,), shape, False, (Moved(wide, column),), np.zeros(()))
    shares = Product(last, (exponentials.name, spread.name), shape, False, False, 1.0, 1, (0.0, 1.0))
    return [exponentials, sums, inverse, spread, shares]


@dataclass(frozen=True)
class _Rows:
    """Sums along the last axis of length ``n``, which stays with size 1."""

    n: int
    whole = True

    def product(self, channels: int) -> None:
        return None

    @property
    def terms(self) -> int:
        return self.n

    def apply(self, x: Array) -> Array:
        xp = namespace(x)
        if xp is np or x.shape[-1] == 1:
            made: Array = x.sum(axis=-2, keepdims=True)
        else:
            from zenserve.gpu import intervals

            made = intervals.add_up(xp, x)
        return made

    absolute = sized = apply

    def back(self, lines: Array) -> Array:
        xp = namespace(lines)
        made: Array = xp.broadcast_to(lines, (*lines.shape[:-1], self.n))
        return made

    def on(self, xp: Namespace) -> _Rows:
        return self


def _softmax(given: Given, node: Softmax) -> list[Operation]:
    return _parts(given, node.kept, 1.0, given.name)


def _quant_softmax(given: Given, node: QuantSoftmax) -> list[Operation]:
    """Its table is the exponential's to ``error`` of the first entry; shares of exact exponentials differ
    from shares of the table's by at most ``(1 + n) error``, since a row's largest is the first entry."""
    (kind,) = given.types
    assert kind is not None  # noqa: S101  shares are of typed tensors
    first = float(node.exponentials[0])
    exact = np.exp(-kind.scale * np.arange(len(node.exponentials)))
    error = float(np.abs(node.exponentials / first - exact).max()) + 1e-12
    ratio = node.multiplier / 2.0**node.shift
    slack = 0.5 + ratio * error * (1 + given.shape[-1]) + 1e-9 * (1 + ratio)
    shares = _parts(given, node.kept, kind.scale, f"{given.name}/shares")
    made = Shares(ratio, slack, float(node.output.top - node.output.zero_point))
    return [*shares, Elementwise(given.name, (shares[-1].name,), given.shape, True, made)]


RULES: Rules = {Softmax: _softmax, QuantSoftmax: _quant_softmax}
