"""What onnxruntime's own optimiser makes of layers and activations is read as what it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.helper import make_node

from tests.circuits.support import make_model
from tests.refusals import refuses
from zenserve.circuits import load_onnx


def optimised(activation: str, path: Path) -> bytes:
    """A convolution and a dense layer, each with the activation, as the optimiser writes them."""
    rng = np.random.default_rng(1)
    shapes = {"w": (2, 1, 2, 2), "b": (2,), "v": (8, 3), "c": (3,)}
    weights = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    nodes = [
        make_node("Conv", ["x", "w", "b"], ["k"]),
        make_node(activation, ["k"], ["a"]),
        make_node("Flatten", ["a"], ["f"]),
        make_node("Gemm", ["f", "v", "c"], ["g"]),
        make_node(activation, ["g"], ["y"]),
    ]
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath, options.log_severity_level = str(path), 4
    onnxruntime.InferenceSession(make_model(nodes, weights, ("batch", 1, 3, 3)), options)
    data = path.read_bytes()
    assert [node.op_type for node in onnx.load_from_string(data).graph.node] == [
        "FusedConv",
        "Flatten",
        "FusedGemm",
    ]
    return data


@pytest.mark.parametrize("activation", ["Relu", "Sigmoid", "Tanh"])
def test_it_agrees_with_onnxruntime(activation: str, tmp_path: Path) -> None:
    data = optimised(activation, tmp_path / "optimised.onnx")
    x = np.random.default_rng(2).standard_normal((1, 1, 3, 3)).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": x})
    np.testing.assert_allclose(load_onnx(data).run(x.astype(np.float64)), expected, atol=1e-5)


def test_other_activations_are_refused_with_advice(tmp_path: Path) -> None:
    data = optimised("HardSigmoid", tmp_path / "optimised.onnx")
    with refuses("model.unsupported_attribute", match="without onnxruntime's graph optimisations"):
        load_onnx(data)
