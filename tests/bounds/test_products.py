"""Planes below and above products of what lies in intervals."""

from __future__ import annotations

import numpy as np
import pytest

from zenserve.bounds.arrays import Interval, Sums
from zenserve.bounds.product import Product
from zenserve.circuits.graphs.types import FloatArray


@pytest.mark.parametrize("matrices", [False, True])
@pytest.mark.parametrize("factor", [1.0, -0.5])
def test_planes(factor: float, *, matrices: bool) -> None:
    """No product is below what lines become, which touch it at a corner."""
    rng = np.random.default_rng(1)
    shapes = ((3, 4, 5), (3, 5, 2)) if matrices else ((3, 4, 2), (3, 4, 2))
    ends = [np.sort(rng.normal(size=(2, *shape)), axis=0) for shape in shapes]
    left, right = (Interval(*each) for each in ends)
    operation = Product("made", ("x", "y"), (4, 2), False, matrices, factor, shapes[0][-1] if matrices else 1)
    relaxed, lines = operation.relaxed(left, right), rng.normal(size=(3, 6, 4, 2))
    added = Sums(lines)
    of_left, of_right = relaxed.back(lines, added)

    def gap(x: FloatArray, y: FloatArray) -> FloatArray:
        """[3, 6]: of the products less the planes."""
        made, axes = operation.value(x, y)[:, np.newaxis], (2, 3)
        planes = (of_left * x[:, np.newaxis]).sum(axes) + (of_right * y[:, np.newaxis]).sum(axes)
        left_over: FloatArray = (lines * made).sum(axes) - planes - added.total
        return left_over

    for _ in range(2000):
        share, other = (rng.uniform(size=shape).round(int(rng.integers(2))) for shape in shapes)
        x, y = left.low + share * (left.high - left.low), right.low + other * (right.high - right.low)
        assert (gap(x, y) >= -1e-12).all()
    # Both planes are the product where y is least.
    assert np.abs(gap(left.low, right.low)).max() < 1e-12


@pytest.mark.large
def test_a_million_products() -> None:
    """Entry by entry: a plane below each and one above."""
    rng, count = np.random.default_rng(2), 50_000
    operation = Product("made", ("x", "y"), (1,), False, False, 1.0, 1)
    for _ in range(20):
        size = rng.choice([1e-6, 1.0, 88.0], (2, 1, count, 1))
        ends = np.sort(size * rng.uniform(-1, 1, (2, 2, count, 1)), axis=1)
        left, right = (Interval(*each) for each in ends)
        lines = np.broadcast_to(np.array([1.0, -1.0])[:, np.newaxis], (count, 2, 1))
        added = Sums(lines)
        of_left, of_right = operation.relaxed(left, right).back(lines, added)
        for shares in (*np.ndindex(2, 2), rng.uniform(size=2)):
            x, y = (low + share * (high - low) for share, (low, high) in zip(shares, ends, strict=True))
            made = np.concatenate([x * y, -x * y], axis=1)
            planes = (of_left[..., 0] * x) + (of_right[..., 0] * y) + added.total
            assert (made >= planes - 1e-13 * (1 + np.abs(ends).max(axis=(0, 1)) ** 2)).all()
