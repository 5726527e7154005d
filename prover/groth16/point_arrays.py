"""Arrays of points from strangers: checked before anything computes with them, and paired."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from zenserve.errors import FileFormatError
from zenserve.kernels import FrArray, Group, WordArray, fp, fr, pairing_product_is_one
from zenserve.verifier.points import FILE_CODES, Fault

_SUBSETS: Final = 128
_FEW: Final = 256
"""Up to so many points are examined one by one: more cost less by their sums."""
_AT_ONCE: Final = 1 << 16
_ONE: Final = fr.from_ints([1])


def check_points(
    points: WordArray, group: Group, field: str, *, finite: bool = False, threads: int = 1
) -> None:
    """Check that each of ``points``, uint64[n, *group.shape], is on its curve and in its subgroup.

    With ``finite`` none may be at infinity. Many points are tested for the subgroup by random sums, which err
    with a probability of 2^-128. Raises ``FileFormatError``: ``file.point_*``, the point's place as the
    field.
    """
    inner = tuple(range(1, points.ndim - 1))
    _require(np.all(fp.is_canonical(points), axis=inner), Fault.NOT_CANONICAL, field)
    _require(group.is_on_curve(points), Fault.NOT_ON_CURVE, field)
    if finite:
        _require(~group.is_infinity(points), Fault.AT_INFINITY, field)
    if len(points) <= _FEW or not _sums_in_subgroup(points, group, threads):
        _require(group.in_subgroup(points, threads=threads), Fault.NOT_IN_SUBGROUP, field)


def _sums_in_subgroup(points: WordArray, group: Group, threads: int) -> bool:
    """Return whether the sums of 128 random subsets of ``points`` are in the subgroup.

    A point P outside the subgroup is detected whatever its order and whatever the other points: if two
    subsets differ in P alone, their sums differ by P, so at least one of the sums is outside. Each subset
    therefore misses P with a probability of at most 1/2, and all of them, drawn independently, with 2^-128.

    Points are thrown into buckets, and subset j is the union of the buckets whose number has bit j: one
    addition a point serves as many subsets as the number has bits.
    """
    bits = min(len(points), _AT_ONCE).bit_length() - 5
    rounds = -(-_SUBSETS // bits)
    first_bucket = np.arange(rounds, dtype=np.uint32) << bits
    sums = np.zeros((rounds << bits, *group.shape), dtype=np.uint64)
    for start in range(0, len(points), _AT_ONCE):
        part = points[start : start + _AT_ONCE]
        count = len(part) * rounds
        drawn = np.frombuffer(os.urandom(2 * count), dtype=np.uint16) & np.uint16((1 << bits) - 1)
        buckets = (drawn.reshape(-1, rounds) + first_bucket).reshape(-1)
        offsets = np.arange(0, count + 1, rounds, dtype=np.int64)
        ones = np.zeros(count, dtype=np.uint32)
        group.csr_multiply_transposed(offsets, buckets, ones, _ONE, part, sums, threads=threads)
    subsets = _sums_by_bit(sums.reshape(rounds, 1 << bits, *group.shape), group, threads)
    return bool(group.in_subgroup(subsets, threads=threads).all())


def _sums_by_bit(points: WordArray, group: Group, threads: int) -> WordArray:
    """uint64[bits, rows, ...]: of each row of ``points``, uint64[rows, 2^bits, ...], the sum of those whose
    place has a bit, for all bits of a place.
    """

    def halves(rows: WordArray) -> tuple[WordArray, WordArray]:
        low, high = np.split(rows, 2, axis=1)
        return np.ascontiguousarray(low), np.ascontiguousarray(high)

    sums = []
    while points.shape[1] > 1:
        low, high = halves(points)
        points = group.add(low, high, threads=threads)
        while high.shape[1] > 1:
            high = group.add(*halves(high), threads=threads)
        sums.append(high[:, 0])
    return np.stack(sums)


def _require(good: NDArray[np.bool_], fault: Fault, field: str) -> None:
    if not good.all():
        where = f"{field}[{int(good.argmin())}]"
        raise FileFormatError(FILE_CODES[fault], f"{where}: {fault.replace('_', ' ')}", field=where)


def random_weights(count: int) -> FrArray:
    """``count`` public weights of 128 random bits, uint64[count, 4], Montgomery.

    In a sum with such weights, points of the subgroup that are not what they should be cancel with a chance
    of 2^-128 only.
    """
    words = np.zeros((count, 4), dtype=np.uint64)
    words[:, :2] = np.frombuffer(os.urandom(16 * count), dtype=np.uint64).reshape(count, 2)
    return fr.from_canonical(words)


def pairings_cancel(pairs: Iterable[tuple[WordArray, WordArray]]) -> bool:
    """Return whether the product of e(P, Q) is one, P uint64[2, 6] and Q uint64[2, 2, 6] in the subgroups."""
    left, right = zip(*pairs, strict=True)
    return pairing_product_is_one(np.stack(left), np.stack(right))
