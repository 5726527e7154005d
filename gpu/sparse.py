"""Sparse matrices over Fr on the device, and the constraints that their products make."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.errors import ResourceError
from zenserve.gpu import modules
from zenserve.gpu.device import Array, Device
from zenserve.gpu.scan import starts_of
from zenserve.gpu.segmented import LEAST_SHARE, add_carries

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
        _require_entries(len(columns))
        parts: tuple[NDArray[Any], ...] = (offsets.astype(np.uint32), columns, coefficients, pool)
        self._hold(device, *map(device.upload, parts))

    @classmethod
    def held(cls, device: Device, offsets: Array, columns: Array, coefficients: Array, pool: Array) -> Matrix:
        """Of arrays on the device, ``offsets`` uint32."""
        matrix = cls.__new__(cls)
        matrix._hold(device, offsets, columns, coefficients, pool)
        return matrix

    def _hold(self, device: Device, offsets: Array, columns: Array, coefficients: Array, pool: Array) -> None:
        self._device = device
        self.rows, self.entries = len(offsets) - 1, len(columns)
        self.offsets, self.columns, self.coefficients, self.pool = offsets, columns, coefficients, pool

    def multiply(self, z: Array, out: Array, pool: Array | None = None) -> None:
        """``out``, uint64[rows, 4], becomes the product with ``z``, uint64[columns, 4]; Montgomery form.

        ``pool``: other coefficients in the place of the matrix's own.
        """
        device = self._device
        device.fill(out, 0)  # rows without entries are not written
        if not self.entries:
            return
        workers = workers_for(self.entries)
        carries, carry_rows = device.empty((workers, 4), np.uint64), device.empty(workers, np.uint32)
        counts = np.uint32(self.rows), np.uint32(workers)
        entries = self.offsets, self.columns, self.coefficients, self.pool if pool is None else pool
        module, blocks = _module(device), -(-workers // _WORKER_THREADS)
        module.launch(
            "multiply_shares", blocks, _WORKER_THREADS, *entries, z, *counts, out, carries, carry_rows
        )
        add_carries(module, "add_carries", carries, carry_rows, out)


def workers_for(entries: int) -> int:
    """Return the number of threads that share a product, each with one carry."""
    return min(_WORKERS, -(-entries // LEAST_SHARE))


def transposed(device: Device, stack: Matrix, height: int, places: Array, count: int) -> Matrix:
    """The sum of the matrices in ``stack``, one under the other and of ``height`` rows each, transposed:
    ``count`` rows, row places[j] for what stands in column j, uint32. Its pool is that of the stack.
    """
    module, counts, n = _module(device), device.zeros(count, np.uint32), stack.entries
    ranks, rows, coefficients = (device.empty(n, np.uint32) for _ in range(3))
    module.launch("count_columns", _grid(n), _THREADS, stack.columns, places, np.int64(n), counts, ranks)
    starts = starts_of(device, counts)
    numbers = np.uint32(stack.rows), np.uint32(height)
    entries = stack.columns, stack.coefficients, places, starts, ranks, np.int64(n)
    module.launch("place_entries", _grid(n), _THREADS, stack.offsets, *numbers, *entries, rows, coefficients)
    return Matrix.held(device, starts, rows, coefficients, stack.pool)


def first_unsatisfied(device: Device, a: Array, b: Array, c: Array) -> int | None:
    """The first i with a[i] * b[i] != c[i], or None; each uint64[n, 4]. Waits for the device."""
    row = device.empty(1, np.uint64)
    find_unsatisfied(device, a, b, c, row)
    first = int(device.download(row)[0])
    return None if first == len(a) else first


def find_unsatisfied(device: Device, a: Array, b: Array, c: Array, row: Array) -> None:
    """``row``, uint64[1], becomes the first i with a[i] * b[i] != c[i], or n; each uint64[n, 4]."""
    device.fill(row, len(a))
    blocks = min(_grid(len(a)), _BLOCKS)
    _module(device).launch("first_unsatisfied", blocks, _THREADS, a, b, c, np.int64(len(a)), row)


def _require_entries(count: int) -> None:
    if count >> 32:
        raise ResourceError("resource.gpu_entries", f"{count} entries are too many for one matrix")


def _grid(threads: int) -> int:
    return -(-threads // _THREADS)


def _module(device: Device) -> modules.Module:
    return modules.load(device, "sparse")
