"""Softmax and normalisations by statistics of the input: as onnxruntime has them, and proven."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx.helper import make_node

from tests.circuits.operators.test_arithmetic import model, prove, same_everywhere
from tests.circuits.operators.test_leaky_relu import LEVELS
from tests.circuits.operators.test_moving import Case, Rng, floats, one
from tests.circuits.quantised import networks
from tests.circuits.support import challenged, forced
from tests.circuits.test_onnx_operators import agree
from tests.circuits.test_uniqueness import assert_unique
from tests.refusals import refuses
from zenserve.circuits import compile_inference, load_onnx, plan_inference, quantise
from zenserve.circuits.lowering import Level
from zenserve.circuits.operators.softmax import QuantSoftmax
from zenserve.circuits.schemes import inference
from zenserve.errors import ModelError
from zenserve.verifier.schemes import Privacy


def softmax(rng: Rng) -> Case:
    return one(str(rng.choice(["Softmax", "LogSoftmax"])), (3, 4), axis=int(rng.integers(-2, 3)))


def vectors(rng: Rng, *shape: int) -> dict[str, Any]:
    return {"s": floats(rng, *shape), "b": floats(rng, *shape)}


def layer(rng: Rng) -> Case:
    axis = int(rng.choice([-1, 1, 2]))
    return one("LayerNormalization", (4, 6), vectors(rng, *((4, 6) if axis == 1 else (6,))), axis=axis)


def layer_without_term(rng: Rng) -> Case:
    return one("LayerNormalization", (4, 6), {"s": np.ones(6, np.float32)}, epsilon=0.01)


def instance(rng: Rng) -> Case:
    return one("InstanceNormalization", (3, 4, 5), vectors(rng, 3))


def response(rng: Rng) -> Case:
    size = int(rng.choice([1, 3, 5]))
    return one("LRN", (5, 2, 3), size=size, alpha=2.0, beta=0.5, bias=1.5)


def norm(rng: Rng) -> Case:
    return one("LpNormalization", (4, 6), axis=int(rng.integers(1, 3)), p=int(rng.integers(1, 3)))


def mean_variance(rng: Rng) -> Case:
    return one("MeanVarianceNormalization", (3, 4, 5), axes=[0, 2, 3])


CASES: list[Callable[[Rng], Case]] = [
    *(softmax, layer, layer_without_term, instance, response, norm, mean_variance)
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_it_agrees_with_onnxruntime(case: Callable[[Rng], Case]) -> None:
    rng = np.random.default_rng(20261123)
    for _ in range(3):
        same_everywhere(case(rng), rng, most=0.04)


def test_before_opset_13_a_softmax_runs_over_all_axes_behind() -> None:
    rng = np.random.default_rng(1)
    for axis in (0, 1, 2):
        agree(model(one("Softmax", (3, 4), axis=axis), opset=11), rng)
    agree(model(one("Hardmax", (3, 4), axis=2), opset=11), rng)


@pytest.mark.parametrize(("opset", "size"), [(18, 2), (21, 4)])
def test_groups_have_factors_of_their_own_then_channels(opset: int, size: int) -> None:
    rng = np.random.default_rng(1)
    case = one("GroupNormalization", (4, 3, 3), vectors(rng, size), num_groups=2)
    graph, x = load_onnx(model(case, opset=opset)), floats(rng, 2, 4, 3, 3).astype(np.float64)
    rows = x.reshape(2, 2, -1)
    normal = (rows - rows.mean(axis=2, keepdims=True)) / np.sqrt(rows.var(axis=2, keepdims=True) + 1e-5)
    factor, term = (np.repeat(case[1][name], 4 // size).reshape(4, 1, 1) for name in ("s", "b"))
    np.testing.assert_allclose(graph.run(x), normal.reshape(x.shape) * factor + term, atol=1e-6)


def test_each_sample_has_its_own_mean() -> None:
    steps = [
        make_node("Reshape", ["x", "t"], ["r"]),
        make_node("InstanceNormalization", ["r", "s", "b"], ["n"]),
        make_node("Flatten", ["n"], ["h"], axis=0),
    ]
    constants = {"t": np.array([3, 2, 4]), **vectors(np.random.default_rng(1), 2)}
    agree(model((steps, constants, (24,))), np.random.default_rng(1))


def test_the_root_of_the_mean_of_squares() -> None:
    rng = np.random.default_rng(1)
    case = one("RMSNormalization", (4, 6), {"s": floats(rng, 6)})
    graph, x = load_onnx(model(case, opset=23)), floats(rng, 2, 4, 6).astype(np.float64)
    expected = x / np.sqrt((x * x).mean(axis=2, keepdims=True) + 1e-5) * case[1]["s"]
    np.testing.assert_allclose(graph.run(x), expected, atol=1e-6)


PROVEN: Mapping[str, Case] = {
    "a softmax": one("Softmax", (2, 2)),
    "shares below a half, which are clamped": (
        [make_node("Mul", ["x", "w"], ["m"]), make_node("Softmax", ["m"], ["h"])],
        {"w": np.array([0.1], np.float32)},
        (3,),
    ),
    "a layer's": one("LayerNormalization", (2, 2), {"s": np.array([1.0, 2.0], np.float32)}),
}


@pytest.mark.parametrize("name", PROVEN)
@pytest.mark.parametrize(("level", "weights"), [(2, "public"), (5, "public"), (5, "private")])
def test_it_is_proven(name: str, level: Level, weights: Privacy) -> None:
    prove(PROVEN[name], level, weights)


@pytest.mark.parametrize("level", [level for level in LEVELS if level not in (2, 5)])
def test_a_quotient_is_proven_at_every_level(level: Level) -> None:
    prove(PROVEN["a softmax"], level, "public")


@pytest.mark.parametrize(
    ("name", "level"),
    [
        pytest.param(name, level, marks=pytest.mark.large if name == "a layer's" else ())
        for name in PROVEN
        for level in (2, 5)
    ],
)
def test_nothing_is_free(name: str, level: Level) -> None:
    rng = np.random.default_rng(1)
    case = PROVEN[name]
    network = quantise(load_onnx(model(case)), floats(rng, 16, *case[2]).astype(np.float64), 3)
    circuit = compile_inference(network, level=level)
    assert plan_inference(network, level=level).rows == circuit.constraint_system.constraints
    for q in networks.inputs(network, 2, 1):
        assert_unique(circuit.program, challenged(circuit.program, circuit.assign(q)))


@pytest.mark.parametrize("length", [8, 300])
def test_shares_are_rounded_once_however_long_their_rows(length: int) -> None:
    rng = np.random.default_rng(1)
    network = quantise(load_onnx(model(one("Softmax", (length,)))), 4 * rng.normal(size=(64, length)))
    (node,) = (node for node in network.nodes if isinstance(node, QuantSoftmax))
    q = network.input.type.quantise(4 * rng.normal(size=(64, length)))
    x = network.input.type.real(q)
    exact = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    made = node.output.real(network.run_all(q, {node.name})[node.name]).reshape(exact.shape)
    assert np.abs(made - exact).max() < 0.6 * node.output.scale


def test_shares_beyond_their_type_are_clamped_in_every_way() -> None:
    """Calibration saw shares of a quarter, where one may be all."""
    network = quantise(load_onnx(model(one("Softmax", (4,)))), np.full((2, 4), [0.0, 0, 0, 4]) / 40)
    q = np.array([0, 0, 0, network.input.type.top])
    ways = plan_inference(network).explanation["softmax1"]
    assert len(ways) > 2
    for way, _ in ways:
        with forced(inference, {"softmax1": way}):
            circuit = compile_inference(network, reveal="values")
        circuit.program.check(circuit.witness(q))


def test_shares_beyond_their_table_are_refused() -> None:
    network = quantise(load_onnx(model(one("Softmax", (2, 3)))), np.ones((2, 2, 3)))
    (node,) = (node for node in network.nodes if isinstance(node, QuantSoftmax))
    table = node.exponentials
    for said in (
        {"exponentials": table[1:]},
        {"exponentials": table - table[0]},
        {"exponentials": table << 9},
        {"multiplier": 0},
        {"shift": 62},
        {"multiplier": 1 << 50},
    ):
        nodes = tuple(replace(node, **said) if each is node else each for each in network.nodes)
        with pytest.raises(ModelError, match=r"table|exponentials|multiplier|62"):
            replace(network, nodes=nodes)


@pytest.mark.parametrize(
    ("case", "code"),
    [
        (one("Softmax", (3,), axis=2), "shape"),
        (one("LayerNormalization", (3,), {"s": np.ones(2, np.float32)}), "shape"),
        (
            one("LayerNormalization", (3,), {"s": np.ones(3, np.float32)}, epsilon=float("nan")),
            "unsupported_attribute",
        ),
        (one("InstanceNormalization", (3,), {"s": np.ones(3), "b": np.ones(3)}), "shape"),
        (one("GroupNormalization", (3, 2), {"s": np.ones(2), "b": np.ones(2)}, num_groups=2), "shape"),
        (one("LRN", (3, 2, 2), size=0), "shape"),
        (one("LRN", (3, 2, 2), size=1 << 40), "shape"),
        (one("LRN", (3, 2, 2), size=3, alpha=float("inf")), "unsupported_attribute"),
        (one("LpNormalization", (3,), p=3), "unsupported_attribute"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(case: Case, code: str) -> None:
    with refuses(f"model.{code}"):
        load_onnx(model(case, opset=21))
