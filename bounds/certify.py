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
    each other, one radius of each in a round. What is certified within a radius is so within any smaller one;
    where bounds say otherwise, the answer is still certified.
    """
    with chosen() as xp:
        there = None if xp is np else There.of(network, xp)
        if there is not None and there.records(method):
            margins = _recorded(there, around, labels, method, xp)
            return searched(margins, margins(np.zeros(len(labels)), np.arange(len(labels))), most, steps)
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
) -> Callable[[Array, NDArray[np.int64]], Array]:
    """Margins of samples at radii, always of as many at once: some are there twice."""
    network = there.network
    own = np.eye(math.prod(network.shapes[network.output]))[labels]
    lines = own[:, np.newaxis] - np.eye(own.shape[1])
    first = around(np.zeros(1), np.zeros(1, np.int64))
    count = min(len(labels), _at_once(network, first, method, xp))

    def margins(radii: Array, some: NDArray[np.int64]) -> Array:
        parts = []
        for start in range(0, len(some), count):
            here = np.resize(np.arange(start, min(start + count, len(some))), count)
            parts.append(there.least(around(radii[here], some[here]), lines[some[here]], method))
        found = np.concatenate(parts)[: len(some)]
        return Certified(np.where(own[some] > 0, np.inf, found)).least

    return margins


def searched(
    margins: Callable[[Array, NDArray[np.int64]], Array], own: Array, most: float, steps: int
) -> Array:
    """``furthest`` by ``margins(radii, samples)``, which are certified above 0; ``own`` [n] at radius 0."""
    low, high = np.zeros(len(own), np.int64), np.full(len(own), steps + 1)
    # Of the largest radius that is certified, and of the least that is not.
    inside, beyond = own.copy(), np.full(len(own), np.nan)
    left, spent = np.arange(len(own))[own > 0], 0
    while left.size:
        tried = _between(low[left], high[left], inside[left], beyond[left], steps, spent)
        found = margins(tried * most / steps, left)
        held, lost = left[found > 0], left[~(found > 0)]
        low[held], inside[held] = tried[found > 0], found[found > 0]
        high[lost], beyond[lost] = tried[~(found > 0)], found[~(found > 0)]
        left, spent = left[high[left] - low[left] > 1], spent + 1
    return low * most / steps


def _between(
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    inside: Array,
    beyond: Array,
    steps: int,
    spent: int,
) -> NDArray[np.int64]:
    """What to try next: near where the line through both margins is zero, a little towards the middle, and no
    further from it than halving would allow one round later (ITP: Oliveira and Takahashi 2021)."""
    width, middle = high - low, (low + high) / 2
    with np.errstate(all="ignore"):
        zero = (high * inside - low * beyond) / (inside - beyond)
    zero = np.where(np.isfinite(zero), zero, middle)
    away = middle - zero
    near = zero + np.sign(away) * np.minimum(0.2 / (steps + 1) * width**2, np.abs(away))
    reach = np.maximum(2.0 ** (math.ceil(math.log2(steps + 1)) - spent) - width / 2, 0.0)
    near = np.clip(near, middle - reach, middle + reach)
    tried: NDArray[np.int64] = np.clip(np.rint(near).astype(np.int64), low + 1, high - 1)
    return tried
