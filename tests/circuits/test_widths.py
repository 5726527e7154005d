"""Tensors and weights of 1 to 16 bits: what holds at 8 holds at all of them."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx.helper import make_node

from tests.circuits.operators.test_leaky_relu import weight
from tests.circuits.quantised import networks, slow
from tests.circuits.support import answered, challenged, first_violation, make_model
from tests.circuits.test_lowering import LEVELS, SMALL, refuse_all_lies
from tests.circuits.test_uniqueness import assert_unique
from tests.refusals import refuses
from zenserve.circuits import compile_inference, compile_registration, load_onnx, plan_inference, quantise
from zenserve.circuits.graphs.types import Affine, WeightType
from zenserve.circuits.lowering import Level
from zenserve.circuits.networks.language import tensor
from zenserve.circuits.operators.activation import Activation, QuantActivation
from zenserve.circuits.operators.convolution import QuantConv
from zenserve.circuits.quantised import QuantGraph
from zenserve.relations import planes

SETTINGS: list[tuple[Level, tuple[str, ...]]] = [
    *((level, ("conv", "max")) for level in LEVELS),
    *((level, kinds) for level in (2, 5) for kinds in (("add", "product"), ("bent", "sum", "requantise"))),
]


@pytest.mark.parametrize(("level", "kinds"), SETTINGS)
def test_16_bits_are_proven_at_every_level(level: Level, kinds: tuple[str, ...]) -> None:
    graph = networks.of_kinds(13, *kinds, most_bits=16, input_bits=16, shape=SMALL)
    circuit = compile_inference(graph, weight_privacy="private", level=level)
    for q in networks.inputs(graph, 3):
        z = circuit.assign(q)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
        assert z[circuit.layout["label"][0]] == slow.label(slow.tensors(graph, q), graph.output)
    assert_unique(circuit.program, challenged(circuit.program, z))


@pytest.mark.parametrize("level", [2, 5])
def test_an_input_of_booleans_has_one_bit(level: Level) -> None:
    graph = networks.of_kinds(3, "tabulated", most_bits=3, input_bits=1, shape=(1, 2, 2))
    circuit = compile_inference(graph, level=level)
    refuse_all_lies(circuit, networks.inputs(graph, 3)[2])
    z = circuit.program.assign({"input": np.full(4, 2)})
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is not None


def functions(count: int, bits: int = 12) -> QuantGraph:
    graph = tensor("x", count).then(Activation, "sin(x)").dense(weight(2, count)).graph()
    return quantise(graph, np.linspace(-1, 1, 2 * count).reshape(2, count), bits, weight_bits=4)


@pytest.mark.parametrize(("count", "way"), [(5, "lower"), (40, "inverse")])
def test_few_values_of_a_wide_function_are_cheaper_without_its_table(count: int, way: str) -> None:
    graph = functions(count)
    circuit = compile_inference(graph)
    assert circuit.constraint_system.constraints == circuit.plan.rows
    assert any(name.startswith("activation1/table/" + way) for name in circuit.layout)
    z = circuit.assign(networks.inputs(graph, 3)[2])
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
    wire = int(circuit.layout["activation1/out"][0])
    z[wire] += 1
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is not None


def test_narrow_ones_are_looked_up_as_they_were() -> None:
    assert plan_inference(functions(1, 8)).rows > 256


def test_a_function_of_16_bits_is_within_half_a_step() -> None:
    (node,) = (node for node in functions(2, 16).nodes if isinstance(node, QuantActivation))
    graph = functions(2, 16)
    exact = np.sin(graph.input.type.real(np.arange(1 << 16)))
    error = np.abs(node.output.real(node.values) - np.clip(exact, *node.output.real(np.array([0, 65535]))))
    assert error.max() <= 0.5001 * node.output.scale


def test_weights_of_more_than_8_bits_are_registered_and_stored() -> None:
    graph = networks.of_kinds(5, "conv", most_bits=16, shape=SMALL)
    (conv, *_) = graph.nodes
    assert isinstance(conv, QuantConv)
    assert conv.weight.dtype == np.uint16
    again = QuantGraph.from_bytes(graph.to_bytes())
    assert again.digest == graph.digest
    registration = compile_registration(graph)
    z = registration.program.assign({})
    assert first_violation(registration.constraint_system, answered(registration.program, z)) is None
    wire = int(registration.layout[f"{conv.name}/weight"].ravel()[0])
    z[wire] = 1 << 16
    assert first_violation(registration.constraint_system, answered(registration.program, z)) is not None


def test_files_that_are_quantised_to_16_bits_keep_their_types() -> None:
    rng = np.random.default_rng(0)
    weights = {
        "s": np.float32(2**-13),
        "z": np.uint16(32768),
        "w": rng.integers(-(1 << 15), 1 << 15, (4, 3), np.int16),
        "v": np.float32(2**-15),
        "n": np.int16(0),
    }
    nodes = [
        make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        make_node("DequantizeLinear", ["q", "s", "z"], ["r"]),
        make_node("DequantizeLinear", ["w", "v", "n"], ["d"]),
        make_node("MatMul", ["r", "d"], ["y"]),
    ]
    arrays = {name: np.asarray(value) for name, value in weights.items()}
    model = make_model(nodes, arrays, ("batch", 4), opset=21)
    graph = quantise(load_onnx(model), np.zeros((1, 4)))
    assert graph.input.type == Affine(2**-13, 32768, 16)
    x = rng.uniform(-3.9, 3.9, (8, 4))
    (expected,) = onnxruntime.InferenceSession(model).run(None, {"x": x.astype(np.float32)})
    assert graph.output_scale == (2**-28, 0)
    found = graph.run(graph.input.type.quantise(x)) * 2.0**-28
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_integers_are_stored_in_the_smallest_type_alone() -> None:
    """Or one network had two digests."""
    (conv, *_) = networks.of_kinds(13, "conv", shape=SMALL).nodes
    assert isinstance(conv, QuantConv)
    with refuses("model.quantised", match="weights of uint16"):
        QuantConv(
            "conv", ("x",), conv.weight.astype(np.uint16), conv.weight_type, conv.bias, rescale=conv.rescale
        )


@pytest.mark.parametrize("bits", [24, 53, 59])
def test_sums_that_floats_would_round_are_exact(bits: int) -> None:
    """Of 24 bits the last that float32 has, of 53 those of float64."""
    half = 1 << bits - 1
    x = np.array([1, 1, 1]).reshape(1, 1, 1, 3)
    for weights in ([half, half, -1], [half, half, 1], [-half, -half, -1], [half, 1 - half, half]):
        weight = np.array(weights).reshape(1, 1, 1, 3)
        found = planes.convolve_integers(x, weight, (1, 1), (0, 0, 0, 0), 1)
        assert found.item() == sum(weights)


@pytest.mark.parametrize(("bits", "dtype"), [(2, "uint8"), (8, "uint8"), (9, "uint16"), (16, "uint16")])
def test_types_of_weights(bits: int, dtype: str) -> None:
    assert WeightType(np.ones(1), np.zeros(1, np.int64), bits).dtype == dtype
    with refuses("model.quantised", match="1 to 16"):
        WeightType(np.ones(1), np.zeros(1, np.int64), bits + 15)
