"""Products of matrices of wide numbers on tensor cores, whose own are bytes and halves: source/wide.cu.

Integers, and elements times integers, are split into balanced bytes, and their products are exact; floats are
split into two halves (Feng et al. 2021, EGEMM-TC).
"""

from __future__ import annotations

import math
from itertools import product
from typing import Final, Literal, NamedTuple

import numpy as np

from zenserve.gpu import modules
from zenserve.gpu.device import HOPPER, Array, Device
from zenserve.gpu.planes import BLOCK, GROUPS, STEP, defines, large_shared

Range = tuple[int, int]
"""The least and the largest of a side's numbers."""

MOST_PLANES: Final = 4

_MOST_BYTES: Final = 1 << 17
"""So many products of two bytes may leave 32 bits."""

_ELEMENT_PLANES: Final = 32

_ACROSS: Final = 4 * BLOCK
"""Rows of right planes whose products groups of warps make with a block of left ones each."""

_OWN_REGISTERS: Final = 168
"""Of a thread of theirs: 128 of them are sums."""

_FLOAT_TILE: Final = GROUPS * BLOCK, 2 * BLOCK
_FLOAT_SHARED: Final = 2 * (2 * GROUPS + 4) * BLOCK * STEP + 64
"""Two stages, and what tells of them."""


class Card(NamedTuple):
    """The card's numbers that times are computed from. ``products``: multiply-adds of bytes a second on one
    of its ``processors``, by groups of warps, if it has such ``groups``; ``copies``: bytes a second that come
    to its shared memory; ``caches`` and ``memory``: bytes a second that all processors' warps move;
    ``launch``, ``tile`` and ``chunk``: the least seconds of a launch, a tile of groups and 64 bytes of a
    warp's row. Measured on an H200."""

    processors: int
    groups: bool = True
    registers: int = 1 << 16
    shared_bytes: int = 227 << 10
    products: float = 5.4e12
    copies: float = 60e9
    caches: float = 11e12
    memory: float = 4e12
    launch: float = 1.5e-6
    tile: float = 3e-6
    chunk: float = 0.44e-6

    @classmethod
    def of(cls, device: Device) -> Card:
        return cls(device.processors(), device.architecture() == HOPPER)


