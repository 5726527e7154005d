"""Bits and calibration by what they cost."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.circuits.operators.test_leaky_relu import weight
from tests.refusals import refuses
from zenserve.circuits import Graph, plan_inference, quantise, tune, tuning
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.operators.activation import Activation


def regression() -> tuple[Graph, FloatArray]:
    """Values near 0.64 that differ by a hundredth: 8 bits from zero on hardly tell them apart."""
    graph = tensor("x", 4).then(Activation, "sigmoid(sigmoid(x))").graph()
    return graph, np.random.default_rng(0).uniform(0.1, 0.2, (16, 4))


def classifier() -> tuple[Graph, FloatArray]:
    layers = tensor("x", 12).dense(weight(16, 12)).relu().dense(weight(16, 16)).relu()
    return layers.dense(weight(5, 16)).graph(), np.random.default_rng(0).normal(size=(200, 12))


def test_as_many_bits_are_taken_as_the_loss_asks_for() -> None:
    graph, x = regression()
    assert tune(graph, x, measure="values").loss > 5
    for max_loss in (2.0, 0.5):
        found = tune(graph, x, bits=None, max_loss=max_loss, measure="values")
        assert (found.measure, found.max_loss) == ("values", max_loss)
        exact = graph.run(x)
        scale, zero = found.qgraph.output_scale or (0.0, 0)
        q = found.qgraph.run(found.qgraph.input.type.quantise(x))
        far = np.sort(np.abs(scale * (q - zero) - exact.reshape(16, -1)), axis=1)[:, -1].max()
        assert 100 * far / np.ptp(exact) == pytest.approx(found.loss)
        assert found.loss <= max_loss


def test_layers_get_bits_of_their_own_and_constraints_fall() -> None:
    graph, x = classifier()
    found = tune(graph, x, bits=None, max_loss=5.0, weight_privacy="private")
    assert found.measure == "agreement"
    assert found.loss <= 5.0
    widths = {(layer.bits, layer.weight_bits) for layer in found.layers}
    assert len(widths) > 2
    assert found.constraints == plan_inference(found.qgraph, weight_privacy="private").rows
    assert found.constraints < plan_inference(quantise(graph, x), weight_privacy="private").rows
    assert [layer.name for layer in found.layers] == ["x", "dense1", "dense2", "dense3"]
    assert all(layer.why for layer in found.layers)
    # The same again, and what it is, as JSON.
    again = tune(graph, x, bits=None, max_loss=5.0, weight_privacy="private")
    assert again.qgraph.digest == found.qgraph.digest
    assert json.loads(json.dumps(found.to_json()))["layers"][1]["name"] == "dense1"


def test_labels_make_it_accuracy() -> None:
    graph, x = classifier()
    labels = graph.run(x).argmax(axis=1)
    found = tune(graph, x, labels=labels, bits=3)
    right = found.qgraph.run(found.qgraph.input.type.quantise(x)).argmax(axis=1) == labels
    assert (found.measure, found.samples) == ("accuracy", 200)
    assert found.loss == pytest.approx(100 * (1 - right.mean()))
    assert tune(graph, x, labels=labels.astype(float), bits=3).loss == found.loss
    with refuses("input.shape", "labels", match="200 samples"):
        tune(graph, x, labels=labels[1:])
    with refuses("input.out_of_range", "labels", match=r"labels\[0\]"):
        tune(graph, x, labels=labels + 0.5)
    with refuses("input.shape", match="with labels"):
        tune(graph, x, measure="accuracy")


def test_of_given_bits_the_calibration_is_the_one_that_loses_least() -> None:
    """One channel reaches a hundredth of the others': a scale of its own is what it needs."""
    layer = weight(8, 4) * np.array([1, 1, 1, 1, 1, 1, 1, 0.01]).reshape(8, 1)
    head = np.eye(8) * np.array([1, 1, 1, 1, 1, 1, 1, 100])
    graph = tensor("x", 4).dense(layer).dense(head).graph()
    found = tune(graph, np.random.default_rng(0).normal(size=(64, 4)), bits=6, measure="values")
    assert found.per_channel
    assert found.max_loss is None
    assert {layer.bits for layer in found.layers[:-1]} == {6}


def test_what_no_bits_can_keep_is_refused() -> None:
    graph, x = regression()
    with refuses("model.precision", match=r"loses .* % \(values\) or more"):
        tune(graph, x, bits=None, max_loss=1e-9, measure="values")


def test_trials_are_bounded_by_the_work_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, x = classifier()
    monkeypatch.setattr(tuning, "_MOST_WORK", 1)
    found = tune(graph, x, bits=None, max_loss=5.0)
    assert found.trials == 1
    assert {layer.bits for layer in found.layers[:-1]} == {8}
    assert "not tried" in found.layers[0].why


def test_bits_of_layers_are_those_that_were_asked_for() -> None:
    graph, x = classifier()
    found = quantise(graph, x, layers={"x": (10, 8), "dense1": (5, 3)})
    assert [kind and kind.bits for kind in found.types.values()] == [10, 5, 8, None]
    assert [node.weight_type.bits for node in found.nodes] == [3, 8, 8]  # type: ignore[attr-defined]
    with refuses("model.quantised", match="no 'dense9'"):
        quantise(graph, x, layers={"dense9": (8, 8)})
    with refuses("model.quantised", match="layers must be 1 to 16"):
        quantise(graph, x, layers={"dense1": (8, 17)})
