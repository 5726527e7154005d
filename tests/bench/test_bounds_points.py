"""Points below a bound are counted: of bounds that hold there are none."""

from __future__ import annotations

import numpy as np

from bench.bounds_points import Tried
from tests.bounds.networks import KINDS
from zenserve import bounds
from zenserve.bounds import Ball, Bounds


def test_a_bound_that_does_not_hold_is_noticed() -> None:
    rng = np.random.default_rng(3)
    graph = KINDS["dense"].make(rng)
    network, x = bounds.read(graph), rng.uniform(-1, 1, (3, *graph.input.shape))
    labels = network.run(x).argmax(axis=1)
    region = Ball(x, np.full(3, 0.05)).on(np)
    own = np.eye(network.run(x).shape[1])[labels]
    margins = Bounds(network, region, "crown").least(own[:, np.newaxis] - np.eye(own.shape[1]))
    bound = np.where(own > 0, np.inf, margins).min(axis=1)
    sound, wrong = Tried(), Tried()
    sound.add(network, region, labels, bound, rng)
    wrong.add(network, region, labels, bound + np.array([0.0, 5.0, 0.0]), rng)
    assert (sound.violations, sound.points) == (0, wrong.points)
    assert wrong.violations == wrong.points // 3
    assert wrong.row("wrong").more["regions"] == 3
