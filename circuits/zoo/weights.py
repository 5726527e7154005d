"""Numbers that are the same on every machine, and weights made of them."""

from __future__ import annotations

import hashlib
import math

import numpy as np

from zenserve.circuits.graphs.types import FloatArray, Shape
from zenserve.circuits.zoo.networks import Weights


def initial(name: str) -> Weights:
    """Untrained weights: uniform with the variance of He et al. (2015), 2 / fan-in; the same everywhere."""

    def weights(layer: str, shape: Shape) -> FloatArray:
        reach = math.sqrt(6 / math.prod(shape[1:]))
        return reach * (2 * uniform(f"{name}/{layer}", shape) - 1)

    return weights


def uniform(seed: str, shape: Shape) -> FloatArray:
    """In [0, 1), from the bits of Philox, whose stream is part of numpy's promise."""
    key = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:16], "little")
    raw = np.random.Philox(key=key).random_raw(math.prod(shape))
    values: FloatArray = (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return values.reshape(shape)
