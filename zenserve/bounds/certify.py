"""Certificates of labels: the label that a region keeps, up to what radius, and by what margin."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from zenserve.bounds.arrays import Array, Namespace, chosen, host, namespace, room
from zenserve.bounds.attack import margins
from zenserve.bounds.ball import Region
from zenserve.bounds.network import Network
from zenserve.bounds.propagation import Bounds, Method
from zenserve.bounds.recorded import There
from zenserve.bounds.search import FEW, searched

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
        """True where it is certain that no input of a sample's region has another label, [n]."""
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
            return _searched(there, around, labels, method, most, steps, xp)
        moved = network if there is None else there.network

        def launched(radii: Array, some: NDArray[np.int64]) -> Array:
            return Certified(_in_parts(moved, around(radii, some).on(xp), labels[some], method)).least

        return searched(launched, _own(moved, around, labels, xp), most, steps)


def _own(
    network: Network,
    around: Callable[[Array, NDArray[np.int64]], Region],
    labels: NDArray[np.int64],
    xp: Namespace,
) -> Array:
    """About the margins of samples as they are."""
    first = around(np.zeros(1), np.zeros(1, np.int64))
    parts, step = [np.empty(0)], _at_once(network, first, "ibp", xp)
    for start in range(0, len(labels), step):
        some = np.arange(start, min(start + step, len(labels)))
        centres = around(np.zeros(len(some)), some).on(xp).interval().low
        parts.append(host(margins(network, centres, labels[some])))
    return np.concatenate(parts)


def _searched(
    there: There,
    around: Callable[[Array, NDArray[np.int64]], Region],
    labels: NDArray[np.int64],
    method: Method,
    most: float,
    steps: int,
    xp: Namespace,
) -> Array:
    """By passes of one of three sizes, in which some samples are twice."""
    network = there.network
    own = np.eye(math.prod(network.shapes[network.output]))[labels]
    lines = own[:, np.newaxis] - np.eye(own.shape[1])
    first = around(np.zeros(1), np.zeros(1, np.int64))
    count = min(len(labels), _at_once(network, first, method, xp))
    rooms = sorted({*(min(each, count) for each in (FEW, 2 * FEW)), count})

    def asked(made: Callable[[Region, Array], Array], radii: Array, some: NDArray[np.int64]) -> Array:
        parts, room = (
            [np.empty((0, own.shape[1]))],
            next((each for each in rooms if each >= len(some)), count),
        )
        for start in range(0, len(some), room):
            here = np.resize(np.arange(start, min(start + room, len(some))), room)
            parts.append(made(around(radii[here], some[here]), lines[some[here]]))
        found = np.concatenate(parts)[: len(some)]
        return Certified(np.where(own[some] > 0, np.inf, found)).least

    def least(radii: Array, some: NDArray[np.int64]) -> Array:
        return asked(lambda region, at: there.least(region, at, method), radii, some)

    centres = asked(there.centres, np.zeros(len(labels)), np.arange(len(labels)))
    return searched(least, centres, most, steps, rooms)
