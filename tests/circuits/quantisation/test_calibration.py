"""Which interval each method takes, and what it looks at."""

from __future__ import annotations

import numpy as np
import pytest

from zenserve.circuits import quantise
from zenserve.circuits.graphs.calibration import Interval, Seen, interval
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.quantisation import METHODS, Method


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_the_door_takes_what_was_calibrated_with(method: Method, bits: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3, 8, 8))
    graph = tensor("image", 3, 8, 8).flatten().dense(rng.normal(size=(4, 192))).graph()
    qgraph = quantise(graph, x, bits, method=method)
    for image in x:
        qgraph.quantise_input(image)


@pytest.mark.parametrize("method", ["percentile", "mse"])
@pytest.mark.parametrize("feature", [0, 3, 511])
def test_every_feature_of_a_large_tensor_is_looked_at(method: Method, feature: int) -> None:
    values = np.random.default_rng(1).normal(size=(1024, 512))
    values[:, feature] *= 50
    found = interval(Seen.of(values), 8, method)
    assert found.low < -60
    assert found.high > 60


def test_percentile_leaves_out_single_outliers_and_no_more() -> None:
    values = np.linspace(-1.0, 3.0, 1 << 17)
    values[1000], values[2000] = -100.0, 300.0
    assert interval(Seen.of(values), 8, "min-max") == Interval(-100.0, 300.0)
    found = interval(Seen.of(values), 8, "percentile")
    np.testing.assert_allclose(found, (-1.0, 3.0), atol=0.002)


def test_mse_saturates_more_with_fewer_bits() -> None:
    values = np.random.default_rng(2).normal(size=1 << 15)
    widths = [
        found.high - found.low for found in (interval(Seen.of(values), bits, "mse") for bits in range(2, 9))
    ]
    assert widths == sorted(widths)
    assert widths[0] < 0.6 * widths[-1]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("values", [np.zeros(4), np.full(4, 2.0), np.full(4, -2.0)])
def test_zero_is_always_inside(method: Method, values: np.ndarray) -> None:
    found = interval(Seen.of(values), 8, method)
    assert found.low <= 0 <= found.high
    assert found == Interval(min(0.0, values[0]), max(0.0, values[0]))
