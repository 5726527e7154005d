"""Multi-scalar multiplication: Pippenger's buckets over signed digits, on bases that stay on the device.

A scalar's digit of window w counts for 2^(width w) times its base. With these multiples precomputed for every
window one set of buckets serves all windows; where memory is short, windows share a row of multiples and have
several sets. Digits are sorted by bucket (source/digits.cu), buckets are added up in equal shares
(source/segmented.hpp), and the sum of buckets by weight is taken in halves (source/msm.cu).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from zenserve.gpu import modules, points
from zenserve.gpu.device import Array, Device
from zenserve.gpu.points import empty_sums, field_of
from zenserve.gpu.scan import starts_of
from zenserve.gpu.segmented import WORKERS, add_carries, workers_for

LONGEST_SCALAR: Final = 254
"""Bits of a scalar's magnitude, its sign apart."""

_LANES: Final = 4
_MICROSECONDS: Final = {96: (3.0e-4, 4.1e-4, 1.6e-3, 9, 65), 192: (7.2e-4, 1.25e-3, 4e-3, 25, 90)}
"""By the bytes of a point: a pair, a point of a bucket's sum, a bucket of the weighted sum, a step of few,
and what a level of pairs takes at least."""

_THREADS: Final = 128
_PAIR_BLOCKS: Final = {"Fp": 132 * 4, "Fp2": 132 * 2}
_PLACED_BYTES: Final = 64 << 20
_DIGIT_THREADS: Final = 256
_WIDEST: Final = 22
_MOST_LEVELS: Final = 4


def window_count(width: int) -> int:
    """Digits of ``width`` bits in a scalar."""
    return LONGEST_SCALAR // width + 1


