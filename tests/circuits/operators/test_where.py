"""Choices, masks as huge as they come, averages that functions read, and comparisons of real numbers: near
what onnxruntime has, or refused by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from tests.circuits.support import answered, challenged, first_violation
from tests.circuits.test_lowering import refuse_all_lies
from tests.circuits.test_uniqueness import assert_unique
from tests.refusals import refuses
from zenserve.circuits import QuantGraph, compile_inference, load_onnx, quantise
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.lowering import Level
from zenserve.circuits.operators.where import QuantWhere, Where
from zenserve.circuits.quantisation.plan import input_names

SAMPLES = 64
SIZE = 6
FILLS = [-1e9, -np.inf, -1e30, -1e4]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(SAMPLES, SIZE)).astype(np.float32)
M: NDArray[np.bool_] = np.asarray(RNG.random((SAMPLES, SIZE)) < 0.6)
M[:, 2:4] |= ~M.any(axis=1, keepdims=True)
Given = Mapping[str, NDArray[Any]]


def node(text: str, **said: Any) -> NodeProto:
    """``Operator inputs -> outputs``"""
    left, right = text.split(" -> ")
    operator, *inputs = left.split()
    return helper.make_node(operator, inputs, right.split(), **said)


def model(nodes: Sequence[NodeProto], constants: Given, kind: int = TensorProto.FLOAT) -> bytes:
    read = {name for each in nodes for name in each.input}
    inputs = [
        helper.make_tensor_value_info(name, element, [1, SIZE])
        for name, element in (("x", TensorProto.FLOAT), ("m", TensorProto.BOOL), ("n", TensorProto.FLOAT))
        if name in read
    ]
    graph = helper.make_graph(
        nodes,
        "test",
        inputs,
        [helper.make_tensor_value_info("y", kind, None)],
        [numpy_helper.from_array(np.asarray(constants[name]), name) for name in constants if name in read],
    )
    opsets = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def runtime(data: bytes, given: Given) -> FloatArray:
    session = onnxruntime.InferenceSession(data)
    names = [entry.name for entry in session.get_inputs()]
    rows = [session.run(None, {name: given[name][i : i + 1] for name in names})[0] for i in range(SAMPLES)]
    return np.stack([row.ravel() for row in rows]).astype(np.float64)


def integers(graph: Graph, given: Given, bits: int) -> tuple[QuantGraph, FloatArray]:
    """The network, and what its output's integers stand for."""
    x = {entry.name: given[entry.name].astype(np.float64) for entry in graph.inputs}
    network, names = quantise(graph, x, bits), input_names(graph)
    q = {names[name]: network.entries[names[name]].type.quantise(value) for name, value in x.items()}
    (output,) = network.outputs.values()
    found = network.scale_of(output)
    assert found
    made = network.run_all(q, {output})[output].reshape(SAMPLES, -1).astype(np.float64)
    return network, (made - found[1]) * found[0]


def constants(fill: float) -> Given:
    return {
        "f": np.float32(fill), "p": np.float32(-fill), "one": np.float32(1), "two": np.float32(2),
        "zero": np.float32(0), "half": np.float32(0.5), "eye": (np.arange(SIZE) == 1)[None],
    }  # fmt: skip


