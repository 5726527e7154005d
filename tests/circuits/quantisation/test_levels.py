"""Features of tables that reach differently far: each keeps its own precision, and that is proven."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.circuits.operators.test_learned import LINEAR, THREE, model
from tests.circuits.relation_checker import broken
from tests.circuits.support import answered, challenged, first_violation, held
from tests.circuits.test_lowering import refuse_all_lies
from tests.circuits.test_uniqueness import assert_unique
from zenserve.circuits import Graph, QuantGraph, compile_inference, load_onnx, quantise
from zenserve.circuits.lowering import Level
from zenserve.verifier.schemes import Privacy

REACH = np.array([0.01, 1.0, 4000.0, 3.0])
# Far from zero, where it varies little.
MIDDLE = np.array([0.0, 0.5, 0.0, 1000.0])


def rows(count: int = 64) -> NDArray[np.float64]:
    return MIDDLE + REACH * np.random.default_rng(3).uniform(-1, 1, (count, 4))


def regressor() -> Graph:
    """In which all features matter alike."""
    weight, bias = 1 / REACH, -float((MIDDLE / REACH).sum())
    said = {"coefficients": weight.tolist(), "intercepts": [bias]}
    return load_onnx(model("LinearRegressor", said, width=4))


def error(graph: Graph, x: NDArray[np.float64]) -> float:
    network = quantise(graph, x)
    scale, zero = network.scale_of(network.output) or (0.0, 0)
    made = scale * (network.run(network.input.type.quantise(x)) - zero)
    return float(np.abs(made - graph.run(x).reshape(made.shape)).max())


def levels(network: QuantGraph) -> list[str]:
    return [node.name for node in network.nodes if node.name.endswith(".level")]


def test_each_feature_keeps_its_own_precision() -> None:
    graph, x = regressor(), rows()
    plain = replace(graph, inputs=(replace(graph.input, features=False),))
    assert error(graph, x) < 0.1 < 1 < error(plain, x)


def test_others_stay_as_they_were() -> None:
    """Those that reach alike, those that are no table's, and those that more than layers read."""
    graph, x = regressor(), rows()
    assert levels(quantise(graph, x)) == ["dense1.level"]
    assert levels(quantise(graph, np.random.default_rng(3).uniform(-1, 1, (9, 4)))) == []
    assert levels(quantise(replace(graph, inputs=(replace(graph.input, features=False),)), x)) == []
    normal = load_onnx(model("Normalizer", {"norm": "L2"}, width=4))
    assert levels(quantise(normal, x)) == []


def test_kernels_read_them_so_too() -> None:
    said = {**THREE, "kernel_type": "RBF", "kernel_params": [1e-7, 0.0, 3.0]}
    graph, x = load_onnx(model("SVMClassifier", said, outputs=2)), rows()[:, [0, 2]]
    network = quantise(graph, x)
    assert levels(network) == ["conv1.level"]
    assert QuantGraph.from_bytes(network.to_bytes()).to_bytes() == network.to_bytes()


def test_a_feature_that_never_changes_is_none_that_matters() -> None:
    x = rows()
    x[:, 1] = 0
    assert error(regressor(), x) < 0.1


def small() -> tuple[QuantGraph, NDArray[np.float64]]:
    x = rows(16)[:, [1, 2]]
    x[:, 1] /= 100
    said = {**LINEAR, "classlabels_ints": [0, 1, 2]}
    return quantise(load_onnx(model("LinearClassifier", said, outputs=2)), x, 4), x


@pytest.mark.parametrize(("level", "weights"), [(2, "public"), (5, "public"), (5, "private")])
def test_it_is_proven(level: Level, weights: Privacy) -> None:
    network, x = small()
    assert levels(network) == ["dense1.level"]
    circuit = compile_inference(network, weight_privacy=weights, level=level, reveal="values")
    top = network.input.type.top
    ends: list[Any] = [network.quantise_input(x[3]), *([a, b] for a in (0, top) for b in (0, top))]
    for q in ends:
        z = answered(circuit.program, circuit.assign(np.array(q)))
        assert first_violation(circuit.constraint_system, z) is None
        assert broken(circuit.relations, held(circuit, z)) == []
    refuse_all_lies(circuit, ends[0])
    if level == 5:
        assert_unique(circuit.program, challenged(circuit.program, circuit.assign(ends[0])))
