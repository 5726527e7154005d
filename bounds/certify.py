"""Which label stays, how far, and by how much."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bounds.arrays import Array, chosen, host, namespace, room
from bounds.ball import Region
from bounds.network import Network
from bounds.propagation import Bounds, Method

METHODS: Final[tuple[Method, ...]] = ("crown", "crown-ibp", "forward", "ibp")

# Radii that are tried of one sample in one round.
_CANDIDATES: Final = 8


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
        return Certified(_in_parts(network.on(xp), region.on(xp), labels, method))


def _in_parts(network: Network, region: Region, labels: NDArray[np.int64], method: Method) -> Array:
    classes = math.prod(network.shapes[network.output])
    widest = max(math.prod(shape) for shape in network.shapes.values())
    across = region.width if method == "forward" else classes
    step = max(1, room(region.interval().low) // (widest * across))
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

    ``around(radii, samples)``: the region of these samples with a radius each. In each round the interval
    that the radius lies in is split by 8 candidates, all samples beside each other. What is certified within
    a radius is so within any smaller one; where bounds say otherwise, the answer is still certified.
    """
    with chosen() as xp:
        return _furthest(network.on(xp), lambda *tried: around(*tried).on(xp), labels, most, method, steps)


def _furthest(
    network: Network,
    around: Callable[[Array, NDArray[np.int64]], Region],
    labels: NDArray[np.int64],
    most: float,
    method: Method,
    steps: int,
) -> Array:
    samples = np.arange(len(labels))
    low, high = np.zeros(len(labels), np.int64), np.full(len(labels), steps + 1)
    while (left := samples[high - low > 1]).size:
        share = np.arange(1, _CANDIDATES + 1) / (_CANDIDATES + 1)
        tried = low[left, np.newaxis] + np.ceil(share * (high - low)[left, np.newaxis]).astype(np.int64)
        tried = np.minimum(tried, high[left, np.newaxis] - 1)
        repeated = np.repeat(left, _CANDIDATES)
        region = around(tried.ravel() * most / steps, repeated)
        margins = _in_parts(network, region, labels[repeated], method)
        held = Certified(margins).robust.reshape(tried.shape)
        # The candidates below the first that is not certified.
        count = np.where(held.all(axis=1), _CANDIDATES, held.argmin(axis=1))
        padded = np.concatenate([low[left, np.newaxis], tried, high[left, np.newaxis]], axis=1)
        low[left] = padded[np.arange(len(left)), count]
        high[left] = padded[np.arange(len(left)), count + 1]
    return low * most / steps
