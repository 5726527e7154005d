"""The camera's networks, as they are kept, and what its demonstration shows of images that are there."""

from __future__ import annotations

import numpy as np
import pytest

from circuits.operators.weighted import Parametric
from examples.camera import demo
from examples.camera.network import CLASSES, NETWORKS, network
from examples.zoo.data import Images


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_has_a_number_for_each_class(name: str) -> None:
    scores = network(name).run(np.full((1, 3, 32, 32), 0.5))
    assert scores.shape == (1, CLASSES)
    assert 0 < np.abs(scores).max() < 20


def test_each_is_smaller_than_the_one_before() -> None:
    sizes = [
        sum(node.weight.size for node in network(name).nodes if isinstance(node, Parametric))
        for name in NETWORKS
    ]
    assert sizes == sorted(sizes, reverse=True)


def test_what_is_shown_is_not_profiled() -> None:
    labels = np.arange(CLASSES).repeat(40)
    samples, shown = demo.split(Images(np.zeros((len(labels), 1), np.uint8), labels))
    assert np.bincount(labels[samples]).tolist() == [demo.PROFILED] * CLASSES
    assert not {*samples} & {*shown}
    first, second = np.split(labels[shown], 2)
    assert {demo.NAMES[label] for label in first} <= {*demo.SCENES[0]}
    assert {demo.NAMES[label] for label in second} <= {*demo.SCENES[1]}
