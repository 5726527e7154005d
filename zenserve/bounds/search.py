"""The largest part of a length that is certified, of many samples beside each other.

With u the logarithm of a radius, and v that of the share of its own margin that a sample loses there, v is 0
where the margin is. Curves u(v) of samples that are alike, as words of a sentence, differ by a constant and
little else: what two radii of one say of how steep the curve is holds for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from zenserve.bounds.arrays import Array

Whole = NDArray[np.int64]

_FIRST: Final = 3.0 * math.log(2)
"""So far below the largest radius, in logarithms, the first ones lie."""

FEW: Final = 8
"""Samples that say about how large radii are."""

_EDGES: Final = 8 * np.sinh(np.linspace(-4, 4, 65)) / np.sinh(4)
"""Of cells of v, the finer the nearer to 0: what is beyond says nothing."""

_MIDDLES: Final = (_EDGES[1:] + _EDGES[:-1]) / 2

_STEEP: Final = 0.7
"""By so much u rises with v where nothing is known, which counts little:"""

_LITTLE: Final = 1e-3

_NEAR: Final = 0.02
"""The least distance in the weight of a piece of a curve, which falls with the piece's distance and
length."""

_AWAY: Final = 0.1
"""The assumed error of a guess, as a share of its distance from the known radii."""

_MORE: Final = 3
"""So many rounds more than by halving there may be."""


def searched(
    margins: Callable[[Array, Whole], Array],
    own: Array,
    most: float,
    steps: int,
    places: Sequence[int] = (1,),
) -> Array:
    """Of each sample the largest of ``steps`` equal parts of ``most`` that is certified, by ``margins(radii,
    samples)`` above 0, where the next was tried and is not; 0 where none is. ``own`` [n]: about the margins
    at radius 0. A round has so many ``places``, the fewest that are enough, whether they are used or not:
    where few samples are left several radii of each are tried."""
    search = _Search(own, steps)
    while (left := search.left).size:
        room = next((each for each in places if each >= left.size), places[-1])
        tried = search.tries(left, max(1, room // left.size))
        found = margins(tried.ravel() * most / steps, np.repeat(left, tried.shape[1]))
        search.learn(left, tried, found.reshape(tried.shape))
    return search.low * most / steps


class _Search:
    """``low``, ``high``: of each sample the largest part that is certified and the least that is not. ``u``,
    ``v``: [n, tried], no numbers where nothing is known. ``side``: whether all that was tried last was
    certified, 1, or nothing, -1; ``alike``: how many times before it was the same."""

    def __init__(self, own: Array, steps: int) -> None:
        self.own, self.steps = own, steps
        self.low, self.high = np.zeros(len(own), np.int64), np.full(len(own), steps + 1)
        self.high[~(own > 0)] = 1
        self.u, self.v = np.empty((2, len(own), 0))
        self.side, self.alike = np.zeros((2, len(own)), np.int64)
        self.rounds = math.ceil(math.log2(steps + 1)) + _MORE

    @property
    def left(self) -> Whole:
        """Samples that are not done; first only some of them."""
        left = np.flatnonzero(self.high - self.low > 1)
        return left if self.u.shape[1] else left[:: max(1, -(-len(left) // FEW))]

    def tries(self, left: Whole, count: int) -> Whole:
        """So many for each, ascending, [left, count]: about where the margin seems to be 0, the first on the
        side where the bracket is wider. No further from the middle than halving would allow by the last
        round."""
        low, high = self.low[left], self.high[left]
        width, middle, guess = high - low, (low + high) / 2, np.exp(self._guesses()[left])
        known = (guess > low) & (guess < high)
        away = np.maximum(_AWAY * 3.0 ** self.alike[left] * np.minimum(guess - low, high - guess), 0.55)
        known &= 2 * away < width
        away = np.where(known, away, width / (2 * count + 2)) * np.where(guess - low < high - guess, 1, -1)
        guess = np.where(known, guess, np.clip(np.where(np.isnan(guess), middle, guess), low, high))
        aside = [(-1) ** place * (1 + place // 2) for place in range(count)]
        if count == 1 and self.u.shape[1] < 3:
            aside = [0]
        reach = np.maximum(2.0 ** (self.rounds - 1) - width / 2, 0.0)
        self.rounds -= 1
        first, *others = (guess + step * away for step in aside)
        tried = np.rint([np.clip(first, middle - reach, middle + reach), *others]).astype(np.int64)
        return np.sort(np.clip(tried, low + 1, high - 1).T, axis=1)

    def learn(self, left: Whole, tried: Whole, found: Array) -> None:
        with np.errstate(all="ignore"):
            lost = np.log1p(-found / self.own[left, np.newaxis])
        new = np.full((2, len(self.own), tried.shape[1]), np.nan)
        new[:, left] = np.log(tried), np.where(np.isfinite(lost), lost, np.nan)
        self.u, self.v = np.concatenate([(self.u, self.v), new], axis=2)
        held = found > 0
        side = np.where(held.all(axis=1), 1, np.where(held.any(axis=1), 0, -1))
        self.alike[left] = np.where(side == self.side[left], self.alike[left] + abs(side), 0)
        self.side[left] = side
        self.low[left] = np.maximum(self.low[left], np.where(held, tried, 0).max(axis=1))
        beyond = np.where(~held & (tried > self.low[left, np.newaxis]), tried, self.steps + 1)
        self.high[left] = np.minimum(self.high[left], beyond.min(axis=1))

    def _guesses(self) -> Array:
        """The logarithm of the radius of no margin, [n]: one for all as long as each was tried once."""
        count = len(self.own)
        if self.u.shape[1] == 0:
            spread = np.zeros(count)
            spread[self.left] = (np.arange(len(self.left)) + 0.5) / len(self.left)
            return math.log(self.steps) - _FIRST * spread
        if self.u.shape[1] == 1:
            return np.full(count, self._between())
        rise = self._curve()
        known = abs(self.v) < _EDGES[-1]
        away = np.where(known, rise(np.where(known, self.v, 0.0)), np.inf)
        # By the nearest on either side, the nearer the more.
        weight = 1 / (away * away + 1e-12)
        below, above = (np.where(side, weight, 0.0) for side in (self.v < 0, self.v >= 0))
        for each in (below, above):
            each[each < each.max(axis=1, keepdims=True)] = 0.0
        weight = below + above
        with np.errstate(invalid="ignore"):
            found = (weight * np.where(known, self.u - away, 0.0)).sum(axis=1) / weight.sum(axis=1)
        if not np.isnan(found).all():
            found[np.isnan(found)] = np.nanmedian(found)
        guesses: Array = found
        return guesses

    def _between(self) -> float:
        """Between two of the first radii, so that the fewest samples are on the wrong side."""
        order = np.argsort(self.u[:, 0])
        u, held = self.u[order, 0], self.v[order, 0] < 0
        u, held = u[np.isfinite(u)], held[np.isfinite(u)]
        wrong = np.cumsum([0, *~held]) + np.cumsum([0, *held[::-1]])[::-1]
        ends, at = [u[0] - 1, *u, math.log(self.steps)], int(wrong.argmin())
        return float(ends[at] + ends[at + 1]) / 2

    def _curve(self) -> Callable[[Array], Array]:
        """u(v) less u(0), from pieces between two radii of a sample each."""
        order = np.argsort(self.u, axis=1)
        u, v = (np.take_along_axis(each, order, 1) for each in (self.u, self.v))
        rise, run = np.diff(u, axis=1).ravel(), np.diff(v, axis=1).ravel()
        some = (rise > 0) & (run > 0)
        rise, run, first, last = rise[some], run[some], v[:, :-1].ravel()[some], v[:, 1:].ravel()[some]
        apart = np.maximum(np.maximum(first[:, np.newaxis] - _MIDDLES, _MIDDLES - last[:, np.newaxis]), 0.0)
        away = run[:, np.newaxis] + 2 * apart + _NEAR
        weight = 1 / (away * away)
        # So little is no work for all of a processor's cores, which a product of matrices would wake.
        steep = np.log(np.minimum(rise / run, 1.0))[:, np.newaxis] * weight
        steep = steep.sum(axis=0) + _LITTLE * math.log(_STEEP)
        heights = np.cumsum([0, *(np.exp(steep / (weight.sum(axis=0) + _LITTLE)) * np.diff(_EDGES))])
        heights -= heights[len(_MIDDLES) // 2]
        return lambda v: np.interp(v, _EDGES, heights)
