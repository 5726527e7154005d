"""Sums over segments of a list, balanced whatever their lengths: source/segmented.hpp, level by level."""

from __future__ import annotations

from typing import Final

import numpy as np

from zenserve.gpu.device import Array
from zenserve.gpu.modules import Module

WORKERS: Final = 132 * 256
"""Shares that fill a card: a multiplier is busy with one warp a scheduler, two hide each other's reads."""

LEAST_SHARE: Final = 8
"""Entries that are worth a carry."""

_FAN_IN: Final = 8
_THREADS: Final = 128


def workers_for(entries: int) -> int:
    """Return the number of threads that take equal shares of at most ``entries`` entries."""
    return max(1, min(WORKERS, -(-entries // LEAST_SHARE)))


def add_carries(
    module: Module, kernel: str, carries: Array, segments: Array, sums: Array, threads_a_worker: int = 1
) -> None:
    """Finish what ``sum_shares`` began: ``kernel`` calls ``sum_carries`` with its arguments.

    ``carries`` is uint64[workers, ...] and ``segments`` uint32[workers]. ``sums``, uint64[segments, ...],
    changes in place. Carries are erased: they tell of what was added up.
    """
    device = module.device
    while True:
        count = len(carries)
        workers = -(-count // _FAN_IN)
        is_last = workers == 1
        following = None if is_last else device.empty((workers, *carries.shape[1:]), np.uint64)
        following_segments = None if is_last else device.empty(workers, np.uint32)
        grid = -(-workers * threads_a_worker // _THREADS)
        module.launch(
            kernel, grid, _THREADS, carries, segments, np.int64(count), sums, following, following_segments
        )
        device.fill(carries, 0)
        if is_last:
            return
        carries, segments = following, following_segments
