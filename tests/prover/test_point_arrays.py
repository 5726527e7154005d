"""Many points from strangers: one outside the subgroup is found wherever it is, whatever the others are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.refusals import refuses
from zenserve.kernels import Group, WordArray, fp, fr, g1, g2
from zenserve.prover.groth16 import point_arrays
from zenserve.prover.groth16.iden3 import drawing
from zenserve.prover.groth16.point_arrays import check_points

MANY = 700
ORDERS = [(g1, 3), (g1, 11), (g1, 10177), (g2, 13), (g2, 23)]
COFACTORS = {"g1": drawing._COFACTOR_G1, "g2": drawing._COFACTOR_G2}


@pytest.fixture(scope="module", params=[g1, g2], ids=["g1", "g2"])
def group(request: pytest.FixtureRequest) -> Group:
    assert isinstance(request.param, Group)
    return request.param


def good_points(group: Group, count: int = MANY) -> WordArray:
    return group.fixed_base(group.generator, fr.from_ints(range(2, 2 + count)))


def points_on_the_curve(group: Group) -> WordArray:
    """The first ten, none of them in the subgroup: uint64[10, *group.shape]."""
    found: list[int] = []
    for x in range(1, 100):
        if group is g1:
            y = drawing._square_root(x**3 + 4)
            found += [] if y is None else [x, y]
        else:
            root = drawing._square_root_fp2(x**3 + 4, 4)
            found += [] if root is None else [x, 0, *root]
    points = fp.from_ints(found).reshape(-1, *group.shape)[:10]
    assert group.is_on_curve(points).all()
    assert not group.in_subgroup(points).any()
    return points


def of_order(group: Group, prime: int) -> WordArray:
    """A point whose order is a power of ``prime``."""
    factor = COFACTORS[group.name] * fr.modulus
    while factor % prime == 0:
        factor //= prime
    for point in points_on_the_curve(group):
        multiple = drawing._times(group, point[None], factor)
        if multiple.any():
            return multiple.reshape(group.shape)
    raise AssertionError


def refused(points: WordArray, group: Group, index: int) -> None:
    with refuses("file.point_not_in_subgroup", f"some[{index}]"):
        check_points(points, group, "some", threads=2)


@pytest.mark.parametrize("index", [0, 333, MANY - 1])
def test_one_outside_anywhere(group: Group, index: int) -> None:
    points = good_points(group)
    points[index] = points_on_the_curve(group)[0]
    refused(points, group, index)


@pytest.mark.parametrize(("group", "order"), ORDERS, ids=[f"{each.name}-{order}" for each, order in ORDERS])
def test_points_of_small_order(group: Group, order: int) -> None:
    """Sums with large weights miss one of order 3 once in three times."""
    stray, points = of_order(group, order), good_points(group)
    points[5] = stray
    refused(points, group, 5)
    points[6] = group.neg(stray)  # the sum of all is right
    refused(points, group, 5)
    points[:] = stray
    refused(points, group, 0)
    points = good_points(group)
    points[9:] = group.add(points[9:], stray)
    refused(points, group, 9)


def test_one_outside_far_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """In another part than the first of an array that is taken in parts."""
    monkeypatch.setattr(point_arrays, "_AT_ONCE", 1 << 8)
    points = good_points(g1)
    check_points(points, g1, "some")
    points[-1] = of_order(g1, 3)
    refused(points, g1, MANY - 1)


def test_good_points_are_not_examined_one_by_one(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    examined: list[int] = []
    exact = Group.in_subgroup

    def spy(self: Group, points: WordArray, *, threads: int = 1) -> NDArray[np.bool_]:
        examined.append(points[..., 0, 0].size if self is g1 else points[..., 0, 0, 0].size)
        return exact(self, points, threads=threads)

    monkeypatch.setattr(Group, "in_subgroup", spy)
    for count in (300, 5000):
        points = good_points(group, count)
        points[7] = 0  # infinity is in every subgroup
        check_points(points, group, "some")
    assert all(128 <= count < 160 for count in examined)
    assert len(examined) == 2


def test_sums_by_bit(group: Group) -> None:
    points = good_points(group, 32).reshape(2, 16, *group.shape)
    sums = point_arrays._sums_by_bit(points, group, 1)
    assert sums.shape == (4, 2, *group.shape)
    for place, of_rows in zip((3, 2, 1, 0), sums, strict=True):
        weights = fr.from_ints([index >> place & 1 for index in range(16)])
        for row, found in zip(points, of_rows, strict=True):
            assert np.array_equal(found, group.msm(row, weights))
