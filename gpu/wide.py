"""Products of matrices of wide numbers on tensor cores, whose own are bytes and halves: source/wide.cu.

Integers, and elements times integers, are split into balanced bytes, and their products are exact; floats are
split into two halves (Feng et al. 2021, EGEMM-TC).
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu import modules
from gpu.device import HOPPER, Array, Device

Range = tuple[int, int]
"""The least and the largest of a side's numbers."""

MOST_PLANES: Final = 4

_ROW: Final = 128
"""Bytes that rows are a multiple of: what a step takes."""

_MOST_BYTES: Final = 1 << 17
"""So many products of two bytes may leave 32 bits."""

_ELEMENT_PLANES: Final = 32

_TILE: Final = 128, 256
"""Rows of planes whose products a block of groups of warps makes."""


class Card(NamedTuple):
    """What times follow from: multiply-adds of bytes a second on one of its ``processors``, by single warps
    and by groups of four (0 where there are none), bytes a second that warps read of the caches, and what a
    launch takes at least. Measured on an H200."""

    processors: int
    by_warps: float
    by_groups: float
    caches: float = 11e12
    seconds: float = 2e-6

    @classmethod
    def of(cls, device: Device) -> Card:
        groups = 3.5e12 if device.architecture() == HOPPER else 0.0
        return cls(device.processors(), 2e12, groups)