MASKED = node("Where m x f -> w")
ADDED = [
    node("Cast m -> c", to=TensorProto.FLOAT),
    *map(node, ("Sub one c -> d", "Mul d f -> e", "Add x e -> w")),
]
ENDS: Mapping[str, Sequence[NodeProto]] = {
    "softmax": [node("Softmax w -> y", axis=-1)],
    "chosen again": [node("Where eye zero w -> v"), node("Softmax v -> y", axis=-1)],
    "scaled": [node("Mul w two -> v"), node("Softmax v -> y", axis=-1)],
    "shares by logarithms": [node("LogSoftmax w -> v", axis=-1), node("Exp v -> y")],
    "exp": [node("Exp w -> y")],
    "sigmoid": [node("Sigmoid w -> y")],
    "hard sigmoid": [node("HardSigmoid w -> y")],
    "largest": [node("ReduceMax w -> y", axes=[1])],
    "relu": [node("Relu w -> y")],
}


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("end", ENDS)
def test_what_a_mask_fills_takes_no_steps(end: str, fill: float) -> None:
    given = {"x": X, "m": M}
    for ahead in [[MASKED], ADDED] if np.isfinite(fill) else [[MASKED]]:
        data = model([*ahead, *ENDS[end]], constants(fill))
        expected = runtime(data, given)
        for bits, most in ((8, 0.03), (16, 1e-3)):
            _, made = integers(load_onnx(data, whole=True), given, bits)
            assert np.abs(made - expected).max() < most * np.ptp(expected)


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("end", ["Softmax", "LogSoftmax", "ArgMax", None])
@pytest.mark.parametrize("whole", [False, True])
def test_no_masked_entry_is_the_largest(end: str | None, fill: float, whole: bool) -> None:
    """Not even of a row that masks all, where the first is, as ONNX has it."""
    ranked = [node(f"{end} w -> y", axis=1)] if end else []
    kind = TensorProto.INT64 if end == "ArgMax" else TensorProto.FLOAT
    data = model([MASKED, *ranked], constants(fill), kind)
    if not end:
        data = model([node("Where m x f -> y")], constants(fill))
    given = {"x": X, "m": M & (np.arange(SAMPLES) != 5)[:, None]}
    scores = np.where(given["m"], X, -np.inf)
    if whole and end == "LogSoftmax":
        with refuses("model.scale", match="mask with a number that is nearer"):
            integers(load_onnx(data, whole=True), given, 16)
        return
    if whole and end == "Softmax":
        given = given | {"m": M}
        scores = np.where(M, X, -np.inf)
    _, made = integers(load_onnx(data, whole=whole), given, 12)
    labels = made[:, 0] if whole and end == "ArgMax" else made.argmax(axis=1)
    np.testing.assert_array_equal(labels, scores.argmax(axis=1))


def test_a_mask_that_is_an_input_is_added() -> None:
    given = {"x": X, "n": np.where(M, 0, -1e9).astype(np.float32)}
    data = model([node("Add x n -> w"), node("Softmax w -> y", axis=-1)], {})
    _, made = integers(load_onnx(data, whole=True), given, 16)
    assert np.abs(made - runtime(data, given)).max() < 1e-3


def test_the_least_of_what_a_mask_leaves() -> None:
    for fill in FILLS:
        data = model([node("Where m x p -> w"), node("ReduceMin w -> y", axes=[1])], constants(fill))
        expected = runtime(data, {"x": X, "m": M})
        _, made = integers(load_onnx(data), {"x": X, "m": M}, 12)
        assert np.abs(made - expected).max() < 1e-2


@pytest.mark.parametrize("other", ["f", "x", "z"])
def test_a_choice_is_one_node(other: str) -> None:
    """Of numbers, of one tensor, or of a number for each entry."""
    nodes = [node("Greater x half -> g"), node("Sin n -> s"), node(f"Where g s {other} -> y")]
    data = model(nodes, {**constants(-0.25), "z": RNG.normal(size=SIZE).astype(np.float32)})
    given = {"x": X, "n": 3 * X[::-1]}
    graph = load_onnx(data)
    assert sum(isinstance(each, Where) for each in graph.nodes) == 1
    network, made = integers(graph, given, 12)
    assert any(isinstance(each, QuantWhere) for each in network.nodes)
    assert np.mean(np.abs(made - runtime(data, given)) < 0.01) > 0.99


@pytest.mark.parametrize("level", [2, 5])
@pytest.mark.parametrize("other", ["f", "n"])
def test_a_choice_is_proven(level: Level, other: str) -> None:
    data = model([node(f"Where m x {other} -> w"), node("Exp w -> y")], constants(-1e9))
    # Where both are one number it makes no difference which is chosen.
    graph, given = load_onnx(data), {"x": X, "m": M, "n": X - 2.5 * np.sign(X)}
    x = {entry.name: given[entry.name].astype(np.float64) for entry in graph.inputs}
    network = quantise(graph, x, 3)
    names = input_names(graph)
    q = network.quantise_inputs({names[name]: value[3] for name, value in x.items()})
    circuit = compile_inference(network, reveal="values", level=level)
    z = circuit.assign(q)
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
    refuse_all_lies(circuit, q)
    assert_unique(circuit.program, challenged(circuit.program, z))


def test_what_no_type_has_both_of_is_refused_by_name() -> None:
    nodes = [MASKED, node("Softmax w -> s", axis=-1), node("Mul w s -> y")]
    with refuses("model.scale", match=r"holds -1e\+09 beside numbers"):
        integers(load_onnx(model(nodes, constants(-1e9))), {"x": X, "m": M}, 16)


