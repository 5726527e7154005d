"""The networks that were trained to be certified: on images that no training saw."""

from __future__ import annotations

import numpy as np
import pytest

from examples.robustness.network import EPSILON, calibration, convolutional, held_out, network
from examples.zoo.data import FOLDER, cifar, mnist
from zenserve import bounds
from zenserve.bounds import attack
from zenserve.circuits import zoo
from zenserve.circuits.quantisation.quantiser import quantise
from zenserve.circuits.quantised.graph import QuantGraph

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


def test_convolutions_are_certified_on_digits() -> None:
    images, labels = held_out()
    images, labels = images[:40], labels[:40]
    floats = bounds.read(convolutional("mnist"))
    region = bounds.Ball(images, np.full(len(images), EPSILON), domain=(0, 1))
    certified = bounds.certify(floats, region, labels, "crown-ibp").robust
    assert certified.mean() >= 0.85
    found = attack.projected(floats, region, labels, np.random.default_rng(2))
    assert (attack.margins(floats, found, labels)[certified] > 0).all()


def test_convolutions_keep_labels_of_small_pictures() -> None:
    """Of its own labels: these images are of the training set."""
    floats, images = (
        bounds.read(convolutional("cifar")),
        zoo.calibration("lenet-small-cifar").astype(np.float64),
    )
    labels = floats.run(images).argmax(axis=1)
    region = bounds.Ball(images, np.full(len(images), 0.5 / 255), domain=(0, 1))
    certified = bounds.certify(floats, region, labels, "crown-ibp")
    assert certified.robust.mean() >= 0.5
    found = attack.projected(floats, region, labels, np.random.default_rng(3))
    assert (attack.margins(floats, found, labels) >= certified.least).all()


@pytest.mark.large
@pytest.mark.skipif(not (FOLDER / "cifar10_test_first1000.npz").is_file(), reason="CIFAR-10 is not there")
def test_convolutions_are_certified_on_pictures() -> None:
    """A third of them within 2/255."""
    pixels, labels = cifar(FOLDER).held_out
    floats, robust = bounds.read(convolutional("cifar")), list[bool]()
    for start in range(0, len(pixels), 50):
        part, own = pixels[start : start + 50] / 255, labels[start : start + 50].astype(np.int64)
        region = bounds.Ball(part, np.full(len(part), 2 / 255), domain=(0, 1))
        robust += bounds.certify(floats, region, own, "crown-ibp").robust.tolist()
    assert np.mean(robust) >= 0.32


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
