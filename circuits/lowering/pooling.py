"""Max pooling by pairwise maxima, first along the rows of an image, then down its columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from circuits.integers import IntArray
from circuits.quantised import MaxPool, Shape

_NOTHING = -1

# (name, left, right) -> wires of the larger ones.
Larger = Callable[[str, IntArray, IntArray], IntArray]


def max_pool(larger: Larger, node: MaxPool, x: IntArray) -> IntArray:
    """The wires of the largest value in each window of x[channels, height, width]: [channels, down, across].

    A window of n values costs n - 1 ``larger``; windows that overlap share those of one row.
    """
    top, left, bottom, right = node.padding
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right)), constant_values=_NOTHING)
    down = (padded.shape[1] - node.kernel[0]) // node.stride[0] + 1
    across = (padded.shape[2] - node.kernel[1]) // node.stride[1] + 1
    rows = np.unique(np.add.outer(node.stride[0] * np.arange(down), np.arange(node.kernel[0])))
    best = np.full((len(x), padded.shape[1], across), _NOTHING)
    columns = np.add.outer(node.stride[1] * np.arange(across), np.arange(node.kernel[1]))
    best[:, rows] = _largest(larger, f"{node.name}/across", padded[:, rows][:, :, columns])
    windows = np.add.outer(node.stride[0] * np.arange(down), np.arange(node.kernel[0]))
    seen = best[:, windows].transpose(0, 1, 3, 2)
    return _largest(larger, f"{node.name}/down", seen)


def comparisons(node: MaxPool, shape: Shape) -> int:
    """How many pairs ``max_pool`` compares for an input of this shape."""
    counts = [0]

    def count(name: str, left: IntArray, right: IntArray) -> IntArray:
        counts.append(len(left))
        return left

    max_pool(count, node, np.zeros(shape, dtype=np.int64))
    return sum(counts)


def _largest(larger: Larger, name: str, seen: IntArray) -> IntArray:
    """The largest along the last axis, where ``_NOTHING`` is no wire and never wins."""
    best = seen[..., 0].copy()
    for index in range(1, seen.shape[-1]):
        candidate = seen[..., index]
        contested = (best != _NOTHING) & (candidate != _NOTHING)
        if contested.any():
            chosen = larger(f"{name}{index}", best[contested], candidate[contested])
        best = np.where(best == _NOTHING, candidate, best)
        if contested.any():
            best[contested] = chosen
    return best
