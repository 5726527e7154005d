"""The twin of zenserve.gpu.blas where there is no device."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tests.gpu.emulator.device import Array


class Side(NamedTuple):
    array: Array
    turned: bool
    step: int
    apart: int


def multiply(
    left: Side, right: Side, out: Array, sizes: tuple[int, int, int], count: int, *, added: bool
) -> None:
    m, n, k = sizes
    assert out.shape[-2:] == (m, n)
    assert out.flags.c_contiguous
    made = _seen(left, m, k, count) @ _seen(right, k, n, count)
    before = out.view(np.ndarray)
    before[...] = made.reshape(out.shape) + (before if added else 0)


def _seen(
    side: Side, rows: int, columns: int, count: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """By the numbers alone, as cuBLAS has it, which refuses rows that overlap."""
    assert side.array.dtype == np.float64
    assert side.step >= (rows if side.turned else columns)
    down, across = (1, side.step) if side.turned else (side.step, 1)
    strides = tuple(8 * each for each in (side.apart, down, across))
    return as_strided(side.array.view(np.ndarray), (count, rows, columns), strides)