class Plan(NamedTuple):
    """The plan of a product, of these numbers of planes of bytes on each side. ``direct``: by warps;
    ``large``: by ``groups`` of four warps, on Hopper only, which take two planes at a time of the side with
    fewer. ``split``: the parts of the depth of one tile, among warps or blocks."""

    kernel: Literal["direct", "large"]
    left: int
    right: int
    split: int = 1
    groups: int = 0

    @property
    def source(self) -> modules.Source:
        planes = (self.left, self.right)
        if self.kernel == "large":
            planes = min(*planes, 2), max(planes)
        return "wide", *defines(*planes, self.groups)

    @property
    def most(self) -> int:
        """Bytes of a row whose products' sums stay in 32 bits: warps' planes of one weight share them."""
        shared = min(self.left, self.right) if self.kernel == "direct" else 1
        return _MOST_BYTES // shared - STEP

    def fits(self, card: Card) -> bool:
        """Return whether a processor has room for a block."""
        if self.kernel == "direct":
            return True
        registers = 128 * self.groups * _OWN_REGISTERS
        return card.groups and registers <= card.registers and large_shared(self.groups) <= card.shared_bytes

    def seconds(self, card: Card, rows: int, columns: int, depth: int) -> float:
        """About what it takes, from what it multiplies and what it reads: the model of EGEMM-TC, 5."""
        if self.kernel == "direct":
            read = -(-rows // 16) * -(-columns // 8) * (16 * self.left + 8 * self.right) * depth / card.caches
            waiting = _steps(depth) * 2 / self.split * card.chunk
            return card.launch + max(read * (1 + (self.split - 1) / 4), waiting)
        fewer, stacks = min(self.left, self.right, 2), -(-min(self.left, self.right) // 2)
        tile = self.groups * BLOCK, _ACROSS
        tiles = math.prod(_tiles((rows * fewer, columns * max(self.left, self.right)), tile))
        step = STEP * max(math.prod(tile) / card.products, sum(tile) / card.copies)
        wave = card.tile + -(-_steps(depth) // self.split) * step
        added = 0.0
        if self.split > 1:  # to zeros, by all
            added = card.launch + 16 * rows * columns * self.split / card.memory
        return added + stacks * (card.launch + -(-tiles * self.split // card.processors) * wave)


def plans(left: int, right: int) -> list[Plan]:
    """All ways to make a product of so many planes."""
    direct = (Plan("direct", left, right, split=each) for each in (1, 2, 4))
    groups = product((1, 2, 4, 8), range(1, GROUPS + 1))
    return [*direct, *(Plan("large", left, right, split, each) for split, each in groups)]


def plan(card: Card, rows: int, columns: int, depth: int, left: int, right: int) -> Plan:
    """The fastest: ``rows`` x ``depth`` numbers of ``left`` planes, ``columns`` x ``depth`` of ``right``."""
    fitting = (each for each in plans(left, right) if each.fits(card))
    return min(fitting, key=lambda each: each.seconds(card, rows, columns, depth))


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
    """A matrix as kernels read it: ``stacks`` of planes, uint8[planes' rows, steps · STEP] each, block by
    block; what else they want of rows."""

    stacks: list[Array]
    steps: int
    of_rows: Array | None = None

    @property
    def blocks(self) -> int:
        """Of a stack."""
        return len(self.stacks[0]) // BLOCK


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
        both = self.plan.kernel == "large" and self._left.planes == self._right.planes == MOST_PLANES
        stack = 2 if both else self._left.planes
        return _integers(self._device, values, self._left, stack, self._right.offset != 0)

    def right(self, values: Array) -> Side:
        """Of int8, int16, int32 or int64[columns, depth], on the device."""
        return _integers(self._device, values, self._right, self._right.planes, self._left.offset != 0)

    def multiply(self, left: Side, right: Side, out: Array) -> None:
        """``out``, int64[rows, columns], becomes the products of all rows."""
        sides, digits, shape = (left, right), (self._left, self._right), (self._rows, self._columns)
        strides = self._columns, 1
        if self.plan.kernel == "large" and self.plan.left > self.plan.right:  # the transposed product
            sides, digits, shape, strides = sides[::-1], digits[::-1], shape[::-1], strides[::-1]
        split, steps = np.int32(self.plan.split), np.int64(left.steps)
        offsets = (_word(each.offset) for each in digits)
        both = _word(-self._depth * self._left.offset * self._right.offset)
        added: tuple[object, ...] = (*(each.of_rows for each in sides), *offsets, both, np.int32(False))
        numbers = out, *map(np.int32, shape)
        if self.plan.kernel == "large" and self.plan.split > 1:
            self._device.fill(out, 0)
        grid, threads, shared_bytes, places = self._launch(sides, shape, strides)
        for stack, (first, count) in product(
            range(len(sides[0].stacks)), _pieces(left.steps, self.plan.most)
        ):
            data = sides[0].stacks[stack], sides[1].stacks[0]
            given = *(_from(each, first) for each in data), steps, np.int32(count), split, *numbers, *added
            shift = (np.int32(16 * stack),) if self.plan.kernel == "large" else ()
            self._products.launch(
                self.plan.kernel, grid, threads, *given, *shift, *places, shared_bytes=shared_bytes
            )
            added = None, None, *[_word(0)] * 3, np.int32(True)  # what offsets add is there

    def _launch(
        self, sides: tuple[Side, ...], shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> tuple[int, int, int, tuple[object, ...]]:
        """Blocks, threads, bytes that a block shares, and what else a kernel is told."""
        if self.plan.kernel == "direct":
            warps = -(-shape[0] // 16) * -(-shape[1] // 8) * self.plan.split
            return -(-warps // 4), 128, 128 * 32, ()
        left, right = sorted((self.plan.left, self.plan.right))
        tile = self.plan.groups * BLOCK, _ACROSS
        down, across = _tiles((shape[0] * min(left, 2), shape[1] * right), tile)
        places = *(side.blocks for side in sides), down, across, *strides
        shared_bytes = large_shared(self.plan.groups)
        grid = down * across * self.plan.split
        return grid, 128 * self.plan.groups, shared_bytes, tuple(map(np.int64, places))


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
        self._warps = min(8, 2 * _steps(depth))

    def left(self, values: Array) -> Side:
        """Of uint64[rows, depth, 4] in Montgomery form, on the device."""
        steps = _steps(self._depth)
        side = _empty(self._device, self._rows, _ELEMENT_PLANES, steps)
        count = self._rows * steps * STEP
        sizes = map(np.int64, (self._depth, steps, count))
        self._packing.launch("pack_elements", -(-count // 256), 256, values, *sizes, side.stacks[0])
        return side

    def right(self, values: Array) -> Side:
        """Of int8, int16, int32 or int64[columns, depth], on the device."""
        return _integers(self._device, values, self._digits, self._digits.planes, False)

    def multiply(self, left: Side, right: Side, out: Array) -> None:
        """``out``, uint64[rows, columns, 4] in Montgomery form, becomes the products of all rows."""
        grid, shared = self._rows * -(-self._columns // 8), self._warps * 8 * 8 * (31 + self._digits.planes)
        for first, count in _pieces(left.steps, _MOST_BYTES - STEP):
            data = (_from(each.stacks[0], first) for each in (left, right))
            sizes = np.int64(left.steps), np.int32(count), out, np.int32(self._columns), np.int32(first > 0)
            self._products.launch("elements", grid, 32 * self._warps, *data, *sizes, shared_bytes=shared)


class Floats:
    """``rows`` x ``depth`` times ``columns`` x ``depth`` finite floats, on Hopper alone: each is its row's
    power of two times the sum of two halves. A number of a row is as near as 2^-39 of the largest, or 2^-22
    of itself where that is more.

    Raises ``ValueError`` on other cards.
    """

    def __init__(self, device: Device, rows: int, columns: int, depth: int) -> None:
        if device.architecture() != HOPPER:
            raise ValueError("products of floats are made by groups of warps, of Hopper alone")
        self._device, self._rows, self._columns, self._depth = device, rows, columns, depth
        self._products = modules.load(device, "wide", "ZEN_HALVES", f"ZEN_GROUPS={GROUPS}")
        self._packing = modules.load(device, "wide")

    def left(self, values: Array) -> Side:
        """Of float32[rows, depth], on the device."""
        return self._side(values)

    def right(self, values: Array) -> Side:
        """Of float32[columns, depth], on the device."""
        return self._side(values)

    def multiply(self, left: Side, right: Side, out: Array) -> None:
        """``out``, float32[rows, columns], becomes the products of all rows."""
        sides = left, right
        down, across = _tiles((self._rows, self._columns), _FLOAT_TILE)
        sizes = map(np.int64, (left.blocks, right.blocks, left.steps, down, across))
        numbers = out, np.int32(self._rows), np.int32(self._columns), left.of_rows, right.of_rows
        data = (side.stacks[0] for side in sides)
        self._products.launch(
            "halves", down * across, 128 * GROUPS, *data, *sizes, *numbers, shared_bytes=_FLOAT_SHARED
        )

    def _side(self, values: Array) -> Side:
        count, steps = len(values), _steps(2 * self._depth)
        exponents = self._device.empty(count, np.int32)
        sizes = np.int64(count), np.int64(self._depth)
        self._packing.launch("exponents", -(-count // 8), 256, values, *sizes, exponents)
        side = _empty(self._device, count, 2, steps)
        (data,) = side.stacks
        threads = data.nbytes // 32
        given = values, *sizes, exponents, np.int64(steps), np.int64(threads)
        self._packing.launch("pack_floats", threads // 256, 256, *given, data)
        return side._replace(of_rows=exponents)


def _integers(device: Device, values: Array, digits: Digits, stack: int, sums_wanted: bool) -> Side:
    """Numbers of ``values`` as digits, so many planes a stack, and the sums of rows where they are wanted."""
    packing, (count, depth) = modules.load(device, "wide"), values.shape
    bits, steps = 8 * values.dtype.itemsize, _steps(depth)
    padded = -(-count // BLOCK) * BLOCK
    data = device.empty((digits.planes // stack, padded * stack, steps * STEP), np.uint8)
    sizes = np.int64(count), np.int64(depth)
    planes = np.int32(digits.planes), np.int32(stack), _word(digits.offset)
    given = values, *sizes, *planes, np.int64(steps), np.int64(padded)
    packing.launch(f"pack_{bits}", padded * steps * 8 // 256, 256, *given, data)
    sums = None
    if sums_wanted:
        sums = device.empty(count, np.uint64)
        packing.launch(f"sums_{bits}", -(-count // 8), 256, values, *sizes, sums)
    return Side(list(data), steps, sums)


def _empty(device: Device, count: int, planes: int, steps: int) -> Side:
    """Room for so many numbers a column, in whole blocks."""
    padded = -(-count // BLOCK) * BLOCK
    return Side([device.empty((padded * planes, steps * STEP), np.uint8)], steps)


def _steps(depth: int) -> int:
    return -(-depth // STEP)


def _from(data: Array, step: int) -> Array:
    """Return the part of a stack's blocks from a step on."""
    return data.reshape(-1)[step * BLOCK * STEP :]


def _pieces(steps: int, most: int) -> list[tuple[int, int]]:
    """Return the first step and the number of steps of each piece, of at most ``most`` bytes, of a row."""
    most //= STEP
    return [(first, min(most, steps - first)) for first in range(0, steps, most)]


def _tiles(shape: tuple[int, int], tile: tuple[int, int]) -> tuple[int, int]:
    """Down and across."""
    return -(-shape[0] // tile[0]), -(-shape[1] // tile[1])


def _word(x: int) -> np.uint64:
    """Modulo 2^64."""
    return np.uint64(x % (1 << 64))
