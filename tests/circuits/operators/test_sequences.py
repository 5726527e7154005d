"""LSTM, GRU and RNN: as a plain loop over steps has them, as onnxruntime has them, and proven."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from tests.circuits.operators.test_leaky_relu import SETTINGS
from tests.circuits.quantised import networks, slow
from tests.circuits.quantised.test_file import resealed
from tests.circuits.relation_checker import broken
from tests.circuits.support import answered, challenged, first_violation, forge, held
from tests.circuits.test_lowering import refuse_all_lies
from tests.circuits.test_uniqueness import assert_unique
from tests.refusals import refuses
from zenserve.circuits import (
    Inference,
    compile_inference,
    compile_registration,
    load_onnx,
    parameters,
    quantise,
)
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.lowering import Level
from zenserve.circuits.operators.filled import QuantFilled
from zenserve.circuits.operators.recurrent import QuantRecurrent
from zenserve.circuits.quantised import QuantGraph
from zenserve.errors import ModelError
from zenserve.verifier.schemes import Privacy

Rng = np.random.Generator
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@dataclass(frozen=True)
class Layer:
    """A node, ``steps`` of ``samples`` sequences of ``inputs`` numbers, and its ``constants``."""

    kind: str
    steps: int = 3
    samples: int = 1
    inputs: int = 2
    hidden: int = 2
    directions: int = 1
    constants: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    said: Mapping[str, Any] = field(default_factory=dict)

    @property
    def by_sequence(self) -> bool:
        return bool(self.said.get("layout", 0))

    @property
    def shape(self) -> tuple[int, int, int]:
        first, second = (self.samples, self.steps) if self.by_sequence else (self.steps, self.samples)
        return first, second, self.inputs

    def model(self, outputs: list[str] | None = None, opset: int = 17) -> bytes:
        names = ["W", "R", "B", "lengths", "h", "c", "P"]
        if self.kind != "LSTM":
            names = names[:5]
        given = ["x", *(name if name in self.constants else "" for name in names)]
        while not given[-1]:
            given.pop()
        outputs = outputs or ["Y", "Y_h", "Y_c"][: 3 if self.kind == "LSTM" else 2]
        node = helper.make_node(self.kind, given, outputs, hidden_size=self.hidden, **self.said)
        real = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs if name]
        graph = helper.make_graph(
            [node],
            "layer",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            real,
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        opsets = [helper.make_opsetid("", opset)]
        return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def layer(rng: Rng, kind: str, **sizes: Any) -> Layer:
    """With weights, a bias, and what else is named: ``constants`` of them are drawn."""
    wanted = sizes.pop("wanted", ("B",))
    made = Layer(kind, **sizes)
    rows, hidden, count = GATES[kind] * made.hidden, made.hidden, made.directions
    states = (made.samples, count) if made.by_sequence else (count, made.samples)
    shapes: dict[str, tuple[int, ...]] = {
        "W": (count, rows, made.inputs),
        "R": (count, rows, hidden),
        "B": (count, 2 * rows),
        "h": (*states, hidden),
        "c": (*states, hidden),
        "P": (count, 3 * hidden),
    }
    names = [name for name in shapes if name in ("W", "R") or name in wanted]
    constants: dict[str, NDArray[Any]] = {
        name: (rng.uniform(-1, 1, shapes[name]) / np.sqrt(hidden)).astype(np.float32) for name in names
    }
    if "lengths" in wanted:
        constants["lengths"] = rng.integers(1, made.steps + 1, made.samples).astype(np.int32)
    return replace(made, constants=constants)


def sigmoid(x: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-x)))


FUNCTIONS: Mapping[str, Callable[..., FloatArray]] = {
    "Affine": lambda x, alpha, beta: alpha * x + beta,
    "Elu": lambda x, alpha: np.where(x < 0, alpha * np.expm1(x), x),
    "HardSigmoid": lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    "LeakyRelu": lambda x, alpha: np.where(x < 0, alpha * x, x),
    "Relu": lambda x: np.maximum(x, 0),
    "ScaledTanh": lambda x, alpha, beta: alpha * np.tanh(beta * x),
    "Sigmoid": sigmoid,
    "Softplus": lambda x: np.log1p(np.exp(x)),
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "Tanh": np.tanh,
    "ThresholdedRelu": lambda x, alpha: np.where(x > alpha, x, 0),
}
ALPHA = ("Affine", "Elu", "HardSigmoid", "LeakyRelu", "ScaledTanh", "ThresholdedRelu")
BETA = ("Affine", "HardSigmoid", "ScaledTanh")
COUNT = {"RNN": 1, "GRU": 2, "LSTM": 3}


def functions(made: Layer) -> list[Callable[[FloatArray], FloatArray]]:
    names = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}[made.kind]
    alphas, betas = (list(made.said.get(f"activation_{name}", ())) for name in ("alpha", "beta"))

    def bound(name: str) -> Callable[[FloatArray], FloatArray]:
        numbers = [given.pop(0) for given, takers in ((alphas, ALPHA), (betas, BETA)) if name in takers]
        return lambda x: FUNCTIONS[name](x, *numbers)

    return [bound(name) for name in made.said.get("activations", names * made.directions)]


def clipped(x: FloatArray, clip: float, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
    return function(np.clip(x, -clip, clip))


def plainly(made: Layer, x: FloatArray) -> dict[str, FloatArray]:
    """The definition, a step and a sample at a time."""
    constants = {name: array.astype(np.float64) for name, array in made.constants.items()}
    if made.by_sequence:
        x = x.swapaxes(0, 1)
        constants |= {name: constants[name].swapaxes(0, 1) for name in ("h", "c") if name in constants}
    hidden, gates, count = made.hidden, GATES[made.kind], made.directions
    y = np.zeros((made.steps, count, made.samples, hidden))
    ends = {name: np.zeros((count, made.samples, hidden)) for name in ("h", "c")}
    clip = made.said.get("clip", np.inf)
    backwards = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    every = functions(made)
    for at, reverse in enumerate(backwards[made.said.get("direction", "forward")]):
        chosen = every[at * COUNT[made.kind] : (at + 1) * COUNT[made.kind]]
        f, *others = [partial(clipped, clip=clip, function=each) for each in chosen]
        w, r = constants["W"][at], constants["R"][at]
        b = constants.get("B", np.zeros((count, 2 * gates * hidden)))[at].reshape(2, -1)
        p = constants.get("P", np.zeros((count, 3 * hidden)))[at].reshape(3, hidden)
        for sample in range(made.samples):
            length = int(constants["lengths"][sample]) if "lengths" in constants else made.steps
            h, c = (
                constants[name][at, sample] if name in constants else np.zeros(hidden) for name in ("h", "c")
            )
            for step in reversed(range(length)) if reverse else range(length):
                left, right = w @ x[step, sample] + b[0], r @ h + b[1]
                u = (left + right).reshape(gates, hidden)
                if made.kind == "RNN":
                    h = f(u[0])
                elif made.kind == "GRU":
                    z, reset = f(u[0]), f(u[1])
                    if made.said.get("linear_before_reset", 0):
                        new = left[2 * hidden :] + reset * right[2 * hidden :]
                    else:
                        new = left[2 * hidden :] + r[2 * hidden :] @ (reset * h) + b[1, 2 * hidden :]
                    h = (1 - z) * others[0](new) + z * h
                else:
                    i = f(u[0] + p[0] * c)
                    forget = 1 - i if made.said.get("input_forget", 0) else f(u[2] + p[2] * c)
                    c = forget * c + i * others[0](u[3])
                    h = f(u[1] + p[1] * c) * chosen[2](c)
                y[step, at, sample] = h
            ends["h"][at, sample], ends["c"][at, sample] = h, c
    found = {"Y": y, "Y_h": ends["h"], "Y_c": ends["c"]}
    return {name: np.moveaxis(array, -2, 0) for name, array in found.items()} if made.by_sequence else found


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    kind = draw(st.sampled_from(list(GATES)))
    said: dict[str, Any] = {"direction": draw(st.sampled_from(["forward", "reverse", "bidirectional"]))}
    count = 2 if said["direction"] == "bidirectional" else 1
    optional = ["B", "h", "lengths", *(["c", "P"] if kind == "LSTM" else [])]
    wanted = [name for name in optional if draw(st.booleans())]
    if draw(st.booleans()):
        said["layout"] = 1
    if draw(st.booleans()):
        said["clip"] = 0.25
    for name in ("linear_before_reset",) if kind == "GRU" else ("input_forget",) if kind == "LSTM" else ():
        said |= {name: 1} if draw(st.booleans()) else {}
    if draw(st.booleans()):
        names = draw(
            st.lists(
                st.sampled_from(list(FUNCTIONS)), min_size=count * COUNT[kind], max_size=count * COUNT[kind]
            )
        )
        said["activations"] = names
        for number, takers, value in (("alpha", ALPHA, 0.5), ("beta", BETA, 0.25)):
            if count_of := sum(name in takers for name in names):
                said[f"activation_{number}"] = [value] * count_of
    sizes = {name: draw(st.integers(1, 3)) for name in ("steps", "samples", "inputs", "hidden")}
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return layer(rng, kind, directions=count, said=said, wanted=wanted, **sizes)


@settings(max_examples=25)
@given(layers(), st.sampled_from([7, 14, 22]), st.integers(0, 2**32))
def test_floats_are_those_of_the_definition_and_of_onnxruntime(made: Layer, opset: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=made.shape)
    if made.by_sequence:
        opset = max(opset, 14)
    data = made.model(opset=opset)
    graph = load_onnx(data)
    expected = plainly(made, x)
    values = graph.run_all(x.reshape(1, *graph.input.shape), {*graph.outputs.values()})
    for name, tensor in graph.outputs.items():
        np.testing.assert_allclose(values[tensor].ravel(), expected[name].ravel(), atol=1e-9)
    if made.by_sequence:  # which onnxruntime leaves out
        return
    session = onnxruntime.InferenceSession(data)
    for name, array in zip(graph.outputs, session.run(None, {"x": x.astype(np.float32)}), strict=True):
        np.testing.assert_allclose(array, expected[name], atol=1e-5)


@pytest.mark.parametrize("outputs", [["Y"], ["", "Y_h"], ["", "", "Y_c"], ["Y", "", "Y_c"]])
def test_any_outputs_are_asked_for(outputs: list[str]) -> None:
    rng = np.random.default_rng(1)
    made = layer(rng, "LSTM", samples=2)
    graph, x = load_onnx(made.model(outputs)), rng.normal(size=made.shape)
    values = graph.run_all(x[None].reshape(1, *graph.input.shape), {*graph.outputs.values()})
    assert [*graph.outputs] == [name for name in outputs if name]
    for name, tensor in graph.outputs.items():
        np.testing.assert_allclose(values[tensor].ravel(), plainly(made, x)[name].ravel(), atol=1e-9)


def test_states_are_inputs_too() -> None:
    rng = np.random.default_rng(1)
    made = layer(rng, "LSTM", wanted=("B", "h", "c"))
    graph = helper.make_graph(
        [helper.make_node("LSTM", ["x", "W", "R", "B", "", "h", "c"], ["Y"], hidden_size=2)],
        "layer",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, made.shape),
            *(helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 1, 2)) for name in "hc"),
        ],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(made.constants[name], name) for name in "WRB"],
    )
    loaded = load_onnx(helper.make_model(graph, ir_version=8).SerializeToString())
    x = rng.normal(size=(32, *made.shape))
    states = {name: np.tile(made.constants[name].reshape(1, 1, 2), (32, 1, 1)) for name in "hc"}
    given = {
        "x": x.reshape(32, *loaded.entries["x"]),
        **{n: a.reshape(32, *loaded.entries[n]) for n, a in states.items()},
    }
    expected = np.stack([plainly(made, each)["Y"] for each in x])
    np.testing.assert_allclose(loaded.run(given).ravel(), expected.ravel(), atol=1e-6)
    network = quantise(loaded, given, 12)
    assert parameters(network).size == parameters(quantised(made, 12)[0]).size - 4 * made.hidden
    real = network.output_scale
    assert real
    q = network.quantise_inputs({name: array[0] for name, array in given.items()})
    got = (network.execute(q).logits - real[1]) * real[0]
    np.testing.assert_allclose(got, expected[0].ravel(), atol=0.01)


def quantised(made: Layer, bits: int, seed: int = 7) -> tuple[QuantGraph, FloatArray]:
    """The only output of which is Y, and samples."""
    graph = load_onnx(made.model(["Y"]))
    x = np.random.default_rng(seed).normal(size=(32, *made.shape))
    return quantise(graph, x.reshape(32, *graph.input.shape), bits), x


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("RNN", {}),
        ("GRU", {}),
        ("GRU", {"linear_before_reset": 1}),
        ("LSTM", {}),
        ("LSTM", {"input_forget": 1}),
    ],
)
@pytest.mark.parametrize("steps", [10, 50])
def test_errors_of_integers_do_not_grow_with_the_steps(kind: str, said: dict[str, Any], steps: int) -> None:
    made = layer(np.random.default_rng(3), kind, steps=steps, inputs=3, hidden=4, said=said)
    for bits, most in ((8, 0.025), (12, 0.0016)):
        network, x = quantised(made, bits)
        assert network.output_scale
        scale, zero = network.output_scale
        q = network.input.type.quantise(x.reshape(32, *network.input.shape))
        expected = np.stack([plainly(made, each)["Y"] for each in x]).reshape(32, steps, -1)
        error = np.abs(scale * (network.run(q) - zero).reshape(expected.shape) - expected)
        assert np.quantile(error / np.ptp(expected), 0.99) < most
        assert error[:, -3:].mean() < 2 * error[:, :5].mean() + scale


CASES: dict[str, Layer] = {
    "rnn": layer(np.random.default_rng(1), "RNN", inputs=1),
    "relu": layer(np.random.default_rng(2), "RNN", inputs=1, said={"activations": ["Relu"], "clip": 1.0}),
    "gru": layer(np.random.default_rng(3), "GRU", inputs=1, steps=2),
    "gru of a linear": layer(
        np.random.default_rng(4), "GRU", inputs=1, steps=2, said={"linear_before_reset": 1}
    ),
    "lstm": layer(np.random.default_rng(5), "LSTM", inputs=1, steps=2),
    "lstm with peepholes": layer(
        np.random.default_rng(6), "LSTM", inputs=1, steps=2, hidden=1, wanted=("B", "P", "c")
    ),
    "coupled gates": layer(np.random.default_rng(7), "LSTM", inputs=1, steps=2, said={"input_forget": 1}),
    "both ways": layer(
        np.random.default_rng(8), "RNN", inputs=1, directions=2, said={"direction": "bidirectional"}
    ),
    "lengths": layer(np.random.default_rng(9), "RNN", inputs=1, samples=2, wanted=("B", "lengths", "h")),
}


@pytest.mark.parametrize("name", CASES)
def test_integers_are_exact_and_come_back_from_files(name: str) -> None:
    network, _ = quantised(CASES[name], 5)
    for q in networks.inputs(network, 4):
        assert network.run(q[None])[0].tolist() == slow.tensors(network, q)[network.output].ravel().tolist()
    data = network.to_bytes()
    back = QuantGraph.from_bytes(data)
    assert back.to_bytes() == data
    assert back.again == network.again
    assert QuantGraph.from_bytes(network.architecture.to_bytes()).digest == network.architecture.digest


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ({"of": "later"}, "file.value"),
        ({"of": "recurrent2"}, "file.value"),
        ({"of": "concat1"}, "file.value"),
        ({"of": 1}, "file.header"),
        ({"inputs": ["x"]}, "file.value"),
        ({"inputs": ["later", "x"]}, "file.value"),
        ({"extra": 1}, "file.header"),
    ],
)
def test_a_node_that_is_another_once_more_must_be_one(edit: dict[str, Any], expected: str) -> None:
    network, _ = quantised(CASES["rnn"], 5)

    def change(header: dict[str, Any]) -> None:
        next(node for node in header["nodes"] if node["name"] == "recurrent2").update(edit)

    with refuses(expected):
        QuantGraph.from_bytes(resealed(network.to_bytes(), change))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("level", "weights"),
    [
        pytest.param(
            level,
            weights,
            marks=() if (level, weights) == (5, "committed") else pytest.mark.large,
        )
        for level, weights in SETTINGS
    ],
)
def test_every_wire_is_proven(name: str, level: Level, weights: Privacy) -> None:
    network, _ = quantised(CASES[name], 3)
    circuit = compile_inference(network, level=level, weight_privacy=weights, reveal="logits")
    for q in networks.inputs(network, 3, 2):
        z = circuit.assign(q)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        assert broken(circuit.relations, held(circuit, z)) == []
    refuse_all_lies(circuit, q, linked=() if weights == "public" else ("/weight",))


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        pytest.param(
            name,
            weights,
            marks=() if name in ("gru", "lstm", "rnn") and weights == "committed" else pytest.mark.large,
        )
        for name in CASES
        for weights in ("committed", "public")
    ],
)
def test_nothing_is_free(name: str, weights: Privacy) -> None:
    network, _ = quantised(CASES[name], 2)
    circuit = compile_inference(network, weight_privacy=weights)
    assert_unique(
        circuit.program, challenged(circuit.program, circuit.assign(networks.inputs(network, 3)[2]))
    )


@pytest.mark.parametrize("kind", list(GATES))
def test_a_state_of_another_step_is_refused(kind: str) -> None:
    """The prover goes on from the state of the step before, as if this one had not been."""
    made = layer(np.random.default_rng(2), kind, steps=4)
    network, _ = quantised(made, 4)
    circuit = compile_inference(network, weight_privacy="committed", reveal="logits")
    q = networks.inputs(network, 3)[2]
    honest = circuit.assign(q)
    states = _states(circuit, network)
    assert len(states) == 4
    for before, after in itertools.pairwise(states):
        values = honest[before]
        if (values == honest[after]).all():
            continue
        forged = forge(circuit, q, dict(zip(after.tolist(), values.tolist(), strict=True)))
        assert first_violation(circuit.constraint_system, answered(circuit.program, forged)) is not None


def _states(circuit: Inference, network: QuantGraph) -> list[NDArray[np.int64]]:
    """The wires of h after each step: Y, a step after the other."""
    tensor = circuit.relations.output
    return [*circuit.program.order[circuit.wires[tensor].ravel()].reshape(4, -1)]


def test_weights_are_committed_once_and_a_step_costs_no_product_of_them() -> None:
    made = layer(np.random.default_rng(2), "LSTM", inputs=8, hidden=8)
    wires, rows = set(), []
    for steps in (4, 8, 12):
        network, _ = quantised(replace(made, steps=steps), 8)
        wires.add(parameters(network).size - 5)
        kinds = [type(node) for node in network.nodes if node.name not in network.again]
        assert (kinds.count(QuantRecurrent), kinds.count(QuantFilled)) == (2, 2)
        assert compile_registration(network).constraint_system.constraints > 0
        circuit = compile_inference(network, weight_privacy="committed", reveal="logits")
        blocks = circuit.constraint_system.blocks
        rows.append(
            sum(block.rows for block in blocks if "/product/" in block.name and "recurrent" in block.name)
        )
    assert wires == {4 * 8 * (8 + 8) + 4 * 8}
    # Of each step its two vectors of 16 entries, and its packed sums.
    assert rows[2] - rows[1] == rows[1] - rows[0] < 4 * (2 * 16 + 16)


def changed(made: Layer, **said: Any) -> Layer:
    return replace(made, said={**made.said, **said})


def test_what_is_wrong_is_refused_by_name() -> None:
    rng = np.random.default_rng(1)
    made = layer(rng, "LSTM", samples=2, wanted=("B", "lengths", "h"))
    for name, wrong in [
        ("direction", changed(made, direction="sideways")),
        ("activation", changed(made, activations=["Sigmoid", "Tanh", "Exp"])),
        ("names 1 activations", changed(made, activations=["Sigmoid"])),
        ("alpha", changed(made, activations=["Affine", "Tanh", "Tanh"], activation_alpha=[1.0])),
        ("finite", changed(made, activations=["Elu"] * 3, activation_alpha=[float("nan")] * 3)),
        ("clip", changed(made, clip=-1.0)),
        ("clip", changed(made, clip=float("inf"))),
    ]:
        with pytest.raises(ModelError, match=name) as caught:
            load_onnx(wrong.model())
        assert caught.value.code == "model.unsupported_attribute"


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("W", (1, 8, 3)),
        ("R", (1, 8, 0)),
        ("R", ()),
        ("B", (1, 8)),
        ("h", (2, 1, 2)),
        ("lengths", (3,)),
        ("c", (2,)),
    ],
)
def test_shapes_that_do_not_fit_are_refused(name: str, shape: tuple[int, ...]) -> None:
    made = layer(np.random.default_rng(1), "LSTM", samples=2)
    array = np.ones(shape, np.int32 if name == "lengths" else np.float32)
    with refuses("model.shape"):
        load_onnx(replace(made, constants={**made.constants, name: array}).model())


@pytest.mark.parametrize("lengths", [[0, 1], [1, 4], [-1, 2]])
def test_lengths_that_are_none_are_refused(lengths: list[int]) -> None:
    made = layer(np.random.default_rng(1), "GRU", samples=2)
    constants = {**made.constants, "lengths": np.array(lengths, np.int32)}
    with refuses("model.shape"):
        load_onnx(replace(made, constants=constants).model())


def test_more_steps_than_anybody_unrolls_are_refused() -> None:
    made = layer(np.random.default_rng(1), "RNN", steps=1 << 11)
    with refuses("model.shape"):
        load_onnx(made.model())
