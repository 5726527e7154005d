"""Kernels along one axis to three, with gaps between their taps: as onnxruntime has them, and proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import NodeProto
from onnx.helper import make_node

from tests.circuits.quantised import networks, slow
from tests.circuits.relation_checker import broken
from tests.circuits.support import answered, first_violation, held, make_model
from tests.circuits.test_lowering import refuse_all_lies
from tests.refusals import refuses
from zenserve.circuits import QuantGraph, compile_inference, load_onnx, quantise
from zenserve.circuits.lowering import Level
from zenserve.circuits.onnx.write import to_onnx
from zenserve.verifier.schemes import Privacy

Rng = np.random.Generator
Weights = Mapping[str, NDArray[Any]]
LEVELS: tuple[Level, ...] = get_args(Level)
CASES = 12
PRIVACIES: tuple[Privacy, ...] = ("private", "public")


def floats(rng: Rng, *shape: int) -> NDArray[np.float32]:
    return rng.standard_normal(shape).astype(np.float32)


def model(nodes: Sequence[NodeProto], weights: Weights, shape: Sequence[int], opset: int = 19) -> bytes:
    """Of nodes from "x" to "h", for a batch of these shapes."""
    nodes = [*nodes, make_node("Relu", ["h"], ["y"])]
    return make_model(nodes, dict(weights), ("batch", *shape), opset=opset)


def agree(data: bytes, shape: Sequence[int], rng: Rng, *, writable: bool = True) -> None:
    x = floats(rng, 1, *shape)
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": x})
    graph = load_onnx(data)
    assert graph.shapes[graph.output] == expected.shape[1:]
    np.testing.assert_allclose(graph.run(x.astype(np.float64)), expected, atol=2e-5)
    if not writable:
        return
    (written,) = onnxruntime.InferenceSession(to_onnx(graph)).run(None, {"x": x})
    np.testing.assert_allclose(written, expected, atol=2e-5)


def drawn(rng: Rng, rank: int, high: int) -> list[int]:
    return [int(size) for size in rng.integers(1, high + 1, rank)]


def geometry(rng: Rng, rank: int, pool: bool) -> tuple[list[int], dict[str, Any]]:
    """The sizes of an image that the kernel fits, and the attributes."""
    kernel, mode = drawn(rng, rank, 3), str(rng.choice(["pads", "SAME_UPPER", "SAME_LOWER", "VALID"]))
    # Without gaps where onnxruntime has none, and by small strides.
    dilations = [1] * rank if "SAME" in mode else drawn(rng, rank, 3)
    strides = (
        [min(sizes) for sizes in zip(drawn(rng, rank, 3), kernel, strict=True)]
        if pool
        else drawn(rng, rank, 3)
    )
    said: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "dilations": dilations}
    reach = [step * (size - 1) + 1 for size, step in zip(kernel, dilations, strict=True)]
    if mode == "pads":
        said["pads"] = [int(rng.integers(0, kernel[axis % rank])) for axis in range(2 * rank)]
    else:
        said["auto_pad"] = mode
    return [far + int(rng.integers(0, 4)) for far in reach], said


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolutions_agree_with_onnxruntime(rank: int) -> None:
    rng = np.random.default_rng(rank)
    for _ in range(CASES):
        plane, said = geometry(rng, rank, pool=False)
        groups, inner, outer = drawn(rng, 3, 2)
        outer += 1
        weights = {
            "w": floats(rng, groups * outer, inner, *said["kernel_shape"]),
            "b": floats(rng, groups * outer),
        }
        node = make_node("Conv", ["x", *weights], ["h"], group=groups, **said)
        shape = (groups * inner, *plane)
        agree(model([node], weights, shape, int(rng.integers(11, 20))), shape, rng)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kind", ["AveragePool", "LpPool", "MaxPool"])
def test_pools_agree_with_onnxruntime(kind: str, rank: int) -> None:
    rng = np.random.default_rng(rank)
    for _ in range(CASES):
        plane, said = geometry(rng, rank, pool=True)
        shape = (2, *plane)
        if kind == "AveragePool":
            said["count_include_pad"] = int(rng.integers(0, 2))
        node = make_node(kind, ["x"], ["h"], **said)
        agree(model([node], {}, shape), shape, rng, writable=kind != "LpPool")
    whole = make_node(f"Global{kind}", ["x"], ["h"])
    shape = (3, *range(2, 2 + rank))
    agree(model([whole], {}, shape), shape, rng, writable=kind != "LpPool")


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_transposed_convolutions_agree_with_onnxruntime(rank: int) -> None:
    rng = np.random.default_rng(rank)
    for _ in range(2 * CASES):
        kernel, strides = drawn(rng, rank, 4), drawn(rng, rank, 3)
        dilations = [gap if by == 1 else 1 for by, gap in zip(strides, drawn(rng, rank, 3), strict=True)]
        said: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "dilations": dilations}
        match rng.integers(4):
            case 0:
                said["strides"] = [min(sizes) for sizes in zip(strides, kernel, strict=True)]
                said["auto_pad"] = str(rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
            case 1:
                said["pads"] = [int(rng.integers(0, kernel[axis % rank])) for axis in range(2 * rank)]
                said["output_padding"] = [int(rng.integers(0, by)) for by in strides]
            case 2:
                said["output_shape"] = [2 + by for by in strides]
        groups, inner, outer = drawn(rng, 3, 2)
        weights = {
            "w": floats(rng, groups * inner, outer + 1, *kernel),
            "b": floats(rng, groups * (outer + 1)),
        }
        node = make_node("ConvTranspose", ["x", *weights], ["h"], group=groups, **said)
        shape = (groups * inner, *(3 + size for size in drawn(rng, rank, 3)))
        agree(model([node], weights, shape), shape, rng)


def test_a_transposed_weight_may_be_quantised_per_output_channel() -> None:
    rng = np.random.default_rng(8)
    weights: dict[str, NDArray[Any]] = {
        "q": rng.integers(-128, 128, (4, 3, 3, 2)).astype(np.int8),
        "s": rng.uniform(0.01, 0.1, 3).astype(np.float32),
    }
    nodes = [
        make_node("DequantizeLinear", ["q", "s"], ["w"], axis=1),
        make_node("ConvTranspose", ["x", "w"], ["h"], strides=[2, 2], group=2),
    ]
    agree(model(nodes, weights, (4, 3, 3)), (4, 3, 3), rng)
    nodes[0] = make_node("DequantizeLinear", ["q", "t"], ["w"], axis=0)
    by_input = {"q": weights["q"], "t": rng.uniform(0.01, 0.1, 4).astype(np.float32)}
    agree(model(nodes, by_input, (4, 3, 3)), (4, 3, 3), rng)


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        ({"strides": [0, 1]}, "shape", "strides"),
        ({"strides": [1]}, "shape", "needs 2 strides"),
        ({"strides": [1 << 62, 1]}, "too_large", "ConvTranspose"),
        ({"dilations": [1, 1 << 62]}, "too_large", "ConvTranspose"),
        ({"output_padding": [1 << 62, 0]}, "too_large", "ConvTranspose"),
        ({"output_padding": [1 << 62, 0], "pads": [1 << 62, 0, 0, 0]}, "too_large", "elements"),
        ({"output_padding": [-1, 0]}, "shape", "below 0"),
        ({"output_shape": [90, 9]}, "shape", "90 are wanted"),
        ({"pads": [9, 9, 9, 9]}, "shape", "leave nothing"),
        ({"pads": [1, 1]}, "shape", "4 pads"),
        ({"group": 3}, "shape", "in 3 groups"),
        ({"group": 0}, "shape", "in 0 groups"),
        ({"auto_pad": "SAME"}, "unsupported_attribute", "use explicit pads"),
        ({"kernel_shape": [3, 3]}, "shape", "kernel_shape"),
    ],
)
def test_a_transposed_convolution_that_makes_no_sense_is_refused(
    said: Mapping[str, Any], code: str, words: str
) -> None:
    node = make_node("ConvTranspose", ["x", "w"], ["h"], **said)
    with refuses(f"model.{code}", match=words):
        load_onnx(model([node], {"w": np.ones((2, 1, 2, 2), np.float32)}, (2, 3, 3)))


def network(nodes: Sequence[NodeProto], weights: Weights, shape: tuple[int, ...], bits: int) -> QuantGraph:
    rng = np.random.default_rng(3)
    graph = load_onnx(make_model(nodes, dict(weights), ("batch", *shape), opset=19))
    return quantise(graph, floats(rng, 16, *shape).astype(np.float64), bits)


def along_one_axis(bits: int) -> QuantGraph:
    rng = np.random.default_rng(4)
    nodes = [
        make_node("Conv", ["x", "w", "b"], ["k"], dilations=[2], strides=[2], pads=[1, 0]),
        make_node("Relu", ["k"], ["y"]),
    ]
    return network(nodes, {"w": floats(rng, 2, 1, 2), "b": floats(rng, 2)}, (1, 4), bits)


def along_three(bits: int) -> QuantGraph:
    rng = np.random.default_rng(5)
    nodes = [
        make_node("Conv", ["x", "w"], ["k"], dilations=[1, 2, 1], group=2),
        make_node("MaxPool", ["k"], ["y"], kernel_shape=[2, 1, 2], strides=[1, 1, 1]),
    ]
    return network(nodes, {"w": floats(rng, 2, 1, 1, 2, 1)}, (2, 2, 3, 3), bits)


def pooled_with_gaps(bits: int) -> QuantGraph:
    nodes = [
        make_node("AveragePool", ["x"], ["a"], kernel_shape=[2, 2], dilations=[1, 2]),
        make_node("MaxPool", ["a"], ["y"], kernel_shape=[2, 2], dilations=[2, 1], pads=[0, 1, 0, 0]),
    ]
    return network(nodes, {}, (1, 4, 4), bits)


def transposed(bits: int) -> QuantGraph:
    rng = np.random.default_rng(7)
    said: dict[str, Any] = {"strides": [2, 1], "pads": [1, 0, 0, 1], "output_padding": [1, 0]}
    nodes = [make_node("ConvTranspose", ["x", "w", "b"], ["k"], **said), make_node("Relu", ["k"], ["y"])]
    return network(nodes, {"w": floats(rng, 2, 1, 3, 2), "b": floats(rng, 1)}, (2, 2, 2), bits)


NETWORKS = [along_one_axis, along_three, pooled_with_gaps, transposed]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("make", NETWORKS)
def test_executor_circuit_and_loops_agree(make: Any, level: Level) -> None:
    graph = make(6)
    for privacy in PRIVACIES:
        circuit = compile_inference(graph, weight_privacy=privacy, level=level)
        for q in networks.inputs(graph, 3):
            expected = slow.tensors(graph, q)
            assert graph.execute(q).logits.ravel().tolist() == expected[graph.output].ravel().tolist()
            z = answered(circuit.program, circuit.assign(q))
            assert first_violation(circuit.constraint_system, z) is None
            assert broken(circuit.relations, held(circuit, z)) == []


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("make", NETWORKS)
def test_every_wire_that_lies_is_refused(make: Any, level: Level) -> None:
    graph = make(2)
    circuit = compile_inference(graph, weight_privacy="private", level=level)
    refuse_all_lies(circuit, networks.inputs(graph, 3)[2])


def test_a_gap_costs_nothing() -> None:
    """Over 7 entries a kernel of 3 has 3 places, whether every other entry is a tap or a place."""

    def rows(level: Level, **said: Any) -> int:
        weights = {"w": floats(np.random.default_rng(6), 2, 3, 3)}
        graph = network([make_node("Conv", ["x", "w"], ["y"], **said)], weights, (3, 7), 8)
        return compile_inference(graph, weight_privacy="private", level=level).constraint_system.constraints

    assert rows(2, dilations=[2]) == rows(2, strides=[2])
    assert rows(5, dilations=[2]) <= rows(5)


def test_a_dilation_is_in_files_and_in_what_commitments_bind_where_there_is_one() -> None:
    graph = along_one_axis(4)
    assert QuantGraph.from_bytes(graph.to_bytes()).to_bytes() == graph.to_bytes()
    assert b'"dilation": [2]' in graph.to_bytes()
    plain = network([make_node("Conv", ["x", "w"], ["y"])], {"w": np.ones((2, 1, 2), np.float32)}, (1, 3), 4)
    assert b"dilation" not in plain.to_bytes()
