"""The integer network: its calibration, its one semantics, its file format, its door."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.circuits.conftest import Digits
from tests.circuits.support import dense_layers, extremes, random_graph, random_network, slow_execute
from tests.refusals import refuses
from zenserve.circuits import Graph, Inference, compile_inference, quantise
from zenserve.circuits.graphs.node import Node
from zenserve.circuits.graphs.rescaling import COARSER, approximate, fixed_point
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.reshape import Reshape


def test_the_quantised_digits_network_is_within_one_percent_of_the_float_one(digits: Digits) -> None:
    images, labels = digits.images.astype(np.float64), digits.labels
    float_accuracy = np.mean(digits.graph.run(images).argmax(axis=1) == labels)
    quantised = [digits.circuit.execute(digits.circuit.quantise_input(image)).label for image in images]
    assert float_accuracy > 0.95
    assert abs(np.mean(quantised == labels) - float_accuracy) <= 0.01


@pytest.mark.parametrize("bits", range(2, 9))
@pytest.mark.parametrize("relu_last", [False, True])
def test_the_executor_agrees_with_python_integers(bits: int, relu_last: bool) -> None:
    rng = np.random.default_rng(bits)
    for seed, sizes in enumerate([(6, 5, 4), (3, 2), (4, 6, 5, 7, 3)]):
        network = random_network(seed, sizes, bits, relu_last, offset=float(seed))
        for q in [*extremes(network, rng), *(rng.integers(0, network.input.type.top + 1, (10, sizes[0])))]:
            output = network.execute(q)
            assert (output.label, output.logits.tolist()) == slow_execute(network, q)


def test_eight_bits_follow_the_float_network_closely() -> None:
    rng = np.random.default_rng(5)
    graph = random_graph(rng, (10, 16, 16, 12, 5))
    inputs = rng.normal(size=(300, 10))
    network = quantise(graph, inputs)
    q = network.input.type.quantise(inputs)
    agree = np.array([network.execute(row).label for row in q]) == graph.run(inputs).argmax(axis=1)
    assert agree.mean() > 0.9
    third = dense_layers(network)[2].rescale
    assert third is not None
    assert third.output.zero_point > 0, "a layer without ReLU keeps its negative values"


@given(st.floats(1e-12, 1.0))
def test_the_fixed_point_scale_is_below_the_ratio_by_at_most_a_32nd(ratio: float) -> None:
    multiplier, shift = fixed_point(ratio, COARSER)
    assert 1 <= multiplier < 64
    assert shift >= 0
    assert multiplier * 2.0**-shift <= ratio <= multiplier * 2.0**-shift * COARSER


def test_the_multiplier_is_the_designs_and_exact() -> None:
    network = random_network(1, (6, 5, 4))
    layer = dense_layers(network)[0]
    rescale = layer.rescale
    assert rescale is not None
    exact = 2**rescale.shift * layer.weight_type.scale * network.input.type.scale / rescale.output.scale
    assert exact == pytest.approx(rescale.multiplier, rel=1e-12)
    assert rescale.output.zero_point == 0


def test_degenerate_tensors_quantise() -> None:
    zeros = Graph.of(
        "x",
        (2,),
        (
            Dense("a", ("x",), np.zeros((3, 2)), np.zeros(3)),
            Clip("r", ("a",)),
            Reshape("s", ("r",), (3,)),
            Dense("b", ("s",), np.zeros((2, 3)), np.ones(2)),
        ),
        "b",
    )
    network = quantise(zeros, np.zeros((4, 2)))
    assert network.execute(np.zeros(2, np.int64)).label == 0
    dead = Graph.of(
        "x",
        (2,),
        (
            Dense("a", ("x",), -np.ones((3, 2)), np.zeros(3)),
            Clip("r", ("a",)),
            Dense("b", ("r",), np.ones((2, 3)), np.zeros(2)),
        ),
        "b",
    )
    network = quantise(dead, np.ones((4, 2)))
    assert network.execute(np.full(2, 255)).logits.tolist() == [0, 0]


def dense(weight: float, bias: float, *more: Node) -> Graph:
    nodes = (Dense("a", ("x",), np.full((2, 2), weight), np.full(2, bias)), *more)
    return Graph.of("x", (2,), nodes, nodes[-1].name)


@pytest.mark.parametrize(
    ("graph", "bits", "code"),
    [
        (dense(1, 0), 0, "model.quantised"),
        (dense(1, 0), 17, "model.quantised"),
        (dense(1e-12, 1e12), 8, "model.range_too_wide"),
        (dense(1e-320, 0), 8, "model.scale"),
        (dense(1e300, 0, Clip("r", ("a",))), 8, "model.scale"),
    ],
)
def test_networks_without_an_exact_integer_form_are_refused(graph: Graph, bits: int, code: str) -> None:
    with np.errstate(over="ignore"), refuses(code):
        quantise(graph, np.full((3, 2), 1e9), bits)


@pytest.mark.parametrize("ratio", [1e30, 2.0**53, 2.0**-54])
def test_scales_too_far_apart_for_any_multiplier_are_refused(ratio: float) -> None:
    with refuses("model.range_too_wide"):
        approximate(np.array([1.0, ratio]), 1e-3)


def test_a_scale_is_met_as_far_below_as_shifts_go() -> None:
    """One step of 16 bits is 2^-24 of the type that a concatenation gives to both of its parts."""
    multiplier, shift = approximate(np.array([2.0**-24 / 3]), 2.0**-19)
    assert abs(multiplier.item() / 2**shift * 2**24 * 3 - 1) <= 2.0**-19


@pytest.mark.parametrize(
    ("calibration", "code"),
    [
        (np.ones((3, 5)), "input.shape"),
        (np.ones((0, 2)), "input.shape"),
        (np.ones(2), "input.shape"),
        ([[1.0, float("nan")]], "input.not_finite"),
    ],
)
def test_calibration_data_that_do_not_fit_are_refused(calibration: Any, code: str) -> None:
    with refuses(code, "calibration"):
        quantise(dense(1, 0), calibration)


@pytest.fixture(scope="module")
def circuit() -> Inference:
    graph = Graph.of(
        "x", (2, 2), (Reshape("f", ("x",), (4,)), Dense("a", ("f",), np.eye(4), np.zeros(4))), "a"
    )
    return compile_inference(quantise(graph, np.array([[[-1.0, 0.0], [0.5, 2.0]]])))


@pytest.mark.parametrize(
    ("x", "code", "words"),
    [
        ([[0, 0], [0, 0], [0, 0]], "input.shape", r"has shape \[3, 2\]; the network takes \[2, 2\]"),
        ([0, 0, 0, 0], "input.shape", r"\[4\]"),
        (3.0, "input.shape", r"\[\]"),
        ([[0, 0], [0]], "input.not_numeric", "array of numbers"),
        ([[0, 0], [0, "many"]], "input.not_numeric", "array of numbers"),
        ([[0, 0], [0, {}]], "input.not_numeric", "array of numbers"),
        ([[0, 0], [float("nan"), 0]], "input.not_finite", r"input\[1, 0\] is nan"),
        ([[0, float("-inf")], [0, 0]], "input.not_finite", r"input\[0, 1\] is -inf"),
        ([[0, None], [0, 0]], "input.not_finite", r"input\[0, 1\]"),
        ([[0, 0], [0, 2.1]], "input.out_of_range", r"input\[1, 1\] lies outside .* \[-1.*, 2.*\]"),
        ([[-1.1, 0], [0, 0]], "input.out_of_range", r"input\[0, 0\]"),
        ([[1e308, 0], [0, 0]], "input.out_of_range", r"input\[0, 0\]"),
    ],
)  # fmt: skip
def test_inputs_are_checked_at_the_door(circuit: Inference, x: Any, code: str, words: str) -> None:
    with refuses(code, "input", match=words):
        circuit.quantise_input(x)


def test_the_ends_of_the_calibrated_range_are_taken(circuit: Inference) -> None:
    half = circuit.qgraph.input.type.scale * 0.49
    assert circuit.quantise_input([[-1 - half, 0], [2, 2 + half]]).tolist() == [[0, 85], [255, 255]]


@pytest.mark.parametrize(
    ("q", "code"),
    [
        (np.zeros((4,), np.int64), "input.shape"),
        (np.zeros((2, 2)), "input.not_integer"),
        (np.array([[0, 0], [0, 256]]), "input.out_of_range"),
        (np.array([[-1, 0], [0, 0]]), "input.out_of_range"),
        (np.array([[2**63, 0], [0, 0]], dtype=np.uint64), "input.out_of_range"),
    ],
)
def test_quantised_inputs_are_checked_too(circuit: Inference, q: np.ndarray, code: str) -> None:
    for method in (circuit.execute, circuit.witness):
        with refuses(code):
            method(q)


def test_weights_stay_out_of_what_gets_logged(digits: Digits) -> None:
    for shown in (repr(digits.qgraph), repr(digits.graph), json.dumps(digits.circuit.describe())):
        assert "array" not in shown
        assert len(shown) < 4000
