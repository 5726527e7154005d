"""Which label stays, how far, and by how much."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bounds.arrays import Array, Namespace, chosen, host, namespace, room
from bounds.ball import Region
from bounds.network import Network
from bounds.propagation import Bounds, Method
from bounds.recorded import There

METHODS: Final[tuple[Method, ...]] = ("crown", "crown-ibp", "forward", "ibp")


@dataclass(frozen=True, eq=False)
class Certified:
    """``margins`` float64[n, classes]: by how much the label's output is larger than each other at least,
    wherever in its region a sample is; infinite for the label itself."""

    margins: Array

    @property
    def least(self) -> Array:
        """By the worst rival, [n]."""
        worst: Array = self.margins.min(axis=1)
        return worst

    @property
    def robust(self) -> NDArray[np.bool_]:
        """Whether no input of a sample's region has another label, [n]."""
        return self.least > 0


def certify(
    network: Network, region: Region, labels: NDArray[np.int64], method: Method = "crown"
) -> Certified:
    """Margins of ``labels`` int64[n] over each sample's part of the region, by no more than they are.
    Computed where ``ZENSERVE_BACKEND`` says, from arrays of the host."""
    with chosen() as xp:
        there = network if xp is np else There.of(network, xp).network
        return Certified(_in_parts(there, region.on(xp), labels, method))


