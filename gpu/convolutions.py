"""Exact convolutions of few-bit integers on tensor cores, and what lies between them: source/convolutions.cu.

Numbers, from 0 on, lie as planes: uint8[images, height, width, bits, room(channels)], of a pixel plane after
plane, in bit c % 8 of byte c // 8 channel c's, and zeros behind them (Feng et al. 2021, APNN-TC). Of 8 bits
they are uint8[images, height, width, channels].
"""

from __future__ import annotations

from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zenserve.gpu import modules
from zenserve.gpu.device import HOPPER, Array, Device, Secret

MOST_BITS: Final = 4
"""Of numbers that lie as planes."""

BYTES: Final = 8

TILE: Final = 8
"""Rows and columns of the outputs that a group of four warps makes."""

GROUPS: Final = 3

_QUAD: Final = 16
"""Bytes of a pixel's plane, a cell in shared memory."""

_COLUMNS: Final = (256, 128, 64, 32)
_STAGES: Final = 4
_MOST_SHARED: Final = 227 << 10
_REGISTERS: Final = 1 << 16

_LEAST_PRODUCT: Final = 36
"""Cycles of the cores for the fewest columns; half a column takes one."""

_BLOCK: Final = 2440
_GROUP: Final = 510
_STAGE: Final = 400
"""Cycles that a block, a group and a stage of it take at least."""

_BROUGHT: Final = 300
_COUNTED: Final = 130
_WRITTEN: Final = 8.5
"""Cycles of a thread for a cell, for a pixel's, and for a column's outputs."""

_OWN: Final = 0.7
"""Of these a processor works, at the least."""

_COPIED: Final = 64
"""Bytes a cycle that come from the caches to each of all processors."""

_CYCLE: Final = 1 / 1.75e9
_LAUNCH: Final = 2e-6
"""Seconds. All are such that foretold times, and the fastest plans, are near those measured on an H200."""

Shape = tuple[int, int, int]
"""Channels, height and width."""


class Rescaling(NamedTuple):
    """``clip((multiplier · sum + offset) >> shift, 0, 2^bits - 1)``"""

    multiplier: int
    offset: int
    shift: int
    bits: int


class Plan(NamedTuple):
    """``columns``: of the products that a group makes at a time, outputs times planes of weights. ``groups``:
    of four warps in a block, that share its weights; ``split``: of them share outputs, too."""

    columns: int
    groups: int
    split: int = 1


