"""Arithmetic of computed tensors: as onnxruntime has it, in integers to a few steps, and proven."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx.helper import make_node

from circuits import compile_inference, load_onnx, quantise
from circuits.graphs.types import FloatArray
from circuits.lowering import Level
from circuits.operators.multiply import Mul
from circuits.quantised import QuantGraph
from tests.circuits.operators.test_activation import chain
from tests.circuits.operators.test_leaky_relu import SETTINGS
from tests.circuits.operators.test_moving import Case, Rng, floats
from tests.circuits.quantised import networks, slow
from tests.circuits.relation_checker import broken
from tests.circuits.support import answered, first_violation, held, make_model
from tests.circuits.test_lowering import refuse_all_lies
from tests.refusals import refuses
from verifier.schemes import Privacy


def lines(shape: tuple[int, ...], *steps: str, **constants: Any) -> Case:
    """Nodes by "operator inputs -> output", from "x" to "h"."""
    return chain(*steps), {name: np.asarray(value) for name, value in constants.items()}, shape


def products(rng: Rng) -> Case:
    return lines((3, 4), "Sin x -> a", "Mul a x -> b", "Mul w x -> c", "Mul b c -> h", w=floats(rng, 3, 4))


def broadcast_product(rng: Rng) -> Case:
    steps = ("GlobalAveragePool x -> g", "Mul g x -> p", "Relu p -> h")
    return lines((3, 4, 5), *steps)


def quotient(rng: Rng) -> Case:
    two = np.float32(2)
    return lines(
        (3, 4),
        "Slice x s e a -> b",
        "Exp b -> c",
        "Add c two -> d",
        "Div x d -> h",
        two=two,
        s=[1],
        e=[2],
        a=[2],
    )


def product_of_constants_and_two(rng: Rng) -> Case:
    return lines(
        (4,),
        "Mul x w -> a",
        "Tanh x -> b",
        "Mul b a -> c",
        "Mul c v -> h",
        w=floats(rng, 4),
        v=floats(rng, 1),
    )


CASES: list[Callable[[Rng], Case]] = [products, broadcast_product, quotient, product_of_constants_and_two]


def model(case: Case, opset: int = 19) -> bytes:
    nodes, constants, shape = case
    return make_model(
        [*nodes, make_node("Identity", ["h"], ["y"])], constants, ("batch", *shape), opset=opset
    )


def real(graph: QuantGraph, q: NDArray[np.int64]) -> FloatArray:
    """What the outputs stand for."""
    assert graph.output_scale
    scale, zero = graph.output_scale
    return (graph.run(q) - zero) * np.float64(scale)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_it_agrees_with_onnxruntime(case: Callable[[Rng], Case]) -> None:
    rng = np.random.default_rng(20261123)
    for _ in range(4):
        made = case(rng)
        data, x = model(made), floats(rng, 64, *made[2])
        session = onnxruntime.InferenceSession(data)
        expected = np.concatenate([session.run(None, {"x": each[None]})[0].reshape(1, -1) for each in x])
        graph = load_onnx(data)
        np.testing.assert_allclose(
            graph.run(x.astype(np.float64)).reshape(64, -1), expected, atol=1e-4, rtol=1e-4
        )
        # And in integers, to a few hundredths of what the outputs span.
        network = quantise(graph, x.astype(np.float64))
        got = real(network, network.input_type.quantise(x.astype(np.float64)))
        error = np.abs(got - expected) / max(1e-9, np.ptp(expected))
        assert np.quantile(error, 0.95) < 0.03
        q = network.input_type.quantise(x[0].astype(np.float64))
        assert network.run(q[None])[0].tolist() == slow.tensors(network, q)[network.output].ravel().tolist()
        assert QuantGraph.from_bytes(network.to_bytes()).digest == network.digest


# What proves something new: small, followed by nothing or by a layer.
PROVEN: Mapping[str, Case] = {
    "a product": lines((3,), "Slice x s e a t -> c", "Mul x c -> h", s=[-1], e=[-9], a=[1], t=[-1]),
    "a rectified product": lines(
        (2, 2), "Slice x s e a -> c", "Mul x c -> p", "Relu p -> h", s=[1], e=[2], a=[2]
    ),
    "a quotient": lines((3,), "Slice x s e a -> c", "Exp c -> d", "Div x d -> h", s=[1], e=[2], a=[1]),
}


@pytest.mark.parametrize("name", PROVEN)
@pytest.mark.parametrize(("level", "weights"), SETTINGS)
def test_it_is_proven(name: str, level: Level, weights: Privacy) -> None:
    rng = np.random.default_rng(7)
    nodes, constants, shape = PROVEN[name]
    graph = load_onnx(model((nodes, constants, shape)))
    network = quantise(graph, floats(rng, 32, *shape).astype(np.float64), 3)
    for reveal in ("label", "logits"):
        circuit = compile_inference(network, level=level, weight_privacy=weights, reveal=reveal)
        for q in networks.inputs(network, 3, 2):
            z = circuit.assign(q)
            assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
            assert broken(circuit.relations, held(circuit, z)) == []
            assert z[circuit.layout["label"][0]] == network.execute(q).label
    refuse_all_lies(circuit, q)


def test_a_product_of_itself_is_a_table_and_one_of_two_costs_a_row_each() -> None:
    rng = np.random.default_rng(7)
    graph = load_onnx(model(lines((3,), "Relu x -> a", "Mul a x -> h")))
    assert not any(isinstance(node, Mul) for node in graph.nodes)
    network = quantise(load_onnx(model(PROVEN["a product"])), floats(rng, 9, 3).astype(np.float64))
    blocks = compile_inference(network).constraint_system.blocks
    assert [block.rows for block in blocks if block.name.startswith("mul1")] == [3]


def test_a_divisor_of_both_signs_is_refused() -> None:
    graph = load_onnx(
        model(lines((3,), "Sin x -> s", "Slice s b e a -> c", "Div x c -> h", b=[1], e=[2], a=[1]))
    )
    with refuses("model.scale", match="divides by zero"):
        quantise(graph, np.random.default_rng(1).normal(size=(64, 3)))


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    with refuses("model.shape", match="combines the shapes"):
        load_onnx(model(lines((3, 2), "Slice x b e a -> c", "Mul x c -> h", b=[0], e=[2], a=[1])))