def _at_once(network: Network, region: Region, method: Method, xp: Namespace) -> int:
    """Samples that there is room for."""
    widest = max(math.prod(shape) for shape in network.shapes.values())
    across = region.width if method == "forward" else math.prod(network.shapes[network.output])
    return max(1, room(xp) // (widest * across))


def _in_parts(network: Network, region: Region, labels: NDArray[np.int64], method: Method) -> Array:
    classes = math.prod(network.shapes[network.output])
    step = _at_once(network, region, method, namespace(region.interval().low))
    parts = []
    for start in range(0, region.count, step):
        some = slice(start, start + step)
        parts.append(_margins(network, region.part(some), labels[some], classes, method))
    return np.concatenate(parts)


def _margins(
    network: Network, region: Region, labels: NDArray[np.int64], classes: int, method: Method
) -> Array:
    own = np.eye(classes)[labels]
    # In regions so large that ends are beyond all floats margins are no numbers, which certify nothing.
    with np.errstate(over="ignore", invalid="ignore"):
        bounds = Bounds(network, region, method)
        xp = namespace(bounds.intervals[network.input].low)
        margins = bounds.least(xp.asarray(own[:, np.newaxis] - np.eye(classes)))
    return np.where(own > 0, np.inf, host(margins))


def furthest(
    network: Network,
    around: Callable[[Array, NDArray[np.int64]], Region],
    labels: NDArray[np.int64],
    most: float,
    method: Method = "crown",
    steps: int = 1 << 10,
) -> Array:
    """For each sample the largest of ``steps`` equal parts of ``most`` that is certified, float64[n]; 0 where
    none is.

    ``around(radii, samples)``: the region of these samples with a radius each. All samples are tried beside
    each other. What is certified within a radius is so within any smaller one; where bounds say otherwise,
    the answer is still certified, and the next part is not.
    """
    with chosen() as xp:
        there = None if xp is np else There.of(network, xp)
        if there is not None and there.records(method):
            count, margins = _recorded(there, around, labels, method, xp)
            own = margins(np.zeros(len(labels)), np.arange(len(labels)), "ibp")
            return searched(margins, own, most, steps, count)
        moved = network if there is None else there.network

        def launched(radii: Array, some: NDArray[np.int64], method: Method = method) -> Array:
            return Certified(_in_parts(moved, around(radii, some).on(xp), labels[some], method)).least

        # Of samples as they are by intervals.
        own = launched(np.zeros(len(labels)), np.arange(len(labels)), "ibp")
        return searched(launched, own, most, steps)


def _recorded(
    there: There,
    around: Callable[[Array, NDArray[np.int64]], Region],
    labels: NDArray[np.int64],
    method: Method,
    xp: Namespace,
) -> tuple[int, Callable[..., Array]]:
    """Margins of samples at radii, always of as many at once: some are there twice. First how many."""
    network = there.network
    own = np.eye(math.prod(network.shapes[network.output]))[labels]
    lines = own[:, np.newaxis] - np.eye(own.shape[1])
    first = around(np.zeros(1), np.zeros(1, np.int64))
    count = min(len(labels), _at_once(network, first, method, xp))

    def margins(radii: Array, some: NDArray[np.int64], method: Method = method) -> Array:
        parts = []
        for start in range(0, len(some), count):
            here = np.resize(np.arange(start, min(start + count, len(some))), count)
            parts.append(there.least(around(radii[here], some[here]), lines[some[here]], method))
        found = np.concatenate(parts)[: len(some)]
        return Certified(np.where(own[some] > 0, np.inf, found)).least

    return count, margins


def searched(
    margins: Callable[[Array, NDArray[np.int64]], Array],
    own: Array,
    most: float,
    steps: int,
    places: int = 0,
) -> Array:
    """``furthest`` by ``margins(radii, samples)``, which are certified above 0; ``own`` [n] at radius 0. A
    round has ``places`` whether they are used or not: several radii of each sample where few are left."""
    brackets = _Brackets(own, steps)
    while (left := brackets.left).size:
        tried = brackets.tries(left, max(1, places // left.size))
        found = margins(tried.ravel() * most / steps, np.repeat(left, tried.shape[1]))
        brackets.learn(left, tried, found.reshape(tried.shape))
    return brackets.low * most / steps


# How far from where a margin seems to be zero one looks: first of a bracket's width, later of how far that
# has moved. And how many rounds more than by halving there may be.
_AWAY, _MOVED, _MORE = 0.1, 0.5, 3


class _Brackets:
    """Of each sample the largest part that is certified and the least that is not, ``low`` and ``high``, and
    beside each the one that was before: ``at`` [n, 4], the outer ones first and last, and ``lost`` [n, 4],
    the logarithm of how much of the own margin is lost there, in shares: 0 where it is zero.

    Margins fall as lines and then as exponentials do, so that logarithms of what is lost bend little.
    """

    def __init__(self, own: Array, steps: int) -> None:
        self.own, self.low, self.high = own, np.zeros(len(own), np.int64), np.full(len(own), steps + 1)
        self.high[~(own > 0)] = 1
        self.at, self.lost = (np.full((len(own), 4), np.nan) for _ in range(2))
        self.zero, self.rounds = np.full(len(own), np.nan), math.ceil(math.log2(steps + 1)) + _MORE

    @property
    def left(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.high - self.low > 1)

    def tries(self, left: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """So many for each, ascending [left, count]: around the zero of the parabola through three, first
        where the bracket is wider; no further from the middle than halving would allow by the last round."""
        low, high = self.low[left], self.high[left]
        width, middle, before = high - low, (low + high) / 2, self.zero[left]
        self.zero[left] = zero = self._zeros(left, width)
        away = np.where(np.isnan(before), _AWAY * width, np.maximum(_MOVED * abs(zero - before), 0.6))
        known = np.isfinite(zero) & (away < width / 2)
        zero, away = np.where(known, zero, middle), np.where(known, away, width / 4 if count > 1 else 0.0)
        side = np.where(zero - low < high - zero, 1, -1)
        reach = np.maximum(2.0 ** (self.rounds - 1) - width / 2, 0.0)
        self.rounds -= 1
        first = np.clip(zero + side * away, middle - reach, middle + reach)
        others = [zero + side * away * (-1) ** place * (1 + place // 2) for place in range(1, count)]
        tried = np.rint([first, *others]).astype(np.int64)
        return np.sort(np.clip(tried, low + 1, high - 1).T, axis=1)

    def learn(self, left: NDArray[np.int64], tried: NDArray[np.int64], found: Array) -> None:
        with np.errstate(all="ignore"):
            lost = np.log1p(-found / self.own[left, np.newaxis])
        lost = np.where(np.isfinite(lost), lost, np.nan)
        for column in range(tried.shape[1]):
            self._move(left, tried[:, column], lost[:, column], found[:, column] > 0, self.low, (0, 1))
        for column in reversed(range(tried.shape[1])):
            beyond = ~(found[:, column] > 0) & (tried[:, column] > self.low[left])
            self._move(left, tried[:, column], lost[:, column], beyond, self.high, (3, 2))

    def _move(
        self,
        left: NDArray[np.int64],
        to: NDArray[np.int64],
        lost: Array,
        which: NDArray[np.bool_],
        end: NDArray[np.int64],
        columns: tuple[int, int],
    ) -> None:
        which = which & (to != end[left])
        some, (outer, inner) = left[which], columns
        end[some] = to[which]
        for kept, new in ((self.at, to), (self.lost, lost)):
            kept[some, outer] = kept[some, inner]
            kept[some, inner] = new[which]

    def _zeros(self, left: NDArray[np.int64], width: NDArray[np.int64]) -> Array:
        """Where what is lost is all; no number where one end is not known."""
        (far, x, y, further), (w, v, u, z) = self.at[left].T, self.lost[left].T
        inner = ~(abs(w) > abs(z))
        third, lost = np.where(inner, far, further), np.where(inner, w, z)
        with np.errstate(all="ignore"):
            slope = (u - v) / width
            bend = ((lost - v) / (third - x) - slope) / (third - y)
            bend = np.where(np.isfinite(bend), bend, 0.0)
            rise = slope - bend * width
            root = np.sqrt(np.maximum(rise * rise - 4 * bend * v, 0.0))
            zero = x - 2 * v / (rise + root)
            inside = (zero > x) & (zero < y)
            return np.where(inside, zero, x - v / slope)  # type: ignore[no-any-return]
