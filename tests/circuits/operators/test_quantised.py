"""Quantised integers as inputs, as outputs and as numbers, and what onnxruntime's quantiser writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper
from onnx.helper import make_node
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)

import zenserve
from tests.circuits.operators.files import Entry, expected, file, made, operators
from tests.refusals import refuses
from zenserve.circuits import load_onnx
from zenserve.circuits.graphs.retyping import QuantRetype
from zenserve.circuits.graphs.types import Affine, Rescale
from zenserve.circuits.operators.clip import Requantise
from zenserve.circuits.quantised import QuantGraph

INT8, UINT8, INT64, FLOAT = TensorProto.INT8, TensorProto.UINT8, TensorProto.INT64, TensorProto.FLOAT
Samples = Sequence[Mapping[str, NDArray[Any]]]
RNG = np.random.default_rng(41)


def floats(*shape: int) -> NDArray[np.float32]:
    return RNG.normal(size=shape).astype(np.float32)


def int8(*shape: int) -> NDArray[np.int8]:
    return RNG.integers(-128, 128, shape).astype(np.int8)


TYPES = {
    "s": np.float32(0.05),
    "z": np.int8(3),
    "o": np.float32(0.2),
    "w": int8(4, 3),
    "v": np.float32(0.02),
    "n": np.int8(0),
    "k": np.int8(5),
    "two": np.array([2, 0]),
    "around": np.array([0, 1, 0, 1]),
    "which": np.array([[True, False, True, False]]),
}
REAL: Entry = ("x", FLOAT, [1, 4])
WHOLE: Entry = ("x", INT8, [1, 4])
QUANTISE = make_node("QuantizeLinear", ["x", "s", "z"], ["q"])
DEQUANTISE = make_node("DequantizeLinear", ["r", "s", "z"], ["y"])


def samples(*entries: Entry, count: int = 24) -> Samples:
    def one(kind: int, shape: Sequence[int]) -> NDArray[Any]:
        return (
            floats(*shape) if kind == FLOAT else int8(*shape) if kind == INT8 else RNG.integers(0, 20, shape)
        )

    return [{name: one(kind, shape) for name, kind, shape in entries} for _ in range(count)]


@pytest.mark.parametrize(
    ("nodes", "entry", "kind"),
    [
        ([make_node("QuantizeLinear", ["x", "s", "z"], ["y"])], REAL, INT8),
        ([QUANTISE, make_node("Flatten", ["q"], ["y"])], REAL, INT8),
        ([QUANTISE, make_node("Relu", ["q"], ["r"]), DEQUANTISE], REAL, FLOAT),
        ([QUANTISE, make_node("Pad", ["q", "around"], ["r"]), DEQUANTISE], REAL, FLOAT),
        ([QUANTISE, make_node("Pad", ["q", "around", "z"], ["r"]), DEQUANTISE], REAL, FLOAT),
        ([QUANTISE, make_node("Mul", ["q", "k"], ["r"]), DEQUANTISE], REAL, FLOAT),
        ([QUANTISE, make_node("Where", ["which", "q", "k"], ["r"]), DEQUANTISE], REAL, FLOAT),
        ([QUANTISE, make_node("Concat", ["q", "q"], ["r"], axis=1), DEQUANTISE], REAL, FLOAT),
        ([QUANTISE, make_node("ArgMax", ["q"], ["y"], axis=1)], REAL, INT64),
        ([QUANTISE, make_node("Cast", ["q"], ["y"], to=FLOAT)], REAL, FLOAT),
        ([QUANTISE, make_node("DequantizeLinear", ["q", "o", "n"], ["y"])], REAL, FLOAT),
        ([make_node("DequantizeLinear", ["x", "s", "z"], ["y"])], WHOLE, FLOAT),
        ([make_node("Gather", ["x", "two"], ["r"], axis=1), DEQUANTISE], WHOLE, FLOAT),
        ([make_node("QLinearMatMul", ["x", "s", "z", "w", "v", "n", "o", "z"], ["y"])], WHOLE, INT8),
    ],
)
def test_integers_are_those_of_the_file(nodes: Sequence[NodeProto], entry: Entry, kind: int) -> None:
    data, given = file(nodes, [entry], TYPES, kind), samples(entry)
    wanted, result = expected(data, given), made(data, given)
    assert np.abs(result.floats - wanted).max() < 1e-5
    # Where sums are rounded a half may be.
    step = 1.0 if "QLinearMatMul" in operators(data) else 1e-5
    assert np.abs(result.reals - wanted).max() <= step
    if kind == INT8:
        assert result.integers.output_scale == (1.0, 128)


def test_an_integer_output_is_shown_as_the_file_has_it() -> None:
    nodes = [make_node("QuantizeLinear", ["x", "s", "z"], ["y"])]
    data, given = file(nodes, [REAL], TYPES, INT8), samples(REAL)
    typical = np.array([each["x"][0] for each in given])
    proof = zenserve.prove(data, given[0]["x"], calibration=typical, reveal="values")
    assert zenserve.verify(proof).valid
    (shown,) = proof.shown.values()
    np.testing.assert_array_equal(np.ravel(shown), expected(data, given)[0])


def test_dequantised_integers_cost_nothing() -> None:
    data = file([make_node("DequantizeLinear", ["x", "s", "z"], ["y"])], [WHOLE], TYPES)
    (node,) = made(data, samples(WHOLE)).integers.nodes
    assert isinstance(node, QuantRetype)
    assert node.output == Affine(float(np.float32(0.05)), 131, 8)


@pytest.mark.parametrize("said", [{"axis": 1}, {"axis": 2}, {"axis": 2, "block_size": 2}])
def test_channels_and_blocks_have_scales_of_their_own(said: dict[str, Any]) -> None:
    shape = {1: (3,), 2: (4,)}[said["axis"]] if "block_size" not in said else (1, 3, 2)
    weights = {
        "s": RNG.uniform(0.05, 0.1, shape).astype(np.float32),
        "z": RNG.integers(-5, 5, shape).astype(np.int8),
    }
    entry: Entry = ("x", FLOAT, [1, 3, 4])
    given = samples(entry)
    twice = [
        make_node("QuantizeLinear", ["x", "s", "z"], ["q"], **said),
        make_node("DequantizeLinear", ["q", "s", "z"], ["y"], **said),
    ]
    once = [make_node("QuantizeLinear", ["x", "s", "z"], ["y"], **said)]
    for nodes, kind, step in ((twice, FLOAT, 0.11), (once, INT8, 1.01)):
        data = file(nodes, [entry], weights, kind)
        wanted, result = expected(data, given), made(data, given, bits=12)
        assert np.abs(result.floats - wanted).max() < 1e-4
        assert np.abs(result.reals - wanted).max() < step


@pytest.mark.parametrize("after", [True, False])
def test_an_embedding_of_integers_is_read(after: bool) -> None:
    words: Entry = ("x", INT64, [1, 3])
    weights = {"e": int8(20, 6), "s": np.float32(0.05), "z": np.int8(3)}
    gather = make_node("Gather", ["e", "x"], ["r"]), make_node("Gather", ["d", "x"], ["y"])
    if after:
        nodes = [gather[0], DEQUANTISE]
    else:
        nodes = [make_node("DequantizeLinear", ["e", "s", "z"], ["d"]), gather[1]]
    data, given = file(nodes, [words], weights), samples(words)
    result = made(data, given)
    np.testing.assert_allclose(result.floats, expected(data, given), atol=1e-5)
    np.testing.assert_allclose(result.reals, expected(data, given), atol=1e-4)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16])
@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul"])
@pytest.mark.parametrize("alone", [True, False])
def test_narrow_integers_wrap_around(kind: type[np.integer[Any]], operator: str, alone: bool) -> None:
    ends, element = np.iinfo(kind), helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    reach = max(ends.min, -300), min(ends.max, 300)
    entries: list[Entry] = [("x", element, [1, 3])]
    entries += [] if alone else [("k", element, [1, 3])]
    weights: dict[str, Any] = {"k": np.array(100, kind)} if alone else {}
    nodes = [make_node(operator, ["x", "k"], ["r"]), make_node("Cast", ["r"], ["y"], to=INT64)]
    given: list[dict[str, Any]] = [{"x": RNG.integers(*reach, (1, 3)).astype(kind)} for _ in range(16)]
    if not alone:
        given = [{**one, "k": one["x"][:, ::-1] // 7} for one in given]
    data = file(nodes, entries, weights, INT64)
    with np.errstate(over="ignore"):
        function = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}[operator]
        wanted = [function(one["x"], (weights | one)["k"]).ravel() for one in given]
    result = made(data, given)
    np.testing.assert_array_equal(result.floats, np.array(wanted, np.float64))
    np.testing.assert_array_equal(result.reals, np.array(wanted, np.float64))


def test_integers_that_never_leave_their_type_need_no_table() -> None:
    entry: Entry = ("x", INT64, [1, 3])
    data = file([make_node("Cast", ["x"], ["y"], to=TensorProto.INT16)], [entry], {}, TensorProto.INT16)
    (node,) = made(data, samples(entry)).integers.nodes
    assert isinstance(node, QuantRetype)


@pytest.mark.parametrize("operator", ["Concat", "Max", "Min", "Where"])
@pytest.mark.parametrize("typed", [True, False])
def test_what_joins_types_that_reach_differently_far_saturates_to_none(operator: str, typed: bool) -> None:
    entries: list[Entry] = [("x", FLOAT, [1, 4]), ("u", FLOAT, [1, 4])]
    given = [{"x": each["x"], "u": 8 * each["u"]} for each in samples(*entries)]
    said: dict[str, Any] = {"axis": 1} if operator == "Concat" else {}
    inputs = ["which", "a", "b"] if operator == "Where" else ["a", "b"]
    nodes = [
        make_node("QuantizeLinear", ["x", "s", "n"], ["p"]),
        make_node("QuantizeLinear", ["u", "o", "n"], ["q"]),
        make_node("DequantizeLinear", ["p", "s", "n"], ["a"]),
        make_node("DequantizeLinear", ["q", "o", "n"], ["b"]),
        make_node(operator, inputs, ["c" if typed else "y"], **said),
    ]
    if typed:
        nodes += [
            make_node("QuantizeLinear", ["c", "o", "n"], ["r"]),
            make_node("DequantizeLinear", ["r", "o", "n"], ["y"]),
        ]
    data = file(nodes, entries, TYPES)
    assert np.abs(made(data, given).reals - expected(data, given)).max() < 0.21


@pytest.mark.parametrize(("kind", "zero"), [(np.int8, 0), (np.int8, -128), (np.uint8, 0)])
def test_shares_of_a_softmax_are_rounded_once(kind: type[np.integer[Any]], zero: int) -> None:
    scale = 1 / 127 if (kind, zero) == (np.int8, 0) else 1 / 255
    weights = {"i": np.float32(0.1), "n": np.array(0 if kind is np.int8 else 128, kind)}
    weights |= {"s": np.float32(scale), "z": np.array(zero, kind)}
    nodes = [
        make_node("QuantizeLinear", ["x", "i", "n"], ["q"]),
        make_node("DequantizeLinear", ["q", "i", "n"], ["d"]),
        make_node("Softmax", ["d"], ["p"]),
        make_node("QuantizeLinear", ["p", "s", "z"], ["r"]),
        DEQUANTISE,
    ]
    data, given = file(nodes, [REAL], weights), [{"x": 4 * each["x"]} for each in samples(REAL, count=64)]
    errors = np.abs(made(data, given).reals - expected(data, given)) / scale
    assert np.mean(errors > 0.5) < 0.01


def test_integers_of_scales_that_each_input_has_are_no_output() -> None:
    nodes = [make_node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])]
    with refuses("model.quantisation", match="quantise the network statically"):
        load_onnx(file(nodes, [REAL], {}, UINT8))


def test_types_without_a_zero_are_moved_and_shifted_alone() -> None:
    far = Affine(1.0, -1000, 8)
    rescale = Rescale(np.array([1]), 0, Affine(1.0, 0, 8), 0, 255)
    with refuses("model.quantised", match="no zero"):
        QuantGraph.of("x", (2,), far, (Requantise("clamp1", ("x",), rescale=rescale),), "clamp1")
    network = QuantGraph.of("x", (2,), far, (QuantRetype("y", ("x",), Affine(1.0, 3, 8)),), "y")
    np.testing.assert_array_equal(network.run(np.array([[5, 7]])), [[5, 7]])
    assert QuantGraph.from_bytes(network.to_bytes()).digest == network.digest
    with refuses("model.quantised", match="how many bits"):
        QuantGraph.of("x", (2,), far, (QuantRetype("y", ("x",), Affine(1.0, 3, 7)),), "y")


class Reader(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, given: Samples) -> None:
        self._given: Iterator[Mapping[str, NDArray[Any]]] = iter(given)

    def get_next(self) -> Mapping[str, NDArray[Any]] | None:
        return next(self._given, None)


def attention() -> bytes:
    """With all that quantisers write operators of their own for."""
    names, weights = ("q", "k", "v"), {"g": np.float32(0.35), "b": floats(8), "e": floats(12, 8)}
    projections = [make_node("MatMul", ["a", f"w{each}"], [each], name=each) for each in names]
    nodes = [
        make_node("Gather", ["e", "x"], ["rows"], name="rows"),
        make_node("Add", ["rows", "b"], ["a"], name="add"),
        *projections,
        make_node("Transpose", ["k"], ["t"], perm=[0, 2, 1], name="turn"),
        make_node("MatMul", ["q", "t"], ["c"], name="scores"),
        make_node("Mul", ["c", "g"], ["d"], name="scale"),
        make_node("Softmax", ["d"], ["p"], axis=-1, name="softmax"),
        make_node("MatMul", ["p", "v"], ["h"], name="mix"),
        make_node("LeakyRelu", ["h"], ["l"], name="leaky"),
        make_node("Concat", ["l", "a"], ["j"], axis=2, name="join"),
        make_node("ReduceMean", ["j"], ["m"], axes=[1], keepdims=0, name="mean"),
        make_node("Gemm", ["m", "o"], ["y"], name="last"),
    ]
    weights |= {f"w{each}": floats(8, 8) for each in names} | {"o": floats(16, 3)}
    model = onnx.load_from_string(file(nodes, [("x", INT64, [1, 4])], weights, opset=17))
    return bytes(onnx.shape_inference.infer_shapes(model).SerializeToString())


STATIC = [
    (QuantFormat.QDQ, QuantType.QUInt8, QuantType.QInt8, {}),
    (QuantFormat.QDQ, QuantType.QInt16, QuantType.QInt16, {}),
    (QuantFormat.QDQ, QuantType.QInt8, QuantType.QInt4, {}),
    (QuantFormat.QOperator, QuantType.QUInt8, QuantType.QInt8, {}),
    (QuantFormat.QOperator, QuantType.QInt8, QuantType.QInt8, {"ForceQuantizeNoInputCheck": True}),
]


NAMES = ("qdq", "int16", "int4", "operators", "forced", "dynamic")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("optimised", [False, True])
@pytest.mark.parametrize("case", [*STATIC, None], ids=NAMES)
def test_what_the_quantiser_writes_is_read(tmp_path: Path, case: Any, optimised: bool) -> None:
    plain, path = tmp_path / "plain.onnx", tmp_path / "made.onnx"
    plain.write_bytes(attention())
    given = samples(("x", INT64, [1, 4]))
    given = [{"x": each["x"] % 12} for each in given]
    if case:
        style, activations, weights, more = case
        types = {"activation_type": activations, "weight_type": weights}
        quantize_static(plain, path, Reader(given), style, extra_options=more, **types)
    else:
        quantize_dynamic(plain, path, weight_type=QuantType.QInt8)
    if optimised:
        options, path = onnxruntime.SessionOptions(), tmp_path / "optimised.onnx"
        options.optimized_model_filepath = str(path)
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        onnxruntime.InferenceSession(tmp_path / "made.onnx", options)
    data = path.read_bytes()
    wanted, result = expected(data, given), made(data, given, bits=12)
    span = np.ptp(np.append(wanted, 0))
    assert np.abs(result.floats - wanted).max() < 0.02 * span
    assert np.quantile(np.abs(result.reals - wanted), 0.95) < 0.03 * span
