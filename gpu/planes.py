"""Exact products of matrices of integers of 1 to 8 bits, on tensor cores: source/planes.cu.

Numbers are split into planes of bits, whose products are counted, or stay bytes where that is faster.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np

from zenserve.gpu import modules
from zenserve.gpu.device import HOPPER, Array, Device

MOST_BITS: Final = 8

STEP: Final = 128
"""Bytes that rows are a multiple of."""

BLOCK: Final = 64
"""Rows of planes that stacks are a multiple of."""

GROUPS: Final = 3
"""Of four warps each, that make a tile: a block of rows each, and four blocks of columns for all."""

_RATE: Final = 8
"""Products of bits that take as long as one of bytes, measured on an H200: 15,400 and 1,927 TOPS."""


def large_shared(groups: int) -> int:
    """Bytes of four stages, and of what tells of them."""
    return 4 * (groups + 4) * BLOCK * STEP + 64


def defines(left: int, right: int, groups: int) -> tuple[str, ...]:
    """Return the definitions to compile products of planes with; ``groups``: 0 for products by warps."""
    return f"ZEN_LEFT={left}", f"ZEN_RIGHT={right}", f"ZEN_GROUPS={groups}"


class Plan(NamedTuple):
    """The plan of a product. ``direct``: by warps; ``large``: by ``groups`` of four warps, on Hopper only.
    ``left`` and ``right``: the numbers of planes of bits, or one each of bytes. ``split``: the parts of a
    tile's depth, among warps or blocks."""

    kernel: Literal["direct", "large"]
    bits: bool
    left: int
    right: int
    split: int = 1
    groups: int = GROUPS

    @property
    def source(self) -> modules.Source:
        bits, planes = f"ZEN_BITS={str(self.bits).lower()}", (self.left, self.right)
        if self.kernel == "direct":
            return "planes", bits, *defines(*planes, 0)
        return "planes", bits, *defines(min(planes), max(planes), self.groups)