@dataclass(frozen=True)
class Plan:
    """The cut of scalars into digits, and the multiples of ``count`` bases of ``point_bytes`` that are kept.

    Before buckets are summed, their points are added in pairs ``levels`` times.
    """

    count: int
    point_bytes: int
    width: int
    sets: int = 1
    levels: int = 0

    @property
    def windows(self) -> int:
        return window_count(self.width)

    @property
    def rows(self) -> int:
        """Window w has its digits in bucket set w % sets, and stands for the multiples of row w // sets."""
        return -(-self.windows // self.sets)

    @property
    def buckets(self) -> int:
        return self.sets << (self.width - 1)

    @property
    def digits(self) -> int:
        """Digits of all scalars, at most: some are zero."""
        return self.windows * self.count

    @property
    def groups(self) -> int:
        """Groups of 2^levels digits, at most: each bucket's last one may not be full."""
        return (self.digits + min(self.buckets, self.digits) * ((1 << self.levels) - 1)) >> self.levels

    @property
    def table_bytes(self) -> int:
        """The bytes that the multiples take permanently."""
        return self.rows * self.count * self.point_bytes

    @property
    def scratch_bytes(self) -> int:
        """The most bytes that ``msm`` takes while it works."""
        sorting = 4 * (self.digits + (self.groups << self.levels) + 3 * self.buckets)
        halves = self.point_bytes * (self.groups << self.levels) * (0, 2, 3)[min(self.levels, 2)] // 4
        sums = 2 * self.point_bytes * (self.buckets + 8 * workers_for(self.groups) // 7)
        listed = self.point_bytes * self.groups if self.levels else 0
        weighing = 4 * self.point_bytes * self.buckets
        return max(sorting + max(halves, listed + sums), weighing)

    def microseconds(self, full: int) -> float:
        """A rough estimate of ``msm`` on an H200: ``full`` scalars of full length, the others bytes.

        Fitted to measurements from 2^16 to 2^22 points.
        """
        digits = full * self.windows + (self.count - full) * (8 // self.width + 1)
        groups = (digits + min(self.buckets, digits) * ((1 << self.levels) - 1) / 2) / (1 << self.levels)
        carries = math.log(max(1, workers_for(int(groups)) / self.buckets), 8)
        pair, point, bucket, step, level = _MICROSECONDS[self.point_bytes]
        return (
            5e-5 * digits
            + pair * groups * ((1 << self.levels) - 1)
            + point * groups
            + bucket * self.buckets
            + step * (10 + self.width * self.sets + 4 * carries)
            + level * self.levels
            + 7 * self.width
        )


def plan(
    count: int, point_bytes: int, *, expected: int | None = None, budget_bytes: int | None = None
) -> Plan:
    """The fastest way for ``count`` bases, of whose scalars ``expected`` (all by default) have full length.

    ``budget_bytes`` bounds the table; one that has not even room for the bases is ``ValueError``.
    """
    least = count * point_bytes
    if budget_bytes is not None and budget_bytes < least:
        raise ValueError(
            f"budget_bytes must be {least} at least, which the bases themselves take, not {budget_bytes}"
        )
    plans = []
    for width, levels in product(range(2, _WIDEST + 1), range(_MOST_LEVELS + 1)):
        rows = window_count(width)
        if budget_bytes is not None and least:
            rows = min(rows, budget_bytes // least)
        plans.append(Plan(count, point_bytes, width, -(-window_count(width) // rows), levels))
    full = count if expected is None else min(expected, count)
    return min(plans, key=lambda each: each.microseconds(full))


class Bases:
    """Points with their multiples, resident on ``device``.

    ``given`` is uint64[n, 2, 6] or uint64[n, 2, 2, 6] on it, affine points of the subgroups in
    Montgomery form, infinity allowed; it is copied. Points outside the subgroups are not refused, but sums
    of them may be wrong. ``ResourceError`` (``resource.gpu_memory``) if the multiples do not fit.
    """

    def __init__(self, device: Device, given: Array, layout: Plan | None = None) -> None:
        self.device = device
        self.field = field_of(given.shape[1:], "bases")
        self.shape = given.shape[1:]
        self.plan = layout or plan(len(given), 8 * int(np.prod(self.shape)))
        sorted_digits = self.plan.digits + self.plan.buckets * ((1 << self.plan.levels) - 1)
        if self.plan.rows * self.plan.count >= 1 << 31 or sorted_digits >= 1 << 32:
            raise ValueError(
                f"{self.plan.count} bases are too many: there must be fewer than 2^31 with their multiples, "
                "and fewer than 2^32 digits of their scalars"
            )
        needed = self.plan.table_bytes + self.plan.scratch_bytes
        device.require(needed, "a table of multiples of the bases, with what its use needs,")
        self.table = device.empty((self.plan.rows, *given.shape), np.uint64)
        if not len(given):
            return
        device.copy(given, self.table[0])
        for row in range(1, self.plan.rows):
            points.doubled(device, self.table[row - 1], self.plan.width * self.plan.sets, self.table[row])


def msm(bases: Bases, scalars: Array, indices: Array | None = None) -> Array:
    """sum of scalars[indices[i]] * bases[i], or of scalars[i] * bases[i], one XYZZ sum where the bases are.

    ``scalars`` is uint64[n, 4], Montgomery, ``indices`` uint32[bases] of any order, not checked. The result
    is uint64[4, 6] or uint64[4, 2, 6]: x zz, y zzz, zz, zzz, with zz = 0 for infinity. ``ValueError`` if
    bases and scalars do not pair up.
    """
    layout = bases.plan
    if len(scalars if indices is None else indices) != layout.count:
        raise ValueError(
            f"{layout.count} bases and {len(scalars if indices is None else indices)} scalars do not pair up"
        )
    if not layout.count:
        return bases.device.zeros((4, *bases.shape[1:]), np.uint64)
    kernels = bucket_kernels(bases.device, bases.field)
    return _weighted_sum(kernels, _bucket_sums(kernels, bases, scalars, indices), layout)


def sources() -> list[modules.Source]:
    """All that multiplications load, in both groups."""
    both = ("Fp", "Fp2")
    return [_DIGITS, *map(_buckets, both), *map(_pairs, both)]


_DIGITS: Final[modules.Source] = ("digits",)


def _buckets(field: str) -> modules.Source:
    """Calls cost little there, and compile in a third of the time."""
    return "msm", f"ZEN_F={field}", "ZEN_CALL_PRODUCTS"


def _pairs(field: str) -> modules.Source:
    """Calls cost pairs 4 to 11 % in G1."""
    return ("pairs", f"ZEN_F={field}", *(() if field == "Fp" else ("ZEN_CALL_PRODUCTS",)))


def bucket_kernels(device: Device, field: str) -> modules.Module:
    """source/msm.cu for a coordinate field."""
    return modules.load(device, *_buckets(field))


def _bucket_sums(kernels: modules.Module, bases: Bases, scalars: Array, indices: Array | None) -> Array:
    device, layout, listed = bases.device, bases.plan, bases.table
    secret = device.empty(layout.digits + (layout.groups << layout.levels), np.uint32)
    try:
        order: Array | None = secret[layout.digits :]
        starts = _sort_digits(device, layout, scalars, indices, secret[: layout.digits], order)
        for shift in reversed(range(layout.levels)):
            listed, order = _halved(bases, listed, order, starts[layout.buckets :], shift), None
        sums = device.zeros((layout.buckets, 4, *bases.shape[1:]), np.uint64)
        workers = workers_for(layout.groups)
        carries, segments = empty_sums(device, workers, bases.table[0]), device.empty(workers, np.uint32)
        sizes = np.uint32(layout.buckets), np.uint32(workers)
        arguments = listed, order, starts, *sizes, sums, carries, segments
        kernels.launch("sum_buckets", -(-workers // _THREADS), _THREADS, *arguments)
    finally:
        device.fill(secret, 0)
    add_carries(kernels, "add_carries", carries, segments, sums, _LANES)
    return sums


def _sort_digits(
    device: Device, layout: Plan, scalars: Array, indices: Array | None, ranks: Array, digits: Array | None
) -> Array:
    """Write all ``digits``, sorted by bucket, and return the starts of each bucket's groups. ``ranks`` is
    scratch space with a place for each digit."""
    kernels, blocks = modules.load(device, *_DIGITS), -(-layout.count // _DIGIT_THREADS)
    sizes = map(np.int32, (layout.width, layout.windows, layout.sets))
    cut = scalars, indices, np.int64(layout.count), *sizes
    counts, groups = device.zeros(layout.buckets, np.uint32), device.empty(layout.buckets, np.uint32)
    kernels.launch("count_digits", blocks, _DIGIT_THREADS, *cut, counts, ranks)
    every, levels = (-(-layout.buckets // _DIGIT_THREADS), _DIGIT_THREADS), np.int32(layout.levels)
    kernels.launch("count_groups", *every, counts, np.int64(layout.buckets), levels, groups)
    starts = starts_of(device, groups)
    some = -(-layout.buckets // -(-4 * layout.digits // _PLACED_BYTES))
    for first in range(0, layout.buckets, some):
        part = np.uint32(first), np.uint32(some)
        kernels.launch("place_digits", blocks, _DIGIT_THREADS, *cut, *part, starts, levels, ranks, digits)
    kernels.launch("fill_groups", *every, counts, np.int64(layout.buckets), starts, levels, digits)
    return starts


def _halved(bases: Bases, listed: Array, digits: Array | None, groups: Array, shift: int) -> Array:
    """Sums of pairs among the points that ``digits`` name, or else among ``listed``.

    The last list has points one after the other; before, their 16 bytes lie apart: uint64[words / 2, n, 2].
    """
    kernels = modules.load(bases.device, *_pairs(bases.field))
    count, quads = bases.plan.groups << shift, bases.plan.point_bytes // 16
    halves = bases.device.empty((quads, count, 2) if shift else (count, *bases.shape), np.uint64)
    strides = (1, count) if shift else (quads, 1)
    grid = min(_PAIR_BLOCKS[bases.field], -(-count // _THREADS))
    arguments = groups, np.int32(shift), halves, *map(np.int64, strides)
    if digits is None:
        kernels.launch("add_point_pairs", grid, _THREADS, listed, np.int64(listed.shape[1]), *arguments)
    else:
        kernels.launch("add_digit_pairs", grid, _THREADS, listed, digits, *arguments)
    return halves


def _weighted_sum(kernels: modules.Module, sums: Array, layout: Plan) -> Array:
    half = layout.buckets // layout.sets // 2
    for rows in range(1, layout.width):
        count = layout.sets * (rows + 1) * half
        halves = kernels.device.empty((count, *sums.shape[1:]), np.uint64)
        kernel, lanes = ("halve_many", 1) if count >= WORKERS else ("halve_few", _LANES)
        sizes = np.int64(layout.sets), np.int64(rows), np.int64(half)
        kernels.launch(kernel, -(-count * lanes // _THREADS), _THREADS, sums, *sizes, halves)
        sums, half = halves, half // 2
    count = layout.sets * layout.width
    threads = min(_THREADS, -(-count * _LANES // 2 // 32) * 32)
    kernels.launch("combine", 1, threads, sums, np.int32(count))
    return sums[0]