@pytest.mark.parametrize("bits", [8, 12, 16])
def test_real_numbers_are_equal_where_their_integers_are(bits: int) -> None:
    x, n = X.copy(), X[::-1].copy()
    x[:, ::2] = n[:, ::2]
    x[::3] = 0
    for nodes, expected in (
        ([node("Equal x zero -> e"), node("Not e -> g"), node("Cast g -> y", to=1)], x != 0),
        ([node("Equal x n -> e"), node("Cast e -> y", to=1)], x == n),
        ([node("Greater x n -> e"), node("Cast e -> y", to=1)], x > n),
        ([node("LessOrEqual x n -> e"), node("Cast e -> y", to=1)], x <= n),
        ([node("Equal x half -> e"), node("Cast e -> y", to=1)], x == 0.5),
    ):
        graph = load_onnx(model(nodes, constants(0.0)))
        given = {entry.name: {"x": x, "n": n}[entry.name].astype(np.float64) for entry in graph.inputs}
        np.testing.assert_array_equal(graph.run(given), expected)
        _, made = integers(graph, {"x": x, "n": n}, bits)
        assert np.mean(made == expected) > 1 - 2.0 ** (4 - bits)


POOLED: Mapping[str, Sequence[str]] = {
    "abs, sigmoid": ("Abs x -> a", "GlobalAveragePool a -> b", "Sigmoid b -> y"),
    "exp, log": ("Exp x -> a", "GlobalAveragePool a -> b", "Log b -> y"),
    "relu, tanh": ("Relu x -> a", "GlobalAveragePool a -> b", "Tanh b -> y"),
    "whole numbers, sigmoid": ("Round x -> a", "GlobalAveragePool a -> b", "Sigmoid b -> y"),
    "whole numbers": ("Round x -> a", "GlobalAveragePool a -> y"),
}


@pytest.mark.parametrize("name", POOLED)
def test_a_function_narrows_nothing_through_an_average(name: str) -> None:
    graph = helper.make_graph(
        [node(text) for text in POOLED[name]],
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    opsets = [helper.make_opsetid("", 17)]
    data = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    x = (3 * np.random.default_rng(1).normal(size=(SAMPLES, 2, 8, 8))).astype(np.float32)
    session = onnxruntime.InferenceSession(data)
    expected = np.stack([session.run(None, {"x": each[None]})[0].ravel() for each in x])
    for bits, most in ((8, 0.08), (12, 0.02), (16, 0.01)):
        if name == "exp, log" and bits < 16:
            continue  # exponentials of 12 reach e^12 times as far as of 0
        _, made = integers(load_onnx(data), {"x": x}, bits)
        assert np.abs(made - expected).max() < most * np.ptp(expected)


@pytest.mark.parametrize(("operator", "gates"), [("GRU", 3), ("LSTM", 4), ("RNN", 1)])
@pytest.mark.parametrize("steps", [1, 2, 6])
def test_a_state_that_is_zero_costs_no_precision(operator: str, gates: int, steps: int) -> None:
    rng = np.random.default_rng(2)
    shapes = {"w": (1, 4 * gates, 2), "r": (1, 4 * gates, 4)}
    weights = [
        numpy_helper.from_array((0.3 * rng.normal(size=shape)).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    layer = helper.make_node(operator, ["x", "w", "r"], ["", "y"], hidden_size=4)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [steps, 3, 2])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph([layer], "test", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", 17)]
    data = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    x = rng.normal(size=(SAMPLES, steps, 3, 2)).astype(np.float32)
    session = onnxruntime.InferenceSession(data)
    expected = np.stack([session.run(None, {"x": each})[0].ravel() for each in x])
    for bits in (12, 16):
        read = load_onnx(data, whole=True)
        _, made = integers(read, {"x": x.reshape(SAMPLES, *read.input.shape)}, bits)
        assert np.abs(made - expected).max() < 0.02 * np.ptp(expected)


def test_a_choice_beside_a_constant_has_a_factor_of_one() -> None:
    """With another the relation would be of another sum than the executor's."""
    with refuses("model.quantised", match="factor of 1"):
        QuantWhere("w", ("c", "x"), (3,), -(1 << 30))
