"""Layers of a network of integers on the device, exact: source/layers.cu.

Tensors have samples one after the other, [samples, *plane, channels], numbers of one of ``KINDS``, and fewer
than 2^31 entries. Sums are made modulo 2^64, those of bytes on tensor cores modulo 2^32: whoever asks for
them knows that they fit, and into which kind what becomes of them does (``Ending``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.gpu import modules
from zenserve.gpu.device import Array, Device, Secret

KINDS: Final = tuple(map(np.dtype, (np.uint8, np.int32, np.int64)))

AXES: Final = 3
"""Of the planes that kernels slide over."""

MOST_TERMS: Final = 4

_THREADS: Final = 256
_STEP: Final = 64
"""Of a window's depth, that a warp multiplies at a time; a lane has a piece of 16 bytes of it."""
_PIECE: Final = 16
_ROWS: Final = 128
"""Positions of a block."""
_NOTHING: Final = -0x7FFFFFFF
_ENOUGH: Final = 16
"""A depth that is worth tensor cores."""

Integers = NDArray[np.int64]


class Ending:
    """The conversion of a sum to its output: a number of ``kind``, after ``clamp((multiplier sum + offset) >>
    shift, low, high)`` if there are multipliers, int64[n] that repeat over the entries of the tensor, and
    after ``table[q - first]``, beyond either end the entry at that end, if there is a table,
    int64[entries]."""

    def __init__(
        self,
        device: Device,
        kind: np.dtype[Any],
        multiplier: Integers | None = None,
        rest: tuple[int, int, int, int] = (0, 0, 0, 0),
        table: Integers | None = None,
        first: int = 0,
    ) -> None:
        nothing = np.zeros(0, np.int64)
        behind = [nothing if each is None else each for each in (multiplier, table)]
        head = [KINDS.index(kind), len(behind[0]), *rest, len(behind[1]), first]
        self.kind = kind
        self.packed = device.upload(np.concatenate([np.array(head, np.int64), *behind]))


