"""Abs: as onnxruntime has it, in integers to a step, and proven at every level and privacy."""

from __future__ import annotations

import numpy as np
import pytest
from onnx.helper import make_node

from tests.circuits.operators.test_leaky_relu import SETTINGS, weight
from tests.circuits.quantised import networks
from tests.circuits.support import answered, first_violation, make_model
from tests.circuits.test_lowering import refuse_all_lies
from tests.circuits.test_onnx_operators import agree
from zenserve.circuits import compile_inference, load_onnx, quantise
from zenserve.circuits.lowering import Level
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.onnx.write import to_onnx
from zenserve.circuits.operators.absolute import Abs
from zenserve.circuits.quantised import QuantGraph
from zenserve.errors import ModelError
from zenserve.verifier.schemes import Privacy


def absolute(bits: int = 8) -> QuantGraph:
    graph = tensor("x", 2).then(Abs).dense(weight(3, 2)).graph()
    return quantise(graph, np.array([[-1.0, 2.0], [0.5, -0.5]]), bits)


def test_it_is_written_read_and_means_the_same() -> None:
    graph = tensor("x", 2).then(Abs).dense(weight(3, 2)).graph()
    assert isinstance(agree(to_onnx(graph), np.random.default_rng(3)).nodes[0], Abs)


def test_attributes_are_refused() -> None:
    nodes = [make_node("Abs", ["x"], ["h"], axis=1), make_node("MatMul", ["h", "w"], ["y"])]
    with pytest.raises(ModelError, match="'axis'") as caught:
        load_onnx(make_model(nodes, {"w": np.zeros((2, 3), np.float32)}, ("batch", 2)))
    assert caught.value.code == "model.unsupported_attribute"


def test_every_integer_becomes_its_distance_from_zero() -> None:
    graph = absolute()
    q = np.stack([np.arange(256)] * 2, axis=1)
    made, kind = dict(graph.tensors(q))["abs1"], graph.types["abs1"]
    assert kind
    assert kind.zero_point == 0
    exact = np.abs(graph.input.type.real(q))
    assert np.abs(kind.real(made) - exact).max() <= 0.75 * kind.scale


@pytest.mark.parametrize(("level", "weights"), SETTINGS)
def test_it_is_proven_and_every_wire_that_lies_is_refused(level: Level, weights: Privacy) -> None:
    graph = absolute(bits=3)
    circuit = compile_inference(graph, weight_privacy=weights, level=level)
    for q in networks.inputs(graph, 3, 1):
        z = circuit.assign(q)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        assert z[circuit.layout["label"][0]] == graph.execute(q).label
    refuse_all_lies(circuit, q)
