"""No input of a region does what its bounds rule out: points drawn at random and by gradient descent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from onnx.helper import make_node

from tests.bounds.networks import KINDS, integers
from tests.circuits.support import make_model
from zenserve import bounds
from zenserve.bounds import Ball, Bounds, Network, Norm, Region, Synonyms, attack
from zenserve.bounds.arrays import Interval
from zenserve.bounds.curves import Formula
from zenserve.circuits import load_onnx
from zenserve.circuits.graphs.types import FloatArray

NORMS: tuple[Norm, ...] = ("inf", "2", "1")


def held(network: Network, region: Region, rng: np.random.Generator, points: int, steps: int) -> None:
    """Every tensor stays in its interval, and every margin above its bound, by all methods."""
    labels = network.run(region.interval().centre).argmax(axis=1)
    classes = math.prod(network.shapes[network.output])
    lines = np.eye(classes)[labels][:, np.newaxis] - np.eye(classes)
    found = {method: Bounds(network, region, method) for method in bounds.METHODS}
    least = {method: each.least(lines) for method, each in found.items()}
    drawn = [region.drawn(rng) for _ in range(points)]
    drawn.append(attack.projected(network, region, labels, rng, steps=steps))
    for x in drawn:
        values = network.values(x)
        outputs = values[network.output].reshape(len(x), -1)
        margins = outputs[np.arange(len(x)), labels][:, np.newaxis] - outputs
        for method, each in found.items():
            assert (margins >= least[method] - 1e-12).all(), method
            for name, value in values.items():
                if "/" in name or name not in each.intervals:
                    continue  # parts of a softmax are of other rows; forms are of what curves read
                low, high = each.intervals[name]
                slack = 1e-12 * (1 + np.abs(value))
                assert ((low <= value + slack) & (value <= high + slack)).all(), (method, name)
    assert (least["crown"] >= least["ibp"] - 1e-6).all()


def region_of(x: FloatArray, radius: float, norm: Norm, **more: Any) -> Ball:
    scale = {"inf": 1.0, "2": math.sqrt(x[0].size), "1": x[0].size / 2}[norm]
    radii = np.linspace(0, radius * scale, len(x))
    return Ball(x, np.rint(radii) if more.get("whole") else radii, norm, **more)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_floats(kind: str, norm: Norm) -> None:
    rng = np.random.default_rng(5)
    graph = KINDS[kind].make(rng)
    network = bounds.read(graph)
    x = rng.uniform(-1, 1, (3, *graph.input.shape))
    np.testing.assert_allclose(network.run(x), graph.run(x).reshape(3, -1), rtol=1e-9, atol=2e-6)
    held(network, region_of(x, KINDS[kind].radius, norm, domain=(-1, 1)), rng, points=20, steps=5)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_integers(kind: str, norm: Norm) -> None:
    rng = np.random.default_rng(6)
    qgraph = integers(KINDS[kind].make(rng), rng)
    network = bounds.read(qgraph)
    kinds = qgraph.input.type
    x = rng.integers(0, kinds.top + 1, (3, *qgraph.input.shape)) - kinds.zero_point
    if kind != "attention":  # whose softmax, as it is bounded, is none of integers
        exact = qgraph.run(x + kinds.zero_point)
        np.testing.assert_array_equal(network.run(x.astype(np.float64)), exact)
    low, high = kinds.centred
    region = region_of(x.astype(np.float64), 127 * KINDS[kind].radius, norm, domain=(low, high), whole=True)
    held(network, region, rng, points=20, steps=5)


OPERATORS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "InstanceNormalization": ({"epsilon": 0.1}, (2, 3, 4)),
    "LogSoftmax": ({"axis": -1}, (2, 5)),
    "LpNormalization": ({"axis": 1}, (3, 4)),
    "MeanVarianceNormalization": ({"axes": [1, 2]}, (3, 4)),
    "ReduceL2": ({"axes": [2]}, (3, 4)),
    "ReduceMean": ({"axes": [1]}, (3, 4)),
    "ReduceSum": ({}, (3, 4)),
}


@pytest.mark.parametrize("operator", OPERATORS)
def test_norms_and_sums_as_files_have_them(operator: str) -> None:
    """In floats: wide regions hold, and of narrow ones every label is certain."""
    rng = np.random.default_rng(12)
    attributes, shape = OPERATORS[operator]
    channels = ["factor", "term"] if operator == "InstanceNormalization" else []
    axes = ["axes"] if operator == "ReduceSum" else []
    graph = load_onnx(
        make_model(
            [
                make_node(operator, ["x", *channels, *axes], ["made"], **attributes),
                make_node("Flatten", ["made"], ["y"]),
            ],
            {
                **{name: rng.uniform(0.5, 1.5, 2).astype(np.float32) for name in channels},
                **{name: np.array([2]) for name in axes},
            },
            ("batch", *shape),
        )
    )
    network = bounds.read(graph)
    x = rng.uniform(-1, 1, (3, *shape))
    np.testing.assert_allclose(network.run(x), graph.run(x).reshape(3, -1), atol=1e-9)
    held(network, Ball(x, np.array([0.0, 0.02, 0.3])), rng, points=20, steps=5)
    labels = network.run(x).argmax(axis=1)
    for method in bounds.METHODS:
        assert bounds.certify(network, Ball(x, np.full(3, 1e-4)), labels, method).robust.all(), method


def test_integers_of_attention_are_those_of_the_executor() -> None:
    rng = np.random.default_rng(7)
    qgraph = integers(KINDS["attention"].make(rng), rng)
    network, zero = bounds.read(qgraph), qgraph.input.type.zero_point
    x = rng.integers(-100, 101, (4, *qgraph.input.shape)).astype(np.float64)
    region = Ball(x, np.array([0.0, 1, 2, 4]), whole=True)
    found = {method: Bounds(network, region, method).intervals for method in bounds.METHODS}
    for _ in range(50):
        drawn = region.drawn(rng).astype(np.int64) + zero
        for name, q in qgraph.tensors(drawn):
            kind = qgraph.types[name]
            value = q - (kind.zero_point if kind else 0)
            for intervals in found.values():
                if name in intervals:
                    low, high = intervals[name]
                    assert ((low <= value) & (value <= high)).all(), name


def test_pixels_and_words() -> None:
    rng = np.random.default_rng(8)
    graph = KINDS["attention"].make(rng)
    network = bounds.read(graph)
    x = rng.uniform(-1, 1, (3, 4, 6))
    where = np.arange(4)[:, np.newaxis] == 1
    for norm in NORMS:
        one = Ball(x, np.full(3, 0.1), norm, where=where, rows=1)
        held(network, one, rng, points=20, steps=5)
        fixed = np.broadcast_to(~where, x.shape)
        assert (one.drawn(rng)[fixed] == x[fixed]).all()
        held(network, Ball(x, np.full(3, 0.05), norm, rows=1), rng, points=20, steps=5)
    choices = x[:, :, np.newaxis] + rng.uniform(-0.2, 0.2, (3, 4, 5, 6))
    held(network, Synonyms(choices), rng, points=30, steps=5)


@pytest.mark.large
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_many_points(kind: str, norm: Norm) -> None:
    """10^5 points of each network in all."""
    rng = np.random.default_rng(9)
    graph = KINDS[kind].make(rng)
    x = rng.uniform(-1, 1, (50, *graph.input.shape))
    held(bounds.read(graph), region_of(x, KINDS[kind].radius, norm), rng, points=600, steps=60)


def test_a_radius_that_is_certified() -> None:
    """By rounds of candidates, and less of it is certified as well."""
    rng = np.random.default_rng(10)
    graph = KINDS["dense"].make(rng)
    network = bounds.read(graph)
    x = rng.uniform(-1, 1, (6, 12))
    labels = graph.run(x).argmax(axis=1)

    def around(radii: FloatArray, samples: Any) -> Ball:
        return Ball(x[samples], radii)

    found = bounds.furthest(network, around, labels, 0.5, steps=256)
    assert (found > 0).any()
    own = np.arange(6)
    assert bounds.certify(network, around(found, own), labels).robust[found > 0].all()
    beyond = bounds.certify(network, around(found + 0.5 / 256, own), labels).robust
    assert not beyond[found < 0.5].any()
    by_intervals = bounds.furthest(network, around, labels, 0.5, "ibp", steps=256)
    assert (by_intervals <= found).all()
    assert (by_intervals < found).any()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_beyond_all_integers_certifies_nothing(kind: str) -> None:
    """Of each label: where intervals lose what they are of, outputs are those of a point."""
    rng = np.random.default_rng(6)
    qgraph = integers(KINDS[kind].make(rng), rng)
    network, classes = bounds.read(qgraph), qgraph.classes
    far, labels = 2.0 ** np.array([50, 56, 62, 63, 64, 200, 1020]), np.arange(classes)
    x = np.zeros((len(far) * classes, *qgraph.input.shape))
    region = Ball(x, np.repeat(far, classes), whole=True)
    for method in bounds.METHODS:
        assert not bounds.certify(network, region, np.tile(labels, len(far)), method).robust.any(), method


@pytest.mark.parametrize("text", ["gelu(x)", "gelu_tanh(x)", "x * sigmoid(x)", "mish(x)", "abs(x)", "x * x"])
def test_functions_of_no_number_are_unknown(text: str) -> None:
    """Of what larger intervals than floats have has become."""
    unknown, function = Interval(np.full(1, np.nan), np.full(1, np.nan)), Formula(text)
    (low, high), value = function.image(unknown), function.value(np.array([3.0]))
    assert not (low > value).any()
    assert not (high < value).any()


@pytest.mark.parametrize("method", bounds.METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_beyond_all_floats_certifies_nothing(kind: str, method: bounds.Method) -> None:
    rng = np.random.default_rng(6)
    graph = KINDS[kind].make(rng)
    x = np.repeat(rng.uniform(-1, 1, (1, *graph.input.shape)), 3, axis=0)
    labels = graph.run(x).reshape(3, -1).argmax(axis=1)
    region = Ball(x, np.array([1e2, 1e150, 1e308]))
    assert not bounds.certify(bounds.read(graph), region, labels, method).robust.any()
