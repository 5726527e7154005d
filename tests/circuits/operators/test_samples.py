"""A first dimension that the file fixes above 1: a proof is of all its samples, as onnxruntime has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx.helper import make_node

from tests.circuits.support import answered, first_violation, make_model
from zenserve.circuits import compile_inference, load_onnx, quantise

_RNG = np.random.default_rng(4)


def _of(*shape: int) -> Any:
    return (_RNG.normal(size=shape) * 0.5).astype(np.float32)


CASES: Mapping[str, tuple[Sequence[Any], Mapping[str, Any], tuple[int, ...]]] = {
    "a convolution": (
        [make_node("Conv", ["x", "w", "b"], ["y"], pads=[1] * 4, strides=[2, 1])],
        {"w": _of(4, 3, 3, 3), "b": _of(4)},
        (2, 3, 6, 6),
    ),
    "a convolution in groups": (
        [make_node("Conv", ["x", "w"], ["y"], group=3)],
        {"w": _of(6, 1, 2, 2)},
        (3, 3, 4, 5),
    ),
    "a convolution of sequences": ([make_node("Conv", ["x", "w"], ["y"])], {"w": _of(4, 3, 2)}, (2, 3, 5)),
    "a transposed convolution": (
        [make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2])],
        {"w": _of(3, 2, 2, 2)},
        (2, 3, 3, 3),
    ),
    "a max pool": ([make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2])], {}, (2, 3, 4, 4)),
    "an average pool": (
        [make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], pads=[1, 0, 0, 1])],
        {},
        (2, 3, 4, 4),
    ),
    "a norm pool": ([make_node("LpPool", ["x"], ["y"], kernel_shape=[2, 2])], {}, (2, 3, 4, 4)),
    "global pools": (
        [
            make_node("GlobalAveragePool", ["x"], ["a"]),
            make_node("GlobalMaxPool", ["x"], ["m"]),
            make_node("Add", ["a", "m"], ["y"]),
        ],
        {},
        (2, 3, 4, 4),
    ),
    "a batch norm": (
        [make_node("BatchNormalization", ["x", *"gbmv"], ["y"])],
        {"g": _of(3), "b": _of(3), "m": _of(3), "v": np.abs(_of(3))},
        (2, 3, 4, 4),
    ),
    "an instance norm": (
        [make_node("InstanceNormalization", ["x", *"gb"], ["y"])],
        {"g": _of(3), "b": _of(3)},
        (2, 3, 4, 4),
    ),
    "a layer norm": ([make_node("LayerNormalization", ["x", "g"], ["y"])], {"g": _of(6)}, (2, 3, 6)),
    "neighbours' squares": ([make_node("LRN", ["x"], ["y"], size=3)], {}, (2, 3, 4, 4)),
    "a recurrent layer": (
        [make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2)],
        {"w": _of(1, 8, 4), "r": _of(1, 8, 2)},
        (3, 2, 4),
    ),
    "a resized image": (
        [make_node("Resize", ["x", "", "s"], ["y"], mode="linear")],
        {"s": np.array([1, 1, 2, 2], np.float32)},
        (2, 3, 3, 4),
    ),
    "a network": (
        [
            make_node("Conv", ["x", "w"], ["a"], pads=[1] * 4),
            make_node("Relu", ["a"], ["b"]),
            make_node("Conv", ["b", "v"], ["c"], pads=[1] * 4),
            make_node("Add", ["c", "x"], ["d"]),
            make_node("MaxPool", ["d"], ["e"], kernel_shape=[2, 2], strides=[2, 2]),
            make_node("Flatten", ["e"], ["f"]),
            make_node("Gemm", ["f", "u"], ["y"]),
        ],
        {"w": _of(3, 3, 3, 3), "v": _of(3, 3, 3, 3), "u": _of(12, 4)},
        (2, 3, 4, 4),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_all_samples_of_a_fixed_batch_are_as_onnxruntime_has_them(name: str) -> None:
    nodes, weights, shape = CASES[name]
    data = make_model(nodes, weights, shape, opset=18)
    x = _of(*shape)
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": x})
    made = load_onnx(data, whole=True).run(x.astype(np.float64)[np.newaxis])
    np.testing.assert_allclose(made.ravel(), expected.ravel(), atol=1e-4)


def test_samples_share_the_weights_of_a_convolution_and_are_proven() -> None:
    nodes, weights, shape = CASES["a convolution"]
    graph = load_onnx(make_model(nodes, weights, shape, opset=18), whole=True)
    x = _RNG.normal(size=(16, *shape))
    network = quantise(graph, x, bits=8)
    assert len(network.again) == 1
    circuit = compile_inference(network, weight_privacy="private", reveal="values")
    z = circuit.assign(network.quantise_input(x[0]))
    assert first_violation(circuit.constraint_system, answered(circuit.program, z)) is None
