"""Convolutions of few-bit integers are numpy's, of all shapes, widths, strides and extremes."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from zenserve.base.randomness import Secrets
from zenserve.gpu.convolutions import (
    Convolution,
    MaxPool,
    Plan,
    Rescaling,
    Sums,
    empty,
    pack,
    plans,
    rescale,
    room,
    unpack,
)
from zenserve.gpu.device import HOPPER, Array, Device

SIGNS: Final = (-1, 1)


@pytest.fixture(scope="module")
def device() -> Device:
    found = Device()
    if found.architecture() != HOPPER:
        pytest.skip("this card has no products of groups of warps")
    return found


class Case(NamedTuple):
    """``weights``: from and to, or ``SIGNS`` alone."""

    images: int
    channels: int
    size: tuple[int, int]
    outputs: int
    kernel: tuple[int, int]
    stride: int
    padding: tuple[int, int, int, int]
    bits: int
    weights: tuple[int, int]

    def drawn(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """Images, channels last, of which the first has all extremes; weights; and biases."""
        rng = np.random.default_rng(1)
        values = rng.integers(0, 1 << self.bits, (self.images, *self.size, self.channels), np.uint8)
        values[0] = (1 << self.bits) - 1
        shape = (self.outputs, self.channels, *self.kernel)
        low, high = self.weights
        weight = rng.integers(low, high, shape, endpoint=True)
        if self.weights == SIGNS:
            weight = rng.choice(np.array(SIGNS), shape)
        weight[0], weight[-1] = low, high
        return values, weight, rng.integers(-9, 9, self.outputs)


def convolved(case: Case, values: NDArray[Any], weight: NDArray[Any], bias: NDArray[Any]) -> NDArray[Any]:
    top, left, bottom, right = case.padding
    padded = np.pad(values.astype(np.int64), ((0, 0), (top, bottom), (left, right), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, case.kernel, axis=(1, 2))
    sums: NDArray[Any] = np.einsum("nyxcij,ocij->nyxo", windows[:, :: case.stride, :: case.stride], weight)
    return np.asarray(sums + bias)


def planes(device: Device, values: NDArray[Any], bits: int) -> Array:
    given = device.upload(np.ascontiguousarray(values.astype(np.uint8)))
    if bits == 8:
        return given
    images, height, width, channels = values.shape
    out = empty(device, images, (channels, height, width), bits)
    pack(device, given, out)
    return out


def numbers(device: Device, found: Array, channels: int) -> NDArray[Any]:
    """Of planes, behind whose channels there are zeros."""
    out = device.empty((*found.shape[:3], channels), np.uint8)
    unpack(device, found, out)
    bits = np.unpackbits(device.download(found), axis=-1, bitorder="little")
    assert not bits[..., channels:].any()
    return device.download(out)


def spread(sums: NDArray[Any], multiplier: int, bits: int) -> Rescaling:
    """To all numbers, with some clipped on both sides."""
    low, high = np.quantile(multiplier * sums, (0.1, 0.9))
    return Rescaling(multiplier, -int(low), int(np.log2((high - low) / (1 << bits))), bits)


def run(device: Device, case: Case, multiplier: int, bits: int, **more: Any) -> None:
    """``bits``: of what is made, 0 for sums."""
    values, weight, bias = case.drawn()
    wanted, x, residual = convolved(case, values, weight, bias), planes(device, values, case.bits), None
    rescaling = spread(wanted, multiplier, bits) if bits else None
    adds, pool = more.get("adds", 0), more.get("pool", False)
    layer = Convolution(
        device, weight, bias, case.size, case.bits, Secrets(), case.stride, case.padding, rescaling, **more
    )
    if rescaling is None:
        out = device.empty(wanted.shape, np.int32)
        layer.run(x, out)
        assert np.array_equal(device.download(out), wanted)
        return
    scaled = (rescaling.multiplier * wanted + rescaling.offset) >> rescaling.shift
    wanted = np.clip(scaled, 0, (1 << rescaling.bits) - 1)
    assert {0, (1 << bits) - 1} < set(wanted.flat)
    if adds:
        added = np.random.default_rng(2).integers(0, 1 << adds, wanted.shape)
        residual, wanted = planes(device, added, adds), wanted + added
    if pool:
        images, height, width = (wanted.shape[0], *(each // 2 for each in wanted.shape[1:3]))
        paired = wanted[:, : 2 * height, : 2 * width].reshape(images, height, 2, width, 2, -1)
        wanted = paired.max(axis=(2, 4))
    assert layer.shape == (case.outputs, *wanted.shape[1:3])
    out = empty(device, case.images, layer.shape, layer.bits)
    layer.run(x, out, residual)
    assert np.array_equal(numbers(device, out, case.outputs), wanted)


ONES: Final = (1, 1, 1, 1)
NONE: Final = (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("case", "multiplier", "bits", "more"),
    [
        (Case(2, 130, (9, 11), 70, (3, 3), 1, ONES, 2, SIGNS), 1, 2, {}),
        (Case(2, 130, (9, 11), 70, (3, 3), 1, ONES, 2, SIGNS), 1, 0, {}),
        (Case(2, 200, (17, 18), 130, (3, 3), 2, ONES, 4, SIGNS), 1, 2, {}),
        (Case(2, 64, (17, 10), 64, (3, 3), 1, ONES, 3, SIGNS), 1, 2, {"adds": 3}),
        (Case(3, 16, (17, 11), 32, (3, 3), 1, ONES, 2, SIGNS), 2, 2, {"pool": True}),
        (Case(2, 129, (8, 8), 33, (3, 3), 1, ONES, 2, (-2, 1)), 1, 3, {"adds": 2}),
        (Case(2, 129, (8, 8), 33, (3, 3), 1, (0, 2, 1, 0), 1, (-8, 7)), 3, 2, {}),
        (Case(2, 128, (14, 14), 256, (1, 1), 2, NONE, 4, SIGNS), 1, 2, {}),
        (Case(2, 96, (9, 9), 64, (5, 5), 1, (2, 2, 2, 2), 2, SIGNS), 1, 2, {}),
        (Case(2, 3, (37, 35), 64, (7, 7), 2, (3, 3, 3, 3), 8, (-8, 7)), 1, 2, {}),
        (Case(2, 3, (45, 43), 96, (11, 11), 4, (2, 2, 2, 2), 8, (-128, 127)), 1, 0, {}),
        (Case(2, 1, (12, 12), 20, (5, 3), 1, NONE, 8, (-128, 127)), 1, 4, {}),
        (Case(2, 32, (9, 8), 20, (3, 3), 1, ONES, 8, (-128, 127)), 1, 4, {}),
    ],
)
def test_convolutions(device: Device, case: Case, multiplier: int, bits: int, more: Any) -> None:
    run(device, case, multiplier, bits, **more)


@pytest.mark.parametrize("chosen", plans(2, 1))
def test_all_plans(device: Device, chosen: Plan) -> None:
    """More steps than there are stages."""
    case = Case(2, 256, (5, 9), 40, (3, 3), 1, ONES, 2, SIGNS)
    run(device, case, 1, 2, chosen=chosen)


def test_no_more_than_fits(device: Device) -> None:
    weight, bias = np.ones((1, 128, 3, 3), np.int64), np.zeros(1, np.int64)
    most = ((1 << 31) - 1) // (3 * 9 * 128)
    Convolution(device, weight, bias, (8, 8), 2, Secrets(), rescaling=Rescaling(most, 0, 30, 2))
    with pytest.raises(ValueError, match="32 bits"):
        Convolution(device, weight, bias, (8, 8), 2, Secrets(), rescaling=Rescaling(most + 1, 0, 30, 2))
    with pytest.raises(ValueError, match="more than 4 bits"):
        Convolution(device, 16 * weight, bias, (8, 8), 2, Secrets())
    with pytest.raises(ValueError, match="from -128 to 127"):
        Convolution(device, 128 * weight, bias, (8, 8), 8, Secrets())
    with pytest.raises(ValueError, match="slower than bytes"):
        Convolution(device, 15 * weight, bias, (8, 8), 4, Secrets())
    with pytest.raises(ValueError, match="leave shared memory"):
        Convolution(device, np.ones((1, 4096, 3, 3), np.int64), bias, (8, 8), 4, Secrets())
    with pytest.raises(ValueError, match="are not made"):
        Convolution(device, weight, bias, (8, 8), 2, Secrets(), rescaling=Rescaling(1, 0, 0, 4), adds=4)


@pytest.mark.parametrize("window", [(3, 2, 1), (2, 2, 0), (3, 1, 0)])
def test_pools_and_sums(device: Device, window: tuple[int, int, int]) -> None:
    kernel, stride, padding = window
    values = np.random.default_rng(3).integers(0, 8, (2, 9, 12, 70))
    x = planes(device, values, 3)
    pool = MaxPool(device, (70, 9, 12), 3, *window)
    out = empty(device, 2, pool.shape, 3)
    pool.run(x, out)
    padded = np.pad(values, ((0, 0), (padding,) * 2, (padding,) * 2, (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), axis=(1, 2))
    assert np.array_equal(numbers(device, out, 70), windows[:, ::stride, ::stride].max(axis=(4, 5)))
    sums = device.empty((2, 70), np.int32)
    Sums(device, (70, 9, 12), 3).run(x, sums)
    assert np.array_equal(device.download(sums), values.sum(axis=(1, 2)))


def test_rescaled_sums(device: Device) -> None:
    sums = np.random.default_rng(4).integers(-(1 << 20), 1 << 20, (1, 3, 5, 7), dtype=np.int32)
    added = np.arange(7, dtype=np.int32)
    out = device.empty(sums.shape, np.uint8)
    rescale(device, device.upload(sums), device.upload(added), Rescaling(3, 0, 8, 4), out)
    assert np.array_equal(device.download(out), np.clip((3 * sums + added) >> 8, 0, 15))


def test_room() -> None:
    assert [room(each) for each in (1, 32, 33, 64, 65, 128, 129)] == [4, 4, 8, 8, 16, 16, 32]
