"""A softmax's parts and its shares, between lines: on many rows of intervals, single numbers among them, and
as far as 88."""

from __future__ import annotations

import numpy as np
import pytest

from tests.bounds.test_lines import intervals
from zenserve import bounds
from zenserve.bounds import Ball, Bounds
from zenserve.bounds.arrays import Interval
from zenserve.bounds.convex import Exp
from zenserve.bounds.softmax import Exponential, Shares
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.operators.softmax import Softmax
from zenserve.circuits.quantisation.quantiser import quantise

LENGTH = 5
MANY = pytest.param(200_000, marks=pytest.mark.large)
"""Rows of five: a million intervals."""


def rows(rng: np.random.Generator, count: int) -> tuple[Interval, FloatArray]:
    """[count, 5], and what of each is kept: the first always is."""
    low, high = (each.reshape(count, LENGTH) for each in intervals(rng, count * LENGTH))
    kept = (rng.uniform(size=low.shape) < 0.8).astype(np.float64)
    kept[:, 0] = 1
    return Interval(low, high), kept


def points(x: Interval, count: int) -> list[FloatArray]:
    return [np.clip(x.low + t * (x.high - x.low), *x) for t in np.linspace(0, 1, count)]


@pytest.mark.parametrize("count", [300, MANY])
@pytest.mark.parametrize("step", [1.0, 0.03])
def test_exponentials(count: int, step: float) -> None:
    """Of what is left after the largest end of a row's entries."""
    x, kept = rows(np.random.default_rng(10), count)
    function = Exponential(step, kept)
    lines, band, image = function.lines(x), function.band(x), function.image(x)
    largest = np.where(kept > 0, x.high, -np.inf).max(axis=-1, keepdims=True)
    assert not image.high[kept == 0].any()
    for at in points(x, 9):
        less = step * (at - largest)
        value = Exp().image(Interval(less - 2.0**-51 * abs(less), less + 2.0**-51 * abs(less)))
        low, high = value.low * kept, value.high * kept
        assert ((image.low <= high) & (low <= image.high)).all()
        for slope, below, over in (
            (lines.low_slope, lines.low_offset, None),
            (lines.high_slope, None, lines.high_offset),
            band,
        ):
            size = 2.0**-50 * (abs(slope * at) + high)
            if below is not None:
                assert (slope * at + below <= high + size + 2.0**-50 * abs(below)).all()
            if over is not None:
                assert (slope * at + over >= low - size - 2.0**-50 * abs(over)).all()


@pytest.mark.parametrize("count", [300, pytest.param(250_000, marks=pytest.mark.large)])
@pytest.mark.parametrize(
    ("ratio", "slack", "most"), [(255.0, 0.5, 255.0), (255.0, 3.7, 128.0), (15.0, 0.51, 7.0), (0.4, 0.6, 255)]
)
def test_integers_of_shares(count: int, ratio: float, slack: float, most: float) -> None:
    """Every integer that a share may have become; of the four together a million intervals."""
    rng = np.random.default_rng(11)
    low = np.abs(rng.choice([1e-9, 1e-2, 1.0], count) * rng.uniform(size=count))
    x = Interval(low, np.minimum(1, low + rng.choice([0, 0, 1e-9, 0.01, 1], count) * rng.uniform(size=count)))
    function = Shares(ratio, slack, most)
    lines, band, image = function.lines(x), function.band(x), function.image(x)
    for at in points(x, 9):
        least, largest = np.ceil(ratio * at - slack), np.floor(ratio * at + slack)
        for value in (np.clip(least, 0, most), np.clip(largest, 0, most)):
            size = 2.0**-50 * (ratio + slack + most)
            assert (lines.low_slope * at + lines.low_offset <= value + size).all()
            assert (lines.high_slope * at + lines.high_offset >= value - size).all()
            assert (band.slope * at + band.low <= value + size).all()
            assert (band.slope * at + band.high >= value - size).all()
            assert ((image.low <= value) & (value <= image.high)).all()


@pytest.mark.parametrize("count", [60, MANY])
@pytest.mark.parametrize("reach", [4.0, 88.0])
@pytest.mark.parametrize("whole", [False, True])
def test_shares(count: int, reach: float, *, whole: bool) -> None:
    """Of floats, and of integers as they are executed: in their intervals, and above the lines that go back
    from each share and from its opposite, by all methods."""
    rng, kept = np.random.default_rng(12), np.array([[1, 1, 0, 1, 1]])
    graph = Graph.of("x", (1, 1, LENGTH), (Softmax("shares", ("x",), kept),), "shares")
    qgraph = quantise(graph, rng.uniform(-reach, reach, (64, 1, 1, LENGTH)))
    kind, domain = qgraph.input.type, qgraph.input.type.centred if whole else (-reach, reach)
    network, out = bounds.read(qgraph if whole else graph), np.concatenate([np.eye(LENGTH), -np.eye(LENGTH)])
    for start in range(0, count, 10_000):
        region = boxes(rng, min(count - start, 10_000), domain, whole=whole)
        lines = np.broadcast_to(out, (region.count, *out.shape))
        # Where a sum of exponentials may be nothing there are no lines, and so no numbers.
        with np.errstate(over="ignore", invalid="ignore"):
            found = {method: Bounds(network, region, method) for method in bounds.METHODS}
            least = {method: each.least(lines) for method, each in found.items()}
        for _ in range(20):
            x = region.drawn(rng)
            made = qgraph.run(x.astype(np.int64) + kind.zero_point) if whole else graph.run(x)
            values = made.reshape(-1, LENGTH)
            sides = np.concatenate([values, -values], axis=1)
            for method, each in found.items():
                low, high = (end.reshape(-1, LENGTH) for end in each.intervals[network.output].known)
                assert ((low <= values + 1e-15) & (values - 1e-15 <= high)).all(), method
                assert (least[method] <= sides + 1e-12).all(), method


def boxes(rng: np.random.Generator, count: int, domain: tuple[float, float], *, whole: bool) -> Ball:
    """Each entry with its own radius."""
    least, most = domain
    low, high = (
        (most - least) * each.reshape(count, 1, 1, LENGTH) / 176 + (most + least) / 2
        for each in intervals(rng, count * LENGTH)
    )
    centre, radius = (low + high) / 2, (high - low) / 2
    if whole:
        centre, radius = np.clip(np.rint(centre), *domain), np.rint(radius)
    return Ball(centre, radius, domain=domain, whole=whole)
