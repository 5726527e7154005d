"""Certificates within l2 balls: norms that are no smaller than they are, and further than boxes reach."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

from examples.robustness.network import calibration, held_out, network
from tests.circuits import support
from tests.circuits.support import violation
from tests.circuits.test_certificates import below, certified, leads, small
from tests.circuits.test_robustness import insisting, prove_and_lie
from tests.refusals import refuses
from zenserve import bounds
from zenserve.bounds import Ball
from zenserve.circuits import Robustness, compile_accuracy, compile_robustness, quantise
from zenserve.circuits.certificates.draft import Draft
from zenserve.circuits.certificates.norms import Rooting, roots
from zenserve.circuits.certificates.parameters import Parameters
from zenserve.circuits.schemes.audit import recompile
from zenserve.relations.bounds import Bound
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Parameter
from zenserve.verifier.schemes import Privacy, furthest


def test_roots_are_the_least_that_are_enough() -> None:
    rng = np.random.default_rng(0)
    near = rng.integers(0, 1 << 30, 2000)
    squares = np.concatenate([np.arange(3000), near**2, near**2 + 1, np.maximum(near**2, 1) - 1])
    found = roots(squares)
    assert (found**2 >= squares).all()
    assert ((found == 0) | ((found - 1) ** 2 < squares)).all()
    value = rng.integers(-9, 9, (2, 5, 3))
    assert Rooting((2, 5, 3), 4).choose(value).tolist() == roots(4 * (value**2).sum(axis=1)).ravel().tolist()


@pytest.mark.parametrize(("bits", "entries"), [(1, 1), (8, 784), (4, 2), (5, 3), (3, 17)])
def test_no_input_lies_further_away(bits: int, entries: int) -> None:
    top = (1 << bits) - 1
    assert furthest("inf", bits, entries) == top
    assert entries * top**2 <= furthest("2", bits, entries) ** 2 <= 4 * entries * (top + 1) ** 2


@cache
def shared() -> tuple[Robustness, IntArray, int]:
    return certified("repeated", "private", norm="2")


NORMS = {"ball/norm": "ball/norm/enough", "dense1/weight/norms": "dense1/weight/norms/enough"}


@pytest.mark.parametrize("name", NORMS)
def test_no_smaller_norm_is_taken(name: str) -> None:
    """All that follows is computed from the lie."""
    circuit, q, radius = shared()
    honest = circuit.assign(q, radius)[circuit.layout[name].ravel()]
    for place in range(honest.size):
        lie = honest.copy()
        for smaller, why in ((honest[place] - 1, NORMS[name]), (-honest[place], ""), (1 << 40, "")):
            lie[place] = smaller
            found = violation(circuit, insisting(circuit, q, radius, {name: lie}))
            assert found is not None
            assert why in found
        # A larger one is valid, whoever wants it.
        lie[place] = honest[place] + 1
        assert violation(circuit, insisting(circuit, q, radius, {name: lie})) is None


def test_whoever_is_certified_has_a_witness() -> None:
    """Ends of sums may be halves: lines hold between them, rounded outward."""
    for seed in range(12):
        circuit = compile_robustness(small("joined", seed), norm="2")
        for radius in (1, 2):
            q = np.random.default_rng(seed).integers(0, 32, 3)
            if (circuit.margins(q, radius) > 0).all():
                assert violation(circuit, circuit.assign(q, radius)) is None


def test_norms_of_other_weights_are_refused() -> None:
    circuit, q, radius = shared()
    for name in ("dense1/weight/columns/squares", "ball/squares/product", "ball/away/product"):
        honest = circuit.assign(q, radius)[circuit.layout[name].ravel()]
        for step in (1, -1):
            lie = honest.copy()
            lie[0] += step
            assert violation(circuit, insisting(circuit, q, radius, {name: lie})) is not None, name


def test_another_radius_is_refused() -> None:
    circuit, q, radius = shared()
    z = circuit.assign(q, radius)
    for other in (radius + 1, radius - 1, -1, 1 << 20):
        lie = z.copy()
        lie[circuit.layout["radius"]] = other
        assert violation(circuit, lie) is not None
    with refuses("input.out_of_range", "radius"):
        circuit.witness(q, furthest("2", circuit.qgraph.input.type.bits, q.size) + 1)


@pytest.mark.parametrize("kind", ["repeated", "grouped", "surrounded"])
def test_whatever_norms_are_chosen_the_margins_hold(kind: str) -> None:
    """Those that are enough, and one less: where rows accept them no input has less than the margins."""
    circuit, rng = (
        compile_robustness(small(kind, 1), weight_privacy="private", norm="2"),
        np.random.default_rng(2),
    )
    graph, accepted, names = (
        circuit.qgraph,
        0,
        [name for name in circuit.layout if name.endswith(("/norm", "/norms"))],
    )
    assert len(names) == 2 - (kind == "surrounded")
    for _ in range(12):
        q, radius = rng.integers(0, graph.input.type.top + 1, graph.input.shape), int(rng.integers(0, 4))
        honest = circuit.assign(q, radius)
        own = {name: honest[circuit.layout[name].ravel()] for name in names}
        lies = {
            name: value + rng.choice([0, 1, 9, -1], value.size, p=[0.5, 0.3, 0.15, 0.05])
            for name, value in own.items()
        }
        z = insisting(circuit, q, radius, lies)
        if violation(circuit, z) is None:
            accepted += 1
            assert below(circuit, z, leads(graph, q, radius, "2"))
    assert accepted > 1


def test_balls_are_certified_that_boxes_are_not() -> None:
    """Of the network of examples/robustness, as far as bounds in floats by the same norms reach."""
    graph, radius = quantise(network(), calibration()), 60
    q = np.stack([graph.quantise_input(image) for image in held_out()[0][:8]])
    boxes, balls = compile_robustness(graph), compile_robustness(graph, norm="2")
    found = [bool((balls.margins(each, radius) > 0).all()) for each in q]
    assert not any((boxes.margins(each, radius) > 0).all() for each in q)
    kind, labels = graph.input.type, graph.run(q).argmax(axis=1)
    centre = (q - kind.zero_point).astype(np.float64)
    around = Ball(centre, np.full(len(q), float(radius)), "2", whole=True)
    crown = bounds.certify(bounds.read(graph), around, labels, "crown").robust
    assert sum(found) >= sum(crown.tolist()) - 1 > 5


def test_a_certificate_is_proven_and_no_other_claim() -> None:
    prove_and_lie(*certified("joined", norm="2"))


def test_the_description_has_the_norm() -> None:
    described = json.loads(json.dumps(shared()[0].describe()))
    assert described["norm"] == "2"
    assert "squared and added up, are no more than the radius squared" in described["meaning"]


@pytest.mark.parametrize("weights", ["public", "committed"])
def test_samples_are_counted_by_balls(weights: Privacy) -> None:
    graph, radius = small("repeated", 1), 4
    circuit = compile_accuracy(graph, batch=4, weight_privacy=weights, measure="certified", norm="2")
    single = compile_robustness(graph, weight_privacy=weights, norm="2")
    samples = np.random.default_rng(3).integers(0, graph.input.type.top + 1, (4, *graph.input.shape))
    labels = graph.run(samples).reshape(4, -1).argmax(axis=1)
    given = {"samples": samples, "labels": labels, "radius": np.array([radius])}
    z = support.insisting(circuit, given, {})
    assert violation(circuit, z) is None
    assert circuit.constraint_system.constraints == circuit.plan.rows
    margins = [single.margins(each, radius).tolist() for each in samples]
    assert z[circuit.layout["output/margins"]].reshape(4, -1).tolist() == margins
    counted = sum(min(each) > 0 for each in margins)
    assert circuit.counts(samples, labels, radius=radius).tolist() == [counted]
    assert 0 < counted < 4
    described = circuit.describe()
    assert (described["norm"], "squared and added up" in described["meaning"]) == ("2", True)
    for each in (circuit, single):
        assert recompile(graph, each.describe()).describe() == each.describe()


@pytest.mark.parametrize("privacy", ["public", "private"])
def test_norms_that_wrap_are_refused(privacy: Privacy) -> None:
    """Squares of few entries that are there very often: 2^64 of them are none in 64 bits."""
    weight = Parameter("w", (1, 4), Bound.of(0, 1 << 20), values=np.full((1, 4), 1 << 20), privacy=privacy)
    with refuses("statement.could_wrap"):
        Parameters(Draft(1)).doubled_norms(weight, 1 << 20)
