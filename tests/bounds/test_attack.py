"""The attack attacks: what holds against it would be no evidence otherwise."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from examples.robustness.network import calibration, held_out
from examples.robustness.network import network as robust
from tests.bounds.networks import KINDS
from zenserve import bounds
from zenserve.bounds import Ball, Norm, attack
from zenserve.circuits import zoo
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.quantisation.quantiser import quantise


@pytest.mark.parametrize("norm", ["inf", "2", "1"])
def test_of_a_linear_network_the_lowest_point_is_found(norm: Norm) -> None:
    """Of two classes the margin is a line, which the dual norm is lowest by: in a corner, in one entry, or
    along the slope."""
    rng = np.random.default_rng(1)
    weight, bias = rng.standard_normal((2, 9)), rng.standard_normal(2)
    network = bounds.read(tensor("x", 9).dense(weight, bias).graph())
    x, radii = rng.uniform(-1, 1, (5, 9)), np.array([0.0, 0.1, 0.5, 1.0, 4.0])
    labels = network.run(x).argmax(axis=1)
    found = attack.projected(network, Ball(x, radii, norm), labels, rng, steps=3)
    slope = weight[labels] - weight[1 - labels]
    dual = {"inf": 1, "2": 2, "1": np.inf}[norm]
    lowest = attack.margins(network, x, labels) - radii * np.linalg.norm(slope, dual, axis=1)
    np.testing.assert_allclose(attack.margins(network, found, labels), lowest, rtol=1e-9, atol=1e-9)


def test_of_a_small_network_it_comes_near_the_worst_corner() -> None:
    """Of all 4,096."""
    rng = np.random.default_rng(2)
    graph = KINDS["dense"].make(rng)
    network = bounds.read(graph)
    x = rng.uniform(-1, 1, (20, 12))
    labels = network.run(x).argmax(axis=1)
    found = attack.projected(network, Ball(x, np.full(20, 0.1)), labels, rng)
    own, reached = (attack.margins(network, each, labels) for each in (x, found))
    corners = np.array([*itertools.product((-0.1, 0.1), repeat=12)])
    worst = [
        attack.margins(network, each + corners, label.repeat(len(corners))).min()
        for each, label in zip(x, labels, strict=True)
    ]
    lost = (own - reached) / (own - worst)
    assert np.median(lost) > 0.97
    assert (lost > 0.9).mean() > 0.8


def integers(graph: Graph) -> tuple[bounds.Network, Ball]:
    """Of a network of MNIST, and 40 images as they are."""
    qgraph = quantise(graph, calibration())
    kind = qgraph.input.type
    q = np.stack([qgraph.quantise_input(each) for each in held_out()[0][:40]])
    x = (q - kind.zero_point).astype(np.float64)
    return bounds.read(qgraph), Ball(x, np.zeros(len(x)), domain=kind.centred, whole=True)


def test_of_a_natural_network_it_gets_below_points_that_are_drawn() -> None:
    """Of one trained for accuracy alone: it changes labels that no draw of a hundred changes."""
    network, images = integers(zoo.network("shallownet-mnist"))
    region, labels = replace(images, radius=np.full(40, 12.0)), network.run(images.centre).argmax(axis=1)
    rng = np.random.default_rng(3)
    found = attack.projected(network, region, labels, rng)
    assert (region.nearest(found) == found).all()
    own, reached = (attack.margins(network, each, labels) for each in (images.centre, found))
    drawn = np.min([attack.margins(network, region.drawn(rng), labels) for _ in range(100)], axis=0)
    assert np.median((own - reached) / (own - drawn)) > 3
    assert ((reached < 0) & (drawn > 0)).sum() > 15
    assert ((network.run(found).argmax(axis=1) != labels) == (reached < 0)).all()


def test_labels_change_beyond_what_is_certified() -> None:
    """Of one trained for certificates: within 8 steps none that is certified, within 48 most of them."""
    network, images = integers(robust())
    labels, rng = network.run(images.centre).argmax(axis=1), np.random.default_rng(4)
    within, beyond = (replace(images, radius=np.full(40, steps)) for steps in (8.0, 48.0))
    certain = bounds.certify(network, within, labels).robust
    assert certain.mean() > 0.9
    near, far = (
        (network.run(attack.projected(network, region, labels, rng)).argmax(axis=1) != labels)[certain]
        for region in (within, beyond)
    )
    assert not near.any()
    assert far.mean() > 0.8


@pytest.mark.parametrize("norm", ["inf", "2", "1"])
@pytest.mark.parametrize("rows", [0, 1])
def test_integers_are_in_the_region(norm: Norm, rows: int) -> None:
    """As a whole, or each row by itself: also where the nearest integers are beyond its border."""
    rng = np.random.default_rng(5)
    centre = rng.integers(-8, 9, (300, 2, 3)).astype(np.float64)
    radii = rng.integers(0, 7, 300).astype(np.float64)
    region = Ball(centre, radii, norm, rows=rows, domain=(-8, 8), whole=True)
    order = {"inf": np.inf, "2": 2, "1": 1}[norm]
    for x in (region.drawn(rng), region.nearest(centre + rng.normal(size=centre.shape) * 5)):
        far = np.linalg.norm((x - centre).reshape(300, 2 if rows else 1, -1), order, axis=2)
        assert (far <= radii[:, np.newaxis]).all()
        assert (x == np.rint(x)).all()
        assert (abs(x) <= 8).all()
    assert (x != centre).any()
