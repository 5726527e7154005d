"""Nodes of constants, of every operator that is folded: they become what onnxruntime makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto
from onnx.helper import make_node
from onnx.reference import ReferenceEvaluator

from tests.circuits.support import make_model
from tests.refusals import refuses
from zenserve.circuits import load_onnx
from zenserve.circuits.onnx import constants
from zenserve.circuits.onnx.folding import FOLDED

_RNG = np.random.default_rng(0)
_REAL = _RNG.normal(size=(2, 3, 4)).astype(np.float32)
_SHARE = _RNG.uniform(0.1, 0.9, size=(2, 3, 4)).astype(np.float32)
_WHOLE = np.array([[-7, 5, 3], [4, -9, 8]])
_IMAGE = _RNG.normal(size=(1, 2, 5, 4)).astype(np.float32)
_KERNEL = _RNG.normal(size=(3, 2, 2, 3)).astype(np.float32)
_ROW = np.array([0.5, -1.0, 2.0, 0.25], np.float32)
_COLUMN = _ROW[:3, np.newaxis]
_YES = np.array([[True, False, True]])
_NO = np.array([[True], [False]])
_PAIR = np.array([0.5, 2.0], np.float32)
_WEIGHTS = _RNG.normal(size=(1, 6, 4)).astype(np.float32)

Case = tuple[Sequence[Any], Mapping[str, Any]]


def _of(values: Any, *names: str, **said: Any) -> dict[str, Case]:
    return dict.fromkeys(names, ((values,), said))


CASES: dict[str, Case] = {
    **_of(
        _REAL,
        *("Abs", "Asinh", "Atan", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "Gelu"),
        *(
            "HardSigmoid",
            "HardSwish",
            "Hardmax",
            "IsNaN",
            "LeakyRelu",
            "LogSoftmax",
            "LpNormalization",
            "Mish",
        ),
        *(
            "Neg",
            "Reciprocal",
            "Relu",
            "Round",
            "Selu",
            "Shrink",
            "Sigmoid",
            "Sign",
            "Sin",
            "Sinh",
            "Softmax",
        ),
        *("Softplus", "Softsign", "Tan", "Tanh", "ThresholdedRelu", "ArgMax", "ArgMin", "NonZero", "Unique"),
        *("ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd"),
        *("ReduceSum", "ReduceSumSquare", "IsInf"),
    ),
    **_of(_SHARE, "Acos", "Asin", "Atanh", "Log", "Sqrt", "ReduceLogSum"),
    **_of(_SHARE + 1, "Acosh"),
    **_of(_WHOLE, "BitwiseNot"),
    **_of(_YES, "Not"),
    **_of(_ROW, "DynamicQuantizeLinear"),
    **_of(_IMAGE, "GlobalAveragePool", "GlobalMaxPool", "MeanVarianceNormalization"),
    **_of(_IMAGE, "AveragePool", "MaxPool", kernel_shape=[2, 3], strides=[2, 1]),
    **_of(_IMAGE, "LpPool", kernel_shape=[2, 2], strides=[2, 1]),
    **_of(np.array(6), "BlackmanWindow", "HammingWindow", "HannWindow"),
    **{name: ((_REAL, _COLUMN), {}) for name in ("Add", "Div", "Max", "Mean", "Min", "Mul", "Sub", "Sum")},
    **{
        name: ((_WHOLE, np.array([3, -3, 8])), {})
        for name in (
            "BitwiseAnd",
            "BitwiseOr",
            "BitwiseXor",
            "Equal",
            "Greater",
            "GreaterOrEqual",
            "Less",
            "Mod",
        )
    },
    **{name: ((_YES, _NO), {}) for name in ("And", "Or", "Xor")},
    "AffineGrid": ((_RNG.normal(size=(1, 2, 3)).astype(np.float32), np.array([1, 2, 3, 4])), {}),
    "Attention": ([_RNG.normal(size=(1, 2, 3, 4)).astype(np.float32) for _ in range(3)], {}),
    "BatchNormalization": ((_IMAGE, *[_PAIR] * 4), {}),
    "BitShift": ((np.array([5, 9], np.uint8), np.array([1, 7], np.uint8)), {"direction": "LEFT"}),
    "Cast": ((_REAL * 9,), {"to": TensorProto.INT8}),
    "CastLike": ((_REAL * 9, _WHOLE), {}),
    "Clip": ((_REAL, np.float32(-0.2), np.float32(0.5)), {}),
    "Col2Im": ((_RNG.normal(size=(1, 4, 4)).astype(np.float32), np.array([3, 3]), np.array([2, 2])), {}),
    "Conv": ((_IMAGE, _KERNEL), {"strides": [2, 1], "pads": [1, 0, 0, 2]}),
    "ConvTranspose": ((_IMAGE, _KERNEL.swapaxes(0, 1).copy()), {"strides": [2, 1]}),
    "CumSum": ((_REAL, np.array([1])), {"reverse": 1}),
    "DFT": ((_RNG.normal(size=(1, 4, 1)).astype(np.float32),), {}),
    "Det": ((_RNG.normal(size=(3, 3)).astype(np.float32),), {}),
    "Div of integers": ((_WHOLE, np.array([2, -3, 4])), {}),
    "GRU": ((_REAL, _WEIGHTS, _RNG.normal(size=(1, 6, 2)).astype(np.float32)), {"hidden_size": 2}),
    "Gemm": ((_REAL[0], _REAL[1], np.float32(2)), {"transB": 1, "alpha": 0.5, "beta": 2.0}),
    "GroupNormalization": ((_IMAGE, _PAIR, _PAIR), {"num_groups": 2}),
    "InstanceNormalization": ((_IMAGE, _PAIR, _PAIR), {}),
    "LayerNormalization": ((_REAL, _ROW, _ROW), {}),
    "LessOrEqual": ((_REAL, _COLUMN), {}),
    "LSTM": (
        (
            _REAL,
            _RNG.normal(size=(1, 8, 4)).astype(np.float32),
            _RNG.normal(size=(1, 8, 2)).astype(np.float32),
        ),
        {"hidden_size": 2},
    ),
    "MatMul": ((_REAL, _ROW), {}),
    "MelWeightMatrix": (
        (np.array(8), np.array(16), np.array(8192), np.float32(0), np.float32(4096)),
        {},
    ),
    "Mod of reals": ((_REAL, _COLUMN), {"fmod": 1}),
    "OneHot": ((np.array([1, -1, 7]), np.array(3), np.array([0.5, 2.0], np.float32)), {}),
    "PRelu": ((_IMAGE, _PAIR[:, np.newaxis, np.newaxis]), {}),
    "Pad": ((_REAL[0], np.array([0, 1, 2, 0]), np.float32(1.5)), {}),
    "Pow": ((_SHARE, _COLUMN), {}),
    "Pow of integers": ((_WHOLE, np.array(2.0, np.float32)), {}),
    "RMSNormalization": ((_REAL, _ROW), {}),
    "RNN": (
        (_REAL, _WEIGHTS[:, :2], _RNG.normal(size=(1, 2, 2)).astype(np.float32)),
        {"hidden_size": 2},
    ),
    "RotaryEmbedding": (
        (
            _IMAGE,
            _RNG.normal(size=(1, 5, 2)).astype(np.float32),
            _RNG.normal(size=(1, 5, 2)).astype(np.float32),
        ),
        {},
    ),
    "Range": ((np.array([2]), np.array(9), np.array(3)), {}),
    "ScatterElements": ((_REAL[0], np.array([[1, 0, 2]]), _REAL[1, :1, :3]), {"reduction": "mul"}),
    "ScatterND": ((_ROW, np.array([[1], [3], [1]]), _ROW[:3]), {"reduction": "add"}),
    "Softmax along the first axis": ((_REAL,), {"axis": 0}),
    "Swish": ((_REAL,), {}),
    "TopK": ((_REAL, np.array([2])), {"axis": 1}),
    "Where": ((_YES[0], _WHOLE, np.array([[1], [2]])), {}),
}
# Forms that onnxruntime refuses: a start with an axis, and outputs left out.
_REFERENCE = {"DynamicQuantizeLinear", "Range", "TopK"}
# Operator sets that have them.
_NEWER = {
    "Attention": 23,
    "RMSNormalization": 23,
    "RotaryEmbedding": 23,
    "Swish": 24,
    "BitwiseAnd": 18,
    "BitwiseOr": 18,
    "BitwiseXor": 18,
    "BitwiseNot": 18,
}


def _model(name: str) -> tuple[bytes, str]:
    operator = name.partition(" ")[0]
    values, said = CASES[name]
    weights = {f"w{at}": np.asarray(value) for at, value in enumerate(values)}
    nodes = [
        make_node(operator, [*weights], ["c"], name="made", **said),
        make_node("Cast", ["c"], ["f"], to=TensorProto.FLOAT),
        make_node("Add", ["x", "f"], ["y"]),
    ]
    opset = _NEWER.get(operator, 21)
    return make_model(nodes, weights, (1,) * max(1, np.ndim(values[0])), opset=opset), operator


@pytest.mark.parametrize("name", CASES)
def test_what_depends_on_no_input_is_what_onnx_makes_of_it(name: str) -> None:
    data, _ = _model(name)
    x = np.ones([1] * max(1, np.ndim(CASES[name][0][0])), np.float32)
    session = ReferenceEvaluator(data) if name in _REFERENCE else onnxruntime.InferenceSession(data)
    (expected,) = session.run(None, {"x": x})
    made = load_onnx(data).run(x.astype(np.float64).reshape(1, *load_onnx(data).input.shape))
    np.testing.assert_allclose(made.ravel(), np.ravel(expected), atol=1e-5, rtol=1e-5)


def test_every_operator_that_is_folded_is_tried() -> None:
    tried = {_model(name)[1] for name in CASES}
    assert {*FOLDED} - tried == {"CumProd"}, "of a newer operator set than runtimes have"


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Hardmax"])
def test_before_opset_13_all_axes_from_one_on_are_a_row(operator: str) -> None:
    nodes = [make_node(operator, ["w"], ["c"], axis=1), make_node("Mul", ["x", "c"], ["y"])]
    data = make_model(nodes, {"w": _REAL}, (1, 1, 1), opset=11)
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": np.ones((1, 1, 1), np.float32)})
    np.testing.assert_allclose(load_onnx(data).run(np.ones((1, 1, 1))).ravel(), expected.ravel(), atol=1e-6)


def test_constants_are_computed_in_the_file_s_own_types() -> None:
    """1 + 2^-30 is 1 in float32; 200 + 100 is 44 of 8 bits."""
    nodes = [
        make_node("Add", ["one", "small"], ["a"]),
        make_node("Add", ["bytes", "more"], ["b"]),
        make_node("Cast", ["b"], ["c"], to=TensorProto.FLOAT),
        make_node("Sub", ["a", "one"], ["d"]),
        make_node("Add", ["c", "d"], ["e"]),
        make_node("Mul", ["x", "e"], ["y"]),
    ]
    weights: dict[str, Any] = {
        "one": np.array(1, np.float32),
        "small": np.array(2.0**-30, np.float32),
        "bytes": np.array(200, np.uint8),
        "more": np.array(100, np.uint8),
    }
    assert load_onnx(make_model(nodes, weights, (1, 1))).run(np.ones((1, 1))).item() == 44


@pytest.mark.parametrize(
    ("node", "weights", "code", "words"),
    [
        (make_node("Abs", ["w", "w"], ["c"]), {"w": _ROW}, "shape", "does not take"),
        (make_node("Add", ["w", "v"], ["c"]), {"w": _ROW, "v": _PAIR}, "shape", "does not take"),
        (make_node("MatMul", ["w", "v"], ["c"]), {"w": _ROW, "v": _PAIR}, "shape", "does not take"),
        (make_node("Softmax", ["w"], ["c"], axis=5), {"w": _ROW}, "shape", "does not take"),
        (make_node("Celu", ["w"], ["c"], floor=1.0), {"w": _ROW}, "shape", "does not take"),
        (make_node("Mod", ["w", "v"], ["c"]), {"w": _WHOLE, "v": np.array(0)}, "tensor_type", "by zero"),
        (make_node("Cast", ["w"], ["c"], to=TensorProto.STRING), {"w": _ROW}, "shape", "not read"),
        (make_node("TopK", ["w", "v"], ["c"]), {"w": _ROW, "v": np.array([1 << 40])}, "too_large", "weights"),
        (make_node("Bernoulli", ["w"], ["c"]), {"w": _ROW}, "unsupported_operator", "draws random"),
    ],
    ids=str,
)
def test_a_node_that_does_not_take_its_constants_is_refused_by_name(
    node: Any, weights: dict[str, Any], code: str, words: str
) -> None:
    node.name = "made"
    data = make_model([node, make_node("Mul", ["x", "c"], ["y"])], weights, (1, 4), opset=18)
    with refuses(f"model.{code}", match=words) as error:
        load_onnx(data)
    assert "'made'" in error.value.message


def _stored(size: int) -> bytes:
    """Weights stored as bytes, which a Cast and a Mul make floats."""
    weights: dict[str, NDArray[Any]] = {"w": np.ones((size, 10), np.int8), "s": np.full(1, 0.5, np.float32)}
    nodes = [
        make_node("Cast", ["w"], ["c"], to=TensorProto.FLOAT),
        make_node("Mul", ["c", "s"], ["m"]),
        make_node("MatMul", ["x", "m"], ["y"]),
    ]
    return make_model(nodes, weights, (1, size))


def test_what_is_stored_once_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant that one node alone turns into another is let go: 400 weights, and never three of them."""
    monkeypatch.setattr(constants, "MOST_WEIGHTS", 1000)
    assert load_onnx(_stored(40)).run(np.ones((1, 40))).tolist() == [[20.0] * 10]
    with refuses("model.too_large", match="1000 weights"):
        load_onnx(_stored(60))
