"""Max pooling. Windows that overlap share the maxima of their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from relations import planes
from relations.integers import IntArray
from relations.planes import Sliding
from relations.relation import Maximum

_NOTHING = -1

# (name, wires[n, k]) -> wires [n] of the largest value in each row.
Largest = Callable[[str, IntArray], IntArray]


def max_pool(largest: Largest, pool: Maximum, x: IntArray) -> IntArray:
    """The largest value in each window of the wires x[channels, height, width]: [channels, down, across]."""
    sliding, name = pool.sliding, pool.name
    apart = all(stride >= size for stride, size in zip(sliding.stride, sliding.kernel, strict=True))
    if apart:
        seen = planes.slide(x[np.newaxis], sliding.kernel, sliding.stride, sliding.padding, _NOTHING)[0]
        return _largest(largest, f"{name}/windows", seen.reshape(*seen.shape[:3], -1))
    (height, width), (down, across) = sliding.kernel, sliding.stride
    top, left, bottom, right = sliding.padding
    seen = planes.slide(x[np.newaxis], (1, width), (1, across), (0, left, 0, right), _NOTHING)[0]
    read = _rows_read(x.shape[1], sliding)
    best = np.full(seen.shape[:3], _NOTHING)
    best[:, read] = _largest(largest, f"{name}/across", seen[:, read][:, :, :, 0])
    seen = planes.slide(best[np.newaxis], (height, 1), (down, 1), (top, 0, bottom, 0), _NOTHING)[0]
    return _largest(largest, f"{name}/down", seen[..., 0])


def maxima(pool: Maximum) -> Counter[int]:
    """Of how many values ``max_pool`` takes the largest, and how often, for one sample."""
    counts: Counter[int] = Counter()

    def count(name: str, wires: IntArray) -> IntArray:
        counts[wires.shape[1]] += len(wires)
        return wires[:, 0]

    max_pool(count, pool, np.zeros(pool.value.shape[1:], dtype=np.int64))
    return counts


def _rows_read(height: int, sliding: Sliding) -> IntArray:
    """The rows of the image that some window reads."""
    column = np.arange(height).reshape(1, 1, -1, 1)
    top, _, bottom, _ = sliding.padding
    kernel, stride = (sliding.kernel[0], 1), (sliding.stride[0], 1)
    seen = planes.slide(column, kernel, stride, (top, 0, bottom, 0), _NOTHING)
    rows: IntArray = np.unique(seen[seen != _NOTHING])
    return rows


def _largest(largest: Largest, name: str, seen: IntArray) -> IntArray:
    """The largest along the last axis, where ``_NOTHING`` is no wire and never wins."""
    flat = seen.reshape(-1, seen.shape[-1])
    present = flat != _NOTHING
    counts = present.sum(axis=1)
    best = np.full(len(flat), _NOTHING)
    for count in np.unique(counts[counts > 0]).tolist():
        rows = np.flatnonzero(counts == count)
        wires = flat[rows][present[rows]].reshape(-1, count)
        best[rows] = wires[:, 0] if count == 1 else largest(f"{name}{count}", wires)
    return best.reshape(seen.shape[:-1])
