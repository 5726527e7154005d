"""Resize in all of ONNX's ways: as onnxruntime has places, in single precision and by the given scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx.helper import make_node
from onnx.reference import ReferenceEvaluator

from tests.circuits.support import make_model
from zenserve.circuits import load_onnx, quantise
from zenserve.errors import ModelError

PLACES = ("asymmetric", "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")
ROUNDINGS = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
SIZES = (5, 10, 13)
SCALES = (0.3, 0.6, 0.7, 1 / 3, 1.2, 1.7, 2.5)


def resized(size: int, said: Mapping[str, Any], by: Mapping[str, Any], opset: int = 19) -> bytes:
    """Of an image with rows of this size, by ``scales`` or to ``sizes``."""
    names = ["x", "", *(name if name in by else "" for name in ("scales", "sizes"))]
    kinds = {"scales": np.float32, "sizes": np.int64}
    weights = {name: np.array(value, kinds[name]) for name, value in by.items()}
    node = make_node("Resize", names if "sizes" in by else names[:3], ["y"], **said)
    return make_model([node], weights, (1, 1, 2, size), opset=opset)


def as_onnxruntime(data: bytes, x: NDArray[np.float32]) -> None:
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": x})
    graph = load_onnx(data, whole=True)
    made = graph.run(x.astype(np.float64).reshape(1, *graph.input.shape))
    np.testing.assert_allclose(made.reshape(expected.shape), expected, atol=1e-4)


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("mode", [*ROUNDINGS, "linear"])
def test_places_are_onnxruntimes(mode: str, places: str) -> None:
    """By scales that do not divide, too, whose last digits say which entry is the nearest."""
    said = {"mode": "nearest", "nearest_mode": mode} if mode in ROUNDINGS else {"mode": mode}
    said |= {"coordinate_transformation_mode": places}
    rng = np.random.default_rng(0)
    for size in SIZES:
        x = rng.normal(size=(1, 1, 2, size)).astype(np.float32)
        for scale in SCALES:
            length = int(np.float32(size) * np.float32(scale))
            if length not in (0, size):
                as_onnxruntime(resized(size, said, {"scales": [1, 1, 1, scale]}), x)
        for length in (2, 12):
            as_onnxruntime(resized(size, said, {"sizes": [1, 1, 2, length]}), x)


@pytest.mark.parametrize(
    ("said", "by"),
    [
        ({"mode": "linear", "antialias": 1}, {"scales": [1, 1, 0.5, 0.4]}),
        ({"mode": "cubic", "antialias": 1}, {"sizes": [1, 1, 1, 4]}),
        ({"mode": "cubic", "antialias": 1, "exclude_outside": 1}, {"sizes": [1, 1, 1, 4]}),
        ({"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5}, {"scales": [1, 1, 2, 0.6]}),
        ({"mode": "linear", "axes": [3, 2]}, {"scales": [0.7, 2]}),
        ({"mode": "nearest", "axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"}, {"sizes": [3, 9]}),
        (
            {"mode": "nearest", "axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"},
            {"sizes": [3, 9]},
        ),
        ({"mode": "linear", "coordinate_transformation_mode": "align_corners"}, {"sizes": [1, 1, 3, 5]}),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_all_attributes_are_read(said: Mapping[str, Any], by: Mapping[str, Any]) -> None:
    x = np.random.default_rng(1).normal(size=(1, 1, 2, 7)).astype(np.float32)
    data = resized(7, said, by)
    found: Any = ReferenceEvaluator(data).run(None, {"x": x})
    (expected,) = found
    graph = load_onnx(data, whole=True)
    made = graph.run(x.astype(np.float64).reshape(1, *graph.input.shape))
    np.testing.assert_allclose(made.reshape(expected.shape), expected, atol=1e-4)


def test_the_place_that_tensorflow_had_is_read() -> None:
    """In opset 11 and 12 alone."""
    x = np.random.default_rng(1).normal(size=(1, 1, 2, 7)).astype(np.float32)
    said = {"mode": "nearest", "coordinate_transformation_mode": "tf_half_pixel_for_nn"}
    weights = {"roi": np.zeros(0, np.float32), "scales": np.array([1, 1, 1, 0.75], np.float32)}
    node = make_node("Resize", ["x", *weights], ["y"], **said)
    as_onnxruntime(make_model([node], weights, (1, 1, 2, 7), opset=12), x)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("value", [0.0, -2.5])
def test_what_lies_beyond_a_region_has_a_value(mode: str, value: float) -> None:
    said: dict[str, Any] = {"mode": mode, "extrapolation_value": value}
    said["coordinate_transformation_mode"] = "tf_crop_and_resize"
    weights = {
        "roi": np.array([0, 0, 0.2, -0.3, 1, 1, 0.8, 1.4], np.float32),
        "sizes": np.array([1, 1, 3, 5]),
    }
    node = make_node("Resize", ["x", "roi", "", "sizes"], ["y"], **said)
    data = make_model([node], weights, (1, 1, 4, 4), opset=19)
    x = np.random.default_rng(2).normal(size=(12, 1, 4, 4)).astype(np.float32)
    as_onnxruntime(data, x[:1])
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": x[:1]})
    network = quantise(load_onnx(data, whole=True), x.astype(np.float64), 12)
    scale, zero = network.output_scale or (np.nan, 0)
    made = scale * (network.run(network.quantise_input(x[0])[np.newaxis]) - zero)
    assert np.abs(made.ravel() - expected.ravel()).max() < 0.01 * np.ptp(expected)


def test_before_opset_11_the_nearest_entry_is_onnxruntimes() -> None:
    x = np.arange(10, dtype=np.float32).reshape(1, 1, 1, 10)
    for scale in (0.4, 0.6, 0.75, 1.5, 2.0):
        node = make_node("Resize", ["x", "scales"], ["y"])
        weights = {"scales": np.array([1, 1, 1, scale], np.float32)}
        as_onnxruntime(make_model([node], weights, (1, 1, 1, 10), opset=10), x)


@pytest.mark.parametrize(
    ("said", "by", "words"),
    [
        (
            {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
            {"scales": [1, 1, 1, 0.6]},
            "give sizes",
        ),
        ({"mode": "linear"}, {"scales": [1, 1, 1, 1.1]}, "leave it out"),
        (
            {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"},
            {"sizes": [1, 1, 2, 3]},
            "crops",
        ),
        ({"mode": "nearest", "keep_aspect_ratio_policy": "wide"}, {"sizes": [1, 1, 2, 3]}, "ratio of sides"),
        ({"mode": "nearest"}, {"scales": [1, 1, 1, 0.1]}, "resizes"),
    ],
)
def test_what_runtimes_make_different_things_of_is_refused(
    said: Mapping[str, Any], by: Mapping[str, Any], words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        load_onnx(resized(7, said, by))
