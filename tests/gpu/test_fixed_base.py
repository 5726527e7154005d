"""Many products of points and scalars on the device, against the CPU's one by one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.gpu.known import device, known_points
from tests.kernels.strategies import R, edge_values
from zenserve import kernels
from zenserve.gpu import fixed_base, points
from zenserve.gpu.fixed_base import FixedBase, multiply_base, multiply_each
from zenserve.kernels import Group

VALUES = edge_values(R) + [R - (1 << shift) for shift in range(0, 254, 13)]
SCALARS = kernels.fr.from_ints(VALUES)


@pytest.fixture(params=[kernels.g1, kernels.g2], ids=["g1", "g2"])
def group(request: pytest.FixtureRequest) -> Group:
    chosen: Group = request.param
    return chosen


@pytest.fixture(autouse=True)
def small_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that narrow digits pay, and tables are small."""
    monkeypatch.setattr(fixed_base, "WORKERS", 32)


def test_multiples_of_a_base(group: Group) -> None:
    base = known_points(group)[7]
    actual = device.download(multiply_base(device, device.upload(base), device.upload(SCALARS)))
    np.testing.assert_array_equal(actual, group.fixed_base(base, SCALARS))


def test_a_table_for_many_products() -> None:
    """Wider digits than so few scalars ask for."""
    base, out = known_points(kernels.g1)[8], device.empty((len(SCALARS), 2, 6), np.uint64)
    assert fixed_base.choose_width(2000) > fixed_base.choose_width(len(SCALARS))
    FixedBase(device, device.upload(base), 2000).multiply(device.upload(SCALARS), out)
    np.testing.assert_array_equal(device.download(out), kernels.g1.fixed_base(base, SCALARS))


def test_few_products_have_wide_digits_where_a_card_would_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = fixed_base.choose_width(16)
    monkeypatch.setattr(fixed_base, "WORKERS", 1 << 15)
    assert fixed_base.choose_width(16) > narrow
    assert fixed_base.choose_width(1 << 20) > fixed_base.choose_width(16)


def test_multiples_of_infinity_and_of_nothing(group: Group) -> None:
    infinity = device.zeros(group.shape, np.uint64)
    assert not device.download(multiply_base(device, infinity, device.upload(SCALARS[:9]))).any()
    assert multiply_base(device, infinity, device.upload(SCALARS[:0])).shape == (0, *group.shape)


def test_each_point_with_its_scalar(group: Group) -> None:
    chosen = known_points(group)[: len(SCALARS)].copy()
    chosen[5] = 0  # infinity
    actual = device.download(multiply_each(device, device.upload(chosen), device.upload(SCALARS)))
    np.testing.assert_array_equal(actual, group.mul(chosen, SCALARS))


def test_each_point_with_one_scalar(group: Group) -> None:
    chosen, scalar = known_points(group)[:40], kernels.fr.from_ints([R // 7])
    actual = device.download(multiply_each(device, device.upload(chosen), device.upload(scalar)))
    np.testing.assert_array_equal(actual, group.mul(chosen, np.repeat(scalar, 40, axis=0)))


def test_pieces_join_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (fixed_base, points):
        monkeypatch.setattr(module, "PIECE", 17)
    chosen, base = known_points(kernels.g1)[: len(SCALARS)], known_points(kernels.g1)[9]
    each = multiply_each(device, device.upload(chosen), device.upload(SCALARS))
    np.testing.assert_array_equal(device.download(each), kernels.g1.mul(chosen, SCALARS))
    many = multiply_base(device, device.upload(base), device.upload(SCALARS))
    np.testing.assert_array_equal(device.download(many), kernels.g1.fixed_base(base, SCALARS))
    twice = device.empty(chosen.shape, np.uint64)
    points.doubled(device, device.upload(chosen), 1, twice)
    np.testing.assert_array_equal(device.download(twice), kernels.g1.add(chosen, chosen))


def test_points_and_scalars_must_pair_up() -> None:
    with pytest.raises(ValueError, match="3 points and 2 scalars do not pair up"):
        multiply_each(device, device.upload(known_points(kernels.g1)[:3]), device.upload(SCALARS[:2]))
    with pytest.raises(ValueError, match="base must be points"):
        multiply_base(device, device.upload(SCALARS[0]), device.upload(SCALARS))
