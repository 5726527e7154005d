"""Every operator against onnxruntime, over random shapes, strides, pads, groups and operator sets."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import NodeProto, numpy_helper
from onnx.defs import onnx_opset_version
from onnx.helper import make_node

from tests.circuits.support import make_model
from tests.refusals import refuses
from zenserve.circuits import load_onnx
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Node
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.scale import Scale
from zenserve.errors import ModelError

Rng = np.random.Generator
Case = tuple[Sequence[NodeProto], Mapping[str, NDArray[Any]], tuple[int, ...], int]
# onnxruntime officially runs one operator set less than the newest.
NEWEST = min(onnx_opset_version() - 1, 25)
CASES = 25


def floats(rng: Rng, *shape: int) -> NDArray[np.float32]:
    return rng.normal(size=shape).astype(np.float32)


def agree(data: bytes, rng: Rng, atol: float = 2e-4) -> Graph:
    """The typed graph, which must compute what onnxruntime does."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(data, options)
    graph = load_onnx(data)
    x = floats(rng, 1, *graph.input.shape) * 2
    expected = session.run(None, {session.get_inputs()[0].name: x})[0]
    np.testing.assert_allclose(graph.run(x.astype(np.float64)), expected, atol=atol, rtol=1e-4)
    assert not any(isinstance(node, Scale) for node in graph.nodes)
    return graph


def classified(
    nodes: Sequence[NodeProto],
    weights: Mapping[str, NDArray[Any]],
    shape: tuple[int, ...],
    opset: int,
    rng: Rng,
) -> bytes:
    """A model that ends in classes: "h" through Flatten and a MatMul, as wide as the importer says."""

    def ending(values: int) -> bytes:
        tail = [make_node("Flatten", ["h"], ["f"]), make_node("MatMul", ["f", "tail"], ["y"])]
        tensors = {**weights, "tail": floats(rng, values, 3)}
        return make_model([*nodes, *tail], tensors, ("batch", *shape), opset=opset)

    with pytest.raises(ModelError, match="for 1234 inputs but reads") as caught:
        load_onnx(ending(1234))
    return ending(int(caught.value.message.split()[-1]))


def window(rng: Rng, size: Sequence[int], pool: bool, opset: int) -> dict[str, Any]:
    kernel = [int(rng.integers(1, 4)) for _ in range(2)]
    said: dict[str, Any] = {"kernel_shape": kernel}
    if rng.random() < 0.7:
        said["strides"] = [int(rng.integers(1, 4)) for _ in range(2)]
    mode = rng.choice(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "pads", "pads"])
    if mode == "pads":
        said["pads"] = [int(rng.integers(0, kernel[axis % 2])) for axis in range(4)]
    else:
        said["auto_pad"] = str(mode)
        if pool and "SAME" in mode:  # where onnxruntime takes no stride beyond the kernel
            said["strides"] = [int(rng.integers(1, size + 1)) for size in kernel]
    if pool and opset >= 10 and mode in ("NOTSET", "pads") and rng.random() < 0.5:
        said["ceil_mode"] = 1
    return said


