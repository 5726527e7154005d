"""Sparse matrices over Fr on the device, and the constraints that their products make."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gpu import modules
from gpu.device import Array, Device
from gpu.segmented import LEAST_SHARE, add_carries
from zenerrors import ResourceError

_WORKERS: Final = 132 * 512
"""Rows are summed by as many threads as the card holds: they wait for entries of z."""

_WORKER_THREADS: Final = 128
_THREADS: Final = 256
_BLOCKS: Final = 132 * 8


class Matrix:
    """Compressed rows on ``device``: entry i of row j is pool[coefficients[i]] at columns[i], for
    offsets[j] <= i < offsets[j+1].

    From the host: ``offsets`` int64[rows + 1], ``columns`` and ``coefficients`` uint32[entries], ``pool``
    uint64[k, 4], Montgomery. Indices are trusted. ``ResourceError`` (``resource.gpu_entries``) for 2^32
    entries and more.
    """

    def __init__(
        self,
        device: Device,
        offsets: NDArray[np.int64],
        columns: NDArray[np.uint32],
        coefficients: NDArray[np.uint32],
        pool: NDArray[np.uint64],
    ) -> None:
        if len(columns) >> 32:
            raise ResourceError("resource.gpu_entries", f"{len(columns)} entries are too many for one matrix")
        self._device = device
        self.rows = len(offsets) - 1
        self.entries = len(columns)
        parts: tuple[NDArray[Any], ...] = (offsets.astype(np.uint32), columns, coefficients, pool)
        self._parts = tuple(map(device.upload, parts))

    def multiply(self, z: Array, out: Array) -> None:
        """``out``, uint64[rows, 4], becomes the product with ``z``, uint64[columns, 4]; Montgomery form."""
        device = self._device
        device.fill(out, 0)  # rows without entries are not written
        if not self.entries:
            return
        workers = min(_WORKERS, -(-self.entries // LEAST_SHARE))
        carries, carry_rows = device.empty((workers, 4), np.uint64), device.empty(workers, np.uint32)
        counts = np.uint32(self.rows), np.uint32(workers)
        module, blocks = _module(device), -(-workers // _WORKER_THREADS)
        module.launch(
            "multiply_shares", blocks, _WORKER_THREADS, *self._parts, z, *counts, out, carries, carry_rows
        )
        add_carries(module, "add_carries", carries, carry_rows, out)


def first_unsatisfied(device: Device, a: Array, b: Array, c: Array) -> int | None:
    """The first i with a[i] * b[i] != c[i], or None; each uint64[n, 4]. Waits for the device."""
    row = device.upload(np.array([len(a)], dtype=np.uint64))
    blocks = min(-(-len(a) // _THREADS), _BLOCKS)
    _module(device).launch("first_unsatisfied", blocks, _THREADS, a, b, c, np.int64(len(a)), row)
    first = int(device.download(row)[0])
    return None if first == len(a) else first


def _module(device: Device) -> modules.Module:
    return modules.load(device, "sparse")
