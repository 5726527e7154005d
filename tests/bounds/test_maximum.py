"""A window's largest entry, between lines of one of them: on many intervals, single numbers and ties among
them, and as far as 88."""

from __future__ import annotations

import numpy as np
import pytest

from tests.bounds.test_lines import intervals
from zenserve.bounds.arrays import Interval, Sums
from zenserve.bounds.maximum import Maximum
from zenserve.bounds.network import Forms
from zenserve.circuits.graphs.types import FloatArray

WINDOW = 4


def windows(rng: np.random.Generator, count: int) -> Interval:
    """[count, 1, 4]. Some entries are others once more."""
    made = np.stack(intervals(rng, count * WINDOW)).reshape(2, count, 1, WINDOW)
    again = np.where(rng.uniform(size=made.shape[1:]) < 0.2, 0, np.arange(WINDOW))
    low, high = (np.take_along_axis(each, again, axis=-1) for each in made)
    return Interval(low, high)


def holds(x: Interval, rng: np.random.Generator, points: int) -> None:
    """Its image, lines that come back through it from below and from above, and forms of boxes."""
    operation = Maximum("made", ("x",), (1,), False)
    image, relaxed = operation.image(x), operation.relaxed(x)
    lines = np.broadcast_to(np.array([1.0, -1.0])[:, np.newaxis], (len(x.low), 2, 1))
    added = Sums(lines)
    (back,) = relaxed.back(lines, added)
    forms = relaxed.forward([of_boxes(x)])
    size = 2.0**-50 * x.magnitude.max(axis=-1)
    for share in shares(rng, x.low.shape, points):
        at = np.clip(x.low + share * (x.high - x.low), x.low, x.high)
        made = operation.value(at)
        assert ((image.low <= made) & (made <= image.high)).all()
        through = (back[:, :, 0] * at).sum(axis=-1) + added.total
        assert (through <= np.concatenate([made, -made], axis=1) + size).all()
        middle = (forms.slope * (2 * share - 1)).sum(axis=-1) + forms.offset
        assert (abs(made - middle) <= forms.rest + 2 * size).all()
        assert (abs(forms.slope).sum(axis=-1) + abs(forms.offset) + forms.rest <= 4 * forms.size).all()


def of_boxes(x: Interval) -> Forms:
    """Each entry has its own ``delta``."""
    nothing = np.zeros_like(x.low)
    slope = x.radius[..., np.newaxis] * np.eye(WINDOW)
    return Forms(slope, x.centre, nothing, abs(x.centre) + x.radius)


def shares(rng: np.random.Generator, shape: tuple[int, ...], points: int) -> list[FloatArray]:
    """Of the way from the least to the most: half of the points are corners."""
    drawn = [rng.uniform(size=shape) for _ in range(points)]
    return [np.rint(each) if at % 2 else each for at, each in enumerate(drawn)]


@pytest.mark.parametrize("count", [300, pytest.param(250_000, marks=pytest.mark.large)])
def test_anywhere(count: int) -> None:
    """Of four to a window a million intervals."""
    rng = np.random.default_rng(9)
    for start in range(0, count, 25_000):
        holds(windows(rng, min(count - start, 25_000)), rng, points=30)


def test_an_entry_that_is_always_the_largest_has_itself() -> None:
    operation = Maximum("made", ("x",), (1,), False)
    x = Interval(np.array([[[0.0, 3, -1]]]), np.array([[[3.0, 4, 2]]]))
    lines = np.array([[[2.0], [-5.0]]])
    added = Sums(lines)
    (back,) = operation.relaxed(x).back(lines, added)
    np.testing.assert_array_equal(back, [[[[0, 2, 0]], [[0, -5, 0]]]])
    assert not added.total.any()
