"""What is said of a network on samples, and what is not said of what makes no sense."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import zenserve
from zenserve.bounds import Ball, read
from zenserve.bounds.report import Report, assess
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.quantisation.quantiser import quantise
from zenserve.errors import ModelError, RequestError, TensorError

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


@pytest.fixture(scope="module")
def report() -> Report:
    held_out = np.load(DIGITS / "held_out.npz")
    x, labels = held_out["images"][:12], held_out["labels"][:12].astype(np.int64)
    calibration = np.load(DIGITS / "calibration.npy")
    return zenserve.robustness(
        DIGITS / "digits.onnx", x, labels, eps=0.5, within=(0, 16), calibration=calibration
    )


def test_a_report_adds_up(report: Report) -> None:
    found = json.loads(json.dumps(report.to_json()))
    assert found["integers"]
    assert found["steps"] == 8  # of 1/16: pixels reach 16 in 255 steps
    assert found["certified"] <= found["withstood"] <= found["accuracy"] == 1
    assert 0.5 < found["certified"] < 1
    curve = [point["certified"] for point in found["curve"]]
    assert curve == sorted(curve, reverse=True)
    assert curve[4] == pytest.approx(found["certified"])
    robust = [each["margin"] > 0 for each in found["results"]]
    assert robust == [each["robust"] for each in found["results"]]
    assert robust == [each["radius"] >= 0.5 for each in found["results"]]
    np.testing.assert_allclose(report.courses[:, 4], report.margins[:4])  # at eps
    assert (np.diff(report.courses, axis=1) <= 1e-6).all()
    assert report.courses.shape == (4, 9)


def test_a_report_has_plots(report: Report) -> None:
    page = report.html()
    for name, said, chart in report.charts():
        assert ElementTree.fromstring(chart).tag.endswith("svg"), name  # noqa: S314  our own
        assert said in page
    for sentence in report.sentences():
        assert sentence[1:] in page


def test_what_makes_no_sense_is_refused() -> None:
    graph = tensor("x", 4).dense(np.eye(4)).relu().dense(np.eye(3, 4)).graph()
    x = np.ones((2, 4))
    with pytest.raises(RequestError, match="half an input step"):
        assess(quantise(graph, x), x, eps=1e-4)
    with pytest.raises(TensorError, match="0 to 9"):
        zenserve.robustness(DIGITS / "digits.onnx", np.zeros((1, 8, 8)), [11], eps=0.1)
    assert assess(graph, x, eps=1e-4).certified == 0  # all outputs are the same


def test_only_some_entries_may_change() -> None:
    """What is left as it is weighs nothing, and what may change certifies no less than all."""
    graph = tensor("x", 4).dense(np.arange(16.0).reshape(4, 4) % 5).relu().dense(np.eye(3, 4)).graph()
    x = np.random.default_rng(3).uniform(-1, 1, (6, 4))
    where = np.array([False, True, False, False])
    every, some = (assess(graph, x, eps=0.2, where=each) for each in (None, where))
    assert (some.radius >= every.radius).all()
    assert (some.radius > every.radius).any()
    assert not some.weights[:, ~where].any()
    for wrong in (where[:3], where.astype(int), ~where & where):
        with pytest.raises(TensorError, match=r"the input's shape \[4\]"):
            assess(graph, x, eps=0.2, where=wrong)


def test_what_has_no_bounds_is_named() -> None:
    from zenserve.circuits.graphs.graph import Graph
    from zenserve.circuits.operators.largest import TopK

    graph = Graph.of("x", (1, 4), (TopK("first", ("x",), 1, False),), "first")
    with pytest.raises(ModelError, match="not implemented for TopK"):
        read(graph)


def test_a_region_stays_in_its_domain() -> None:
    region = Ball(np.array([[0.05, 0.5, 0.99]]), np.array([0.1]), domain=(0, 1))
    low, high = region.interval()
    np.testing.assert_allclose(low, [[0, 0.4, 0.89]])
    np.testing.assert_allclose(high, [[0.15, 0.6, 1]])
