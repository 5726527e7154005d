"""Max pooling. Windows that overlap share the maxima along one axis after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from zenserve.relations import planes
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import Sliding
from zenserve.relations.relation import Maximum

_NOTHING = -1
# Of the maxima along the axes of a plane, the last two or all.
_DIRECTIONS = ("through", "down", "across")

# (name, wires[n, k]) -> wires [n] of the largest value in each row.
Largest = Callable[[str, IntArray], IntArray]


def max_pool(largest: Largest, pool: Maximum, x: IntArray) -> IntArray:
    """The largest value in each window of the wires x[channels, *plane]: [channels, *positions]."""
    sliding, name, rank = pool.sliding, pool.name, x.ndim - 1
    reach = planes.reach(sliding.kernel, sliding.dilation)
    if all(stride >= size for stride, size in zip(sliding.stride, reach, strict=True)):
        return _largest(largest, f"{name}/windows", _seen(x, sliding).reshape(len(x), *sliding.out, -1))
    best = x
    for axis in reversed(range(rank)):
        along = _along(sliding, axis)
        seen = _seen(best, along)
        seen = seen.reshape(*seen.shape[: 1 + rank], -1)
        read = np.ix_(*(_read(size, sliding, at - 1, axis) for at, size in enumerate(seen.shape[:-1])))
        best = np.full(seen.shape[:-1], _NOTHING)
        best[read] = _largest(largest, f"{name}/{_DIRECTIONS[axis - rank]}", seen[read])
    return best


def maxima(pool: Maximum) -> list[tuple[int, int]]:
    """Return a pair for each call that ``max_pool`` makes for one sample: the number of maxima, and the
    number of values of each."""
    calls: list[tuple[int, int]] = []

    def count(name: str, wires: IntArray) -> IntArray:
        calls.append(wires.shape)
        return wires[:, 0]

    max_pool(count, pool, np.zeros(pool.value.shape[1:], dtype=np.int64))
    return calls


def _seen(x: IntArray, sliding: Sliding) -> IntArray:
    """The windows over x[channels, *plane], [channels, *positions, *kernel]."""
    kernel, stride, padding = sliding.kernel, sliding.stride, sliding.padding
    seen: IntArray = planes.slide(x[np.newaxis], kernel, stride, padding, _NOTHING, sliding.dilation)[0]
    return seen


def _along(sliding: Sliding, axis: int) -> Sliding:
    """The same along one axis, and nothing along the others."""

    def only(sizes: planes.Sizes, other: int) -> planes.Sizes:
        return tuple(size if at % len(sliding.kernel) == axis else other for at, size in enumerate(sizes))

    return replace(
        sliding,
        kernel=only(sliding.kernel, 1),
        stride=only(sliding.stride, 1),
        padding=only(sliding.padding, 0),
        dilation=only(sliding.dilation, 1),
    )


def _read(size: int, sliding: Sliding, axis: int, done: int) -> IntArray:
    """Along an axis that comes before ``done`` the entries that some window reads, else all."""
    if not 0 <= axis < done:
        return np.arange(size)
    line = np.arange(size).reshape([-1 if at == axis + 1 else 1 for at in range(1 + len(sliding.kernel))])
    seen = _seen(line, _along(sliding, axis))
    entries: IntArray = np.unique(seen[seen != _NOTHING])
    return entries


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
