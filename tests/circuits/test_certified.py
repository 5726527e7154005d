"""Certified accuracy: what is counted is right and stays so, and nothing else can be counted."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from examples.robustness.network import calibration, held_out, network
from tests.circuits import test_certificates
from tests.circuits.support import insisting, random_network, refused, violation
from tests.circuits.test_robustness import KINDS, small
from tests.refusals import refuses
from zenserve.circuits import Accuracy, QuantGraph, compile_accuracy, compile_robustness, quantise
from zenserve.circuits.networks.language import tensor
from zenserve.relations.integers import IntArray
from zenserve.verifier.schemes import Privacy

BATCH, RADIUS = 4, 2
COUNT = 7


def batch_of(graph: QuantGraph, radius: int = RADIUS) -> tuple[IntArray, IntArray]:
    """A sample with a certificate, one without, one with another label, and a filling one."""
    robust, rng, top = compile_robustness(graph), np.random.default_rng(1), graph.input.type.top
    found: dict[bool, IntArray] = {}
    while len(found) < 2:
        q = rng.integers(0, top + 1, graph.input.shape)
        found.setdefault(bool((robust.margins(q, radius) > 0).all()), q)
    samples = np.stack([found[True], found[False], found[True], np.zeros_like(found[True])])
    labels = graph.run(samples).reshape(BATCH, -1).argmax(axis=1)
    labels[2] = (labels[2] + 1) % graph.classes
    labels[3] = graph.classes
    return samples, labels


def given(samples: IntArray, labels: IntArray, radius: int = RADIUS) -> dict[str, IntArray]:
    return {"samples": samples, "labels": labels, "radius": np.array([radius])}


@cache
def shared() -> tuple[Accuracy, IntArray, IntArray]:
    graph = random_network(0, (3, 4, 3), offset=0.4)
    circuit = compile_accuracy(graph, batch=BATCH, weight_privacy="private", measure="certified")
    return circuit, *batch_of(graph)


_LARGE = pytest.mark.large


@pytest.mark.parametrize(
    "weights", [pytest.param("public", marks=_LARGE), pytest.param("private", marks=_LARGE), "committed"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_samples_without_a_certificate_are_allowed_and_not_counted(kind: str, weights: Privacy) -> None:
    graph = small(0, kind)
    circuit = compile_accuracy(graph, batch=BATCH, weight_privacy=weights, measure="certified")
    samples, labels = batch_of(graph)
    z = insisting(circuit, given(samples, labels), {})
    assert violation(circuit, z) is None
    system = circuit.constraint_system
    assert system.constraints == circuit.plan.rows
    assert (
        z[circuit.layout["certified"]].tolist()
        == [1]
        == circuit.counts(samples, labels, radius=RADIUS).tolist()
    )
    assert z[1 : 1 + system.public].tolist() == circuit.public_inputs(labels, radius=RADIUS)
    assert circuit.values(labels, radius=RADIUS) == {"size": 3, "radius": RADIUS}


@pytest.mark.large
def test_what_is_counted_is_what_single_certificates_have() -> None:
    """On the network of examples/robustness, within 8 of 255 steps, with labels as they are."""
    graph = quantise(network(), calibration())
    images, labels = held_out()
    q = np.stack([graph.quantise_input(image) for image in images[:COUNT]])
    robust = compile_robustness(graph)
    right = graph.run(q).argmax(axis=1) == labels[:COUNT]
    single = [bool((robust.margins(each, 24) > 0).all()) for each in q] & right
    assert 0 < single.sum() < COUNT
    circuit = compile_accuracy(graph, batch=COUNT, measure="certified")
    assert circuit.counts(q, labels[:COUNT], radius=24).tolist() == [single.sum()]


def test_no_point_near_a_counted_sample_has_another_label() -> None:
    circuit, samples, labels = shared()
    graph, rng = circuit.qgraph, np.random.default_rng(0)
    for radius in (0, 1, 5, 30):
        z = insisting(circuit, given(samples, labels, radius), {})
        for place in np.flatnonzero(z[circuit.layout["output/counted"]]):
            near = samples[place] + rng.integers(-radius, radius + 1, (500, *graph.input.shape))
            found = graph.run(np.clip(near, 0, graph.input.type.top)).argmax(axis=1)
            assert (found == labels[place]).all()


@pytest.mark.parametrize("place", [1, 2])
def test_a_bit_of_a_sample_that_is_not_certified_is_refused(place: int) -> None:
    """One that no certificate reaches, one whose label is another."""
    circuit, samples, labels = shared()
    bits = insisting(circuit, given(samples, labels), {})[circuit.layout["output/counted"]]
    assert bits.tolist() == [1, 0, 0, 0]
    lie = bits.copy()
    lie[place] = 1
    found = violation(circuit, insisting(circuit, given(samples, labels), {"output/counted": lie}))
    assert found is not None
    assert "output/positive" in found


def test_a_bit_of_what_fills_up_is_refused() -> None:
    """Though all its margins are positive: lines of no label lead over outputs that are all negative."""
    rng = np.random.default_rng(0)
    x = tensor("x", 3).dense(rng.normal(size=(4, 3))).relu()
    graph = quantise(x.dense(rng.normal(size=(3, 4)), np.full(3, -50.0)).graph(), rng.normal(size=(50, 3)))
    circuit = compile_accuracy(graph, batch=2, measure="certified")
    honest = given(rng.integers(100, 150, (2, 3)), np.array([3, 3]))
    z = insisting(circuit, honest, {})
    assert (z[circuit.layout["output/margins"]] > 0).all()
    assert z[circuit.layout["certified"]].tolist() == [0]
    lie = insisting(circuit, honest, {"output/counted": np.array([0, 1])})
    found = refused(circuit, lie)
    assert found is not None
    assert "output/sample" in found
    assert "output/positive" not in str(violation(circuit, lie))


@pytest.mark.parametrize("lie", [[2, 0, 0, 0], [-1, 0, 0, 0], [1, -1, 0, 0]])
def test_a_bit_that_is_none_is_refused(lie: list[int]) -> None:
    circuit, samples, labels = shared()
    z = insisting(circuit, given(samples, labels), {"output/counted": np.array(lie)})
    assert violation(circuit, z) is not None


def test_a_prover_may_count_less_and_never_more() -> None:
    circuit, samples, labels = shared()
    honest = given(samples, labels)
    fewer = insisting(circuit, honest, {"output/counted": np.zeros(BATCH, np.int64)})
    assert violation(circuit, fewer) is None
    assert fewer[circuit.layout["certified"]].tolist() == [0]
    for count in (0, 2, 3, -1):
        found = violation(circuit, insisting(circuit, honest, {"certified": np.array([count])}))
        assert found is not None
        assert "count" in found


def test_another_radius_label_or_sample_is_refused_under_a_commitment() -> None:
    """All but one group of wires as in a proof of less: a smaller radius, another label, another sample."""
    circuit, samples, labels = shared()
    honest = insisting(circuit, given(samples, labels), {})
    for name, value in (
        ("radius", RADIUS + 1),
        ("radius", 255),
        ("radius", 256),
        ("radius", -1),
        ("size", 4),
    ):
        z = honest.copy()
        z[circuit.layout[name]] = value
        assert violation(circuit, z) is not None, (name, value)
    for place, label in ((1, 0), (2, labels[0]), (3, 0), (0, 4), (0, -1)):
        if label == labels[place]:
            continue
        z = honest.copy()
        z[circuit.layout["labels"].ravel()[place]] = label
        assert violation(circuit, z) is not None, (place, label)
    z = honest.copy()
    z[circuit.layout["samples"].ravel()[:3]] = samples[1].ravel()[:3]
    assert violation(circuit, z) is not None


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=_LARGE) for part in (1, 2, 3))])
def test_every_wire_that_is_moved_is_refused(part: int) -> None:
    """One of each group, a quarter of these at a time; but those that are no integers, which are computed
    after the lie."""
    circuit, samples, labels = shared()
    honest, rng = insisting(circuit, given(samples, labels), {}), np.random.default_rng(5)
    order, steps = circuit.program.order, circuit.program.steps
    later = {int(each) for step in (*steps.field, *steps.post_challenge) for each in order[step.out].flat}
    for name, group in [*circuit.layout.items()][part::4]:
        if name.startswith("challenge") or name == "statement" or int(group.flat[0]) in later:
            continue
        z = honest.copy()
        z[rng.choice(group.ravel())] += rng.choice([1, -1])
        assert violation(circuit, z) is not None, name


def test_the_description_says_what_is_counted() -> None:
    circuit, *_ = shared()
    described = json.loads(json.dumps(circuit.describe()))
    assert described["measure"] == "certified"
    assert [group["name"] for group in described["public_inputs"]] == ["statement", "size", "radius"]
    assert "none of whose entries differs" in described["meaning"]


@pytest.mark.parametrize("kind", ["tanh", "padded", "depthwise"])
def test_margins_are_those_of_single_certificates(kind: str) -> None:
    graph = test_certificates.small(kind, 1, 5)
    circuit = compile_accuracy(graph, batch=3, weight_privacy="committed", measure="certified")
    samples = np.random.default_rng(2).integers(0, graph.input.type.top + 1, (3, *graph.input.shape))
    labels = graph.run(samples).reshape(3, -1).argmax(axis=1)
    z = insisting(circuit, given(samples, labels, 1), {})
    assert violation(circuit, z) is None
    robust = compile_robustness(graph, weight_privacy="committed")
    single = [robust.margins(each, 1).tolist() for each in samples]
    assert z[circuit.layout["output/margins"]].reshape(3, -1).tolist() == single


def test_what_cannot_be_certified_is_refused() -> None:
    circuit, samples, labels = shared()
    graph = circuit.qgraph
    several = replace(graph, outputs={"first": graph.output, "again": graph.output})
    with refuses("statement.several", match="a certificate"):
        compile_accuracy(several, batch=BATCH, measure="certified", output="first")
    with refuses("input.out_of_range", "radius"):
        circuit.counts(samples, labels, radius=256)
    with refuses("input.shape", "radius"):
        circuit.counts(samples, labels)
    plain = compile_accuracy(circuit.qgraph, batch=BATCH)
    with refuses("input.shape", "radius"):
        plain.witness(samples, labels, radius=1)
