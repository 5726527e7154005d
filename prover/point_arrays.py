"""Arrays of points from strangers: checked before anything computes with them, and paired."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kernels import FrArray, Group, WordArray, fp, fr, pairing_product_is_one
from prover.points import Fault
from zenerrors import FileFormatError


def check_points(
    points: WordArray, group: Group, field: str, *, finite: bool = False, threads: int = 1
) -> None:
    """Whether each of ``points``, uint64[n, *group.shape], is on its curve and in its subgroup.

    With ``finite`` none may be at infinity. ``FileFormatError``: ``file.point_*``, the point's place as the
    field.
    """
    inner = tuple(range(1, points.ndim - 1))
    _require(np.all(fp.is_canonical(points), axis=inner), Fault.NOT_CANONICAL, field)
    _require(group.is_on_curve(points), Fault.NOT_ON_CURVE, field)
    if finite:
        _require(~group.is_infinity(points), Fault.AT_INFINITY, field)
    _require(group.in_subgroup(points, threads=threads), Fault.NOT_IN_SUBGROUP, field)


def _require(good: NDArray[np.bool_], fault: Fault, field: str) -> None:
    if not good.all():
        where = f"{field}[{int(good.argmin())}]"
        raise FileFormatError(f"file.point_{fault}", f"{where}: {fault.replace('_', ' ')}", field=where)


def random_weights(count: int) -> FrArray:
    """``count`` public weights of 128 random bits, uint64[count, 4], Montgomery.

    In a sum with such weights, points of the subgroup that are not what they should be cancel with a chance
    of 2^-128 only.
    """
    words = np.zeros((count, 4), dtype=np.uint64)
    words[:, :2] = np.frombuffer(os.urandom(16 * count), dtype=np.uint64).reshape(count, 2)
    return fr.from_canon(words)


def pairings_cancel(pairs: Iterable[tuple[WordArray, WordArray]]) -> bool:
    """Whether the product of e(P, Q) is one, P uint64[2, 6] and Q uint64[2, 2, 6] in the subgroups."""
    left, right = zip(*pairs, strict=True)
    return pairing_product_is_one(np.stack(left), np.stack(right))
