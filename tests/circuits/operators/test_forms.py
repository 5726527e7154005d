"""Forms that operators have beside their usual ones: constants of any shape, windows that stick out, casts to
few bits, further outputs. In floats and in integers as onnxruntime or onnx's reference has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper
from onnx.helper import make_node
from onnx.reference import ReferenceEvaluator

from tests.circuits.support import answered, first_violation
from tests.refusals import refuses
from zenserve.circuits import compile_inference, load_onnx, quantise
from zenserve.circuits.quantisation.plan import output_names

Arrays = Mapping[str, NDArray[Any]]
FLOAT, INT8, UINT8, INT32, INT64 = (
    getattr(TensorProto, name) for name in ("FLOAT", "INT8", "UINT8", "INT32", "INT64")
)


def file(
    node: NodeProto, weights: Arrays, shape: tuple[int, ...], kind: int = FLOAT, opset: int = 21
) -> bytes:
    """A network of one node that reads x of this shape, the batch in front, and shows all that it makes."""
    graph = helper.make_graph(
        [node],
        "test",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_empty_tensor_value_info(name) for name in node.output],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString())


def agrees(data: bytes, x: NDArray[Any], expected: list[Any], bits: int = 16, most: float = 0.02) -> None:
    """Of x [n, *shape] the first sample, whose outputs are ``expected``: in floats, and in integers within so
    much of the range; whole numbers are exact."""
    graph = load_onnx(data, whole=True)
    samples = x.astype(np.float64).reshape(len(x), *graph.input.shape)
    floats = graph.run_all(samples, {*graph.outputs.values()})
    network = quantise(graph, samples, bits)
    made = network.run_all(network.quantise_input(samples[0])[np.newaxis], {*network.outputs.values()})
    names = output_names(graph)
    assert len(graph.outputs) == len(expected)
    for (name, tensor), wanted in zip(graph.outputs.items(), expected, strict=True):
        np.testing.assert_allclose(floats[tensor][0].ravel(), wanted.ravel(), atol=1e-4, rtol=1e-4)
        scale, zero = network.scale_of(network.outputs[names[name]]) or (np.nan, 0)
        off = np.abs(scale * (made[network.outputs[names[name]]][0].ravel() - zero) - wanted.ravel())
        assert off.max() < (0.5 if wanted.dtype.kind in "biu" else most * np.ptp(floats[tensor]))


def as_onnxruntime(
    node: NodeProto, weights: Arrays, x: NDArray[Any], kind: int = FLOAT, opset: int = 21
) -> None:
    """``x``: samples, each with a batch of one."""
    data = file(node, weights, x.shape[1:], kind, opset)
    agrees(data, x, onnxruntime.InferenceSession(data).run(None, {"x": x[0]}))


def as_reference(
    node: NodeProto, weights: Arrays, x: NDArray[Any], kind: int = FLOAT, opset: int = 23
) -> None:
    data = file(node, weights, x.shape[1:], kind, opset)
    agrees(data, x, list(ReferenceEvaluator(data).run(None, {"x": x[0]})))


def floats(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def whole(kind: type[np.integer[Any]], low: int, high: int, *shape: int) -> NDArray[Any]:
    return np.random.default_rng(1).integers(low, high, shape).astype(kind)


BOUNDS: Mapping[str, NDArray[Any]] = {
    "one": np.array(0.3, np.float32),
    "a row": floats(3, seed=2),
    "all": floats(1, 4, 3, seed=3),
    "more than there are": floats(2, 1, 4, 3, seed=4),
    "few": np.array([0, 0.5, 0], np.float32),
}


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("kind", ["Max", "Min"])
def test_constants_of_any_shape_are_bounds(kind: str, name: str) -> None:
    as_onnxruntime(make_node(kind, ["x", "c"], ["y"]), {"c": BOUNDS[name]}, floats(12, 1, 4, 3))


@pytest.mark.parametrize("kind", ["Max", "Min", "Div", "Mod", "BitwiseAnd", "BitwiseOr", "BitwiseXor"])
def test_integers_are_combined_exactly_with_a_constant_for_each(kind: str) -> None:
    x, by = whole(np.int32, -100, 100, 12, 1, 4, 3), np.array([[1], [2], [-3], [7]], np.int32)
    as_onnxruntime(make_node(kind, ["x", "c"], ["y"]), {"c": by}, x, INT32)


def test_a_constant_is_divided_by_integers() -> None:
    x = whole(np.int32, 1, 50, 12, 1, 4)
    as_onnxruntime(make_node("Div", ["c", "x"], ["y"]), {"c": np.array([-100, 7, 3, 99], np.int32)}, x, INT32)


def test_powers_are_of_a_number_for_each() -> None:
    x = np.abs(floats(12, 1, 4, 3)) + 0.5
    powers = np.array([2, 0.5, -1], np.float32)
    as_onnxruntime(make_node("Pow", ["x", "c"], ["y"]), {"c": powers}, x)
    as_onnxruntime(make_node("Pow", ["c", "x"], ["y"]), {"c": np.abs(powers)}, x)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_bits_that_leave_their_type_are_lost(direction: str) -> None:
    """Of signed types the sign stays."""
    x, by = whole(np.int8, -128, 128, 12, 1, 4), np.array([0, 1, 7, 9], np.int8)
    as_reference(make_node("BitShift", ["x", "c"], ["y"], direction=direction), {"c": by}, x, INT8, 28)
    as_onnxruntime(
        make_node("BitShift", ["x", "c"], ["y"], direction=direction),
        {"c": np.array([0, 1, 3, 7], np.uint8)},
        whole(np.uint8, 0, 256, 12, 1, 4),
        UINT8,
    )


def test_so_many_tables_are_refused() -> None:
    node = make_node("Pow", ["x", "c"], ["y"])
    with refuses("model.unsupported_operator", match="300 different numbers"):
        load_onnx(file(node, {"c": np.arange(300, dtype=np.float32)}, (1, 300)))


@pytest.mark.parametrize(
    "to", ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT4E2M1"]
)
def test_casts_round_as_floats_of_few_bits_do(to: str) -> None:
    x = 20 * floats(1, 1, 64)
    data = file(make_node("Cast", ["x"], ["y"], to=getattr(TensorProto, to)), {}, x.shape[1:], opset=25)
    found: Any = ReferenceEvaluator(data).run(None, {"x": x[0]})
    (expected,) = found
    made = load_onnx(data, whole=True).run(x[0].astype(np.float64))
    np.testing.assert_array_equal(made[0], expected[0].astype(np.float64))


@pytest.mark.parametrize("to", ["int8", "uint8"])
def test_casts_of_integers_wrap(to: str) -> None:
    x = whole(np.int32, -400, 400, 12, 1, 16)
    node = make_node("Cast", ["x"], ["y"], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))
    agrees(file(node, {}, x.shape[1:], INT32), x, [x[0].astype(to)])


def test_casts_that_make_no_numbers_are_refused() -> None:
    node = make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E5M2, saturate=0)
    with refuses("model.unsupported_attribute", match="saturate=1"):
        load_onnx(file(node, {}, (1, 3)))


PADS = np.array([0, 0, 1, -1, 0, 0, 2, 1])


@pytest.mark.parametrize("number", [-1.5, 0.25, 3.0])
def test_padding_is_of_any_number(number: float) -> None:
    weights = {"p": PADS, "v": np.array(number, np.float32)}
    as_onnxruntime(make_node("Pad", ["x", "p", "v"], ["y"]), weights, floats(12, 1, 2, 4, 5))


def test_minus_infinity_around_an_image_is_padding_of_its_max_pool() -> None:
    weights = {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "v": np.float32(-np.inf)}
    nodes = [
        make_node("Pad", ["x", "p", "v"], ["a"]),
        make_node("MaxPool", ["a"], ["y"], kernel_shape=[3, 3], strides=[2, 2]),
    ]
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("x", FLOAT, (1, 2, 6, 6))],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    data, x = model.SerializeToString(), -1 - np.abs(floats(12, 1, 2, 6, 6))
    agrees(data, x, onnxruntime.InferenceSession(data).run(None, {"x": x[0]}))
    assert [node.operator() for node in load_onnx(data).nodes] == ["MaxPool"]
    model.graph.node.pop()
    model.graph.output[0].name = "a"
    graph_of_pad = load_onnx(model.SerializeToString())
    with refuses("model.unsupported_operator", match="only a MaxPool"):
        quantise(graph_of_pad, x[:, 0])


@pytest.mark.parametrize("counted", [0, 1])
@pytest.mark.parametrize(
    "said",
    [
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
        {"kernel_shape": [3, 2], "strides": [3, 2], "pads": [0, 1, 1, 0], "dilations": [1, 2]},
    ],
    ids=["plain", "padded", "dilated"],
)
def test_windows_that_stick_out_count_what_onnx_counts(said: Mapping[str, Any], counted: int) -> None:
    node = make_node("AveragePool", ["x"], ["y"], ceil_mode=1, count_include_pad=counted, **said)
    as_onnxruntime(node, {}, floats(12, 1, 2, 5, 5))


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 0, 1, 1]])
def test_a_pool_says_where_its_largest_entries_are(pads: list[int], order: int) -> None:
    node = make_node(
        "MaxPool", ["x"], ["y", "z"], kernel_shape=[3, 2], strides=[2, 1], pads=pads, storage_order=order
    )
    as_onnxruntime(node, {}, whole(np.int64, -3, 4, 12, 1, 2, 5, 4).astype(np.float32))


@pytest.mark.parametrize("power", [1, 2, 3, 5])
def test_norms_of_windows_are_precise_where_these_are_small(power: int) -> None:
    x = floats(12, 1, 2, 6, 6)
    x[:, :, :, :3] /= 16
    as_onnxruntime(make_node("LpPool", ["x"], ["y"], p=power, kernel_shape=[2, 2]), {}, x)


@pytest.mark.parametrize(
    "said",
    [
        {"strides": [2, 3], "dilations": [3, 2]},
        {"strides": [2, 2], "dilations": [2, 1], "pads": [1, 0, 2, 1], "output_padding": [1, 0]},
        {"strides": [3, 2], "output_shape": [10, 8]},
    ],
    ids=["stride and dilation", "padded", "output_shape"],
)
def test_transposed_convolutions_have_any_stride_and_dilation(said: Mapping[str, Any]) -> None:
    node = make_node("ConvTranspose", ["x", "w"], ["y"], **said)
    as_onnxruntime(node, {"w": floats(2, 3, 3, 2, seed=5)}, floats(12, 1, 2, 3, 4))


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grids_are_sampled_by_cubics(padding: str) -> None:
    node = make_node("GridSample", ["x", "g"], ["y"], mode="cubic", padding_mode=padding)
    grid = np.random.default_rng(7).uniform(-1.5, 1.5, (1, 3, 4, 2)).astype(np.float32)
    as_onnxruntime(node, {"g": grid}, floats(12, 1, 2, 4, 5))


def test_a_grid_is_made_of_computed_numbers() -> None:
    node = make_node("AffineGrid", ["x", "s"], ["y"], align_corners=1)
    as_reference(node, {"s": np.array([1, 1, 3, 4])}, floats(12, 1, 2, 3), opset=20)


def test_normalisations_say_mean_and_deviation() -> None:
    node = make_node("LayerNormalization", ["x", "g"], ["y", "mean", "inverse"], axis=2)
    as_onnxruntime(node, {"g": floats(4, 3, seed=6)}, floats(12, 1, 2, 4, 3))


@pytest.mark.parametrize("power", [1, 2])
def test_the_norm_of_nothing_leaves_nothing(power: int) -> None:
    x = floats(12, 1, 2, 3)
    x[:, :, 0] = 0
    as_onnxruntime(make_node("LpNormalization", ["x"], ["y"], axis=2, p=power), {}, x, opset=22)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_channels_of_blocks_come_in_either_order(mode: str) -> None:
    node = make_node("SpaceToDepth", ["x"], ["y"], blocksize=2, mode=mode)
    as_reference(node, {}, floats(4, 1, 3, 4, 6), opset=28)


def test_what_is_scattered_multiplies() -> None:
    weights = {"i": np.array([[1, 1, 0]]), "u": np.array([[2, 3, 0.5]], np.float32)}
    node = make_node("ScatterElements", ["x", "i", "u"], ["y"], axis=1, reduction="mul")
    as_onnxruntime(node, weights, floats(12, 1, 4), opset=18)


def test_a_batch_pads_and_bounds_with_a_proof() -> None:
    """All wires of a table for each number, of a pad and of places in windows."""
    pool = make_node("MaxPool", ["x"], ["y", "z"], kernel_shape=[2], pads=[1, 0])
    power = make_node("Pow", ["x", "c"], ["y"])
    for data in (file(pool, {}, (1, 1, 3)), file(power, {"c": np.array([1, 2, 2], np.float32)}, (1, 1, 3))):
        network = quantise(load_onnx(data, whole=True), np.abs(floats(12, 1, 3)), 3)
        circuit = compile_inference(network, reveal="values")
        q = network.quantise_input(np.abs(floats(12, 1, 3))[0])
        z = circuit.assign(q)
        assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
