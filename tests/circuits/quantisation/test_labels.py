"""What labels of samples are taken for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.circuits.test_several import model, samples
from tests.refusals import refuses
from zenserve.circuits import load_onnx, quantise, tune
from zenserve.circuits.quantisation import report
from zenserve.circuits.quantisation.labels import right

COUNT = 64


def test_a_report_on_several_inputs_has_the_accuracy() -> None:
    graph = load_onnx(model(scores="scores"))
    x = {name: samples(COUNT)[name] for name in graph.entries}
    exact = graph.run_all({name: each.astype(float) for name, each in x.items()}, set(graph.outputs.values()))
    said = exact[graph.outputs["scores"]].argmax(axis=1)
    labels = np.where(np.arange(COUNT) % 4, said, (said + 1) % 3)
    tuned = tune(graph, x, labels=labels.astype(float), bits=6)
    found = report(graph, tuned.qgraph, x, labels)
    q = {name: entry.type.quantise(x[name]) for name, entry in tuned.qgraph.entries.items()}
    made = tuned.qgraph.run_all(q, set(tuned.qgraph.outputs.values()))
    integers = made[next(iter(tuned.qgraph.outputs.values()))].argmax(axis=1)
    assert (tuned.measure, found.float_accuracy) == ("accuracy", 0.75)
    assert found.accuracy == np.mean(integers == labels)
    assert tuned.loss == pytest.approx(100 * (found.drop or 0))


def test_one_number_for_each_is_a_target_where_no_output_is_of_classes() -> None:
    graph = load_onnx(model(shifted="shifted"))
    x = {name: samples(COUNT)[name] for name in graph.entries}
    targets = x["token::ids"].astype(float) + 1
    assert (found := right(graph, targets, COUNT)).classes is None
    assert found.targets is not None
    assert np.array_equal(found.targets, targets)
    (output,) = report(graph, quantise(graph, x), x, targets).outputs
    assert output.loss is not None
    assert output.loss.mae < 0.1


@pytest.mark.parametrize(
    ("outputs", "labels", "code", "match"),
    [
        ({}, np.zeros(COUNT), "input.shape", "scores, shifted"),
        ({"scores": "scores"}, np.zeros(COUNT - 1), "input.shape", f"{COUNT} samples"),
        ({"scores": "scores"}, 3, "input.shape", "labels of one"),
        ({"scores": "scores"}, np.full(COUNT, 3), "input.out_of_range", "from 0 to 2"),
        ({"scores": "scores"}, np.full(COUNT, np.nan), "input.out_of_range", "from 0 to 2"),
        ({"scores": "scores"}, np.full(COUNT, "cat"), "input.not_numeric", "numbers"),
        ({"scores": "scores"}, np.zeros((COUNT, 2)), "input.shape", "3 values"),
    ],
)
def test_labels_that_fit_no_output(outputs: dict[str, str], labels: Any, code: str, match: str) -> None:
    with refuses(code, "labels", match=match):
        right(load_onnx(model(**outputs)), labels, COUNT)