class Plan(NamedTuple):
    """How a product is made, of so many planes of bytes on each side. ``direct``: by warps, ``split`` of them
    for the depth of one tile; ``large``: by groups of four, of Hopper alone."""

    kernel: Literal["direct", "large"]
    left: int
    right: int
    split: int = 1

    @property
    def source(self) -> modules.Source:
        planes = (self.left, self.right) if self.kernel == "direct" else sorted((self.left, self.right))
        return "wide", *(f"ZEN_{side}={count}" for side, count in zip(("LEFT", "RIGHT"), planes, strict=True))

    @property
    def most(self) -> int:
        """Bytes of a row whose products' sums stay in 32 bits: warps' planes of one weight share them."""
        shared = min(self.left, self.right) if self.kernel == "direct" else 1
        return _MOST_BYTES // shared - _ROW

    def seconds(self, card: Card, rows: int, columns: int, depth: int) -> float:
        """What it takes about, from what it multiplies and what it reads."""
        if self.kernel == "large":
            tiles = _tiles(rows * min(self.left, self.right), columns * max(self.left, self.right))
            waves = -(-tiles // card.processors)
            return card.seconds + waves * 128 * 256 * depth / card.by_groups
        warps = -(-rows // 16) * -(-columns // 8)
        products = rows * columns * depth * self.left * self.right / (card.by_warps * card.processors)
        read = warps * (16 * self.left + 8 * self.right) * depth / card.caches
        busy = min(1, warps * self.split / (8 * card.processors))
        return card.seconds + max(products, read) / busy


def plan(card: Card, rows: int, columns: int, depth: int, left: int, right: int) -> Plan:
    """The fastest: ``rows`` x ``depth`` numbers of ``left`` planes, ``columns`` x ``depth`` of ``right``."""
    plans = [Plan("direct", left, right, split) for split in (1, 2, 4)]
    if card.by_groups:
        plans.append(Plan("large", left, right))
    return min(plans, key=lambda each: each.seconds(card, rows, columns, depth))


def _tiles(rows: int, columns: int) -> int:
    return -(-rows // 128) * -(-columns // 256)


class Digits(NamedTuple):
    """Numbers of a range less ``offset`` have so many balanced bytes."""

    planes: int
    offset: int

    @classmethod
    def of(cls, numbers: Range) -> Digits:
        """Raises ``ValueError`` where 32 bits are too few."""
        low, high = numbers
        for planes in (1, 2, MOST_PLANES):
            unit = ((1 << 8 * planes) - 1) // 255
            if -128 * unit <= low and high <= 127 * unit:
                return cls(planes, 0)
            if high - low < 1 << 8 * planes:
                return cls(planes, low + 128 * unit)
        raise ValueError(f"numbers from {low} to {high} do not fit 32 bits: split them")


class Side(NamedTuple):
    """A matrix as kernels read it: ``data``, uint8[planes' rows, row_bytes]; what else they want of rows."""

    data: Array
    row_bytes: int
    of_rows: Array | None = None


class Product:
    """``rows`` x ``depth`` times ``columns`` x ``depth`` integers of these ranges: ``multiply``, of what
    ``left`` and ``right`` make of them.

    Raises ``ValueError`` where a side's range has more than 32 bits, or a sum may leave 64.
    """

    def __init__(
        self,
        device: Device,
        rows: int,
        columns: int,
        depth: int,
        ranges: tuple[Range, Range],
        chosen: Plan | None = None,
    ) -> None:
        most = depth
        for numbers in ranges:
            most *= max(map(abs, numbers))
        if most >= 1 << 63:
            raise ValueError(f"sums of {depth} products of {ranges} may not fit 64 bits: split the depth")
        self._device, self._rows, self._columns, self._depth = device, rows, columns, depth
        self._left, self._right = (Digits.of(numbers) for numbers in ranges)
        sizes = rows, columns, depth, self._left.planes, self._right.planes
        self.plan = chosen or plan(Card.of(device), *sizes)
        self._products = modules.load(device, *self.plan.source)
        modules.load(device, "wide")

    def left(self, values: Array) -> Side:
        """Of int8, int16, int32 or int64[rows, depth], on the device."""
        return _integers(self._device, values, self._left, self._right.offset != 0)

    def right(self, values: Array) -> Side:
        """Of int8, int16, int32 or int64[columns, depth], on the device."""
        return _integers(self._device, values, self._right, self._left.offset != 0)

    def multiply(self, left: Side, right: Side, out: Array) -> None:
        """``out``, int64[rows, columns], becomes the products of all rows."""
        sides, digits, shape = (left, right), (self._left, self._right), (self._rows, self._columns)
        strides = self._columns, 1
        if self.plan.kernel == "large" and self.plan.left > self.plan.right:  # the transposed product
            sides, digits, shape, strides = sides[::-1], digits[::-1], shape[::-1], strides[::-1]
        offsets = (_word(each.offset) for each in digits)
        both = _word(-self._depth * self._left.offset * self._right.offset)
        last: tuple[object, ...] = (*(each.of_rows for each in sides), *offsets, both, np.int32(False))
        grid, threads, shared_bytes, given = self._launch(shape)
        numbers = out, *map(np.int32, shape)
        for first, steps in _pieces(left.row_bytes, self.plan.most):
            data = (each.data.reshape(-1)[first:] for each in sides)
            sizes = np.int64(left.row_bytes), np.int32(steps)
            places = map(np.int64, strides if self.plan.kernel == "large" else ())
            arguments = *data, *sizes, *given, *numbers, *places, *last
            self._products.launch(self.plan.kernel, grid, threads, *arguments, shared_bytes=shared_bytes)
            last = None, None, *[_word(0)] * 3, np.int32(True)  # what offsets add is there

    def _launch(self, shape: tuple[int, int]) -> tuple[int, int, int, tuple[Any, ...]]:
        """Blocks, threads, bytes they share, and what a kernel is told of them."""
        if self.plan.kernel == "direct":
            warps = -(-shape[0] // 16) * -(-shape[1] // 8) * self.plan.split
            return -(-warps // 4), 128, 128 * 32, (np.int32(self.plan.split),)
        planes = sorted((self.plan.left, self.plan.right))
        down, across = (
            -(-count * each // size) for count, each, size in zip(shape, planes, _TILE, strict=True)
        )
        return down * across, 256, 4 * sum(_TILE) * _ROW, (np.int64(down), np.int64(across))


class Elements:
    """``rows`` x ``depth`` elements times ``columns`` x ``depth`` integers of a range: challenges times
    weights, say.

    Raises ``ValueError`` where the range has more than 32 bits, or does not lie around zero.
    """

    def __init__(self, device: Device, rows: int, columns: int, depth: int, numbers: Range) -> None:
        self._device, self._rows, self._columns, self._depth = device, rows, columns, depth
        self._digits = Digits.of(numbers)
        if self._digits.offset:
            raise ValueError(f"numbers from {numbers[0]} to {numbers[1]} are off balance: name a wider range")
        self._products = modules.load(device, "wide", f"ZEN_ELEMENTS={self._digits.planes}")
        self._packing = modules.load(device, "wide")
        steps = _row_bytes(depth) // _ROW
        self._warps = min(8, max(1, 2 * steps))

    def left(self, values: Array) -> Side:
        """Of uint64[rows, depth, 4] in Montgomery form, on the device."""
        row_bytes = _row_bytes(self._depth)
        data = self._device.empty((self._rows * _ELEMENT_PLANES, row_bytes), np.uint8)
        count = self._rows * row_bytes
        sizes = map(np.int64, (self._depth, row_bytes, count))
        self._packing.launch("pack_elements", -(-count // 256), 256, values, *sizes, data)
        return Side(data, row_bytes)

    def right(self, values: Array) -> Side:
        """Of int8, int16, int32 or int64[columns, depth], on the device."""
        return _integers(self._device, values, self._digits, False)

    def multiply(self, left: Side, right: Side, out: Array) -> None:
        """``out``, uint64[rows, columns, 4] in Montgomery form, becomes the products of all rows."""
        grid, shared = self._rows * -(-self._columns // 8), self._warps * 8 * 8 * (31 + self._digits.planes)
        for first, steps in _pieces(left.row_bytes, _MOST_BYTES - _ROW):
            data = [each.data.reshape(-1)[first:] for each in (left, right)]
            sizes = np.int64(left.row_bytes), np.int32(steps)
            given = *data, *sizes, out, *map(np.int32, (self._rows, self._columns, first > 0))
            self._products.launch("elements", grid, 32 * self._warps, *given, shared_bytes=shared)


class Floats:
    """``rows`` x ``depth`` times ``columns`` x ``depth`` finite floats, on Hopper alone: each is its row's
    power of two times two halves, of 22 bits together.

    Raises ``ValueError`` on other cards.
    """

    def __init__(self, device: Device, rows: int, columns: int, depth: int) -> None:
        if device.architecture() != HOPPER:
            raise ValueError("products of floats are made by groups of warps, of Hopper alone")
        self._device, self._rows, self._columns, self._depth = device, rows, columns, depth
        self._products = modules.load(device, "wide", "ZEN_HALVES")
        self._packing = modules.load(device, "wide")

    def left(self, values: Array) -> Side:
        """Of float32[rows, depth], on the device."""
        return self._side(values)

    def right(self, values: Array) -> Side:
        """Of float32[columns, depth], on the device."""
        return self._side(values)

    def multiply(self, left: Side, right: Side, out: Array) -> None:
        """``out``, float32[rows, columns], becomes the products of all rows."""
        down, across = -(-self._rows // 128), -(-self._columns // 128)
        steps = np.int32(left.row_bytes // _ROW)
        given = left.data, right.data, np.int64(left.row_bytes), steps, np.int64(down), np.int64(across)
        numbers = out, np.int32(self._rows), np.int32(self._columns), left.of_rows, right.of_rows
        self._products.launch("halves", down * across, 256, *given, *numbers, shared_bytes=3 * 512 * _ROW)

    def _side(self, values: Array) -> Side:
        count, row_bytes = len(values), _row_bytes(2 * self._depth)
        exponents = self._device.empty(count, np.int32)
        sizes = np.int64(count), np.int64(self._depth)
        self._packing.launch("exponents", -(-count // 8), 256, values, *sizes, exponents)
        data = _empty(self._device, count, 2, row_bytes)
        threads = data.nbytes // 32
        given = values, *sizes, exponents, np.int64(row_bytes), np.int64(threads)
        self._packing.launch("pack_floats", threads // 256, 256, *given, data)
        return Side(data, row_bytes, exponents)


def _integers(device: Device, values: Array, digits: Digits, sums_wanted: bool) -> Side:
    """Numbers of ``values`` as digits, and the sums of its rows where they are wanted."""
    packing, (count, depth) = modules.load(device, "wide"), values.shape
    bits, row_bytes = 8 * values.dtype.itemsize, _row_bytes(depth)
    data = _empty(device, count, digits.planes, row_bytes)
    threads, offset = data.nbytes // digits.planes // 16, _word(digits.offset)
    sizes = np.int64(count), np.int64(depth)
    given = values, *sizes, np.int32(digits.planes), offset, np.int64(row_bytes), np.int64(threads)
    packing.launch(f"pack_{bits}", threads // 256, 256, *given, data)
    sums = None
    if sums_wanted:
        sums = device.empty(count, np.uint64)
        packing.launch(f"sums_{bits}", -(-count // 8), 256, values, *sizes, sums)
    return Side(data, row_bytes, sums)


def _empty(device: Device, count: int, planes: int, row_bytes: int) -> Array:
    """Room for whole tiles."""
    return device.empty((-(-count // 256) * 256 * planes, row_bytes), np.uint8)


def _word(x: int) -> np.uint64:
    """Modulo 2^64."""
    return np.uint64(x % (1 << 64))


def _row_bytes(depth: int) -> int:
    return -(-depth // _ROW) * _ROW


def _pieces(row_bytes: int, most: int) -> list[tuple[int, int]]:
    """Where pieces of a row begin, and how many steps they are."""
    most = most // _ROW * _ROW
    return [(first, min(most, row_bytes - first) // _ROW) for first in range(0, row_bytes, most)]


def of_type(numbers: NDArray[Any] | np.dtype[Any]) -> Range:
    """All that an integer type may hold."""
    found = np.iinfo(numbers.dtype if isinstance(numbers, np.ndarray) else numbers)
    return int(found.min), int(found.max)
