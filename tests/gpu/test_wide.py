"""Products of wide integers, of elements and of floats are what numpy and Python make of them."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.kernels.strategies import R
from zenserve.gpu import wide
from zenserve.gpu.device import HOPPER, Device
from zenserve.gpu.wide import Card, Digits, Elements, Floats, Plan, Product, Range, plan
from zenserve.kernels import fr

BYTES, SHORTS, MIXED, WORDS = (-128, 127), (-(1 << 15), (1 << 15) - 1), (-5, 900), (-(1 << 25), 1 << 25)
H200 = Card(132)


@pytest.fixture(scope="module")
def device() -> Device:
    return Device()


def drawn(numbers: Range, shape: tuple[int, int], kind: Any = np.int64) -> NDArray[Any]:
    """The first row has the largest alone, the last one the least."""
    low, high = numbers
    values = np.random.default_rng(shape[0]).integers(low, high, shape, endpoint=True).astype(kind)
    values[0], values[-1] = high, low
    return values


def check(
    device: Device,
    sizes: tuple[int, int, int],
    ranges: tuple[Range, Range],
    chosen: Plan | None = None,
    kind: Any = np.int64,
) -> None:
    if chosen and chosen.kernel == "large" and device.architecture() != HOPPER:
        pytest.skip("this card has no products of groups of warps")
    rows, columns, depth = sizes
    left, right = drawn(ranges[0], (rows, depth), kind), drawn(ranges[1], (columns, depth), kind)
    product = Product(device, rows, columns, depth, ranges, chosen)
    sides = product.left(device.upload(left)), product.right(device.upload(right))
    out = device.empty((rows, columns), np.int64)
    product.multiply(*sides, out)
    assert np.array_equal(device.download(out), left.astype(np.int64) @ right.T.astype(np.int64))


WAYS = [("direct", 2, 0), ("large", 4, 1), ("large", 1, 3)]
"""Kernel, split, groups."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "ranges", [(BYTES, BYTES), (WORDS, BYTES), (MIXED, WORDS), (SHORTS, SHORTS), (WORDS, WORDS)]
)
def test_integers(device: Device, way: Any, ranges: tuple[Range, Range]) -> None:
    """Four stages and more go round, no side is of whole tiles, and offsets are of each side and of both."""
    left, right = (Digits.of(each).planes for each in ranges)
    kernel, split, groups = way
    check(device, (70, 69, 650), ranges, Plan(kernel, left, right, split, groups))


@pytest.mark.parametrize(("kind", "depth"), [(np.int8, 31), (np.int16, 304), (np.int32, 32), (np.int64, 17)])
def test_every_type(device: Device, kind: Any, depth: int) -> None:
    """A row's end is read number by number, or all of it is."""
    limits = np.iinfo(kind)
    ranges = ((int(limits.min), int(limits.max)), BYTES) if kind is not np.int64 else (WORDS, BYTES)
    check(device, (3, 9, depth), ranges, kind=kind)


def test_the_largest_sums_stay_in_32_bits(device: Device) -> None:
    """All products are the largest at the largest depth that has one piece."""
    direct, large = Plan("direct", 2, 2), Plan("large", 2, 2, groups=3)
    lowest = -(128 * 257)
    check(device, (1, 1, direct.most), ((lowest, 0), (lowest, 0)), direct)
    assert direct.most * 2 << 14 < 1 << 31
    assert large.most << 14 < 1 << 31


@pytest.mark.parametrize("way", WAYS[:2])
def test_sums_go_on_in_64_bits(device: Device, way: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wide, "_MOST_BYTES", 512)
    kernel, split, groups = way
    check(device, (5, 6, 900), (SHORTS, SHORTS), Plan(kernel, 2, 2, split, groups))


def test_what_may_not_fit_is_refused(device: Device) -> None:
    Product(device, 1, 1, 1, ((-(1 << 31), (1 << 31) - 1), (0, (1 << 32) - 1)))
    with pytest.raises(ValueError, match="split the depth"):
        Product(device, 1, 1, 2, ((-(1 << 31), (1 << 31) - 1), (0, (1 << 32) - 1)))
    with pytest.raises(ValueError, match="do not fit 32 bits"):
        Product(device, 1, 1, 1, ((0, 1 << 32), BYTES))
    with pytest.raises(ValueError, match="off balance"):
        Elements(device, 1, 1, 1, SHORTS)


