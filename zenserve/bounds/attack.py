"""Inputs of a region that are meant to change the label, along the network's slopes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zenserve.bounds.arrays import Array, Sums, namespace
from zenserve.bounds.ball import Region
from zenserve.bounds.network import Network


def margins(network: Network, x: Array, labels: NDArray[np.int64]) -> Array:
    """By how much the label's output is larger than the largest other, [n]: what is negative is an attack."""
    outputs = network.run(x)
    xp, own = namespace(outputs), np.eye(outputs.shape[1], dtype=bool)[labels]
    rivals: Array = xp.where(xp.asarray(own), -np.inf, outputs).max(axis=1)
    return (outputs * xp.asarray(own)).sum(axis=1) - rivals  # type: ignore[no-any-return]


def projected(
    network: Network,
    region: Region,
    labels: NDArray[np.int64],
    rng: np.random.Generator,
    steps: int = 20,
    restarts: int = 1,
) -> Array:
    """Projected gradient descent (Madry et al. 2018): from a point that is drawn towards where the slopes of
    the margin are lowest, a little less each step. The best input of all on the way, [n, *shape]."""
    best = region.drawn(rng)
    least = margins(network, best, labels)
    for _ in range(restarts):
        x = region.drawn(rng)
        for step in range(steps):
            slopes = slope(network, x, labels)
            share = 2.0 / (step + 2)
            x = region.nearest((1 - share) * x + share * region.furthest(slopes))
            best, least = _better(network, labels, best, least, x)
    return best


def _better(
    network: Network, labels: NDArray[np.int64], best: Array, least: Array, x: Array
) -> tuple[Array, Array]:
    xp, found = namespace(x), margins(network, x, labels)
    better = (found < least).reshape(-1, *(1 for _ in x.shape[1:]))
    return xp.where(better, x, best), xp.minimum(found, least)


def slope(network: Network, x: Array, labels: NDArray[np.int64]) -> Array:
    """Of the margin over the worst rival, [n, *shape], by going back through tangents; a staircase has the
    slope of the line through it."""
    values = network.values(x)
    outputs = values[network.output].reshape(len(x), -1)
    xp, own = namespace(x), np.eye(outputs.shape[1], dtype=bool)[labels]
    rival = xp.where(xp.asarray(own), -np.inf, outputs).argmax(axis=1)
    lines = xp.asarray(own, dtype=np.float64) - xp.eye(outputs.shape[1])[rival]
    waiting = {network.output: lines.reshape(len(x), 1, *network.shapes[network.output])}
    for operation in reversed(network.operations):
        if operation.name not in waiting:
            continue
        here = waiting.pop(operation.name)
        tangent = operation.tangent(*(values[name] for name in operation.inputs))
        made = tangent.back(here, Sums(here))
        for name, each in zip(operation.inputs, made, strict=True):
            waiting[name] = waiting[name] + each if name in waiting else each
    return waiting[network.input][:, 0] if network.input in waiting else xp.zeros_like(x)  # type: ignore[no-any-return]
