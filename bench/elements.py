"""Elements of Fr to measure with. Not for secrets: reproducible."""

from __future__ import annotations

import numpy as np

from zenserve.kernels import FrArray, fr


def random_elements(count: int, seed: int = 1) -> FrArray:
    """uint64[count, 4], Montgomery, of almost the whole field."""
    words = np.random.default_rng(seed).integers(0, 2**64, (count, 4), dtype=np.uint64)
    words[:, 3] >>= np.uint64(2)
    return words


def network_elements(count: int) -> FrArray:
    """As a network's witness: 60 % bytes, 20 % bits and 20 % of the whole field, all mixed up."""
    draw = np.random.default_rng(2)
    kind = draw.integers(0, 5, count)
    elements = fr.from_int64(draw.integers(0, np.where(kind == 0, 2, 256)))
    full = kind == 4
    elements[full] = random_elements(int(full.sum()), seed=3)
    return elements


def equal_elements(count: int) -> FrArray:
    """One element, again and again."""
    return np.repeat(random_elements(1), count, axis=0)
