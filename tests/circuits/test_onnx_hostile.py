"""Files that mean harm: each is a clear error, soon, and within one gigabyte."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from onnx.helper import make_node

from tests.circuits.support import make_model

# Of the processor, not of a clock. Each takes less than two on an idle machine; caches and cores that others
# use too make it more.
SECONDS, BYTES = 6.0, 1 << 30
FILES = Path(__file__).parent / "onnx_files"

# Loads each file in turn and tells what it came to, the seconds of the processor that it took, and the most
# memory in use.
_CHILD = """
import json, sys, time
from zenserve.circuits import load_onnx
from zenserve.errors import ModelError
for path in sys.argv[1:]:
    open("/proc/self/clear_refs", "w").write("5")
    started = time.process_time()
    try:
        load_onnx(open(path, "rb").read())
        code, message = "accepted", ""
    except ModelError as error:
        code, message = error.code, error.message
    seconds = time.process_time() - started
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(json.dumps([code, message, seconds, int(peak.split()[1]) << 10]), flush=True)
"""


def gemm(rows: int = 4, **weights: NDArray[Any]) -> bytes:
    weights.setdefault("w", np.ones((rows, 3), np.float32))
    return make_model([make_node("Gemm", ["x", "w"], ["y"], name="fc")], weights, ("batch", rows))


def edited(change: Callable[[ModelProto], object], data: bytes | None = None) -> bytes:
    model = ModelProto.FromString(gemm() if data is None else data)
    change(model)
    return bytes(model.SerializeToString())


def weight(**fields: Any) -> bytes:
    """The model with its only weight replaced."""

    def change(model: ModelProto) -> None:
        model.graph.initializer[0].CopyFrom(TensorProto(name="w", **fields))

    return edited(change)


def opsets(*versions: int) -> bytes:
    def change(model: ModelProto) -> None:
        del model.opset_import[:]
        for version in versions:
            model.opset_import.add(version=version)

    return edited(change)


def chain(
    count: int,
    step: Callable[[int], NodeProto],
    shape: tuple[int, ...] = (4,),
    before: Sequence[NodeProto] = (),
    **weights: Any,
) -> bytes:
    """``count`` nodes from t0 to t<count>, one of ``before`` in front of each, then a Gemm."""
    nodes = [make_node("Identity", ["x"], ["t0"])]
    for at in range(count):
        nodes += [*before[at : at + 1], step(at)]
    weights.setdefault("w", np.ones((4, 3), np.float32))
    nodes.append(make_node("Gemm", [f"t{count}", "w"], ["y"]))
    return make_model(nodes, weights, ("batch", *shape))


def shaped(*dims: Any) -> bytes:
    return make_model([make_node("Gemm", ["x", "w"], ["y"])], {"w": np.ones((4, 3), np.float32)}, dims)


def pad(*pads: int) -> bytes:
    nodes = [
        make_node("Pad", ["x", "p"], ["k"]),
        make_node("Flatten", ["k"], ["f"]),
        make_node("Gemm", ["f", "w"], ["y"]),
    ]
    return make_model(nodes, {"p": np.array(pads), "w": np.ones((4, 3), np.float32)}, ("batch", 2, 2))


def constants(*nodes: NodeProto, opset: int = 17, **weights: Any) -> bytes:
    """Arithmetic on constants that ends in the weight "c"."""
    return make_model([*nodes, make_node("Gemm", ["x", "c"], ["y"])], weights, opset=opset)


def nested(depth: int) -> bytes:
    """A model of If in If, put together by hand: protobuf writes nothing so deep that it would refuse it."""

    def field(number: int, payload: bytes) -> bytes:
        size = len(payload)
        digits = [(size >> shift) & 127 for shift in range(0, max(1, size.bit_length()), 7)]
        length = bytes([*(digit | 128 for digit in digits[:-1]), digits[-1]])
        return bytes([number << 3 | 2]) + length + payload

    graph = b""
    for _ in range(depth):
        branch = field(5, field(1, b"then_branch") + field(6, graph) + b"\xa0\x01\x05")
        graph = field(1, field(2, b"y") + field(4, b"If") + branch)
    return b"\x08\x08" + field(7, graph) + field(8, b"\x10\x11")


def doubled(kind: str, times: int = 60) -> bytes:
    start = np.ones((2, 3), np.float32)
    first = make_node("Identity", ["x" if kind == "computed" else "start"], ["t0"])
    nodes = [first, *(make_node("Concat", [f"t{i}"] * 2, [f"t{i + 1}"], axis=1) for i in range(times))]
    nodes.append(
        make_node("Gemm", [f"t{times}", "start"] if kind == "computed" else ["x", f"t{times}"], ["y"])
    )
    return make_model(nodes, {"start": start}, ("batch", 2))


def sliced(times: int) -> bytes:
    """The first entry of a huge tensor, added up so often."""
    numbers = {"s": np.array([0]), "e": np.array([1]), "a": np.array([1])}
    nodes = [make_node("Slice", ["x", "s", "e", "a"], ["t0"])]
    for i in range(times):
        nodes += [
            make_node("Slice", ["x", "s", "e", "a"], [f"s{i}"]),
            make_node("Add", [f"t{i}", f"s{i}"], [f"t{i + 1}"]),
        ]
    return make_model(nodes, numbers, (1, MANY >> 1), f"t{times}")


def functions(count: int, calls: int, *inner: NodeProto, overload: bool = False) -> bytes:
    """Functions F0, F1 and so on: the first of these nodes, each other of so many calls of the one before.
    Without nodes the first calls the last. ``overload``: each has one of the same name that does little."""
    names = [f"F{at}" for at in range(count)]

    def chain(name: str) -> list[NodeProto]:
        ends = ["x", *(f"t{at}" for at in range(calls - 1)), "y"]
        return [make_node(name, [ends[at]], [ends[at + 1]], domain="local") for at in range(calls)]

    def change(model: ModelProto) -> None:
        for at, name in enumerate(names):
            nodes = inner if inner and not at else chain(names[at - 1])
            made = model.functions.add(name=name, domain="local", input=["x"], output=["y"], node=nodes)
            made.opset_import.extend([helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])
            if overload:
                copy = model.functions.add()
                copy.CopyFrom(made)
                del copy.node[:]
                copy.node.append(make_node("Relu", ["x"], ["y"]))
                copy.overload = "small"
        model.opset_import.append(helper.make_opsetid("local", 1))
        model.graph.node[0].CopyFrom(make_node(names[-1], ["x"], ["y"], domain="local"))

    return edited(change)


def looped(depth: int, times: int, *inner: NodeProto) -> bytes:
    """A loop in a loop, so deep, each of which runs so often; the innermost makes "t" of these nodes."""

    def info(name: str, kind: int) -> ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, None)

    nodes = [*inner, make_node("Identity", ["t" if inner else "s"], ["o"])]
    for at in range(depth):
        body = helper.make_graph(
            nodes,
            f"body{at}",
            [info("i", TensorProto.INT64), info("k", TensorProto.BOOL), info("s", FLOAT)],
            [info("k", TensorProto.BOOL), info("o", FLOAT)],
        )
        nodes = [make_node("Loop", ["n", "", "s" if at < depth - 1 else "x"], ["o"], body=body)]
    nodes[0].output[0] = "y"
    return make_model(nodes, {"n": np.array(times), "w": np.ones(64, np.float32)})


def folded(operator: str, *values: Any, opset: int = 17, **attributes: Any) -> bytes:
    """An operator of these constants, which the reader is to compute."""
    weights = {f"c{at}": np.asarray(value) for at, value in enumerate(values)}
    node = make_node(operator, [*weights], ["c"], name="bomb", **attributes)
    return constants(node, opset=opset, **weights)


MANY = 1 << 25
FLOAT = TensorProto.FLOAT

# name: (the file, the code of its error, words of its message)
CORPUS: dict[str, tuple[Callable[[], bytes], str, str]] = {
    **{
        f"cut at {part} of 9": (
            lambda part=part: (FILES / "resnet_ts.onnx").read_bytes()[: 1000 * part + 17],  # type: ignore[misc]
            "not_onnx",
            "does not decode",
        )
        for part in range(9)
    },
    "zeros": (lambda: bytes(1 << 16), "not_onnx", "not an ONNX model"),
    "a file of 300 MB": (lambda: bytes(300 << 20), "too_large", "bytes"),
    "a node that reads itself": (
        lambda: make_model([make_node("Relu", ["y"], ["y"], name="loop")], {}),
        "order",
        "'loop'",
    ),
    "two nodes that read each other": (
        lambda: make_model(
            [make_node("Add", ["x", "b"], ["a"], name="first"), make_node("Relu", ["a"], ["b"])],
            {},
            output="b",
        ),
        "order",
        "without a cycle",
    ),
    "a nested graph": (lambda: nested(8), "outputs", "no node computes"),
    "a deeply nested graph": (lambda: nested(500), "not_onnx", "not an ONNX model"),
    "a function that calls itself": (lambda: functions(1, 1), "graph", "calls itself"),
    "functions that call each other": (lambda: functions(20, 1), "graph", "calls itself"),
    "functions that double": (
        lambda: functions(50, 2, make_node("Relu", ["x"], ["y"])),
        "too_large",
        "unroll to more than",
    ),
    "functions that double, of two overloads": (
        lambda: functions(50, 2, make_node("Relu", ["x"], ["y"]), overload=True),
        "too_large",
        "unroll",
    ),
    "functions that multiply": (
        lambda: functions(30, 4000, make_node("Relu", ["x"], ["y"])),
        "too_large",
        "unroll to more than",
    ),
    "functions that call functions": (
        lambda: functions(2000, 1, make_node("Relu", ["x"], ["y"])),
        "too_large",
        "deep",
    ),
    "a function of a large weight that is called often": (
        lambda: functions(
            2,
            2000,
            make_node("Constant", [], ["w"], value=numpy_helper.from_array(np.ones(1 << 20, np.float32))),
            make_node("Add", ["x", "w"], ["y"]),
        ),
        "too_large",
        "bytes",
    ),
    "a loop that runs 2^62 times": (lambda: looped(1, 1 << 62), "too_large", "unroll"),
    "a loop of nothing but loops": (lambda: looped(12, 1 << 40), "too_large", "unroll"),
    "a loop that computes constants": (
        lambda: looped(1, 1 << 62, make_node("Exp", ["w"], ["e"]), make_node("Add", ["s", "s"], ["t"])),
        "too_large",
        "unroll",
    ),
    "a loop that doubles a tensor": (
        lambda: looped(1, 1000, make_node("Concat", ["s", "s"], ["t"], axis=1)),
        "too_large",
        "elements",
    ),
    "a range of 2^60": (lambda: folded("Range", 0, 1 << 60, 1), "too_large", "weights"),
    "a range of infinitely many": (
        lambda: folded("Range", np.float32(0), np.float32(np.inf), np.float32(1)),
        "shape",
        "'bomb'",
    ),
    "places among 2^60": (
        lambda: folded("OneHot", np.arange(4), np.array(1 << 60), np.array([0.0, 1.0])),
        "too_large",
        "weights",
    ),
    "the 2^60 largest": (
        lambda: folded("TopK", np.ones((4, 4)), np.array([1 << 60])),
        "too_large",
        "weights",
    ),
    "a window of 2^60": (lambda: folded("HannWindow", 1 << 60), "too_large", "weights"),
    "a grid of 2^60": (
        lambda: folded("AffineGrid", np.ones((1, 2, 3), np.float32), np.array([1, 1, 1 << 30, 1 << 30])),
        "too_large",
        "weights",
    ),
    "a matrix of 2^60 bins": (
        lambda: folded("MelWeightMatrix", 1 << 30, 1 << 30, 8000, np.float32(0), np.float32(4000)),
        "too_large",
        "weights",
    ),
    "a convolution of constants, dilated by 2^40": (
        lambda: folded(
            "Conv",
            np.ones((1, 1, 4, 4), np.float32),
            np.ones((1, 1, 2, 2), np.float32),
            dilations=[1 << 40, 1],
        ),
        "too_large",
        "weights",
    ),
    "a pool of constants, padded by 2^40": (
        lambda: folded("AveragePool", np.ones((1, 1, 4), np.float32), kernel_shape=[3], pads=[0, 1 << 40]),
        "too_large",
        "weights",
    ),
    "a transposed convolution of constants to 2^40": (
        lambda: folded(
            "ConvTranspose",
            np.ones((1, 1, 4), np.float32),
            np.ones((1, 1, 2), np.float32),
            output_shape=[1 << 40],
        ),
        "too_large",
        "weights",
    ),
    "a product of large constants": (
        lambda: folded("MatMul", np.ones((3900, 1100), np.float32), np.ones((1100, 3900), np.float32)),
        "too_large",
        "operations",
    ),
    "the error functions of eight million": (
        lambda: folded("Erf", np.ones((1 << 11, 1 << 12), np.float32)),
        "too_large",
        "operations",
    ),
    "a clip by bounds that broadcast": (
        lambda: folded("Clip", np.ones((1 << 14, 1), np.float32), np.ones((1, 1 << 14), np.float32)),
        "shape",
        "single number",
    ),
    "a product plus a sum that broadcasts": (
        lambda: folded(
            "Gemm",
            np.ones((1 << 10, 1), np.float32),
            np.ones((1, 1 << 10), np.float32),
            np.ones((1 << 14, 1, 1), np.float32),
        ),
        "too_large",
        "weights",
    ),
    "a batch norm of very many channels": (
        lambda: folded(
            "BatchNormalization",
            np.ones((1, 1, 1 << 10, 1 << 10), np.float32),
            *[np.ones(1 << 20, np.float32)] * 4,
        ),
        "shape",
        "other lengths",
    ),
    "a slope of very many channels": (
        lambda: folded("PRelu", np.ones((1 << 10, 1 << 10, 1), np.float32), np.ones(1 << 14, np.float32)),
        "too_large",
        "weights",
    ),
    "very many places of few": (
        lambda: folded(
            "OneHot", np.zeros((1 << 20, 1), np.int64), np.array(1), np.ones((2, 1 << 18), np.float32)
        ),
        "too_large",
        "weights",
    ),
    "a grid of very many samples": (
        lambda: folded(
            "AffineGrid", np.ones((1 << 20, 2, 3), np.float32), np.array([1, 1, 1 << 10, 1 << 10])
        ),
        "too_large",
        "weights",
    ),
    "very many positions": (
        lambda: folded(
            "RotaryEmbedding",
            np.ones((1, 1, 1, 4), np.float32),
            np.ones((2, 1 << 20), np.float32),
            np.ones((2, 1 << 20), np.float32),
            np.zeros((1, 1 << 20), np.int64),
            opset=23,
        ),
        "too_large",
        "weights",
    ),
    "attention by a mask that broadcasts": (
        lambda: folded(
            "Attention",
            *[np.ones((1, 1, 1 << 10, 4), np.float32)] * 3,
            np.ones((1 << 18, 1, 1, 1), np.float32),
            opset=23,
        ),
        "shape",
        "mask",
    ),
    "pools of constants, a window at a time": (
        lambda: folded("MaxPool", np.ones((1, 1, 1 << 10, 1 << 10), np.float32), kernel_shape=[2, 2]),
        "too_large",
        "operations",
    ),
    "large constants again and again": (
        lambda: constants(
            *(make_node("Exp", ["a"], [f"c{at}"]) for at in range(1000)),
            make_node("Sum", [f"c{at}" for at in range(1000)], ["c"]),
            a=np.zeros((1 << 10, 1 << 10), np.float32),
        ),
        "too_large",
        "weights",
    ),
    "large constants, each let go": (
        lambda: constants(
            *(make_node("Tanh", [f"c{at}" if at else "a"], [f"c{at + 1}"]) for at in range(4000)),
            make_node("Sub", ["a", "c4000"], ["c"]),
            a=np.zeros((1 << 10, 1 << 10), np.float32),
        ),
        "too_large",
        "operations",
    ),
    "large constants that layers keep": (
        lambda: chain(
            3000,
            lambda i: make_node("Gemm", [f"t{i}", f"e{i}"], [f"t{i + 1}"]),
            (512,),
            before=[make_node("Exp", ["big"], [f"e{i}"]) for i in range(3000)],
            big=np.full((512, 512), -9.0, np.float32),
        ),
        "too_large",
        "weights",
    ),
    "many nodes of constants": (
        lambda: constants(
            *(make_node("Tanh", [f"c{at}" if at else "a"], [f"c{at + 1}"]) for at in range(8000)),
            make_node("Sub", ["a", "c8000"], ["c"]),
            a=np.zeros((4, 3), np.float32),
        ),
        "accepted",
        "",
    ),
    "a huge input": (lambda: shaped("batch", 1 << 40, 1 << 20), "too_large", "'x'"),
    "an overflowing input": (lambda: shaped("batch", *[1 << 62] * 7), "too_large", "'x'"),
    "a negative input": (lambda: shaped("batch", -4), "dynamic_shape", "not fixed"),
    "a dimension with a name of a megabyte": (
        lambda: shaped("batch", "n" * (1 << 20)),
        "dynamic_shape",
        "--shape nnn",
    ),
    "an empty input": (lambda: shaped("batch", 0), "dynamic_shape", "not fixed"),
    "a huge weight that is not there": (
        lambda: weight(data_type=FLOAT, dims=[1 << 40, 3]),
        "bad_tensor",
        "'w'",
    ),
    "an overflowing weight": (
        lambda: weight(data_type=FLOAT, dims=[1 << 62] * 9, raw_data=b"1234"),
        "bad_tensor",
        "'w'",
    ),
    "an empty weight of huge size": (
        lambda: weight(data_type=FLOAT, dims=[0, 1 << 62, 1 << 62]),
        "bad_tensor",
        "'w'",
    ),
    "a negative weight": (
        lambda: weight(data_type=FLOAT, dims=[-4, -3], raw_data=bytes(48)),
        "bad_tensor",
        "'w'",
    ),
    "a weight of too much data": (
        lambda: weight(data_type=FLOAT, dims=[4, 3], raw_data=bytes(4800)),
        "bad_tensor",
        "'w'",
    ),
    "a weight of two kinds of data": (
        lambda: weight(data_type=FLOAT, dims=[4, 3], raw_data=bytes(48), float_data=[1.0] * 12),
        "accepted",
        "",
    ),
    "one number too many": (
        lambda: weight(data_type=FLOAT, dims=[MANY + 1], raw_data=bytes(4 * MANY + 4)),
        "too_large",
        "weights",
    ),
    "the largest weight": (
        lambda: gemm(4, w=np.ones((4, MANY >> 2), np.float32)),
        "accepted",
        "",
    ),
    "the largest quantised weight": (
        lambda: make_model(
            [make_node("DequantizeLinear", ["q", "s"], ["w"]), make_node("MatMul", ["x", "w"], ["y"])],
            {"q": np.ones((1 << 11, (MANY >> 12) - 1), np.uint8), "s": np.ones((), np.float32)},
            ("batch", 1 << 11),
        ),
        "accepted",
        "",
    ),
    "a weight of a wrong shape": (
        lambda: weight(data_type=FLOAT, dims=[12], raw_data=bytes(48)),
        "shape",
        "matrix",
    ),
    "the largest weight, of NaNs": (
        lambda: weight(data_type=FLOAT, dims=[MANY], raw_data=b"\xff" * (4 * MANY)),
        "not_finite",
        "nan at index",
    ),
    "a large weight one number at a time": (
        lambda: weight(data_type=FLOAT, dims=[5, MANY // 64], float_data=np.ones(5 * MANY // 64, np.float32)),
        "shape",
        "reads 4",
    ),
    "a weight that many nodes read": (
        lambda: chain(
            3000,
            lambda i: make_node("Gemm", [f"t{i}", "big"], [f"t{i + 1}"]),
            (512,),
            big=np.full((512, 512), 1e-3, np.float32),
        ),
        "too_large",
        "weights",
    ),
    "a NaN": (lambda: gemm(w=np.full((4, 3), np.nan, np.float32)), "not_finite", "nan at index (0, 0)"),
    "an infinity": (lambda: gemm(w=np.full((4, 3), np.inf, np.float16)), "not_finite", "inf"),
    "a product that overflows": (
        lambda: make_model(
            [make_node("MatMul", ["x", "w"], ["a"]), make_node("Mul", ["a", "c"], ["y"])],
            {"w": np.full((4, 3), 1e300), "c": np.full(3, 1e300)},
        ),
        "not_finite",
        "infinity",
    ),
    "a variance of zero": (
        lambda: make_model(
            [
                make_node("BatchNormalization", ["x", *"wwww"], ["k"], epsilon=0.0),
                make_node("Gemm", ["k", "w"], ["y"]),
            ],
            {"w": np.zeros(4, np.float32)},
        ),
        "not_finite",
        "nan",
    ),
    "strings": (
        lambda: weight(data_type=TensorProto.STRING, dims=[12], string_data=[b"a" * 9] * 12),
        "tensor_type",
        "string",
    ),
    "complex numbers": (
        lambda: weight(data_type=TensorProto.COMPLEX64, dims=[4, 3], raw_data=bytes(96)),
        "tensor_type",
        "complex64",
    ),
    "a type that does not exist": (lambda: weight(data_type=12345, dims=[4, 3]), "tensor_type", "12345"),
    "no operator set": (opsets, "opset", "7"),
    "an old operator set": (lambda: opsets(6), "opset", "[6]"),
    "a future operator set": (lambda: opsets(1000), "opset", "[1000]"),
    "a negative operator set": (lambda: opsets(-17), "opset", "[-17]"),
    "two operator sets": (lambda: opsets(17, 18), "opset", "[17, 18]"),
    "a huge pad": (lambda: pad(0, 0, 0, 0, 1 << 40, 0), "too_large", "(Pad)"),
    "an overflowing pad": (lambda: pad(0, 0, 0, 0, (1 << 63) - 1, (1 << 63) - 1), "too_large", "(Pad)"),
    "a pad of less than nothing": (lambda: pad(0, -3, 0, 0, 0, 0), "shape", "more than"),
    "a constant of huge shape": (
        lambda: constants(make_node("ConstantOfShape", ["s"], ["c"]), s=np.array([1 << 40, 1 << 40])),
        "too_large",
        "weights",
    ),
    "a constant of negative shape": (
        lambda: constants(make_node("ConstantOfShape", ["s"], ["c"]), s=np.array([-4, 3])),
        "shape",
        "[-4, 3]",
    ),
    "an outer product": (
        lambda: constants(
            make_node("Mul", ["a", "b"], ["c"]),
            a=np.ones((1 << 16, 1), np.float32),
            b=np.ones((1, 1 << 16), np.float32),
        ),
        "too_large",
        "weights",
    ),
    "the largest of an outer product": (
        lambda: constants(
            make_node("Max", ["a", "b"], ["c"]),
            a=np.ones((1 << 16, 1), np.float32),
            b=np.ones((1, 1 << 16), np.float32),
        ),
        "too_large",
        "weights",
    ),
    "a pool of huge windows": (
        lambda: make_model(
            [make_node("MaxPool", ["x"], ["y"], kernel_shape=[999, 999])], {}, ("batch", 1, 2000, 2000)
        ),
        "too_large",
        "windows",
    ),
    "a huge gather": (
        lambda: constants(
            make_node("Gather", ["a", "i"], ["c"]),
            a=np.ones((2, 1 << 14), np.float32),
            i=np.zeros(1 << 14, np.int64),
        ),
        "too_large",
        "weights",
    ),
    "a division by zero": (
        lambda: constants(make_node("Div", ["a", "a"], ["c"]), a=np.zeros((4, 3), np.int64)),
        "tensor_type",
        "zero",
    ),
    "a cast of infinity": (
        lambda: constants(make_node("Cast", ["a"], ["c"], to=7), a=np.full(3, np.inf, np.float32)),
        "tensor_type",
        "exceeds",
    ),
    "a huge gather of computed rows": (
        lambda: make_model(
            [make_node("GatherND", ["x", "i"], ["y"])],
            {"i": np.zeros((MANY >> 8, 1), np.int64)},
            (1, 1 << 20),
        ),
        "too_large",
        "(GatherND)",
    ),
    "a tensor joined a thousand times": (
        lambda: make_model([make_node("Concat", ["x"] * 1000, ["y"], axis=0)], {}, (1, MANY >> 1)),
        "too_large",
        "(Concat)",
    ),
    "many small slices of a huge tensor": (
        lambda: sliced(4000),
        "too_large",
        "(Slice)",
    ),
    "a split into very many": (
        lambda: make_model(
            [
                make_node("Split", ["x"], [f"t{i}" for i in range(100_000)], axis=1),
                make_node("Concat", ["t0", "t1"], ["y"], axis=1),
            ],
            {},
            (1, 100_000),
        ),
        "too_large",
        "(Split)",
    ),
    "sizes of less than nothing": (
        lambda: constants(
            make_node("Resize", ["a", "", "", "n"], ["c"]),
            a=np.ones((1, 3), np.float32),
            n=np.array([1, -(1 << 62)]),
        ),
        "shape",
        "(Resize)",
    ),
    "numbers that scale a huge tensor one after the other": (
        lambda: chain(
            4000,
            lambda i: make_node("Mul", [f"t{i}", "c"], [f"t{i + 1}"]),
            (MANY >> 3,),
            c=np.full(1, 1.5, np.float32),
        ),
        "too_large",
        "weights",
    ),
    "constants that double": (lambda: doubled("constant"), "too_large", "weights"),
    "tensors that double": (lambda: doubled("computed"), "too_large", "elements"),
    "too many nodes": (
        lambda: chain(10_000, lambda i: make_node("Relu", [f"t{i}"], [f"t{i + 1}"])),
        "too_large",
        "nodes",
    ),
    "a long chain of nodes": (
        lambda: chain(8000, lambda i: make_node("Relu", [f"t{i}"], [f"t{i + 1}"])),
        "accepted",
        "",
    ),
    "a long chain of nodes that all move": (
        lambda: chain(
            8000,
            lambda i: make_node("Reshape", [f"t{i}", f"s{i % 2}"], [f"t{i + 1}"]),
            s0=np.array([-1, 2, 2]),
            s1=np.array([-1, 4]),
        ),
        "accepted",
        "",
    ),
    "a long chain of factors": (
        lambda: chain(
            8000, lambda i: make_node("Mul", [f"t{i}", "c"], [f"t{i + 1}"]), c=np.ones(1, np.float32)
        ),
        "accepted",
        "",
    ),
    "one name for many nodes": (
        lambda: chain(8000, lambda i: make_node("Add", [f"t{i}", "x"], [f"t{i + 1}"], name="same")),
        "accepted",
        "",
    ),
    "a name of a megabyte": (
        lambda: make_model([make_node("Frobnicate", ["x"], ["y"], name="n" * (1 << 20))], {}),
        "unsupported_operator",
        "nnn",
    ),
    "a sum of very many tensors": (
        lambda: make_model([make_node("Concat", ["x"] * 50_000, ["y"], axis=1)], {}),
        "shape",
        "50000 inputs",
    ),
    "very many axes": (
        lambda: make_model(
            [make_node("Unsqueeze", ["x"], ["y"], axes=list(range(1, 100_000)))], {}, opset=11
        ),
        "shape",
        "numbers",
    ),
    "an attribute twice": (
        lambda: edited(
            lambda model: model.graph.node[0].attribute.extend([helper.make_attribute("alpha", 1.0)] * 2)
        ),
        "unsupported_attribute",
        "'alpha'",
    ),
    "a stride of 2^62": (
        lambda: make_model(
            [
                make_node("MaxPool", ["x"], ["k"], kernel_shape=[1, 1], strides=[1 << 62, 1 << 62]),
                make_node("Flatten", ["k"], ["f"]),
                make_node("Gemm", ["f", "w"], ["y"]),
            ],
            {"w": np.ones((1, 3), np.float32)},
            ("batch", 1, 4, 4),
        ),
        "accepted",
        "",
    ),
    "a dilation of 2^62": (
        lambda: make_model(
            [make_node("MaxPool", ["x"], ["y"], kernel_shape=[2], dilations=[1 << 62])], {}, ("batch", 1, 4)
        ),
        "shape",
        "does not fit",
    ),
    "a transposed convolution of stride 2^62 that is cropped": (
        lambda: make_model(
            [make_node("ConvTranspose", ["x", "w"], ["y"], strides=[1 << 62], pads=[1 << 62, (1 << 62) - 3])],
            {"w": np.ones((1, 1, 3), np.float32)},
            ("batch", 1, 3),
        ),
        "too_large",
        "weights",
    ),
    "a kernel of 2^62": (
        lambda: make_model(
            [make_node("MaxPool", ["x"], ["y"], kernel_shape=[1 << 62, 1])], {}, ("batch", 1, 4, 4)
        ),
        "shape",
        "does not fit",
    ),
    "attention over a million tokens": (
        lambda: bytes(
            helper.make_model(
                helper.make_graph(
                    [make_node("Attention", ["q", "q", "q"], ["y"])],
                    "test",
                    [helper.make_tensor_value_info("q", TensorProto.FLOAT, [1, 1, 1 << 20, 1])],
                    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                ),
                opset_imports=[helper.make_opsetid("", 23)],
                ir_version=10,
            ).SerializeToString()
        ),
        "too_large",
        "weights",
    ),
    "a weight in /etc/passwd": (
        lambda: edited(
            lambda model: model.graph.initializer[0].external_data.add(key="location", value="/etc/passwd")
        ),
        "external_data",
        "another file",
    ),
}


SLOW = {"a long chain of nodes", "a long chain of factors", "the largest weight"}
"""Others do the same with fewer numbers, or with more at once."""


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[str, str, float, int]]:
    """What a fresh process made of each file that a test asks for, one after the other."""
    asked = {item.name for item in request.session.items if item.path == request.path}
    names = [name for name in CORPUS if any(item.endswith(f"[{name}]") for item in asked)]
    folder, paths = tmp_path_factory.mktemp("hostile"), []
    for index, (build, _, _) in enumerate(CORPUS[name] for name in names):
        paths.append(folder / str(index))
        paths[-1].write_bytes(build())
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, *paths], capture_output=True, text=True, check=False
    )
    for path in paths:
        path.unlink()
    assert child.returncode == 0, child.stderr
    return dict(zip(names, map(json.loads, child.stdout.splitlines()), strict=True))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.large if name in SLOW else ()) for name in CORPUS]
)
def test_a_hostile_file_is_a_clear_error_in_time_and_memory(
    name: str, outcomes: dict[str, tuple[str, str, float, int]]
) -> None:
    code, message, seconds, peak = outcomes[name]
    _, expected, words = CORPUS[name]
    assert code.removeprefix("model.") == expected, message
    assert words in message
    assert len(message) < 500
    assert (seconds < SECONDS, peak < BYTES) == (True, True), (seconds, peak)