def test_digits_hold_their_range() -> None:
    for low, high in (BYTES, (0, 255), SHORTS, (0, 65_535), (-32_896, 32_639), (-32_897, 0), WORDS):
        planes, offset = Digits.of((low, high))
        unit = ((1 << 8 * planes) - 1) // 255
        assert -128 * unit <= low - offset
        assert high - offset <= 127 * unit
    assert Digits.of((-32_896, 32_639)) == (2, 0)


@pytest.mark.parametrize(
    ("sizes", "numbers"), [((3, 11, 300), BYTES), ((1, 9, 1000), (-3000, 3000)), ((2, 3, 40), WORDS)]
)
def test_elements(device: Device, sizes: tuple[int, int, int], numbers: Range) -> None:
    rows, columns, depth = sizes
    draw = random.Random(depth)
    left = [[R - 1, 0, 127 * (R // 255)] + [draw.randrange(R) for _ in range(depth - 3)] for _ in range(rows)]
    right = drawn(numbers, (columns, depth))
    product = Elements(device, rows, columns, depth, numbers)
    given = fr.from_ints([each for row in left for each in row]).reshape(rows, depth, 4)
    out = device.empty((rows, columns, 4), np.uint64)
    product.multiply(product.left(device.upload(given)), product.right(device.upload(right)), out)
    found = fr.to_ints(device.download(out).reshape(-1, 4))
    assert found == [
        sum(x * int(y) for x, y in zip(row, column, strict=True)) % R for row in left for column in right
    ]


def test_sums_of_elements_go_on_in_the_field(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wide, "_MOST_BYTES", 256)
    test_elements(device, (1, 3, 300), BYTES)


@pytest.mark.parametrize("scale", [1.0, 1e-15, 3e16])
def test_floats(device: Device, scale: float) -> None:
    """As near as products of floats are, of rows that are far from each other."""
    if device.architecture() != HOPPER:
        pytest.skip("this card has no products of groups of warps")
    draw = np.random.default_rng(1)
    left, right = draw.normal(size=(130, 200)), draw.normal(size=(131, 200)) * scale
    left *= np.exp2(draw.integers(-60, 60, (130, 1)))
    left[3], right[5], left[7, 3:] = 0, 0, 0
    left, right = left.astype(np.float32), right.astype(np.float32)
    product = Floats(device, 130, 131, 200)
    out = device.empty((130, 131), np.float32)
    product.multiply(product.left(device.upload(left)), product.right(device.upload(right)), out)
    exact = left.astype(np.float64) @ right.T.astype(np.float64)
    reach = np.linalg.norm(left.astype(float), axis=1)[:, None] * np.linalg.norm(right.astype(float), axis=1)
    error = np.abs(device.download(out) - exact)
    theirs = np.abs(left @ right.T - exact)
    assert np.all(error <= 3e-7 * reach)
    assert error.sum() <= 1.1 * theirs.sum()


def test_plans() -> None:
    """Groups of warps where there are enough tiles for them, and where there are groups; larger tiles where
    there are more than processors."""
    for left, right in product((1, 2, 4), repeat=2):
        big = plan(H200, 8192, 8192, 8192, left, right)
        assert (big.kernel, big.groups) == ("large", 3)
        assert plan(H200._replace(groups=False), 4096, 4096, 4096, left, right).kernel == "direct"
        assert plan(H200._replace(shared_bytes=170 << 10), 4096, 4096, 4096, left, right).groups == 1
        assert plan(H200._replace(registers=1 << 15), 4096, 4096, 4096, left, right).groups == 1
        assert plan(H200, 16, 64, 256, left, right).kernel == "direct"
    assert plan(H200, 16, 64, 4096, 1, 1).split == 4
    assert plan(H200, 1024, 1024, 1024, 2, 2).groups < 3
    assert plan(H200, 64, 4096, 4096, 1, 1) == Plan("large", 1, 1, 4, 1)
