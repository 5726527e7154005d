"""LeakyRelu: as onnxruntime has it, in integers to a step, and proven at every level and privacy."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pytest
from onnx.helper import make_node

from tests.circuits.quantised import networks, slow
from tests.circuits.relation_checker import broken
from tests.circuits.support import answered, first_violation, held, make_model
from tests.circuits.test_lowering import refuse_all_lies
from tests.circuits.test_onnx_operators import agree, classified
from zenserve.circuits import compile_inference, load_onnx, quantise
from zenserve.circuits.graphs.types import Affine, FloatArray, Rescale
from zenserve.circuits.lowering import Level
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.operators.activation import QuantActivation
from zenserve.circuits.operators.clip import Clip, Requantise
from zenserve.circuits.operators.leaky_relu import LeakyRelu, PiecewiseLinear, PRelu
from zenserve.circuits.quantised import QuantGraph
from zenserve.errors import ModelError
from zenserve.prover import groth16
from zenserve.verifier.schemes import Privacy

ALPHAS = (0.01, 0.2, -0.5, 1.75, 1.0)
LEVELS: tuple[Level, ...] = get_args(Level)
PRIVACIES: tuple[Privacy, ...] = get_args(Privacy)
SETTINGS = [
    (level, weights)
    for level, weights in itertools.product(LEVELS, PRIVACIES)
    if level == 5 or weights != "committed"
]


def weight(*shape: int) -> FloatArray:
    return np.random.default_rng(5).normal(size=shape)


def leaking(alpha: float, low: float = -1.0, high: float = 1.0, bits: int = 8) -> QuantGraph:
    """Two values in [low, high], bent, and three classes."""
    graph = tensor("x", 2).then(LeakyRelu, alpha).dense(weight(3, 2)).graph()
    return quantise(graph, np.array([[low, high], [high, low]]), bits)


@pytest.mark.parametrize("alpha", [None, *ALPHAS])
def test_it_is_read_from_onnx_and_means_the_same(alpha: float | None) -> None:
    said: dict[str, Any] = {} if alpha is None else {"alpha": alpha}
    rng = np.random.default_rng(3)
    model = classified([make_node("LeakyRelu", ["x"], ["h"], **said)], {}, (2, 3), 17, rng)
    node = agree(model, rng).nodes[0]
    assert isinstance(node, LeakyRelu)
    assert node.alpha == pytest.approx(alpha or 0.01)


@pytest.mark.parametrize(
    ("slopes", "kinds"),
    [
        ([0.25], ["LeakyRelu"]),
        ([-0.5, -0.5, -0.5], ["LeakyRelu"]),
        ([0.1, 0.0, -2.0], ["PRelu"]),
        ([0.0], ["Clip"]),
    ],
)
def test_slopes_that_were_trained_are_read(slopes: list[float], kinds: list[str]) -> None:
    rng = np.random.default_rng(3)
    slope = np.array(slopes, np.float32).reshape(-1, 1, 1)
    for opset in (7, 9, 17):
        model = classified([make_node("PRelu", ["x", "s"], ["h"])], {"s": slope}, (3, 4, 2), opset, rng)
        assert [node.operator() for node in agree(model, rng).nodes[: len(kinds)]] == kinds


def test_slopes_that_do_not_fit_or_are_too_steep_are_refused() -> None:
    for slope, words in (([0.5, 1.0], "shape"), ([1.0, 2.0**17, 1.0], "slope"), ([], "alpha")):
        array = np.array(slope, np.float32).reshape(-1, 1)
        nodes = [make_node("PRelu", ["x", "s"], ["h"]), make_node("Flatten", ["h"], ["f"])]
        nodes.append(make_node("MatMul", ["f", "w"], ["y"]))
        with pytest.raises(ModelError, match=words):
            load_onnx(make_model(nodes, {"s": array, "w": np.zeros((6, 2), np.float32)}, ("batch", 3, 2)))


def trained(slopes: Sequence[float], bits: int, *, last: bool = False) -> QuantGraph:
    """Three channels of two values, and a dense layer behind them unless they are the ``last``."""
    x = tensor("x", 3, 2).then(PRelu, np.array(slopes)[:, np.newaxis]).flatten()
    graph = x.graph() if last else x.dense(weight(3, 6)).graph()
    return quantise(graph, np.linspace(-1, 1.5, 24).reshape(4, 3, 2), bits)


def test_every_channel_has_its_slope() -> None:
    graph = trained([0.25, 0.0, -3.0], 8)
    q = np.broadcast_to(np.arange(256)[:, np.newaxis, np.newaxis], (256, 3, 2))
    bent, kind = dict(graph.tensors(q))["prelu1"], graph.types["prelu1"]
    assert kind
    real = graph.input.type.real(q)
    exact = np.where(real < 0, np.array([0.25, 0.0, -3.0])[:, np.newaxis] * real, real)
    assert (
        np.abs(kind.real(bent) - np.clip(exact, *kind.real(np.array([0, kind.top])))).max()
        <= 0.75 * kind.scale
    )
    for sample in (0, 1, 100, 255):
        assert bent[sample].tolist() == slow.tensors(graph, q[sample])["prelu1"].tolist()
    assert QuantGraph.from_bytes(graph.to_bytes()).digest == graph.digest
    assert agree(
        to_onnx(
            tensor("x", 3, 2)
            .then(PRelu, np.array([[0.5], [1.5], [2.0]]))
            .flatten()
            .dense(weight(3, 6))
            .graph()
        ),
        np.random.default_rng(1),
    )


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(("level", "weights"), SETTINGS)
def test_slopes_of_channels_are_proven(level: Level, weights: Privacy, last: bool) -> None:
    if last and weights != "public":
        return
    graph = trained([0.5, 1.0, -1.5], 3, last=last)
    circuit = compile_inference(graph, weight_privacy=weights, level=level)
    assert circuit.constraint_system.constraints == circuit.plan.rows
    for q in networks.inputs(graph, 3, 2):
        z = circuit.assign(q)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        assert broken(circuit.relations, held(circuit, z)) == []
        assert z[circuit.layout["label"][0]] == graph.execute(q).label
    refuse_all_lies(circuit, q)


def test_onnxruntime_s_quantised_one_keeps_its_types() -> None:
    ends = {"s": np.float32(0.1), "z": np.uint8(100), "t": np.float32(0.05), "o": np.uint8(20)}
    nodes = [
        make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        make_node("QLinearLeakyRelu", ["q", "s", "z", "t", "o"], ["r"], domain="com.microsoft", alpha=0.25),
        make_node("DequantizeLinear", ["r", "t", "o"], ["h"]),
    ]
    arrays = {name: np.array(end) for name, end in ends.items()}
    graph = load_onnx(classified(nodes, arrays, (4,), 17, np.random.default_rng(3)))
    assert [type(node) for node in graph.nodes[:2]] == [LeakyRelu, Clip]
    (bent, *_) = quantise(graph, np.random.default_rng(1).normal(size=(9, 4))).nodes
    assert isinstance(bent, QuantActivation)
    assert bent.output.zero_point == 20
    # A step below zero is half a step, and 20 is where integers begin.
    assert bent.values[[0, 80, 98, 100, 101]].tolist() == [0, 10, 19, 20, 22]


@pytest.mark.parametrize(
    "said",
    [
        {"alpha": 0.0},
        {"alpha": 1e9},
        {"alpha": float("nan")},
        {"alpha": float("inf")},
        {"alpha": 1},
        {"a": 1.0},
    ],
)
def test_other_attributes_are_refused(said: dict[str, Any]) -> None:
    nodes = [make_node("LeakyRelu", ["x"], ["h"], **said), make_node("MatMul", ["h", "w"], ["y"])]
    with pytest.raises(ModelError, match="alpha") as caught:
        load_onnx(make_model(nodes, {"w": np.zeros((2, 3), np.float32)}, ("batch", 2)))
    assert caught.value.code == "model.unsupported_attribute"


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("low", "high"), [(-1.0, 3.0), (-3.0, 0.0), (0.0, 2.0)])
def test_every_integer_is_bent_to_the_nearest_but_a_quarter_step(
    alpha: float, low: float, high: float
) -> None:
    graph = leaking(alpha, low, high)
    q = np.stack([np.arange(256)] * 2, axis=1)
    bent, kind = dict(graph.tensors(q))["leaky1"], graph.types["leaky1"]
    assert kind
    real = graph.input.type.real(q)
    exact = np.clip(np.where(real < 0, alpha * real, real), *kind.real(np.array([0, kind.top])))
    assert np.abs(kind.real(bent) - exact).max() <= 0.75 * kind.scale
    for sample in (0, 1, 100, 255):
        expected = slow.tensors(graph, q[sample])["leaky1"]
        assert bent[sample].tolist() == expected.tolist()


@pytest.mark.parametrize(("level", "weights"), SETTINGS)
@pytest.mark.parametrize("alpha", [0.2, -1.5])
def test_it_is_proven_and_every_wire_that_lies_is_refused(
    alpha: float, level: Level, weights: Privacy
) -> None:
    graph = leaking(alpha, bits=3)
    circuit = compile_inference(graph, weight_privacy=weights, level=level)
    assert circuit.constraint_system.constraints == circuit.plan.rows
    for q in networks.inputs(graph, 3, 2):
        z = circuit.assign(q)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        assert z[circuit.layout["label"][0]] == graph.execute(q).label
    refuse_all_lies(circuit, q)


@pytest.mark.parametrize("level", [2, 5])
def test_a_proof_of_it_verifies_and_of_no_other_label(level: Level) -> None:
    circuit = compile_inference(leaking(0.2), level=level)
    q = np.array([10, 200])
    key = groth16.setup(circuit.constraint_system)
    witness, public = circuit.witness(q), circuit.public_inputs(q)
    proof = groth16.prove(
        key, circuit.constraint_system, witness, post_challenge=circuit.program.post_challenge
    ).to_bytes()
    for label in range(3):
        expected = label == public[-1]
        assert groth16.verify(key.verifying_key, [*public[:-1], label], proof).valid == expected


def test_sums_that_the_argmax_alone_reads_stay_as_they_are() -> None:
    graph = quantise(tensor("x", 3).dense(weight(3, 3)).then(LeakyRelu, 0.25).graph(), weight(9, 3))
    node = graph.nodes[-1]
    assert isinstance(node, PiecewiseLinear)
    assert node.rescale is None
    read = graph.types[node.inputs[0]]
    assert read is not None
    assert graph.output_scale == (read.scale / 4, 0)
    circuit = compile_inference(graph, reveal="logits")
    q = networks.inputs(graph, 3, 1)[2]
    assert first_violation(circuit.constraint_system, answered(circuit.program, circuit.assign(q))) is None
    assert QuantGraph.from_bytes(graph.to_bytes()).digest == graph.digest


@pytest.mark.parametrize("level", [2, 5])
@pytest.mark.parametrize(
    ("zero_point", "low", "high"),
    [(0, 0, 3), (3, 0, 3), (1, 1, 3), (2, 0, 2), (1, 2, 3), (2, 0, 1), (2, 1, 3)],
)
def test_where_values_lie_on_one_side_of_zero_it_is_straight(
    zero_point: int, low: int, high: int, level: Level
) -> None:
    kind = Affine(1.0, zero_point, 2)
    cut = Requantise("cut", ("x",), rescale=Rescale(np.array([1]), 0, kind, low, high))
    graph = QuantGraph.of("x", (2,), kind, (cut, PiecewiseLinear("bent", ("cut",), (-2, 3))), "bent")
    circuit = compile_inference(graph, reveal="logits", level=level)
    for q in np.stack(np.divmod(np.arange(16), 4), axis=1):
        z = circuit.assign(q)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        centred = [min(max(value, low), high) - zero_point for value in q.tolist()]
        assert z[circuit.layout["logits"]].tolist() == [value * (-2 if value < 0 else 3) for value in centred]