def plan(rows: int, columns: int, depth: int, left: int, right: int, processors: int, hopper: bool) -> Plan:
    """Of ``rows`` x ``depth`` numbers of ``left`` bits and ``columns`` x ``depth`` of ``right``, on a card of
    so many multiprocessors.

    Planes are worth it while there are fewer pairs of them than ``_RATE``, large tiles where they fill half
    the card, and of bytes those of one group where they, or up to four blocks for the depth of each, fill a
    quarter: ``python -m bench.products`` times all ways.
    """
    wide, high = (1 << (bits - 1).bit_length() for bits in (left, right))
    bits = wide * high < _RATE
    planes = (wide, high) if bits else (1, 1)
    across = -(-columns * max(planes) // (4 * BLOCK))
    tiles = -(-rows * min(planes) // (GROUPS * BLOCK)) * across
    if hopper and 2 * tiles >= processors:
        return Plan("large", bits, *planes)
    tiles = -(-rows // BLOCK) * across
    split = min(4, _steps(depth, bits) // 4, max(1, processors // tiles))
    if hopper and not bits and 4 * tiles * split >= processors:
        return Plan("large", False, 1, 1, 1 << split.bit_length() - 1, 1)
    bits = left * right < _RATE
    planes = (left, right) if bits else (1, 1)
    chunks = 2 * _steps(depth, bits)
    warps = -(-rows // 16) * -(-columns // 8)
    split = min(4, chunks * planes[0] * planes[1] // 4, 8 * processors // warps)
    return Plan("direct", bits, *planes, 1 << max(1, split).bit_length() - 1)


class Product:
    """``rows`` x ``depth`` times ``columns`` x ``depth`` numbers of so many bits, 1 to 8: ``multiply``, of
    what ``left`` and ``right`` make of them. A number stands for itself less its side's offset.

    Raises ``ValueError`` where a sum could leave 32 bits.
    """

    def __init__(
        self,
        device: Device,
        rows: int,
        columns: int,
        depth: int,
        bits: tuple[int, int],
        offsets: tuple[int, int] = (0, 0),
        chosen: Plan | None = None,
    ) -> None:
        if not all(1 <= each <= MOST_BITS for each in bits):
            raise ValueError(f"numbers have 1 to {MOST_BITS} bits, not {bits}")
        most = depth
        for each, offset in zip(bits, offsets, strict=True):
            most *= max(abs(offset), abs((1 << each) - 1 - offset))
        if most >= 1 << 31:
            raise ValueError(f"sums of {depth} products of {bits} bits may not fit 32 bits: split the depth")
        self._device, self._rows, self._columns, self._depth = device, rows, columns, depth
        self._offsets = offsets
        hopper = device.architecture() == HOPPER
        self.plan = chosen or plan(rows, columns, depth, *bits, device.processors(), hopper)
        self._packing, self._products = (
            modules.load(device, "planes"),
            modules.load(device, *self.plan.source),
        )

    def left(self, values: Array) -> Side:
        """Of uint8[rows, depth], on the device."""
        return self._side(values, self._rows, self.plan.left, self._offsets[1])

    def right(self, values: Array) -> Side:
        """Of uint8[columns, depth], on the device."""
        return self._side(values, self._columns, self.plan.right, self._offsets[0])

    def multiply(self, left: Side, right: Side, out: Array) -> None:
        """``out``, int32[rows, columns], becomes the products of all rows."""
        of_left, of_right = self._offsets
        both = np.uint32(self._depth * of_left * of_right & 0xFFFFFFFF)
        numbers = out, np.int32(self._rows), np.int32(self._columns)
        if self.plan.kernel == "direct":
            warps = -(-self._rows // 16) * -(-self._columns // 8) * self.plan.split
            steps = np.int64(left.steps)
            offsets = left.sums, right.sums, np.int32(-of_left), np.int32(-of_right), both
            arguments = left.data, right.data, steps, np.int32(self.plan.split), *numbers, *offsets
            self._products.launch("direct", -(-warps // 4), 128, *arguments, shared_bytes=128 * 16)
            return
        self._large(left, right, both, out)

    def _large(self, left: Side, right: Side, both: np.uint32, out: Array) -> None:
        """The side of fewer planes is on the left: of the other the transposed product is made."""
        sides, offsets = (left, right), self._offsets
        shape, strides = (self._rows, self._columns), (self._columns, 1)
        if self.plan.left > self.plan.right:
            sides, offsets, shape, strides = sides[::-1], offsets[::-1], shape[::-1], strides[::-1]
        if self.plan.split > 1:
            self._device.fill(out, 0)
        blocks = [len(side.data) // BLOCK for side in sides]
        down, across = (
            -(-count * side.planes // (size * BLOCK))
            for count, side, size in zip(shape, sides, (self.plan.groups, 4), strict=True)
        )
        self._products.launch(
            "large",
            down * across * self.plan.split,
            128 * self.plan.groups,
            *(side.data for side in sides),
            *map(np.int64, (*blocks, left.steps)),
            np.int32(self.plan.split),
            *map(np.int64, (down, across)),
            out,
            *map(np.int32, shape),
            *map(np.int64, strides),
            *(side.sums for side in sides),
            *(np.int32(-offset) for offset in offsets),
            both,
            shared_bytes=large_shared(self.plan.groups),
        )

    def _side(self, values: Array, count: int, planes: int, other_offset: int) -> Side:
        device, steps, depth = self._device, _steps(self._depth, self.plan.bits), self._depth
        padded = -(-count // BLOCK) * BLOCK
        data = device.empty((padded * planes, steps * STEP), np.uint8)
        given = values, np.int64(count), np.int64(depth)
        if self.plan.bits:
            words = padded * steps * STEP // 4
            sizes: tuple[object, ...] = np.int32(planes), np.int64(steps), np.int64(words)
            self._packing.launch("pack_bits", words // 8, 256, *given, *sizes, data)
        else:
            sizes = np.int64(steps), np.int64(data.nbytes)
            self._packing.launch("pack_bytes", data.nbytes // 256, 256, *given, *sizes, data)
        sums = None
        if other_offset:
            sums = device.empty(count, np.int32)
            self._packing.launch("row_sums", -(-count // 8), 256, *given, sums)
        return Side(data, planes, steps, sums)


class Side(NamedTuple):
    """A matrix as kernels read it: ``data``, uint8[rows of planes, steps · STEP], block by block; ``sums`` of
    rows, int32[rows], where the other side has an offset."""

    data: Array
    planes: int
    steps: int
    sums: Array | None


def _steps(depth: int, bits: bool) -> int:
    return -(-(-(-depth // 8) if bits else depth) // STEP)
