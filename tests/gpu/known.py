"""Points of known logarithms, and what sums of them must be, by the CPU's kernels."""

from __future__ import annotations

import random
from functools import cache

import numpy as np

from tests.kernels.strategies import R
from zenserve import kernels
from zenserve.gpu.device import Device
from zenserve.kernels import Group, WordArray

device = Device()
"""The one that tests compute on."""

LOGARITHMS = [random.Random(1).randrange(R) for _ in range(600)]


@cache
def known_points(group: Group) -> WordArray:
    return group.fixed_base(group.generator, kernels.fr.from_ints(LOGARITHMS))


def multiples(group: Group, factors: list[int]) -> WordArray:
    """factor * generator, for each."""
    return group.fixed_base(group.generator, kernels.fr.from_ints([each % R for each in factors]))


def affine(group: Group, sums: WordArray) -> WordArray:
    """XYZZ sums uint64[n, 4, ...] as affine points."""
    field = kernels.fp if group is kernels.g1 else kernels.fp2
    inverses = field.inverse(np.ascontiguousarray(sums[:, 2:]).reshape(-1, *field.shape))
    coordinates = np.ascontiguousarray(sums[:, :2]).reshape(-1, *field.shape)
    return field.mul(coordinates, inverses).reshape(-1, *group.shape)
