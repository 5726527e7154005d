"""Matrices of elements on the device, row by row: laid out, extended, combined, and columns gathered."""

from __future__ import annotations

from typing import Final

import numpy as np

from zenserve.gpu import modules
from zenserve.gpu.device import Array, Device
from zenserve.gpu.scan import starts_of

_THREADS: Final = 256
_COMBINING: Final = 128


def lay_out(device: Device, values: Array, width: int, rows: Array) -> None:
    """The first ``width`` places of ``rows``, uint64[rows, degree, 4], become ``values``, uint64[n, 4], one
    after the other, then zeros."""
    count, degree = rows.shape[:2]
    numbers = map(np.int64, (len(values), width, degree, count * degree))
    _launch(device, "lay_out", count * degree, values, *numbers, rows)


def fill_tails(device: Device, stream: Array, tail: int, rows: Array) -> None:
    """The last ``tail`` places of ``rows``, uint64[rows, degree, 4], row by row, become the words of
    ``stream``, uint64[n, 4], of 255 bits, that are elements: plain there, Montgomery in the rows.

    Places stay as they are where too few words are elements.
    """
    if not tail:
        return
    counts, n = device.empty(len(stream), np.uint32), np.int64(len(stream))
    _launch(device, "mark_elements", len(stream), stream, n, counts)
    starts = starts_of(device, counts)
    numbers = map(np.int64, (len(stream), len(rows) * tail, tail, rows.shape[1]))
    _launch(device, "fill_tails", len(stream), stream, starts, *numbers, rows)


def extend(device: Device, rows: Array, out: Array) -> None:
    """``out``, uint64[rows, 2^v, 4], becomes ``rows``, uint64[rows, degree, 4], canonical, then zeros."""
    count, length = out.shape[:2]
    numbers = np.int64(rows.shape[1]), np.int32(length.bit_length() - 1), np.int64(count * length)
    _launch(device, "extend", count * length, rows, *numbers, out)


def open_columns(
    device: Device, salts: Array | None, matrix: Array, nodes: Array, places: Array, count: int
) -> Array:
    """uint8[n, 32]: what an opening has. ``salts``, if there are any, at the first ``count`` of ``places``,
    uint32; columns there of ``matrix``, uint64[rows, 2^v, 4], one after the other, column k from the place of
    k's bits in reverse; ``nodes`` at all other places."""
    rows, length = matrix.shape[:2]
    salted = 0 if salts is None else count
    out = device.empty((salted + count * rows + len(places) - count, 32), np.uint8)
    sizes = np.int64(count), np.int64(rows), np.int32(length.bit_length() - 1), np.int64(len(out))
    _launch(device, "open_columns", len(out), salts, matrix, nodes, places, *sizes, out)
    return out


def scatter(device: Device, values: Array, places: Array, out: Array) -> None:
    """``out``, uint64[2^v, 4], becomes ``values``, uint64[n, 4], at ``places``, uint32[n], and zeros: what is
    for place k stands in the place of k's bits in reverse."""
    device.fill(out, 0)
    numbers = np.int32(len(out).bit_length() - 1), np.int64(len(places))
    _launch(device, "scatter_turned", len(places), values, places, *numbers, out)


def combine(device: Device, matrix: Array, coefficients: Array, out: Array) -> None:
    """out += coefficients · matrix, in place: uint64[columns, 4], [rows, 4] and [rows, columns, 4]."""
    rows, count = matrix.shape[:2]
    numbers = np.int64(rows), np.int64(count)
    grid = -(-count // _COMBINING)
    _module(device).launch("combine_rows", grid, _COMBINING, matrix, coefficients, *numbers, out)


def _module(device: Device) -> modules.Module:
    return modules.load(device, "rows")


def _launch(device: Device, kernel: str, threads: int, *arguments: object) -> None:
    _module(device).launch(kernel, -(-threads // _THREADS), _THREADS, *arguments)
