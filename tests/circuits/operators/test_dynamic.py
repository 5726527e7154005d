"""Integer products whose scale is measured on the input: as onnxruntime has them, to steps of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.helper import make_node
from onnxruntime.quantization import QuantType, quantize_dynamic

from tests.circuits.operators.test_arithmetic import real
from tests.circuits.operators.test_moving import floats
from tests.circuits.support import make_model
from tests.refusals import refuses
from zenserve.circuits import load_onnx, quantise


def network() -> bytes:
    rng = np.random.default_rng(3)
    nodes = [
        make_node("Conv", ["x", "k", "c"], ["a"], name="conv", pads=[1, 1, 1, 1]),
        make_node("Relu", ["a"], ["b"]),
        make_node("Flatten", ["b"], ["f"]),
        make_node("MatMul", ["f", "w"], ["m"], name="matmul"),
        make_node("Add", ["m", "d"], ["y"]),
    ]
    weights = {
        "k": floats(rng, 3, 2, 3, 3),
        "c": floats(rng, 3),
        "w": floats(rng, 48, 4),
        "d": floats(rng, 4),
    }
    return make_model(nodes, weights, ("batch", 2, 4, 4))


@pytest.mark.parametrize("per_channel", [False, True])
def test_what_onnxruntime_quantises_dynamically_is_read_as_what_it_stands_for(
    tmp_path: Path, per_channel: bool
) -> None:
    plain, made = tmp_path / "plain.onnx", tmp_path / "made.onnx"
    plain.write_bytes(network())
    quantize_dynamic(plain, made, weight_type=QuantType.QUInt8, per_channel=per_channel)
    operators = {node.op_type for node in onnx.load(made).graph.node}
    assert operators >= {"DynamicQuantizeLinear", "ConvInteger", "MatMulInteger"}
    rng = np.random.default_rng(4)
    x = floats(rng, 64, 2, 4, 4)
    session = onnxruntime.InferenceSession(made)
    expected = np.concatenate([session.run(None, {"x": each[None]})[0] for each in x])
    graph = load_onnx(made)
    span = np.ptp(expected)
    assert np.abs(graph.run(x.astype(np.float64)) - expected).max() < 0.02 * span
    integers = quantise(graph, x.astype(np.float64))
    got = real(integers, integers.input.type.quantise(x.astype(np.float64))).reshape(expected.shape)
    assert np.quantile(np.abs(got - expected), 0.95) < 0.03 * span


def test_integers_that_are_there_are_multiplied_as_they_are() -> None:
    rng = np.random.default_rng(5)
    nodes = [
        make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        make_node("MatMulInteger", ["q", "w", "z", "v"], ["p"]),
        make_node("Cast", ["p"], ["y"], to=1),
    ]
    weights = {
        "s": np.float32(0.05),
        "z": np.array(128, np.uint8),
        "w": rng.integers(0, 256, (6, 3)).astype(np.uint8),
        "v": np.array([100, 128, 140], np.uint8),
    }
    data = make_model(nodes, {key: np.asarray(value) for key, value in weights.items()}, ("batch", 6))
    x = np.clip(floats(rng, 1, 6), -3, 3)
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": x})
    made = load_onnx(data).run(x.astype(np.float64))
    # Half a step of each of six factors.
    assert np.abs(made - expected).max() < 6 * 0.5 * 156


@pytest.mark.parametrize("bias", [False, True])
def test_so_are_those_that_onnxruntime_s_optimiser_joins(bias: bool) -> None:
    rng = np.random.default_rng(6)
    weights: dict[str, Any] = {
        "w": rng.integers(-128, 128, (6, 3)).astype(np.int8),
        "s": np.float32(0.02),
        "z": np.array(3, np.int8),
        "b": floats(rng, 3),
    }
    inputs = ["x", "w", "s", "z", *(["b"] if bias else [])]
    node = make_node("DynamicQuantizeMatMul", inputs, ["y"], domain="com.microsoft")
    data = _with_microsoft(make_model([node], {k: np.asarray(v) for k, v in weights.items()}, ("batch", 6)))
    x = floats(rng, 1, 6)
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": x})
    made = load_onnx(data).run(x.astype(np.float64))
    np.testing.assert_allclose(made, expected, atol=0.3)


@pytest.mark.parametrize("condition", ["computed", "constant"])
def test_where_chooses_between_integers(condition: str) -> None:
    rng = np.random.default_rng(7)
    nodes = [
        make_node("Greater", ["x", "half"], ["g"]),
        make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        make_node(
            "QLinearWhere",
            ["g" if condition == "computed" else "c", "q", "s", "z", "o", "t", "z", "u", "z"],
            ["w"],
            domain="com.microsoft",
        ),
        make_node("DequantizeLinear", ["w", "u", "z"], ["y"]),
    ]
    weights: dict[str, Any] = {
        **{name: np.float32(value) for name, value in (("half", 0.5), ("s", 0.02), ("t", 0.01), ("u", 0.03))},
        "z": np.array(128, np.uint8),
        "o": rng.integers(0, 256, (1, 6)).astype(np.uint8),
        "c": np.array([[True, False, True, True, False, False]]),
    }
    data = _with_microsoft(make_model(nodes, {k: np.asarray(v) for k, v in weights.items()}, ("batch", 6)))
    x = np.clip(floats(rng, 1, 6), -2, 2)
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": x})
    made = load_onnx(data).run(x.astype(np.float64))
    assert np.abs(made - expected).max() < 0.03


def _with_microsoft(data: bytes) -> bytes:
    model = onnx.load_model_from_string(data)
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    return bytes(model.SerializeToString())


@pytest.mark.parametrize(
    ("nodes", "constants", "code"),
    [
        ([make_node("MatMulInteger", ["x", "w"], ["y"])], {"w": np.zeros((3, 2), np.int64)}, "tensor_type"),
        (
            [make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), make_node("Relu", ["q"], ["y"])],
            {},
            "quantisation",
        ),
        (
            [
                make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
                make_node("MatMulInteger", ["q", "w", "v"], ["y"]),
            ],
            {"w": np.zeros((3, 2), np.uint8), "v": np.array(7, np.uint8)},
            "quantisation",
        ),
        (
            [
                make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
                make_node("MatMulInteger", ["q", "w", "z", "v"], ["y"]),
            ],
            {"w": np.zeros((3, 2), np.uint8), "v": np.zeros(5, np.uint8)},
            "quantisation",
        ),
        (
            [
                make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
                make_node("ConvInteger", ["q", "w", "z"], ["y"]),
            ],
            {"w": np.zeros((3, 2), np.float32)},
            "tensor_type",
        ),
    ],
    ids=str,
)
def test_what_contradicts_itself_is_refused(nodes: list[Any], constants: dict[str, Any], code: str) -> None:
    with refuses(f"model.{code}"):
        load_onnx(make_model(nodes, constants, ("batch", 3)))
