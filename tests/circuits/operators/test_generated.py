"""Constants that files make, bits of integers, and grids: as onnxruntime, or ONNX's reference, has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from onnx.helper import make_node
from onnx.reference import ReferenceEvaluator

from tests.circuits.operators.test_arithmetic import same_everywhere
from tests.circuits.operators.test_moving import floats
from tests.circuits.support import make_model
from tests.refusals import refuses
from zenserve.circuits import load_onnx
from zenserve.circuits.onnx.constants import Element

# Nodes that make "c" of constants, and these.
MADE: Mapping[str, tuple[list[Any], Mapping[str, Any]]] = {
    "a range": ([make_node("Range", ["a", "b", "d"], ["c"])], {"a": 5, "b": -2, "d": -3}),
    "a range of floats": (
        [make_node("Range", ["a", "b", "d"], ["c"])],
        {"a": np.float32(0.5), "b": np.float32(2.0), "d": np.float32(0.5)},
    ),
    "an empty range": (
        [make_node("Range", ["a", "b", "d"], ["r"]), make_node("Size", ["r"], ["c"])],
        {"a": 5, "b": 5, "d": 1},
    ),
    "an identity": ([make_node("EyeLike", ["a"], ["c"], k=-1, dtype=1)], {"a": np.zeros((3, 4), np.int64)}),
    "Blackman's": ([make_node("BlackmanWindow", ["a"], ["c"])], {"a": 7}),
    "Hamming's": ([make_node("HammingWindow", ["a"], ["c"], periodic=0)], {"a": 7}),
    "Hann's": ([make_node("HannWindow", ["a"], ["c"])], {"a": 6}),
    "how many": ([make_node("Size", ["a"], ["c"])], {"a": np.zeros((3, 4))}),
    "a grid": (
        [make_node("AffineGrid", ["a", "b"], ["c"], align_corners=1)],
        {"a": np.array([[[1, 0.5, 0], [0, 2, -1]]], np.float32), "b": np.array([1, 2, 3, 4])},
    ),
    "a grid of volumes": (
        [make_node("AffineGrid", ["a", "b"], ["c"])],
        {"a": floats(np.random.default_rng(1), 2, 3, 4), "b": np.array([2, 1, 2, 3, 4])},
    ),
    "none": (
        [make_node("IsNaN", ["a"], ["b"]), make_node("Cast", ["b"], ["c"], to=1)],
        {"a": np.array([1, np.nan])},
    ),
    "infinite": (
        [make_node("IsInf", ["a"], ["b"], detect_negative=0), make_node("Cast", ["b"], ["c"], to=1)],
        {"a": np.array([1, np.inf, -np.inf], np.float32)},
    ),
    "bits": ([make_node("BitwiseXor", ["a", "b"], ["c"])], {"a": np.array([5, -3]), "b": np.array([6, 12])}),
    "no bits": ([make_node("BitwiseNot", ["a"], ["c"])], {"a": np.array([5, -3])}),
    "as the other": (
        [make_node("CastLike", ["a", "b"], ["c"])],
        {"a": np.array([1.5, -2.5]), "b": np.array([1])},
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_constants_are_what_onnx_says(name: str) -> None:
    nodes, constants = MADE[name]
    weights = {key: np.asarray(value) for key, value in constants.items()}
    tail = [make_node("Cast", ["c"], ["f"], to=1), make_node("Add", ["x", "f"], ["y"])]
    data = make_model([*nodes, *tail], weights, (1, 1), opset=20)
    (expected,) = ReferenceEvaluator(data).run(None, {"x": np.zeros((1, 1), np.float32)})
    made = load_onnx(data).run(np.zeros((1, 1)))
    np.testing.assert_allclose(made.ravel(), np.asarray(expected).ravel(), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "said", "inputs", "constants", "code"),
    [
        ("Range", {}, ["a", "b", "d"], {"a": 0, "b": 1, "d": 0}, "shape"),
        ("Range", {}, ["a", "b", "d"], {"a": 0, "b": 1 << 40, "d": 1}, "too_large"),
        ("EyeLike", {}, ["a"], {"a": np.zeros(3)}, "shape"),
        ("EyeLike", {"dtype": 8}, ["a"], {"a": np.zeros((3, 3))}, "tensor_type"),
        ("HannWindow", {}, ["a"], {"a": 0}, "shape"),
        ("HannWindow", {}, ["a"], {"a": 1 << 40}, "too_large"),
        ("AffineGrid", {}, ["a", "b"], {"a": np.zeros((1, 2, 3)), "b": np.array([1, 2, 3])}, "shape"),
        ("AffineGrid", {}, ["a", "b"], {"a": np.ones((1, 2, 3)), "b": np.full(4, 1 << 20)}, "too_large"),
        ("GridSample", {}, ["x", "g"], {"g": np.zeros((1, 2, 3))}, "shape"),
        ("GridSample", {}, ["x", "x"], {}, "unsupported_operator"),
        ("GridSample", {"mode": "wave"}, ["x", "g"], {"g": np.zeros((1, 2, 2, 2))}, "unsupported_attribute"),
        ("BitwiseAnd", {}, ["x", "a"], {"a": np.array(3)}, "tensor_type"),
        ("CenterCropPad", {}, ["x", "a"], {"a": np.array([1, 1])}, "shape"),
        ("CenterCropPad", {}, ["x", "a"], {"a": np.array([1, 1, 1 << 20, 1 << 20])}, "too_large"),
        ("ReverseSequence", {}, ["x", "a"], {"a": np.array([9])}, "shape"),
        ("ReverseSequence", {"time_axis": 2}, ["x", "a"], {"a": np.array([1])}, "unsupported_attribute"),
        ("Compress", {"axis": 1}, ["x", "a"], {"a": np.ones(9, bool)}, "shape"),
        ("Col2Im", {}, ["x", "a", "b"], {"a": np.array([3, 3]), "b": np.array([2, 2])}, "shape"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(
    name: str, said: dict[str, Any], inputs: list[str], constants: dict[str, Any], code: str
) -> None:
    weights = {key: np.asarray(value) for key, value in constants.items()}
    nodes = [make_node(name, inputs, ["c"], **said), make_node("Add", ["x", "c"], ["y"])]
    with refuses(f"model.{code}"):
        load_onnx(make_model(nodes, weights, (1, 2, 3, 3), opset=20))


@pytest.mark.parametrize("name", ["BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"])
@pytest.mark.parametrize("number", [0, 1, 6, -1, -4, 0b1011])
def test_bits_of_integers_are_tables(name: str, number: int) -> None:
    inputs = ["i", "c"] if name != "BitwiseNot" else ["i"]
    nodes = [
        make_node("Cast", ["x"], ["i"], to=Element.INT64),
        make_node(name, inputs, ["b"]),
        make_node("Cast", ["b"], ["y"], to=Element.FLOAT),
    ]
    data = make_model(nodes, {"c": np.array(number)}, ("batch", 9), opset=19)
    x = np.arange(-4, 5)[np.newaxis]
    function = {"And": np.bitwise_and, "Or": np.bitwise_or, "Xor": np.bitwise_xor}.get(name[7:])
    expected = function(x, number) if function else np.invert(x)
    np.testing.assert_array_equal(load_onnx(data).run(x.astype(np.float64)), expected)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [0, 1])
def test_between_entries_a_sample_is_a_weighted_sum(padding: str, corners: int) -> None:
    rng = np.random.default_rng(5)
    grid = rng.uniform(-1.6, 1.6, (1, 3, 2, 2)).astype(np.float32)
    node = make_node("GridSample", ["x", "g"], ["h"], padding_mode=padding, align_corners=corners)
    case = ([node], {"g": grid}, (2, 4, 3))
    same_everywhere(case, rng)