@dataclass(frozen=True)
class Sliding:
    """Windows over images, sizes along up to ``AXES`` axes; ``before``: the padding before each axis' first
    entry; ``padded``: whether any window hangs over an edge, where there is ``fill``."""

    image: Sequence[int]
    kernel: Sequence[int]
    positions: Sequence[int]
    stride: Sequence[int]
    before: Sequence[int]
    dilation: Sequence[int]
    channels: int
    groups: int
    outputs: int
    fill: int = 0

    @property
    def _axes(self) -> list[list[int]]:
        sizes = (self.image, self.kernel, self.positions, self.stride, self.before, self.dilation)
        fills = (1, 1, 1, 1, 0, 1)
        return [[*each, *[fill] * (AXES - len(each))] for each, fill in zip(sizes, fills, strict=True)]

    @property
    def padded(self) -> bool:
        image, kernel, positions, stride, before, dilation = map(np.array, self._axes)
        last = (positions - 1) * stride - before + (kernel - 1) * dilation
        return bool((before > 0).any() or (last >= image).any())

    @property
    def depth(self) -> int:
        """Entries of a window, of one group."""
        return math.prod(self.kernel) * self.channels // self.groups

    @property
    def entries(self) -> int:
        """Of a sample of what is made."""
        return math.prod(self.positions) * self.outputs

    def packed(self, device: Device) -> Array:
        own = [self.channels, self.groups, self.channels // self.groups]
        own += [self.outputs, self.outputs // self.groups, self.fill, int(self.padded)]
        return device.upload(np.array([*np.ravel(self._axes), *own], np.int32))

    def taps(self, piece: int, steps: int) -> NDArray[np.int32]:
        """For each piece of the depth, channels of a place of the kernel after each other, where it is from
        where the window begins, among entries and along each axis: int32[pieces, 1 + AXES]."""
        image, kernel, *_, dilation = self._axes
        channels = self.channels // self.groups
        at = np.indices((*kernel, channels))[..., ::piece]
        along = [each * step for each, step in zip(at[:AXES], dilation, strict=True)]
        place = (along[0] * image[1] + along[1]) * image[2] + along[2]
        found = np.stack([place * self.channels + at[AXES], *along], axis=-1).reshape(-1, 1 + AXES)
        taps = np.full((steps * _STEP // piece, 1 + AXES), 0, np.int32)
        taps[:, 0] = _NOTHING
        taps[: len(found)] = found
        return taps


class Weighted:
    """``bias`` and the sums of weights, int64[outputs, *kernel, channels / groups], times entries of windows
    of numbers of ``kind`` less the zero point, int64[outputs] and an integer.

    On tensor cores where entries and each output's weights are bytes but for an offset, and ``narrow`` says
    that sums fit 32 bits. What it has of weights is ``secret``.
    """

    def __init__(
        self,
        device: Device,
        sliding: Sliding,
        kind: np.dtype[Any],
        weight: Integers,
        bias: Integers,
        secret: Secret,
        *,
        narrow: bool,
    ) -> None:
        self._device, self._sliding, self._kind = device, sliding, kind
        self._packed, self._entries = sliding.packed(device), sliding.entries
        flat = weight.reshape(len(weight), -1)
        least, most = flat.min(axis=1), flat.max(axis=1)
        offsets = np.maximum(-least, 0)
        bytes_alone = kind == KINDS[0] and bool((most + offsets <= 255).all())
        self._tensor = narrow and bytes_alone and sliding.depth >= _ENOUGH
        if self._tensor:
            self._pack(flat + offsets[:, np.newaxis], offsets, bias, secret)
        else:
            self._weights = secret(device.upload(flat.astype(np.int32)))
            self._biases = secret(device.upload(bias))

    def _pack(self, weight: Integers, offsets: Integers, bias: Integers, secret: Secret) -> None:
        """Weights as lanes read them, 16 bytes of each of eight outputs a block of them."""
        sliding, upload = self._sliding, self._device.upload
        outputs, depth = weight.shape
        of_group = outputs // sliding.groups
        self._tiles = 8 if of_group > 32 else 4 if of_group > 8 else 1
        self._steps, across = -(-depth // _STEP), -(-of_group // (8 * self._tiles))
        whole = np.zeros((sliding.groups, across * self._tiles * 8, self._steps * _STEP), np.uint8)
        whole[:, :of_group, :depth] = weight.reshape(sliding.groups, of_group, depth)
        lanes = whole.reshape(sliding.groups, across, self._tiles, 8, self._steps, _STEP // _PIECE, _PIECE)
        self._weights = secret(upload(np.ascontiguousarray(lanes.transpose(0, 1, 4, 2, 3, 5, 6))))
        self._blocks = sliding.groups * across
        channels = sliding.channels // sliding.groups
        self._piece = next(piece for piece in (16, 4, 1) if channels % piece == 0)
        self._taps = upload(sliding.taps(self._piece, self._steps))
        fixed = bias - sliding.fill * (weight.sum(axis=1) - depth * offsets)
        self._biases = secret(upload((fixed & 0xFFFFFFFF).astype(np.uint32)))
        self._offsets = secret(upload(offsets.astype(np.uint32))) if offsets.any() else None

    @property
    def source(self) -> modules.Source:
        if not self._tensor:
            return ("layers",)
        return "layers", f"ZEN_PIECE={self._piece}", f"ZEN_TILES={self._tiles}"

    def __call__(self, samples: int, xs: Sequence[Array], ending: Ending, out: Array) -> None:
        module, sliding, (x,) = modules.load(self._device, *self.source), self._sliding, xs
        if self._tensor:
            rows = samples * math.prod(sliding.positions)
            parameters = self._weights, self._biases, self._offsets, np.int32(self._steps)
            module.launch(
                "convolve",
                (-(-rows // _ROWS), self._blocks),
                128,
                *(self._packed, self._taps, x, *parameters, np.uint32(rows), ending.packed, out),
                shared_bytes=_ROWS // 2 * 8 * (self._tiles + 1) * 4,
            )
            return
        read = self._weights, self._biases, np.int64(sliding.fill), np.int32(False)
        _slide(self._device, self._packed, samples * self._entries, x, read, ending, out)


class Windows:
    """The sums of windows' entries less the zero point, or the largest entry of each, channel by channel."""

    def __init__(self, device: Device, sliding: Sliding, *, largest: bool) -> None:
        self._device, self._packed, self._entries = device, sliding.packed(device), sliding.entries
        self._how = None, None, np.int64(sliding.fill), np.int32(largest)

    def __call__(self, samples: int, xs: Sequence[Array], ending: Ending, out: Array) -> None:
        _slide(self._device, self._packed, samples * self._entries, xs[0], self._how, ending, out)


def _slide(
    device: Device, sliding: Array, count: int, x: Array, read: tuple[Any, ...], ending: Ending, out: Array
) -> None:
    _launch(device, "slide", count, sliding, x, _kind(x), *read, np.uint32(count), ending.packed, out)


class Combined:
    """``sum_i factor_i (x_i - zero_i)`` of up to ``MOST_TERMS`` tensors of one shape, or the ``product`` of
    two; ``kinds``: of their numbers. Factors and zeros, int64[n], repeat over a tensor's entries."""

    def __init__(
        self,
        device: Device,
        kinds: Sequence[np.dtype[Any]],
        factors: Sequence[Integers],
        zeros: Sequence[Integers],
        *,
        product: bool = False,
    ) -> None:
        self._device, self._many, self._product = device, len(kinds), product
        heads, values, at = list[int](), list[Integers](), 0
        for kind, *each in zip(kinds, factors, zeros, strict=True):
            heads.append(KINDS.index(kind))
            for part in each:
                heads += [at, len(part)]
                values.append(part)
                at += len(part)
        self._terms = device.upload(np.concatenate([np.array(heads, np.int64), *values]))

    def __call__(self, samples: int, xs: Sequence[Array], ending: Ending, out: Array) -> None:
        given, count = [*xs, *[None] * (MOST_TERMS - len(xs))], len(out.reshape(-1))
        how = np.int32(self._product), np.uint32(count), ending.packed, out
        _launch(self._device, "combine", count, self._terms, np.int32(self._many), *given, *how)


class Moved:
    """``entries[places]``, the entries being those of a sample of each source, one after the other, of so
    many ``sizes``; where a place is -1, uint32 as they are, ``constant``."""

    def __init__(
        self, device: Device, places: NDArray[np.uint32], sizes: Sequence[int], constant: int | None
    ) -> None:
        self._device, self._places, self._sizes = device, device.upload(places), sizes
        self._constant = constant

    def __call__(self, samples: int, xs: Sequence[Array], ending: Ending, out: Array) -> None:
        each, start = len(self._places), 0
        count = samples * each
        behind = np.int64(self._constant or 0), np.uint32(count), ending.packed, out
        head = self._places, np.uint32(each)
        for x, size in zip(xs, self._sizes, strict=True):
            read = x, _kind(x), np.uint32(start), np.uint32(size)
            _launch(self._device, "move", count, *head, *read, *behind)
            start += size
        if self._constant is not None:
            _launch(
                self._device, "move", count, *head, None, np.int32(0), np.uint32(0), np.uint32(0), *behind
            )


class Matrices:
    """``factor`` times products of matrices [down, depth, groups] and [depth, across, groups] less their
    zero points."""

    def __init__(
        self, device: Device, sizes: tuple[int, int, int, int], factor: int, zeros: tuple[int, int]
    ) -> None:
        """``sizes``: groups, down, depth, across."""
        self._device, self._sizes, self._factor, self._zeros = device, sizes, factor, zeros

    def __call__(self, samples: int, xs: Sequence[Array], ending: Ending, out: Array) -> None:
        groups, down, _, across = self._sizes
        count = samples * groups * down * across
        read = [
            part for x, zero in zip(xs, self._zeros, strict=True) for part in (x, _kind(x), np.int64(zero))
        ]
        how = *map(np.uint32, self._sizes), np.int64(self._factor), np.uint32(count), ending.packed, out
        _launch(self._device, "matrices", count, *read, *how)


class Quotients:
    """``floor((2 multiplier x + D) / (2 D))`` with D = 2^shift times the divisor, of ``divisors`` of a sample
    the one at the entry's place, uint32[entries of a sample]."""

    def __init__(
        self, device: Device, places: NDArray[np.uint32], divisors: int, multiplier: int, shift: int
    ) -> None:
        self._device, self._places, self._divisors = device, device.upload(places), divisors
        self._how = np.int64(multiplier), np.int32(shift)

    def __call__(self, samples: int, xs: Sequence[Array], ending: Ending, out: Array) -> None:
        value, divisor = xs
        each = len(self._places)
        read = value, _kind(value), divisor, _kind(divisor), self._places, np.uint32(each)
        how = np.uint32(self._divisors), *self._how, np.uint32(samples * each), ending.packed, out
        _launch(self._device, "quotients", samples * each, *read, *how)


def _kind(x: Array) -> np.int32:
    return np.int32(KINDS.index(x.dtype))


def _launch(device: Device, kernel: str, threads: int, *arguments: object) -> None:
    modules.load(device, "layers").launch(kernel, -(-threads // _THREADS), _THREADS, *arguments)
