"""Products of few-bit integers are numpy's, of all shapes, widths, offsets and extremes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from zenserve.gpu.device import HOPPER, Device
from zenserve.gpu.planes import Plan, Product, plan

Bits = tuple[int, int]


@pytest.fixture(scope="module")
def device() -> Device:
    return Device()


def multiplied(
    device: Device, left: NDArray[Any], right: NDArray[Any], bits: Bits, offsets: Bits, chosen: Plan | None
) -> NDArray[Any]:
    (rows, depth), columns = left.shape, len(right)
    product = Product(device, rows, columns, depth, bits, offsets, chosen)
    sides = product.left(device.upload(left)), product.right(device.upload(right))
    out = device.empty((rows, columns), np.int32)
    product.multiply(*sides, out)
    return device.download(out)


def check(
    device: Device, rows: int, columns: int, depth: int, bits: Bits, offsets: Bits, chosen: Plan
) -> None:
    if chosen.kernel == "large" and device.architecture() != HOPPER:
        pytest.skip("this card has no products of groups of warps")
    rng = np.random.default_rng(rows + columns)
    left, right = (
        rng.integers(0, 1 << each, (count, depth), np.uint8)
        for each, count in zip(bits, (rows, columns), strict=True)
    )
    left[0], right[0], left[-1], right[-1] = (1 << bits[0]) - 1, (1 << bits[1]) - 1, 0, 0
    found = multiplied(device, left, right, bits, offsets, chosen)
    wide = (each.astype(np.int64) - offset for each, offset in zip((left, right), offsets, strict=True))
    first, second = wide
    assert np.array_equal(found, first @ second.T)


@pytest.mark.parametrize(("bits", "split"), [((1, 1), 1), ((3, 2), 2), ((1, 4), 4), ((8, 8), 4), ((3, 3), 1)])
def test_direct(device: Device, bits: Bits, split: int) -> None:
    planes = bits if bits[0] * bits[1] < 8 else None
    chosen = Plan("direct", planes is not None, *(planes or (1, 1)), split)
    check(device, 19, 21, 1100, bits, (0, 0), chosen)


@pytest.mark.large
@pytest.mark.parametrize("bits", [*product(range(1, 9), repeat=2)])
def test_all_widths(device: Device, bits: Bits) -> None:
    """As they are planned for one row of tiles and for many, ragged on every side."""
    for processors in (132, 1):
        chosen = plan(67, 259, 413, *bits, processors, device.architecture() == HOPPER)
        check(device, 67, 259, 413, bits, (0, 0), chosen)
        check(device, 67, 259, 413, bits, (1, (1 << bits[1]) - 1), chosen)


@pytest.mark.parametrize(
    "bits",
    [(1, 1), (8, 8), *(pytest.param(bits, marks=pytest.mark.large) for bits in [(2, 2), (1, 4), (4, 1)])],
)
def test_large(device: Device, bits: Bits) -> None:
    """Either side may be the one of more planes; five stages and more go round."""
    planes = bits if bits[0] * bits[1] < 8 else None
    chosen = Plan("large", planes is not None, *(planes or (1, 1)))
    check(device, 70, 70, 5300 if planes else 650, bits, (0, 0), chosen)


def test_blocks_share_the_depth(device: Device) -> None:
    check(device, 70, 70, 650, (8, 8), (5, 3), Plan("large", False, 1, 1, 4, 1))


@pytest.mark.parametrize("kernel", ["direct", "large"])
@pytest.mark.parametrize("offsets", [(1, 0), (0, 2), (1, 3), (-5, 2)])
def test_offsets(device: Device, kernel: Any, offsets: Bits) -> None:
    check(device, 9, 130, 300, (2, 2), offsets, Plan(kernel, True, 2, 2))


@pytest.mark.parametrize("kernel", ["direct", "large"])
def test_rows_of_one_number(device: Device, kernel: Any) -> None:
    check(device, 1, 1, 1, (1, 1), (0, 0), Plan(kernel, True, 1, 1))


def test_plans() -> None:
    """Bits while there are few pairs of planes; large tiles where there are enough of them."""
    small, big = (64, 1024, 1024), (8192, 8192, 8192)
    for left, right in product(range(1, 9), repeat=2):
        assert plan(*small, left, right, 132, True).bits == (left * right < 8)
        assert plan(*small, left, right, 132, True).kernel == "direct"
        assert plan(*big, left, right, 132, True).kernel == "large"
        assert plan(*big, left, right, 132, False).kernel == "direct"
    assert plan(*big, 3, 1, 132, True) == Plan("large", True, 4, 1)
    assert not plan(*big, 3, 2, 132, True).bits
    assert plan(64, 4096, 4096, 8, 8, 132, True) == Plan("large", False, 1, 1, 4, 1)
    assert plan(256, 4096, 4096, 8, 8, 132, True) == Plan("large", False, 1, 1, 2, 1)
    assert plan(512, 4096, 4096, 8, 8, 132, True) == Plan("large", False, 1, 1, 1, 1)
    assert plan(64, 4096, 384, 8, 8, 132, True).kernel == "direct"


def test_whatever_fits_is_planned(device: Device) -> None:
    rng = np.random.default_rng(1)
    for bits in ((1, 2), (8, 8), (4, 1)):
        left, right = (rng.integers(0, 1 << each, (300, 200), np.uint8) for each in bits)
        found = multiplied(device, left, right, bits, (0, 0), None)
        assert np.array_equal(found, left.astype(np.int64) @ right.T.astype(np.int64))


def test_sums_reach_the_last_that_fits(device: Device) -> None:
    """All of 255, as deep as 32 bits allow, also where blocks add up parts of the depth."""
    left, right = np.full((2, 33_025), 255, np.uint8), np.full((3, 33_025), 255, np.uint8)
    plans = [Plan("direct", False, 1, 1, 4)]
    if device.architecture() == HOPPER:
        plans.append(Plan("large", False, 1, 1, 4, 1))
    for chosen in plans:
        found = multiplied(device, left, right, (8, 8), (0, 0), chosen)
        assert (found == 33_025 * 255 * 255).all()


def test_sums_that_may_not_fit_are_refused(device: Device) -> None:
    with pytest.raises(ValueError, match="split the depth"):
        Product(device, 1, 1, 33_026, (8, 8))
    with pytest.raises(ValueError, match="1 to 8 bits"):
        Product(device, 1, 1, 1, (9, 1))
