"""The network that was trained to be certified: its integers, on images that no training saw."""

from __future__ import annotations

import numpy as np
import pytest

import bounds
from bounds import attack
from circuits.quantisation.quantiser import quantise
from circuits.quantised.graph import QuantGraph
from examples.robustness.network import calibration, held_out, network
from examples.zoo.data import FOLDER, mnist

STEPS = 8.0


@pytest.fixture(scope="module")
def qgraph() -> QuantGraph:
    return quantise(network(), calibration())


def test_lines_certify_what_intervals_do_not(qgraph: QuantGraph) -> None:
    """Of integers, within 8 of 255 steps; and no attack changes what is certified, by the executor."""
    images, labels = held_out()
    kind = qgraph.input.type
    assert (kind.scale, kind.zero_point, kind.bits) == (1 / 255, 0, 8)
    x = np.stack([qgraph.quantise_input(image) for image in images]).astype(np.float64)
    integers = bounds.read(qgraph)
    region = bounds.Ball(x, np.full(len(x), STEPS), domain=kind.centred, whole=True)
    certified = bounds.certify(integers, region, labels).robust
    assert certified.mean() >= 0.95
    assert bounds.certify(integers, region, labels, "ibp").robust.mean() <= 0.5
    assert (bounds.certify(integers, region, labels, "crown-ibp").robust == certified).all()
    found = attack.projected(integers, region, labels, np.random.default_rng(1))
    assert (np.abs(found - x) <= STEPS).all()
    answers = qgraph.run(found.astype(np.int64)).argmax(axis=1)
    assert (answers[certified] == labels[certified]).all()


@pytest.mark.large
@pytest.mark.skipif(not (FOLDER / "mnist_test.npz").is_file(), reason="MNIST is not there")
def test_certified_accuracy_on_all_images(qgraph: QuantGraph) -> None:
    """At least 85 % of the test set; 100 attacked inputs of each sample, a million in all."""
    images, labels = mnist(FOLDER).held_out
    integers, kind = bounds.read(qgraph), qgraph.input.type
    x = images.astype(np.float64)
    region = bounds.Ball(x, np.full(len(x), STEPS), domain=kind.centred, whole=True)
    result = bounds.certify(integers, region, labels)
    assert result.robust.mean() >= 0.92
    rng = np.random.default_rng(2)
    for start in range(0, len(x), 500):
        part = slice(start, start + 500)
        some, margins = region.part(part), result.least[part]
        tried = [some.drawn(rng) for _ in range(80)]
        tried += [attack.projected(integers, some, labels[part], rng, steps=10) for _ in range(2)]
        for each in tried:
            assert (attack.margins(integers, each, labels[part]) >= margins).all()
