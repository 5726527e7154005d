"""Products of points and scalars, many at once: of one base, or each point with its own scalar."""

from __future__ import annotations

import numpy as np

from zenserve.gpu.device import Array, Device
from zenserve.gpu.msm import window_count
from zenserve.gpu.points import PIECE, THREADS, blocks, empty_sums, field_of, module, to_affine
from zenserve.gpu.segmented import WORKERS

_EACH_MULTIPLES = 8
_WIDEST = 16


class FixedBase:
    """The multiples of ``base`` that make ``count`` products cheap.

    ``base`` is uint64[2, 6] or uint64[2, 2, 6] on the device, affine.
    """

    def __init__(self, device: Device, base: Array, count: int) -> None:
        self._device = device
        self._module = module(device, field_of(base.shape, "base"))
        self._width = choose_width(count)
        self._windows = window_count(self._width)
        entries = self._windows << (self._width - 1)
        layout = np.int32(self._width), np.int32(self._windows)
        powers = device.empty((self._windows, *base.shape), np.uint64)
        sums = empty_sums(device, self._windows, powers)
        self._module.launch("powers_of_two", 1, 32, base, *layout, sums)
        to_affine(device, sums, powers)
        self._table = device.empty((entries, *base.shape), np.uint64)
        sums = empty_sums(device, entries, powers)
        self._module.launch("digit_multiples", blocks(entries), THREADS, powers, *layout, sums)
        to_affine(device, sums, self._table)

    def multiply(self, scalars: Array, out: Array) -> None:
        """out[i] = scalars[i] * base; ``scalars`` is uint64[n, 4], Montgomery."""
        for begin in range(0, len(scalars), PIECE):
            piece = scalars[begin : begin + PIECE]
            sums = empty_sums(self._device, len(piece), out)
            layout = np.int64(len(piece)), np.int32(self._width), np.int32(self._windows)
            self._module.launch(
                "multiply_base", blocks(len(piece)), THREADS, self._table, piece, *layout, sums
            )
            to_affine(self._device, sums, out[begin : begin + PIECE])


def multiply_base(device: Device, base: Array, scalars: Array) -> Array:
    """scalars[i] * base: uint64[n, *base.shape] from a point and uint64[n, 4], Montgomery."""
    out = device.empty((len(scalars), *base.shape), np.uint64)
    FixedBase(device, base, len(scalars)).multiply(scalars, out)
    return out


def multiply_each(device: Device, points: Array, scalars: Array) -> Array:
    """scalars[i] * points[i], or scalars[0] * points[i] where there is one scalar: uint64[n, *point].

    ``scalars`` is uint64[n, 4] or uint64[1, 4], Montgomery. ``ValueError`` if they do not pair up.
    """
    if len(scalars) not in (1, len(points)):
        raise ValueError(f"{len(points)} points and {len(scalars)} scalars do not pair up")
    kernels, out = module(device, field_of(points.shape[1:], "points")), device.empty(points.shape, np.uint64)
    stride = 1 if len(scalars) == len(points) else 0
    for begin in range(0, len(points), PIECE):
        piece = points[begin : begin + PIECE]
        multiples = empty_sums(device, _EACH_MULTIPLES * len(piece), points)
        sums = empty_sums(device, len(piece), points)
        own = scalars[begin:] if stride else scalars
        arguments = piece, own, np.int32(stride), np.int64(len(piece)), multiples, sums
        kernels.launch("multiply_each", blocks(len(piece)), THREADS, *arguments)
        to_affine(device, sums, out[begin : begin + PIECE])
    return out


def choose_width(count: int) -> int:
    """The width of digits with the fewest products: 10 for an addition, 20 for each bit of an entry.

    Fewer than fill the card take as long.
    """

    def products(width: int) -> int:
        windows = window_count(width)
        entries = windows << (width - 1)
        return 10 * windows * max(count, WORKERS) + 20 * width * max(entries, WORKERS)

    return min(range(2, _WIDEST + 1), key=products)