def conv(rng: Rng) -> Case:
    opset = int(rng.integers(9, NEWEST + 1))
    groups = int(rng.integers(1, 4))
    channels, out = groups * int(rng.integers(1, 4)), groups * int(rng.integers(1, 4))
    shape = (channels, int(rng.integers(3, 9)), int(rng.integers(3, 9)))
    said = window(rng, shape[1:], False, opset)
    weights = {"w": floats(rng, out, channels // groups, *said["kernel_shape"]), "b": floats(rng, out)}
    if rng.random() < 0.3:
        del said["kernel_shape"]
    inputs = ["x", "w", "b"] if rng.random() < 0.7 else ["x", "w"]
    return [make_node("Conv", inputs, ["h"], group=groups, **said)], weights, shape, opset


def pool(rng: Rng, kind: str) -> Case:
    opset = int(rng.integers(9, NEWEST + 1))
    shape = (int(rng.integers(1, 4)), int(rng.integers(3, 9)), int(rng.integers(3, 9)))
    said = window(rng, shape[1:], True, opset)
    if kind == "AveragePool" and "ceil_mode" not in said and rng.random() < 0.5:
        said["count_include_pad"] = 1
    if "ceil_mode" not in said:
        return [make_node(kind, ["x"], ["h"], **said)], {}, shape, opset
    # onnxruntime's shape inference counts windows that it then leaves out: hide their number from it.
    nodes = [make_node(kind, ["x"], ["k"], **said), make_node("GlobalAveragePool", ["k"], ["h"])]
    return nodes, {}, shape, opset


def batch_norm(rng: Rng) -> Case:
    """After a convolution, before one, after a vector, on its own, or read twice."""
    c = int(rng.integers(1, 5))
    names = ["g", "b", "m", "v"]
    weights = {
        **{name: floats(rng, c) for name in names},
        "w": floats(rng, c, c, 3, 3),
        "t": floats(rng, c, c),
    }
    weights["v"] = np.abs(weights["v"]) + np.float32(0.1)
    norm = functools.partial(make_node, "BatchNormalization", epsilon=float(rng.uniform(1e-5, 1e-2)))
    shape: tuple[int, ...] = (c, 5, 4)
    match rng.integers(6):
        case 0:
            nodes = [make_node("Conv", ["x", "w"], ["k"]), norm(["k", *names], ["h"])]
        case 1:
            pads = [int(rng.integers(0, 2))] * 4
            nodes = [norm(["x", *names], ["n"]), make_node("Conv", ["n", "w"], ["h"], pads=pads)]
        case 2:
            shape = (c,)
            nodes = [make_node("MatMul", ["x", "t"], ["k"]), norm(["k", *names], ["h"])]
        case 3:
            shape = (c,)
            nodes = [norm(["x", *names], ["n"]), make_node("Relu", ["n"], ["h"])]
        case 4:
            nodes = [
                norm(["x", *names], ["n"]),
                norm(["n", *names], ["m2"]),
                make_node("Relu", ["m2"], ["h"]),
            ]
        case _:
            nodes = [
                make_node("Conv", ["x", "w"], ["k"], pads=[1] * 4),
                norm(["k", *names], ["n"]),
                make_node("Add", ["k", "n"], ["h"]),
            ]
    return nodes, weights, shape, int(rng.integers(9, NEWEST + 1))


def arithmetic(rng: Rng) -> Case:
    c, plane = int(rng.integers(2, 5)), bool(rng.integers(2))
    shape = (c, 3, 4) if plane else (c,)
    constants = [(), (1,), (c, 1, 1), (1, c, 1, 1)] if plane else [(), (1,), (c,), (1, c)]
    constant = floats(rng, *constants[rng.integers(4)])
    constant = np.asarray(np.where(np.abs(constant) < 0.1, 0.5, constant), np.float32)
    kind = rng.choice(["Add", "Sub", "Mul", "Div", "twice"])
    if kind == "twice":
        nodes = [
            make_node("Relu", ["x"], ["r"]),
            make_node(str(rng.choice(["Add", "Sub"])), ["x", "r"], ["h"]),
        ]
    else:
        operands = ["x", "c"] if kind == "Div" or rng.random() < 0.5 else ["c", "x"]
        nodes = [make_node(str(kind), operands, ["k"]), make_node("Relu", ["k"], ["h"])]
    return nodes, {"c": constant}, shape, int(rng.integers(9, NEWEST + 1))


def clip(rng: Rng) -> Case:
    low, high = sorted(float(value) for value in rng.normal(size=2))
    weights = {"lo": np.float32(low), "hi": np.float32(high)}
    said: dict[str, Any] = {"min": low, "max": high}
    inputs = ["x", "lo", "hi"]
    match rng.integers(3):
        case 0:
            del said["max"]
            inputs = ["x", "lo"]
        case 1:
            del said["min"]
            inputs = ["x", "", "hi"]
    old = rng.random() < 0.4
    node = make_node("Clip", ["x"], ["h"], **said) if old else make_node("Clip", inputs, ["h"])
    opset = int(rng.integers(9, 11) if old else rng.integers(12, NEWEST + 1))
    return [node], {name: np.asarray(value) for name, value in weights.items()}, (5, 6), opset


def gemm(rng: Rng) -> Case:
    inner, out, turned = int(rng.integers(1, 6)), int(rng.integers(1, 6)), int(rng.integers(2))
    said: dict[str, Any] = {
        "transB": turned,
        "alpha": float(rng.normal()),
        "beta": float(rng.normal()),
        "transA": 0,
    }
    bias = [(out,), (1, out), (1,), ()][rng.integers(4)]
    weights = {"w": floats(rng, *([out, inner] if turned else [inner, out])), "c": floats(rng, *bias)}
    inputs = ["x", "w", "c"] if rng.random() < 0.8 else ["x", "w"]
    opset = int(rng.integers(11, NEWEST + 1)) if len(inputs) == 2 else int(rng.integers(9, NEWEST + 1))
    return [make_node("Gemm", inputs, ["h"], **said)], weights, (inner,), opset


def matmul(rng: Rng) -> Case:
    """On vectors, on rows, and with the weights on the left."""
    a, b, c = (int(rng.integers(1, 6)) for _ in range(3))
    opset = int(rng.integers(9, NEWEST + 1))
    match rng.integers(4):
        case 0:
            return [make_node("MatMul", ["x", "w"], ["h"])], {"w": floats(rng, a, b)}, (a,), opset
        case 1:
            return [make_node("MatMul", ["x", "w"], ["h"])], {"w": floats(rng, b, c)}, (a, b), opset
        case 2:
            return [make_node("MatMul", ["w", "x"], ["h"])], {"w": floats(rng, c, a)}, (a, b), opset
        case _:
            nodes = [
                make_node("Transpose", ["w"], ["t"], perm=[1, 0]),
                make_node("MatMul", ["x", "t"], ["h"]),
            ]
            return nodes, {"w": floats(rng, b, a)}, (a,), opset


def movement(rng: Rng) -> Case:
    shape = tuple(int(rng.integers(1, 5)) for _ in range(3))
    opset = int(rng.integers(13, NEWEST + 1))
    axes = [0, *(int(axis) + 1 for axis in rng.permutation(3))]
    weights = {"one": np.array([1]), "four": np.array([-1]), "s": np.array([0, -1, shape[2]])}
    nodes = [
        make_node("Transpose", ["x"], ["a"], perm=axes),
        make_node("Unsqueeze", ["a", "one"], ["b"]),
        make_node("Squeeze", ["b", "one"], ["c"]),
        make_node(
            "Concat", ["c", "a", "c"], ["d"], axis=int(rng.integers(1, 4)) - (4 if rng.integers(2) else 0)
        ),
        make_node("Identity", ["d"], ["e"]),
        make_node("Dropout", ["e"], ["g", "mask"]),
        make_node("Reshape", ["g", "s"], ["h"]),
    ]
    return nodes, weights, shape, opset


def pad(rng: Rng) -> Case:
    shape, pads = (2, 4, 3), [int(rng.integers(3)) for _ in range(8)]
    pads[0] = pads[4] = 0
    if rng.random() < 0.6:
        pads[1] = pads[5] = 0
    weights = {"p": np.array(pads), "w": floats(rng, 3, 2 + pads[1] + pads[5], 3, 3)}
    after = [make_node("Conv", ["q", "w"], ["h"], pads=[1, 0, 2, 1])]
    if rng.random() < 0.3:
        return [make_node("Pad", ["x"], ["q"], pads=pads), *after], weights, shape, int(rng.integers(9, 11))
    return [make_node("Pad", ["x", "p"], ["q"]), *after], weights, shape, int(rng.integers(11, NEWEST + 1))


def means(rng: Rng) -> Case:
    shape = (3, int(rng.integers(1, 5)), int(rng.integers(1, 5)))
    opset, keep = int(rng.integers(9, NEWEST + 1)), int(rng.integers(2))
    axes = [[2, 3], [-1, -2], [3, 2]][rng.integers(3)]
    if rng.random() < 0.4:
        return [make_node("GlobalAveragePool", ["x"], ["h"])], {}, shape, opset
    if opset < 18:
        return [make_node("ReduceMean", ["x"], ["h"], axes=axes, keepdims=keep)], {}, shape, opset
    return [make_node("ReduceMean", ["x", "a"], ["h"], keepdims=keep)], {"a": np.array(axes)}, shape, opset


def relu(rng: Rng) -> Case:
    return [make_node("Relu", ["x"], ["h"])], {}, (3, 2), int(rng.integers(9, NEWEST + 1))


OPERATORS: dict[str, Callable[[Rng], Case]] = {
    "arithmetic": arithmetic,
    "average pool": functools.partial(pool, kind="AveragePool"),
    "batch norm": batch_norm,
    "clip": clip,
    "conv": conv,
    "gemm": gemm,
    "matmul": matmul,
    "max pool": functools.partial(pool, kind="MaxPool"),
    "means": means,
    "movement": movement,
    "pad": pad,
    "relu": relu,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_agrees_with_onnxruntime(name: str) -> None:
    rng = np.random.default_rng(list(name.encode()))
    for _ in range(CASES):
        agree(classified(*OPERATORS[name](rng), rng), rng)


@pytest.mark.parametrize("opset", range(9, NEWEST + 1))
def test_every_operator_set_from_9_on_is_read(opset: int) -> None:
    rng = np.random.default_rng(opset)
    nodes = [make_node("Conv", ["x", "w"], ["k"]), make_node("Relu", ["k"], ["h"])]
    agree(classified(nodes, {"w": floats(rng, 2, 3, 2, 2)}, (3, 4, 4), opset, rng), rng)


def constant(name: str, value: object) -> NodeProto:
    return make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(value)))


def test_a_flatten_by_the_shape_that_the_file_computes() -> None:
    """As TorchScript's exporter writes ``x.view(x.size(0), -1)``."""
    rng = np.random.default_rng(5)
    nodes = [
        make_node("Shape", ["x"], ["shape"]),
        constant("zero", 0),
        make_node("Gather", ["shape", "zero"], ["size"], axis=0),
        constant("axes", [0]),
        make_node("Unsqueeze", ["size", "axes"], ["batch"]),
        constant("rest", [-1]),
        make_node("Concat", ["batch", "rest"], ["target"], axis=0),
        make_node("Reshape", ["x", "target"], ["h"]),
    ]
    agree(classified(nodes, {}, (2, 3, 2), 17, rng), rng)


def test_a_network_that_keeps_channels_last() -> None:
    """As Keras's exporter writes one: transposes around images, a bias as an Add, Cast in shapes."""
    rng = np.random.default_rng(6)
    nodes = [
        make_node("Transpose", ["x"], ["first"], perm=[0, 3, 1, 2]),
        make_node("Conv", ["first", "w"], ["k"], auto_pad="SAME_UPPER", strides=[2, 2]),
        make_node("Add", ["k", "b"], ["s"]),
        make_node("Clip", ["s", "lo", "hi"], ["r"]),
        make_node("MaxPool", ["r"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        make_node("Transpose", ["m"], ["last"], perm=[0, 2, 3, 1]),
        make_node("Shape", ["last"], ["shape"]),
        make_node("Cast", ["shape"], ["shape32"], to=6),
        make_node("Slice", ["shape32", "zero", "one", "zero"], ["batch"]),
        make_node("Concat", ["batch", "rest"], ["target32"], axis=0),
        make_node("Cast", ["target32"], ["target"], to=7),
        make_node("Reshape", ["last", "target"], ["flat"]),
        make_node("MatMul", ["flat", "v"], ["p"]),
        make_node("Add", ["p", "c"], ["y"]),
    ]
    weights = {
        "w": floats(rng, 4, 3, 3, 3),
        "b": floats(rng, 1, 4, 1, 1),
        "lo": np.array(0, np.float32),
        "hi": np.array(6, np.float32),
        "zero": np.array([0]),
        "one": np.array([1]),
        "rest": np.array([-1], np.int32),
        "v": floats(rng, 4 * 2 * 2, 5),
        "c": floats(rng, 5),
    }
    graph = agree(make_model(nodes, weights, ("batch", 8, 8, 3)), rng)
    assert [type(node) for node in graph.nodes if isinstance(node, Conv | Clip | Dense)] == [
        Conv,
        Clip,
        Dense,
    ]


@pytest.mark.parametrize(
    ("name", "nodes", "weights", "code", "words"),
    [
        ("dilation zero", [make_node("Conv", ["x", "w"], ["h"], dilations=[0, 2])], {"w": (2, 3, 2, 2)},
         "shape", r"'k' \(Conv\) has .* dilations \[0, 2\]"),
        ("a dilation beyond the image", [make_node("Conv", ["x", "w"], ["h"], dilations=[1, 1 << 62])],
         {"w": (2, 3, 2, 2)}, "shape", "does not fit"),
        ("a 1-D convolution", [make_node("Conv", ["x", "w"], ["h"])], {"w": (2, 3, 2)}, "shape",
         "kernel of 1 dimensions"),
        ("a 4-D convolution", [make_node("Conv", ["x", "w"], ["h"])], {"w": (2, 3, 1, 1, 1, 1)}, "shape",
         "one axis to three"),
        ("other channels", [make_node("Conv", ["x", "w"], ["h"])], {"w": (2, 4, 2, 2)},
         "shape", "4 channels"),
        ("uneven groups", [make_node("Conv", ["x", "w"], ["h"], group=3)], {"w": (2, 1, 2, 2)},
         "shape", "3 groups"),
        ("a kernel larger than the image", [make_node("Conv", ["x", "w"], ["h"])], {"w": (2, 3, 9, 2)},
         "shape", "does not fit"),
        ("a huge padding", [make_node("Conv", ["x", "w"], ["h"], pads=[1 << 40] * 4)], {"w": (2, 3, 2, 2)},
         "too_large", "elements"),
        ("a negative padding", [make_node("Conv", ["x", "w"], ["h"], pads=[-1] * 4)], {"w": (2, 3, 2, 2)},
         "shape", "pads"),
        ("stride zero", [make_node("Conv", ["x", "w"], ["h"], strides=[0, 1])], {"w": (2, 3, 2, 2)},
         "shape", "strides"),
        ("a computed weight", [make_node("Conv", ["x", "x"], ["h"])], {}, "unsupported_operator", "constant"),
        ("a window of padding alone",
         [make_node("MaxPool", ["x"], ["h"], kernel_shape=[2, 2], pads=[2, 0, 0, 0])], {},
         "shape", "whole windows"),
        ("indices of a pool in another order",
         [make_node("MaxPool", ["x"], ["k", "h"], kernel_shape=[2, 2], storage_order=2)], {},
         "unsupported_attribute", "storage_order=2"),
        ("bounds that do not fit", [make_node("Min", ["x", "w"], ["h"])], {"w": (7,)}, "shape", "combines"),
        ("a computed power", [make_node("Pow", ["x", "x"], ["h"])], {},
         "unsupported_operator", "must be a constant"),
        ("a batch norm of another width", [make_node("BatchNormalization", ["x", *"wwww"], ["h"])],
         {"w": (2,)}, "shape", "four vectors of 3"),
        ("a dropped axis", [make_node("Squeeze", ["x"], ["h"], axes=[1])], {}, "shape", "size 1"),
        ("a padding of a batch that is infinite",
         [make_node("Pad", ["x"], ["h"], pads=[1] * 8, value=float("-inf"))], {},
         "unsupported_attribute", "minus infinity"),
        ("a slice by floats", [make_node("Slice", ["x", "s", "s"], ["h"])], {"s": (1,)},
         "tensor_type", "int64"),
        ("an empty clip", [make_node("Clip", ["x"], ["h"], min=2.0, max=1.0)], {}, "shape", "no interval"),
        ("a loop without a body", [make_node("Loop", ["", "", "x"], ["h"])], {}, "shape", "its graph body"),
    ],
)  # fmt: skip
def test_a_use_without_a_circuit_is_refused_by_node_operator_and_remedy(
    name: str, nodes: Sequence[NodeProto], weights: Mapping[str, tuple[int, ...]], code: str, words: str
) -> None:
    nodes[0].name = "k"
    tensors: dict[str, NDArray[Any]] = {key: np.ones(shape, np.float32) for key, shape in weights.items()}
    tail = [make_node("Flatten", ["h"], ["f"]), make_node("Gemm", ["f", "tail"], ["y"])]
    data = make_model(
        [*nodes, *tail], {**tensors, "tail": np.ones((60, 3), np.float32)}, ("batch", 3, 4, 5), opset=11
    )
    with refuses(f"model.{code}", match=words):
        load_onnx(data)


def test_nodes_of_one_name_become_tensors_of_different_names() -> None:
    nodes = [make_node("Relu", ["x"], ["a"], name="same"), make_node("Gemm", ["a", "w"], ["y"], name="same")]
    graph = load_onnx(make_model(nodes, {"w": np.ones((4, 3), np.float32)}))
    assert [node.name for node in graph.nodes] == ["same", "same.1"]


def dead(kind: type[Node], graph: Graph) -> bool:
    return not any(isinstance(node, kind) for node in graph.nodes)


def test_what_the_output_does_not_need_is_left_out() -> None:
    nodes = [make_node("Relu", ["x"], ["unread"]), make_node("Gemm", ["x", "w"], ["y"])]
    assert dead(Clip, load_onnx(make_model(nodes, {"w": np.ones((4, 3), np.float32)})))
