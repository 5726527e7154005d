"""Inputs that a file leaves open: dimensions without a name, and single whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.refusals import refuses
from zenserve.circuits import load_onnx, quantise
from zenserve.onecall.networks import load

# PaddlePaddle writes -1; both "?" are names of nothing.
PICTURE = """
<ir_version: 8, opset_import: ["" : 17]>
agraph (float[batch, 2, high, wide] x) => (float[a, b, c, d] y) {
    y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
}
"""
# A sampling rate chooses what is computed, and a length how much of it.
RATE = """
<ir_version: 8, opset_import: ["" : 17]>
agraph (float[1, 4] x, int64 rate, int64[n] length) => (float[1, m] y) {
    high = Constant <value = int64 {16000}> ()
    is_high = Equal (rate, high)
    two = Constant <value = float {2.0}> ()
    three = Constant <value = float {3.0}> ()
    times = Where (is_high, two, three)
    start = Constant <value = int64[1] {0}> ()
    axis = Constant <value = int64[1] {1}> ()
    cut = Slice (x, start, length, axis)
    y = Mul (cut, times)
}
"""
CLIP = """
<ir_version: 8, opset_import: ["" : 17]>
agraph (float[1, 3, 4] x) => (float[1, 3, 4] y) {
    minus = Constant <value = float {-0.25}> ()
    top = ReduceMax <keepdims = 0> (x)
    half = Constant <value = float {0.5}> ()
    low = Mul (top, minus)
    high = Mul (top, half)
    y = Clip (x, low, high)
}
"""


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(text)


def opened(*written: int | str) -> bytes:
    """The network of pictures with these for its batch, its height and its width."""
    made = model(PICTURE)
    dimensions = made.graph.input[0].type.tensor_type.shape.dim
    for axis, said in zip((0, 2, 3), written, strict=True):
        dimensions[axis].Clear()
        setattr(dimensions[axis], "dim_value" if isinstance(said, int) else "dim_param", said)
    return bytes(made.SerializeToString())


@pytest.mark.parametrize(
    ("written", "sizes"),
    [
        ((-1, -1, -1), {"x.2": 4, "x.3": 6}),
        ((-1, "?", "?"), {"x.2": 4, "x.3": 6}),
        (("None", "None", "None"), {"x.2": 4, "x.3": 6}),
        (("", "-1", "wide"), {"x.2": 4, "wide": 6}),
    ],
)
def test_dimensions_without_a_name_are_called_by_their_places(
    written: tuple[int | str, ...], sizes: dict[str, int]
) -> None:
    assert load_onnx(opened(*written), sizes).entries == {"x": (2, 4, 6)}
    assert load(opened(*written), np.zeros((1, 2, 4, 6))).graph.entries == {"x": (2, 4, 6)}
    with refuses("model.dynamic_shape", match=next(iter(sizes))):
        load_onnx(opened(*written))


@pytest.mark.parametrize(("rate", "times"), [(16000, 2.0), (8000, 3.0)])
def test_a_single_whole_number_is_fixed_like_a_size(rate: int, times: float) -> None:
    x = np.arange(4.0)[np.newaxis]
    graph = load_onnx(model(RATE).SerializeToString(), {"rate": rate, "length": 3})
    assert graph.entries == {"x": (4,)}
    again = load(model(RATE), {"x": x}, {"rate": rate, "length": 3})
    assert again.graph.run(x).tolist() == graph.run(x).tolist()
    # onnxruntime is given the same numbers, and agrees.
    again.differences({"x": x}, own=True, accept=False)
    assert graph.run(x).tolist() == (times * x[:, :3]).tolist()


def test_what_is_no_single_whole_number_is_not() -> None:
    for name in ("x", "y", "batch"):
        with refuses("model.dynamic_shape", match="rate"):
            load_onnx(model(RATE).SerializeToString(), {name: 3, "length": 3})


def test_a_clamp_between_computed_bounds_is_onnxruntime_s() -> None:
    rng, file = np.random.default_rng(0), model(CLIP).SerializeToString()
    x = rng.uniform(-1, 1, (16, 3, 4)).astype(np.float32).astype(np.float64)
    session = onnxruntime.InferenceSession(file)
    expected: Any = np.stack(
        [session.run(None, {"x": each[np.newaxis]})[0][0] for each in x.astype(np.float32)]
    )
    graph = load_onnx(file)
    assert np.allclose(graph.run(x).reshape(expected.shape), expected, atol=1e-6)
    qgraph = quantise(graph, x, 16)
    (tensor,) = qgraph.outputs.values()
    scale, zero = qgraph.scale_of(tensor) or (0.0, 0)
    made = qgraph.run(qgraph.input.type.quantise(x))
    assert np.abs(scale * (made.reshape(expected.shape) - zero) - expected).max() < 1e-3
