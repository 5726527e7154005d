"""Sums of segments of all lengths, by any number of workers: with points, in one thread and in four."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from tests.gpu.known import LOGARITHMS, device, known_points, multiples
from zenserve import kernels
from zenserve.gpu import points
from zenserve.gpu.msm import bucket_kernels
from zenserve.gpu.segmented import add_carries
from zenserve.kernels import Group

LENGTHS = {
    "nothing at all": [0, 0, 0],
    "one entry": [1],
    "one segment": [300],
    "few among many empty ones": [0] * 50 + [9] + [0] * 200 + [120] + [0] * 70,
    "single entries": [1] * 200,
    "as long as a share": [8] * 40,
    "ends on the borders of blocks of carries": [64, 0, 128, 1, 63, 8, 56],
    "a long one between short ones": [1, 2, 3, 500, 1, 0, 2],
    "random": [random.Random(7).choice([0, 1, 2, 5, 30, 90]) for _ in range(60)],
}


@pytest.mark.parametrize("group", [kernels.g1, kernels.g2], ids=["g1", "g2"])
@pytest.mark.parametrize("workers", [1, 5, 64, 300])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_sums_of_segments(group: Group, lengths: list[int], workers: int) -> None:
    """Entries are points of a table, some with their sign turned: what buckets add up."""
    rng = random.Random(len(lengths))
    chosen = [rng.randrange(len(LOGARITHMS)) for _ in range(sum(lengths))]
    turned = [rng.randrange(2) for _ in chosen]
    starts = np.cumsum([0, *lengths]).astype(np.uint32)
    factors = [(1 - 2 * sign) * LOGARITHMS[i] for i, sign in zip(chosen, turned, strict=True)]
    expected = [sum(factors[begin:end]) for begin, end in pairwise(starts)]

    table = device.upload(known_points(group))
    entries = np.array([i | sign << 31 for i, sign in zip(chosen, turned, strict=True)], dtype=np.uint32)
    sums = device.zeros((len(lengths), 4, *group.shape[1:]), np.uint64)
    carries, segments = points.empty_sums(device, workers, table), device.empty(workers, np.uint32)
    module = bucket_kernels(device, points.field_of(group.shape, "table"))
    counts = np.uint32(len(lengths)), np.uint32(workers)
    arguments = table, device.upload(entries), device.upload(starts), *counts, sums, carries, segments
    module.launch("sum_buckets", -(-workers // 128), 128, *arguments)
    add_carries(module, "add_carries", carries, segments, sums, 4)

    out = device.empty((len(lengths), *group.shape), np.uint64)
    points.to_affine(device, sums, out)
    np.testing.assert_array_equal(device.download(out), multiples(group, expected))
