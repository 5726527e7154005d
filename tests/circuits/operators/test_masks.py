"""What masks leave out of a softmax, constant masks and computed ones: as onnxruntime has it, and proven."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from tests.circuits.operators.test_activation import chain
from tests.circuits.operators.test_arithmetic import lines, model, prove, same_everywhere
from tests.circuits.operators.test_moving import Case
from tests.circuits.support import answered, challenged, first_violation
from tests.circuits.test_lowering import refuse_all_lies
from tests.circuits.test_uniqueness import assert_unique
from tests.refusals import refuses
from zenserve.circuits import QuantGraph, compile_inference, load_onnx, quantise
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.lowering import Level
from zenserve.circuits.operators.masks import Only
from zenserve.circuits.operators.softmax import Softmax

CAUSAL = np.tril(np.ones((3, 3), np.bool_))
LEAST = np.finfo(np.float32).min


def of_constant(*steps: str, **constants: Any) -> Case:
    return lines((2, 3, 3), *steps, "Softmax a -> h", **constants)


CONSTANT: Mapping[str, Case] = {
    "added": of_constant("Add x m -> a", m=np.where(CAUSAL, 0, -np.inf).astype(np.float32)),
    "added beside numbers": of_constant("Add m x -> a", m=np.where(CAUSAL, 0.5, -1e9).astype(np.float32)),
    "chosen": of_constant("Where c x m -> a", c=CAUSAL, m=np.float32(LEAST)),
    "chosen the other way": of_constant("Where c m x -> a", c=~CAUSAL, m=np.float32(-np.inf)),
    "added before heads are a batch": lines(
        (2, 3, 3), "Add x m -> a", "Reshape a s -> b", "Softmax b -> c", "Reshape c t -> h",
        m=np.where(CAUSAL, 0, -np.inf).astype(np.float32)[None, None], s=[2, 3, 3], t=[1, 2, 3, 3],
    ),
    "added twice": of_constant(
        "Where c x m -> b", "Add b d -> a",
        c=CAUSAL, m=np.float32(-1e4), d=np.array([[[0, 0, 0]], [[0, 0, -1e4]]], np.float32),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTANT)
def test_constant_masks_agree_with_onnxruntime(name: str) -> None:
    rng = np.random.default_rng(3)
    same_everywhere(CONSTANT[name], rng)


def exponentials(graph: Graph) -> int:
    (found,) = (node for node in graph.nodes if isinstance(node, Softmax))
    return math.prod(graph.shapes[found.name]) if found.kept is None else int(found.kept.sum())


def test_nothing_is_computed_of_what_a_constant_masks() -> None:
    assert exponentials(load_onnx(model(CONSTANT["added"]))) == 2 * 6


def test_a_row_that_is_masked_whole_is_what_its_numbers_say() -> None:
    case = of_constant("Add x m -> a", m=np.full((3, 1), -1e4, np.float32))
    assert exponentials(load_onnx(model(case))) == 18


def test_small_numbers_that_a_softmax_does_not_read_stay_what_they_are() -> None:
    steps = ("Add x m -> a", "Mul a x -> h")
    same_everywhere(lines((3,), *steps, m=np.array([0, 0, -2e3], np.float32)), np.random.default_rng(1))


@pytest.mark.parametrize(("level", "weights"), [(2, "public"), (5, "public")])
def test_a_causal_softmax_is_proven(level: Level, weights: Any) -> None:
    two = np.array([[0, -np.inf], [0, 0]], np.float32)
    prove(lines((2, 2), "Add x m -> a", "Softmax a -> h", m=two), level, weights)


# From "m", int64[1, 3], and scores "x", float[1, 2, 3, 3], to "a".
OPEN = ("Cast m -> f", "Sub one f -> g", "Reshape g s -> r")
COMPUTED: Mapping[str, Sequence[str]] = {
    "added": [*OPEN, "Mul r least -> n", "Add x n -> a"],
    "added to a causal one": [*OPEN, "Mul r least -> n", "Add n causal -> o", "Add x o -> a"],
    "chosen": ["Equal m zero -> e", "Reshape e s -> r", "Where r least x -> a"],
    "chosen from a causal one": [
        *("Cast m -> f", "Reshape f s -> r", "Greater r half -> e", "Add x causal -> c"),
        "Where e c least -> a",
    ],
    "as PyTorch's encoders have it": [
        *("Cast m -> f", "Sub one f -> g", "Reshape g s -> r", "Greater r half -> e"),
        *("Where e least r -> n", "Add n x -> a"),
    ],
}
CONSTANTS: Mapping[str, Any] = {
    "one": np.ones(1, np.float32), "half": np.float32(0.5), "least": np.float32(LEAST),
    "zero": np.zeros(1, np.int64),
    "s": np.array([1, 1, 1, 3]), "causal": np.where(CAUSAL, 0, -np.inf).astype(np.float32),
}  # fmt: skip


def of_computed(steps: Sequence[str]) -> bytes:
    nodes: list[NodeProto] = chain(*steps, "Softmax a -> y")
    for node in nodes:
        if node.op_type == "Cast":
            node.attribute.append(helper.make_attribute("to", TensorProto.FLOAT))
    read = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes,
        "test",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 3, 3]),
            helper.make_tensor_value_info("m", TensorProto.INT64, [1, 3]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(CONSTANTS[name]), name) for name in CONSTANTS if name in read],
    )
    opsets = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def samples(count: int = 24) -> dict[str, NDArray[Any]]:
    """Masks of one place at least, the first."""
    rng = np.random.default_rng(7)
    lengths = rng.integers(1, 4, (count, 1))
    return {"x": rng.normal(size=(count, 2, 3, 3)), "m": (np.arange(3) < lengths).astype(np.int64)}


@pytest.mark.parametrize("name", COMPUTED)
def test_computed_masks_agree_with_onnxruntime(name: str) -> None:
    data, given = of_computed(COMPUTED[name]), samples()
    session = onnxruntime.InferenceSession(data)
    each = [{"x": x[None].astype(np.float32), "m": m[None]} for x, m in zip(*given.values(), strict=True)]
    expected = np.concatenate([session.run(None, one)[0] for one in each])
    graph = load_onnx(data)
    assert sum(isinstance(node, Only) for node in graph.nodes) == 2
    np.testing.assert_allclose(graph.run(given), expected, atol=1e-5)
    network = quantise(graph, given)
    q = {name: network.entries[name].type.quantise(value.astype(np.float64)) for name, value in given.items()}
    assert network.output_scale
    scale, zero = network.output_scale
    assert np.abs(scale * (network.run(q) - zero) - expected.reshape(24, -1)).max() < 0.02


@pytest.fixture(scope="module")
def masked() -> QuantGraph:
    steps = [*OPEN, "Mul r least -> n", "Add n causal -> o", "Add x o -> a"]
    return quantise(load_onnx(of_computed(steps)), samples(), 3)


def test_a_mask_that_keeps_nothing_is_refused(masked: QuantGraph) -> None:
    """Runtimes differ in its shares: onnxruntime's are equal, or no numbers."""
    nothing = {"x": np.zeros((1, 2, 3, 3)), "m": np.zeros((1, 3), np.int64)}
    q = {name: masked.entries[name].type.quantise(each.astype(np.float64)) for name, each in nothing.items()}
    with refuses("input.out_of_range", match="keeps nothing"):
        masked.run(q)
    with refuses("input.out_of_range", match="keeps nothing"):
        quantise(load_onnx(of_computed(COMPUTED["added"])), nothing)


@pytest.mark.parametrize("level", [2, 5])
def test_a_softmax_under_a_mask_from_outside_is_proven(masked: QuantGraph, level: Level) -> None:
    given = {name: value[3] for name, value in samples().items()}
    q = masked.quantise_inputs(given)
    circuit = compile_inference(masked, reveal="values", level=level)
    z = circuit.assign(q)
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
    refuse_all_lies(circuit, q)
    assert_unique(circuit.program, challenged(circuit.program, z))