def room(channels: int) -> int:
    """Bytes of a plane of a pixel."""
    return 4 if channels <= 32 else 8 if channels <= 64 else _QUAD * -(-channels // 128)


def empty(device: Device, images: int, shape: Shape, bits: int) -> Array:
    """Room for planes of so many images."""
    channels, height, width = shape
    return device.empty((images, height, width, bits, room(channels)), np.uint8)


def pack(device: Device, values: Array, out: Array) -> None:
    """``out``, planes, become the numbers of uint8[images, height, width, channels]."""
    count = out.nbytes // out.shape[3] // 4
    _moved(device, "pack", values, count, values.shape[3], out, out)


def unpack(device: Device, planes: Array, out: Array) -> None:
    """``out``, uint8[images, height, width, channels], becomes the numbers of planes."""
    _moved(device, "unpack", planes, out.nbytes, out.shape[3], planes, out)


def _moved(
    device: Device, kernel: str, source: Array, count: int, channels: int, planes: Array, out: Array
) -> None:
    kernels = modules.load(device, "convolutions")
    sizes = np.int64(count), *map(np.int32, (channels, *planes.shape[3:]))
    kernels.launch(kernel, -(-count // 256), 256, source, *sizes, out)


def rescale(device: Device, sums: Array, bias: Array, rescaling: Rescaling, out: Array) -> None:
    """``out``, uint8[images, height, width, channels], becomes what ``rescaling`` makes of a convolution's
    int32 sums; its offset is of each channel, int32[channels], in ``bias``."""
    kernels = modules.load(device, "convolutions")
    sizes = np.int64(out.nbytes), bias, np.int32(out.shape[3])
    numbers = map(np.int32, (rescaling.multiplier, rescaling.shift, rescaling.bits))
    kernels.launch("rescale", -(-out.nbytes // 256), 256, sums, *sizes, *numbers, out)


class MaxPool:
    """The largest of windows of planes, beyond whose edges there is nothing."""

    def __init__(
        self, device: Device, shape: Shape, bits: int, kernel: int, stride: int, padding: int
    ) -> None:
        channels, height, width = shape
        self._kernels, self._sizes = modules.load(device, "convolutions"), (height, width)
        self._window, self.bits = (kernel, stride, padding), bits
        down, across = ((each + 2 * padding - kernel) // stride + 1 for each in (height, width))
        self.shape = channels, down, across

    def run(self, x: Array, out: Array) -> None:
        channels, *plane = self.shape
        count = len(x) * plane[0] * plane[1] * room(channels) // 4
        sizes = map(np.int32, (*self._sizes, *plane, *self._window, self.bits, room(channels)))
        self._kernels.launch("pool", -(-count // 256), 256, x, np.int64(count), *sizes, out)


class Sums:
    """The sums of each channel of an image's planes."""

    def __init__(self, device: Device, shape: Shape, bits: int) -> None:
        self._kernels, self._shape, self._bits = modules.load(device, "convolutions"), shape, bits

    def run(self, x: Array, out: Array) -> None:
        """``out``: int32[images, channels]."""
        channels, height, width = self._shape
        sizes = map(np.int32, (height * width, channels, self._bits, room(channels)))
        blocks = len(x) * room(channels) // 4
        self._kernels.launch("sum_planes", blocks, 256, x, *sizes, out, shared_bytes=4 * 256)


class Convolution:
    """Of planes, or pixels of 8 bits, with ``weight``, integers[outputs, channels, *kernel], and ``bias``
    [outputs], over ``size`` = (height, width) and zeros around it, top, left, bottom, right: ``run``. Without
    ``rescaling`` sums are what it makes; with ``pool`` the largest of 2 x 2 numbers; with ``adds`` planes of
    as many bits are added to what is rescaled. It is planned for as many ``images`` at a time. What it has of
    weights is ``secret``. On Hopper alone.

    Raises ``ValueError`` where the weights take more planes than are faster than bytes, a sum may leave 32
    bits, or shared memory has no room.
    """

    def __init__(
        self,
        device: Device,
        weight: NDArray[np.int64],
        bias: NDArray[np.int64],
        size: tuple[int, int],
        bits: int,
        secret: Secret,
        stride: int = 1,
        padding: tuple[int, int, int, int] = (0, 0, 0, 0),
        rescaling: Rescaling | None = None,
        *,
        pool: bool = False,
        adds: int = 0,
        images: int = 64,
        chosen: Plan | None = None,
    ) -> None:
        if device.architecture() != HOPPER:
            raise ValueError("convolutions of few bits are made by groups of warps, of Hopper alone")
        outputs, channels, *kernel = weight.shape
        self._device, self._size, self._padding, self._pool, self._adds = device, size, padding, pool, adds
        (top, left, bottom, right), (height, width) = padding, size
        self._plane = (
            (height + top + bottom - kernel[0]) // stride + 1,
            (width + left + right - kernel[1]) // stride + 1,
        )
        encoded, cells = _encoded(weight, bits), Cells(kernel[0], kernel[1], stride, channels, bits)
        self._rescaling = rescaling or Rescaling(1, 0, 0, 0)
        self.bits = max(self._rescaling.bits, adds) + (adds > 0)
        if self.bits > MOST_BITS or (pool and adds):
            raise ValueError(f"planes of {self.bits} bits are not made")
        added, multiplier = _added(weight, bias, bits, self._rescaling), self._rescaling.multiplier
        self.shape: Shape = (
            (outputs, self._plane[0] // 2, self._plane[1] // 2) if pool else (outputs, *self._plane)
        )
        self._factors, self._quads = (multiplier * encoded.step, multiplier * encoded.offset), cells.quads
        places = images * -(-self._plane[0] // TILE) * -(-self._plane[1] // TILE)
        of_all = Sizes(cells, places, outputs, cells.planes, encoded.planes)
        self.plan = chosen or plan(of_all, device.processors())
        self._shared = of_all.shared_bytes(self.plan)
        if self._shared > _MOST_SHARED:
            raise ValueError(f"{channels} channels of {kernel} places leave shared memory: split them")
        self._products = modules.load(device, *source(self.plan, of_all, self.bits if rescaling else 0))
        table, stacks = _stacks(encoded, cells, self.plan)
        tiles = len(stacks)
        of_tiles = np.zeros(tiles * self.plan.columns // encoded.planes, np.int32)
        of_tiles[:outputs] = added
        self._steps, self._tiles = stacks.shape[1], tiles
        self._table, self._weights = device.upload(table), secret(device.upload(stacks))
        self._added = secret(device.upload(of_tiles))

    def run(self, x: Array, out: Array, residual: Array | None = None) -> None:
        """``out``: planes of ``bits`` of ``shape``, or int32[images, height, width, outputs]."""
        outputs, (height, width) = self.shape[0], self._plane
        places = len(x) * -(-height // TILE) * -(-width // TILE)
        _, _, shift, bits = self._rescaling
        top, left = self._padding[:2]
        sizes = *self._size, height, width, top, left, self._quads, self._steps, outputs, room(outputs)
        numbers = *self._factors, shift, bits, self._adds, self._pool
        given = x, self._weights, self._table, self._added, out, residual, np.uint32(places)
        grid = -(-places * self.plan.split // self.plan.groups), self._tiles
        threads, shared_bytes = 128 * self.plan.groups, self._shared
        rest = map(np.int32, (*sizes, *numbers))
        self._products.launch("convolve", grid, threads, *given, *rest, shared_bytes=shared_bytes)


class _Encoded(NamedTuple):
    """Weights are ``step · numbers - offset``, numbers of so many planes."""

    numbers: NDArray[np.int64]
    planes: int
    step: int
    offset: int


def _encoded(weight: NDArray[np.int64], bits: int) -> _Encoded:
    """For numbers of so many bits. Raises ``ValueError`` where these, or weights, have too many."""
    if bits > MOST_BITS:
        return _in_bytes(weight, bits)
    if (np.abs(weight) == 1).all():
        return _Encoded((weight + 1) // 2, 1, 2, 1)
    low, high = min(0, int(weight.min())), int(weight.max())
    own = max(1, (high - low).bit_length())
    if own > MOST_BITS:
        raise ValueError(f"weights from {low} to {high} have more than {MOST_BITS} bits")
    planes = 1 << (own - 1).bit_length()
    if bits * planes > BYTES:
        raise ValueError(f"{bits} x {planes} planes are slower than bytes")
    return _Encoded(weight - low, planes, 1, -low)


def _in_bytes(weight: NDArray[np.int64], bits: int) -> _Encoded:
    if bits != BYTES or np.abs(weight * 2 + 1).max() > 255:
        raise ValueError(f"numbers have 1 to {MOST_BITS} bits or {BYTES}, with weights from -128 to 127")
    channels = weight.shape[1]
    if channels >= _QUAD and channels % _QUAD:
        raise ValueError(f"pixels of {channels} bytes are no whole words")
    return _Encoded(weight, 1, 1, 0)


def _added(
    weight: NDArray[np.int64], bias: NDArray[np.int64], bits: int, rescaling: Rescaling
) -> NDArray[np.int64]:
    """To sums that were multiplied, [outputs]. Raises ``ValueError`` where these may leave 32 bits."""
    added: NDArray[np.int64] = rescaling.multiplier * bias + rescaling.offset
    sums = np.abs(weight).sum(axis=(1, 2, 3)) * ((1 << bits) - 1)
    if (sums * rescaling.multiplier + np.abs(added)).max() >= 1 << 31:
        raise ValueError("sums may not fit 32 bits")
    return added


class Cells(NamedTuple):
    """The layout in shared memory of a group's part of an image: places of the kernel that differ by
    multiples of the stride are neighbours. If there are few channels, a row of the kernel is ``folded``: that
    number of bytes of each pixel is a part of a cell."""

    height: int
    width: int
    stride: int
    channels: int
    bits: int

    @property
    def in_bytes(self) -> bool:
        return self.bits > MOST_BITS

    @property
    def planes(self) -> int:
        return 1 if self.in_bytes else self.bits

    @property
    def per_quad(self) -> int:
        """Channels."""
        return _QUAD if self.in_bytes else 8 * _QUAD

    @property
    def folded(self) -> int:
        own = self.channels if self.in_bytes else room(self.channels)
        return own if own < _QUAD else 0

    @property
    def quads(self) -> int:
        """Of a pixel's plane, or of a row of the kernel."""
        if self.folded:
            return -(-self.width * self.folded // _QUAD)
        return -(-self.channels // self.per_quad)

    @property
    def columns(self) -> int:
        if self.folded:
            return TILE
        return min(self.width, self.stride) * (TILE + (self.width - 1) // self.stride)

    @property
    def area(self) -> int:
        return min(self.height, self.stride) * (TILE + (self.height - 1) // self.stride) * self.columns

    def steps_of(self, chosen: Plan) -> int:
        """Of two cells, as many for all groups that share outputs."""
        cells = self.quads * self.height * (1 if self.folded else self.width)
        return -(-cells // (2 * chosen.split)) * chosen.split

    def offsets(self) -> NDArray[np.int64]:
        """Of each quad and place of the kernel, its first cell: [quads, height, width or 1]."""
        rows, across = np.arange(self.height), np.arange(1 if self.folded else self.width)
        rows = rows % self.stride * (TILE + (self.height - 1) // self.stride) + rows // self.stride
        across = across % self.stride * (TILE + (self.width - 1) // self.stride) + across // self.stride
        quads = np.arange(self.quads) * (self.area | 1)
        found: NDArray[np.int64] = np.add.outer(np.add.outer(quads, rows * self.columns), across)
        return found


class Sizes(NamedTuple):
    """The sizes that determine a plan's time. ``places``: of 8 x 8 outputs."""

    cells: Cells
    places: int
    outputs: int
    planes: int
    weight_planes: int

    def held(self, chosen: Plan) -> int:
        """Steps of a stage, a power of two, of up to 16 KB but for the most columns: products of as many
        bytes take longer than to give the stage before back."""
        steps = min(4 * _COLUMNS[0] // (chosen.columns * self.planes), max(4, 512 // chosen.columns))
        return max(chosen.split, 1 << steps.bit_length() - 1)

    def stages(self, chosen: Plan) -> int:
        return min(_STAGES, -(-self.cells.steps_of(chosen) // self.held(chosen)))

    def shared_bytes(self, chosen: Plan) -> int:
        teams, steps = chosen.groups // chosen.split, self.cells.steps_of(chosen)
        stages = self.stages(chosen) * (self.held(chosen) * chosen.columns * 2 * _QUAD + _QUAD)
        cells, area = self.cells, self.cells.area
        own = (area | 1) * cells.quads * self.planes * _QUAD + -(-area // 4) * _QUAD
        sums = (chosen.groups - teams) * 128 * self.planes * chosen.columns * 2
        needed = max(stages + -(-steps // 4) * _QUAD + teams * own, sums)
        return needed + chosen.columns // self.weight_planes * 4

    def seconds(self, chosen: Plan, processors: int) -> float:
        """About what it takes on a card of so many processors, as an H200's do: blocks that are there at a
        time wait for what they bring, count, multiply and write, and share the cores and what comes from the
        caches."""
        columns, groups, split = chosen
        cells, steps = self.cells, self.cells.steps_of(chosen)
        tiles = -(-8 * room(self.outputs) * self.weight_planes // columns)
        blocks = -(-(-(-self.places * split // groups) * tiles) // processors)
        registers = 128 * groups * (columns // 2 * self.planes + 40)
        there = max(1, min(_REGISTERS // registers, _MOST_SHARED // self.shared_bytes(chosen)))
        brought = cells.area * cells.quads * self.planes
        work = _BROUGHT * brought / (128 * split) + _COUNTED * cells.quads * self.planes / split
        work += _WRITTEN * columns / self.weight_planes + (split > 1) * 2 * split * self.planes * columns
        cores = groups * steps / split * self.planes * max(columns / 2, _LEAST_PRODUCT)
        stages = -(-steps // self.held(chosen))
        copied = steps * columns * 2 * _QUAD + groups // split * brought * _QUAD
        alone = _BLOCK + work + max(cores, copied / _COPIED) + _STAGE * stages
        shared = max(cores, copied / _COPIED, groups * (_GROUP + _OWN * work))
        return _LAUNCH + _CYCLE * max(-(-blocks // there) * alone, blocks * shared)


def plan(sizes: Sizes, processors: int) -> Plan:
    """The fastest."""
    fitting = (
        each for each in plans(sizes.planes, sizes.weight_planes) if sizes.shared_bytes(each) <= _MOST_SHARED
    )
    return min(
        fitting, key=lambda each: sizes.seconds(each, processors), default=Plan(32 * sizes.weight_planes, 1)
    )


def source(chosen: Plan, sizes: Sizes, made: int) -> modules.Source:
    """Return the source of a convolution, or of sums, with the definitions to compile it with."""
    cells = sizes.cells
    defines = {
        "GROUPS": chosen.groups,
        "SPLIT": chosen.split,
        "HELD": sizes.held(chosen),
        "STAGES": sizes.stages(chosen),
        "COLUMNS": chosen.columns,
        "BITS": str(not cells.in_bytes).lower(),
        "PLANES": sizes.planes,
        "WEIGHT_PLANES": sizes.weight_planes,
        "HEIGHT": cells.height,
        "WIDTH": cells.width,
        "STRIDE": cells.stride,
        "FOLDED": cells.folded,
        "MADE": made,
    }
    return "convolutions", *(f"ZEN_{name}={value}" for name, value in defines.items())


def _stacks(encoded: _Encoded, cells: Cells, chosen: Plan) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """The table of steps, each of two cells, the second's distance above the first; and weights, uint8[tiles,
    steps, 2, columns, 16]: a thread's outputs are neighbours."""
    offsets = cells.offsets()
    order = np.argsort(offsets.reshape(-1))
    firsts = offsets.reshape(-1)[order]
    if len(firsts) % 2:
        firsts = np.append(firsts, firsts[-1])
    columns, steps = chosen.columns, cells.steps_of(chosen)
    table = np.zeros(-(-steps // 4) * 4, np.uint32)  # whole quads
    table[: len(firsts) // 2] = firsts[::2] | (firsts[1::2] - firsts[::2]) << 16
    rows = _rows(encoded, cells)[:, :, order]
    outputs = columns // encoded.planes
    tiles = -(-8 * room(len(rows)) // outputs)
    filled = np.zeros((tiles * outputs, encoded.planes, 2 * steps, _QUAD), np.uint8)
    filled[: len(rows), :, : len(order)] = rows
    # Column 8 j + r of a plane is a thread's: r / 2 says whose.
    filled = filled.reshape(tiles, 4, outputs // 8, 2, encoded.planes, -1, 2, _QUAD)
    stacks = filled.transpose(0, 5, 6, 2, 4, 1, 3, 7).reshape(tiles, -1, 2, columns, _QUAD)
    return table, np.ascontiguousarray(stacks)


def _rows(encoded: _Encoded, cells: Cells) -> NDArray[np.uint8]:
    """Weights as cells have them: uint8[outputs, planes, quads · places of the kernel, 16]."""
    numbers = encoded.numbers
    outputs, channels, height, width = numbers.shape
    per_pixel = (cells.folded if cells.in_bytes else 8 * cells.folded) or cells.per_quad * cells.quads
    dense = np.zeros((outputs, height, width, per_pixel), np.int64)
    dense[..., :channels] = numbers.transpose(0, 2, 3, 1)
    if cells.folded:
        spread = np.zeros((outputs, height, 1, cells.quads * cells.per_quad), np.int64)
        spread[..., 0, : width * per_pixel] = dense.reshape(outputs, height, -1)
        dense = spread
    dense = dense.reshape(outputs, -1, cells.quads, cells.per_quad).swapaxes(1, 2)
    dense = dense.reshape(outputs, 1, -1, cells.per_quad)
    if cells.in_bytes:
        return dense.astype(np.int8).view(np.uint8)
    planes = dense >> np.arange(encoded.planes)[:, np.newaxis, np.newaxis] & 1
    return np.packbits(planes.astype(np.uint8), axis=-1, bitorder="little")


def plans(planes: int, weight_planes: int) -> list[Plan]:
    """All ways to make a convolution of so many planes."""
    fitting = (each for each in _COLUMNS if each >= 32 * weight_planes and planes * each <= _COLUMNS[0])
    ways = ((1, 1), (2, 1), (3, 1), (2, 2), (4, 4))
    return [
        Plan(columns, *way)
        for columns, way in product(fitting, ways)
        if way[0] < 4 or planes * columns <= 128
    ]
