"""Vectors of integers on the device, exact modulo 2^64: source/integers.cu.

z is an assignment, int64[wires]. ``places``, uint32[n], are where in z results go or values come from; all
other arrays are int64. Where a value stands for each of n results the vector has n of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.gpu import modules
from zenserve.gpu.device import Array, Device

_THREADS: Final = 256
_WARP: Final = 32
_ENOUGH: Final = 132 * 2048
"""Threads that fill the card: where there are fewer sums, several threads share one."""

AXES: Final = 3
"""Of the planes that kernels slide over."""


class Matrix:
    """Compressed rows on ``device``: entry i of row j is pool[coefficients[i]] at columns[i], for
    offsets[j] <= i < offsets[j+1].

    From the host: ``offsets`` int64[rows + 1], ``columns`` and ``coefficients`` uint32[entries], ``pool``
    int64[k]. Indices are trusted.
    """

    def __init__(
        self,
        device: Device,
        offsets: NDArray[np.int64],
        columns: NDArray[np.uint32],
        coefficients: NDArray[np.uint32],
        pool: NDArray[np.int64],
    ) -> None:
        self.rows = len(offsets) - 1
        self._device = device
        parts: tuple[NDArray[Any], ...] = (offsets.astype(np.uint32), columns, coefficients, pool)
        self._entries = [device.upload(part) for part in parts]
        self._lanes = _lanes(self.rows, len(columns) // max(1, self.rows))

    def multiply(self, z: Array, out: Array) -> None:
        """``out``, [rows], becomes the product with z."""
        sizes = np.int64(self.rows), np.int32(self._lanes)
        _launch(self._device, "add_up", self._lanes * self.rows, *self._entries, z, *sizes, out)


class Kernel:
    """A kernel that slides over images: sizes along up to ``AXES`` axes. ``batch`` of images, ``channels`` of
    an image and ``outputs`` in ``groups``; ``before``: the padding before each axis' first entry, of what is
    zero once ``zero_point`` is taken off; ``positions``: of the kernel along each axis."""

    def __init__(
        self,
        device: Device,
        *,
        batch: int,
        groups: int,
        channels: int,
        outputs: int,
        zero_point: int,
        image: Sequence[int],
        kernel: Sequence[int],
        positions: Sequence[int],
        stride: Sequence[int],
        before: Sequence[int],
        dilation: Sequence[int],
    ) -> None:
        axes = [(image, 1), (kernel, 1), (positions, 1), (stride, 1), (before, 0), (dilation, 1)]
        padded = [size for sizes, fill in axes for size in (*sizes, *[fill] * (AXES - len(sizes)))]
        own = [batch, groups, channels // groups, outputs // groups, *padded]
        self._device, self._sizes = device, device.upload(np.array(own, np.int32))
        self.rows = batch * outputs * int(np.prod(positions, dtype=np.int64))
        self._zero_point, self._lanes = zero_point, _lanes(self.rows, channels // groups)

    def slide(self, x: Array, weight: Array, bias: Array, out: Array) -> None:
        """``out``, [outputs, batch, *positions], becomes the sums of weights [outputs, channels / groups,
        *kernel] times x[batch, channels, *image] less the zero point, and of bias[outputs]."""
        numbers = np.int64(self._zero_point), np.int64(self.rows), np.int32(self._lanes)
        _launch(self._device, "slide", self._lanes * self.rows, self._sizes, x, weight, bias, *numbers, out)


class Table:
    """A table whose rows values are found in: ``steps`` has for each of the first columns its distinct
    values, ascending, and those of the keys so far; ``first`` the first row of each key after them;
    ``others`` are the columns behind."""

    def __init__(
        self,
        device: Device,
        steps: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
        first: NDArray[np.int64],
        others: Sequence[NDArray[np.int64]],
    ) -> None:
        self._device = device
        self._steps = [tuple(map(device.upload, step)) for step in steps]
        self._first = device.upload(first)
        self._others = [device.upload(np.ascontiguousarray(column)) for column in others]

    def find(self, values: Sequence[Array], scale: int, keys: Array) -> None:
        """``keys``, [n], become the rows of the tuples (values[0][i], values[1][i], ..) / scale, rounded
        down; -1 where there is none."""
        device, n, by = self._device, np.int64(len(keys)), np.int64(scale)
        device.fill(keys, 0)
        for (distinct, pairs), value in zip(self._steps, values, strict=False):
            numbers = np.int64(len(distinct)), pairs, np.int64(len(pairs)), n
            _launch(device, "narrow", len(keys), value, by, distinct, *numbers, keys)
        _launch(device, "rows_of", len(keys), self._first, n, keys)
        for column, value in zip(self._others, values[len(self._steps) :], strict=True):
            _launch(device, "hold", len(keys), value, by, column, n, keys)


def accumulate(device: Device, values: Array, factors: Array, out: Array) -> None:
    """out += factors · values; ``factors`` has one or n."""
    stride, n = np.int64(len(factors) > 1), len(values)
    _launch(device, "accumulate", n, values, factors, stride, np.int64(n), out)


def count(device: Device, keys: Array, counts: Array) -> None:
    """counts[j] goes up by one for each j among ``keys``; those outside of it count nowhere."""
    sizes = np.int64(len(keys)), np.int64(len(counts))
    _launch(device, "count", len(keys), keys, *sizes, counts)


def take(device: Device, z: Array, places: Array, out: Array) -> None:
    """``out`` becomes z[places]."""
    _launch(device, "take", len(places), z, places, np.int64(len(places)), out)


class Assignment:
    """z, int64[wires], and what is written to it: the results of each call go to ``places``, row by row."""

    def __init__(self, device: Device, z: Array) -> None:
        self.device, self.z = device, z

    def place(self, values: Array, places: Array) -> None:
        self._write("place", places, values)

    def products(self, left: Array, right: Array, rest: Array, places: Array) -> None:
        """left · right + rest"""
        self._write("products", places, left, right, rest)

    def quotients(self, numerator: Array, denominator: Array, places: Array) -> None:
        """numerator / denominator, rounded down; 0 where that is 0."""
        self._write("quotients", places, numerator, denominator)

    def digits(self, values: Array, shifts: Array, masks: Array, places: Array) -> None:
        """For each value (value >> shifts[i]) & masks[i], for all i."""
        self._write("digits", places, values, shifts, masks, np.int64(len(shifts)))

    def clip(self, values: Array, shift: int, low: int, high: int, places: Array) -> None:
        """clip(value >> shift, low, high)"""
        self._write("clip", places, values, np.int32(shift), np.int64(low), np.int64(high))

    def pick(self, entries: Array, values: Array, places: Array, shift: int = 0, first: int = 0) -> None:
        """entries[(value >> shift) - first]; beyond either end the entry at that end."""
        numbers = np.int32(shift), np.int64(first)
        self._write("pick", places, entries, np.int64(len(entries)), values, *numbers)

    def compare(self, values: Array, places: Array, *, positive: bool) -> None:
        """Write whether each value is positive, or, without ``positive``, whether it is zero."""
        self._write("compare", places, values, np.int32(positive))

    def largest(self, values: Array, places: Array) -> None:
        """The largest of as many values one after the other as there are for each result."""
        self._write("largest", places, values, np.int64(len(values) // max(1, len(places))))

    def first_largest(self, values: Array, columns: int, places: Array, *, before: bool) -> None:
        """In groups with ``columns`` results each: whether j is where the first of the largest stands, or
        else whether it is before that."""
        groups = len(places) // columns
        numbers = np.int64(len(values) // groups), np.int32(before)
        sizes = np.int64(columns), np.int64(groups)
        _launch(self.device, "first_largest", groups, values, *numbers, places, *sizes, self.z)

    def cross_products(
        self, left: Array, right: Array, slots: Array, taps: int, columns: int, places: Array
    ) -> None:
        """In groups with ``columns`` results each: the sums of left[i, k] · right[j, k] over k < ``taps`` and
        all i and j with slots[i, j], [strands, strands], the column."""
        groups, strands = len(places) // columns, len(slots)
        numbers, sizes = (np.int64(strands), np.int64(taps)), (np.int64(columns), np.int64(groups))
        flat = slots.reshape(-1)
        _launch(self.device, "cross_products", groups, left, right, flat, *numbers, places, *sizes, self.z)

    def _write(self, kernel: str, places: Array, *arguments: object) -> None:
        n = len(places)
        _launch(self.device, kernel, n, *arguments, places, np.int64(n), self.z)


def _lanes(sums: int, terms: int) -> int:
    """Neighbouring threads that share a sum, of so many terms."""
    lanes = 1
    while lanes < _WARP and 2 * lanes <= terms and 2 * lanes * sums <= _ENOUGH:
        lanes *= 2
    return lanes


def _launch(device: Device, kernel: str, threads: int, *arguments: object) -> None:
    modules.load(device, "integers").launch(kernel, -(-threads // _THREADS), _THREADS, *arguments)
