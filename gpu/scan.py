"""Where the segments of a list begin, from their lengths."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpu import device, modules
from gpu.device import Array

_THREADS: Final = 256
_TILE: Final = 16 * _THREADS


def starts_of(counts: Array) -> Array:
    """uint32[n + 1]: the sums of the entries of ``counts``, uint32[n], before each, and of all of them."""
    module, n = modules.load("scan"), len(counts)
    blocks = n // _TILE + 1
    tiles, starts = device.empty(blocks, np.uint32), device.empty(n + 1, np.uint32)
    module.launch("sum_tiles", blocks, _THREADS, counts, np.int64(n), tiles)
    module.launch("scan_tiles", blocks, _THREADS, counts, np.int64(n), tiles, starts)
    return starts
