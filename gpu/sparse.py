"""Sparse matrices over Fr on the device, and the constraints that their products make."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpu import modules
from gpu.device import Array, Device
from gpu.scan import starts_of
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
        _require_entries(len(columns))
        starts, others, indices = map(device.upload, (offsets.astype(np.uint32), columns, coefficients))
        numbers, small = device.upload(pool), device.empty(len(pool), np.int32)
        count = np.int64(len(pool))
        _module(device).launch("small_integers", _grid(len(pool)), _THREADS, numbers, count, small)
        device.synchronize()  # any stream may read it
        self._hold(device, starts, others, indices, numbers, small)

    @classmethod
    def held(cls, like: Matrix, offsets: Array, columns: Array, coefficients: Array) -> Matrix:
        """Of arrays on the device, ``offsets`` uint32, with the pool of another."""
        matrix = cls.__new__(cls)
        matrix._hold(like._device, offsets, columns, coefficients, like.pool, like.small)
        return matrix

    def _hold(
        self, device: Device, offsets: Array, columns: Array, coefficients: Array, pool: Array, small: Array
    ) -> None:
        self._device = device
        self.rows, self.entries = len(offsets) - 1, len(columns)
        self.offsets, self.columns, self.coefficients, self.pool = offsets, columns, coefficients, pool
        self.small = small  # of the pool

    def multiply(self, z: Array, out: Array) -> None:
        """``out``, uint64[rows, 4], becomes the product with ``z``, uint64[columns, 4]; Montgomery form."""
        device = self._device
        device.fill(out, 0)  # rows without entries are not written
        if not self.entries:
            return
        workers = workers_for(self.entries)
        carries, carry_rows = device.empty((workers, 4), np.uint64), device.empty(workers, np.uint32)
        counts = np.uint32(self.rows), np.uint32(workers)
        entries = self.offsets, self.columns, self.coefficients, self.pool, self.small
        module, blocks = _module(device), -(-workers // _WORKER_THREADS)
        module.launch(
            "multiply_shares", blocks, _WORKER_THREADS, *entries, z, *counts, out, carries, carry_rows
        )
        add_carries(module, "add_carries", carries, carry_rows, out)


def workers_for(entries: int) -> int:
    """How many threads share a product, each with one carry."""
    return min(_WORKERS, -(-entries // LEAST_SHARE))


def transposed(device: Device, matrix: Matrix, places: Array, count: int) -> Matrix:
    """``count`` rows, row places[j] for what stands in column j of ``matrix``, uint32."""
    module, counts, n = _module(device), device.zeros(count, np.uint32), matrix.entries
    ranks, rows, coefficients = (device.empty(n, np.uint32) for _ in range(3))
    module.launch("count_columns", _grid(n), _THREADS, matrix.columns, places, np.int64(n), counts, ranks)
    starts = starts_of(device, counts)
    entries = matrix.columns, matrix.coefficients, places, starts, ranks, np.int64(n)
    out = rows, coefficients
    module.launch("place_entries", _grid(n), _THREADS, matrix.offsets, np.uint32(matrix.rows), *entries, *out)
    return Matrix.held(matrix, starts, rows, coefficients)


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
