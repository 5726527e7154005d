"""Scans in two launches, source/patterns.hpp: blocks reduce equal shares, then scan them."""

from __future__ import annotations

from typing import Final

import numpy as np

from zenserve.gpu import modules
from zenserve.gpu.device import Array, Device

_BLOCKS: Final = 132 * 4
"""They fill the card, and each reads no more totals than it has threads or a few times as many."""

_THREADS: Final = 256
_TILE: Final = 16 * _THREADS


def starts_of(device: Device, counts: Array) -> Array:
    """uint32[n + 1]: the sums of the entries of ``counts``, uint32[n], before each, and of all of them.

    Modulo 2^32. ``counts`` is a whole array, not a part of one that begins anywhere.
    """
    module, n = modules.load(device, "scan"), len(counts)
    blocks, share = shares(n + 1, _TILE)
    totals, starts = device.empty(blocks, np.uint32), device.empty(n + 1, np.uint32)
    sizes = np.int64(n), np.int64(share)
    module.launch("sum_shares", blocks - 1, _THREADS, counts, *sizes, totals)
    module.launch("scan_shares", blocks, _THREADS, counts, *sizes, totals, starts)
    return starts


def shares(n: int, tile: int) -> tuple[int, int]:
    """Return the number of blocks that scan n elements, and the elements of each block, in whole tiles."""
    tiles = -(-n // tile)
    share = -(-tiles // _BLOCKS) * tile
    return -(-n // share) if n else 0, share
