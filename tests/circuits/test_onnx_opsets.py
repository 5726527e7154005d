"""What moved between attributes and inputs, or was renamed, from one operator set to the next: the old form
and the new one are the same graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import NodeProto
from onnx.defs import onnx_opset_version
from onnx.helper import make_node
from onnx.numpy_helper import from_array

from tests.circuits.support import make_model
from zenserve.circuits import load_onnx
from zenserve.circuits.graphs.graph import Graph


class Form(NamedTuple):
    """From "x" to "h" in an operator set."""

    opset: int
    nodes: Sequence[NodeProto]
    constants: Mapping[str, Any] = {}


def form(opset: int, kind: str, constants: Mapping[str, Any] | None = None, **said: Any) -> Form:
    """One node of x and of constants."""
    names = list(constants or {})
    return Form(opset, [make_node(kind, ["x", *names], ["h"], **said)], constants or {})


def _vectors(**more: Any) -> dict[str, Any]:
    return {**{name: np.array([1, 2], np.float32) for name in ("s", "b", "m", "v")}, **more}


_REDUCTIONS = (
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"),
    *("ReduceProd", "ReduceSumSquare"),
)
_UPDATES = {"i": np.zeros((1, 1, 1, 4), np.int64), "u": np.ones((1, 1, 1, 4), np.float32)}
_QUANTISED = {"s": np.float32(0.1), "z": np.array(3, np.uint8)}
_FROM_START = {"coordinate_transformation_mode": "asymmetric"}
_TWICE = np.array([1, 1, 2, 2], np.float32)

# All of x [batch, 2, 4, 4].
FORMS: Mapping[str, Sequence[Form]] = {
    "Slice": (
        form(7, "Slice", axes=[2, 3], starts=[1, 0], ends=[3, 9]),
        form(10, "Slice", {"s": np.array([1, 0]), "e": np.array([3, 9]), "a": np.array([2, 3])}),
        form(
            13,
            "Slice",
            {"s": np.array([1, 0]), "e": np.array([3, 9]), "a": np.array([-2, -1]), "t": np.array([1, 1])},
        ),
    ),
    "Unsqueeze and Squeeze": (
        Form(
            7,
            [make_node("Unsqueeze", ["x"], ["u"], axes=[1]), make_node("Squeeze", ["u"], ["h"], axes=[1])],
        ),
        Form(
            13,
            [make_node("Unsqueeze", ["x", "a"], ["u"]), make_node("Squeeze", ["u", "a"], ["h"])],
            {"a": np.array([1])},
        ),
        Form(
            24,
            [make_node("Unsqueeze", ["x", "a"], ["u"]), make_node("Squeeze", ["u", "a"], ["h"])],
            {"a": np.array([1])},
        ),
    ),
    "Clip": (
        form(7, "Clip", min=-0.5, max=0.5),
        form(11, "Clip", {"l": np.float32(-0.5), "u": np.float32(0.5)}),
        form(13, "Clip", {"l": np.float32(-0.5), "u": np.float32(0.5)}),
    ),
    "Clip from one side": (
        form(7, "Clip", min=0.25),
        form(11, "Clip", {"l": np.float32(0.25)}),
        Form(12, [make_node("Clip", ["x", "l", ""], ["h"])], {"l": np.float32(0.25)}),
    ),
    "Pad": (
        form(7, "Pad", pads=[0, 0, 1, 1, 0, 0, 2, 0]),
        form(11, "Pad", {"p": np.array([0, 0, 1, 1, 0, 0, 2, 0])}),
        Form(
            18,
            [make_node("Pad", ["x", "p", "", "a"], ["h"])],
            {"p": np.array([1, 1, 2, 0]), "a": np.array([2, 3])},
        ),
    ),
    "Pad by copies": (
        form(7, "Pad", pads=[0, 0, 1, 0, 0, 0, 1, 1], mode="reflect"),
        form(13, "Pad", {"p": np.array([0, 0, 1, 0, 0, 0, 1, 1])}, mode="reflect"),
    ),
    "Dropout": (
        form(7, "Dropout", ratio=0.25),
        form(10, "Dropout", ratio=0.25),
        form(12, "Dropout", {"r": np.float32(0.25)}),
        form(13, "Dropout", {"r": np.float32(0.25), "t": np.array(False)}),
    ),
    **{
        name: (
            form(7, name, axes=[2, 3], keepdims=0),
            form(11, name, axes=[-2, -1], keepdims=0),
            form(18, name, {"a": np.array([2, 3])}, keepdims=0),
        )
        for name in _REDUCTIONS
    },
    "ReduceSum": (
        form(7, "ReduceSum", axes=[1]),
        form(13, "ReduceSum", {"a": np.array([1])}, noop_with_empty_axes=0),
    ),
    "Split": (
        Form(7, [make_node("Split", ["x"], ["h", "r"], axis=2, split=[1, 3])]),
        Form(13, [make_node("Split", ["x", "s"], ["h", "r"], axis=2)], {"s": np.array([1, 3])}),
    ),
    "Split evenly": (
        Form(7, [make_node("Split", ["x"], ["h", "r"], axis=2)]),
        Form(18, [make_node("Split", ["x"], ["h", "r"], axis=2, num_outputs=2)]),
    ),
    "TopK": (
        Form(7, [make_node("TopK", ["x"], ["h", "i"], axis=-1, k=2)]),
        Form(10, [make_node("TopK", ["x", "k"], ["h", "i"], axis=-1)], {"k": np.array([2])}),
        Form(
            11, [make_node("TopK", ["x", "k"], ["h", "i"], axis=3, largest=1, sorted=1)], {"k": np.array([2])}
        ),
    ),
    "the nearest, repeated": (
        form(7, "Upsample", mode="nearest", scales=_TWICE.tolist()),
        form(9, "Upsample", {"s": _TWICE}, mode="nearest"),
        form(10, "Resize", {"s": _TWICE}, mode="nearest"),
        Form(
            11,
            [
                make_node(
                    "Resize",
                    ["x", "r", "s"],
                    ["h"],
                    **_FROM_START,
                    nearest_mode="floor",
                )
            ],
            {"r": np.zeros(0, np.float32), "s": _TWICE},
        ),
        Form(
            13,
            [
                make_node(
                    "Resize",
                    ["x", "", "", "z"],
                    ["h"],
                    **_FROM_START,
                    nearest_mode="floor",
                )
            ],
            {"z": np.array([1, 2, 8, 8])},
        ),
    ),
    "what lies between": (
        form(7, "Upsample", mode="linear", scales=_TWICE.tolist()),
        form(10, "Resize", {"s": _TWICE}, mode="linear"),
        Form(
            19,
            [
                make_node(
                    "Resize", ["x", "", "s"], ["h"], mode="linear", **_FROM_START
                )
            ],
            {"s": _TWICE},
        ),
    ),
    "BatchNormalization": (
        form(7, "BatchNormalization", _vectors(), epsilon=0.5),
        form(9, "BatchNormalization", _vectors(), epsilon=0.5, momentum=0.9),
        form(14, "BatchNormalization", _vectors(), epsilon=0.5, training_mode=0),
    ),
    "Cast": (
        form(7, "Cast", to=7),
        form(13, "Cast", to=7),
        form(19, "Cast", to=7, saturate=1),
        form(24, "Cast", to=7, saturate=1, round_mode="up"),
    ),
    "Constant": (
        Form(
            7,
            [
                make_node("Constant", [], ["c"], value=from_array(np.array(1.5, np.float32))),
                make_node("Add", ["x", "c"], ["h"]),
            ],
        ),
        Form(12, [make_node("Constant", [], ["c"], value_float=1.5), make_node("Add", ["x", "c"], ["h"])]),
    ),
    "Gemm": (
        Form(
            7,
            [make_node("Flatten", ["x"], ["f"]), make_node("Gemm", ["f", "w", "b"], ["h"])],
            {"w": np.ones((32, 2), np.float32), "b": np.zeros(2, np.float32)},
        ),
        Form(
            11,
            [make_node("Flatten", ["x"], ["f"], axis=-3), make_node("Gemm", ["f", "w"], ["h"])],
            {"w": np.ones((32, 2), np.float32)},
        ),
    ),
    "MaxPool": (
        form(7, "MaxPool", kernel_shape=[2, 2], strides=[2, 2]),
        form(12, "MaxPool", kernel_shape=[2, 2], strides=[2, 2], dilations=[1, 1], ceil_mode=0),
    ),
    "AveragePool": (
        form(7, "AveragePool", kernel_shape=[2, 2], strides=[2, 2]),
        form(19, "AveragePool", kernel_shape=[2, 2], strides=[2, 2], dilations=[1, 1], ceil_mode=0),
    ),
    "LpPool": (
        form(7, "LpPool", kernel_shape=[2, 2], p=2),
        form(18, "LpPool", kernel_shape=[2, 2], p=2, dilations=[1, 1], ceil_mode=0),
    ),
    "SpaceToDepth": (
        form(7, "SpaceToDepth", blocksize=2),
        form(13, "SpaceToDepth", blocksize=2),
    ),
    "ScatterElements": (
        form(9, "Scatter", _UPDATES, axis=2),
        form(
            11,
            "ScatterElements",
            _UPDATES,
            axis=2,
        ),
        form(
            18,
            "ScatterElements",
            _UPDATES,
            axis=-2,
            reduction="none",
        ),
    ),
    "ArgMax": (
        form(7, "ArgMax", axis=2),
        form(12, "ArgMax", axis=-2, select_last_index=0),
    ),
    "Softmax": (
        form(7, "Softmax", axis=3),
        form(13, "Softmax"),
    ),
    "LogSoftmax": (
        form(11, "LogSoftmax", axis=-1),
        form(13, "LogSoftmax", axis=3),
    ),
    "Reshape": (
        form(7, "Reshape", {"s": np.array([0, -1])}),
        form(14, "Reshape", {"s": np.array([1, 32])}, allowzero=1),
    ),
    "Shape": (
        Form(
            7,
            [
                make_node("Shape", ["x"], ["s"]),
                make_node("Slice", ["s"], ["t"], axes=[0], starts=[1], ends=[3]),
                make_node("Concat", ["n", "t"], ["u"], axis=0),
                make_node("Reshape", ["x", "u"], ["h"]),
            ],
            {"n": np.array([-1])},
        ),
        Form(
            15,
            [
                make_node("Shape", ["x"], ["t"], start=1, end=3),
                make_node("Concat", ["n", "t"], ["u"], axis=0),
                make_node("Reshape", ["x", "u"], ["h"]),
            ],
            {"n": np.array([-1])},
        ),
    ),
    "CumSum": (
        form(11, "CumSum", {"a": np.array(2)}),
        form(14, "CumSum", {"a": np.array(-2)}, exclusive=0),
    ),
    "quantised": (
        Form(
            10,
            [
                make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                make_node("DequantizeLinear", ["q", "s", "z"], ["h"]),
            ],
            _QUANTISED,
        ),
        Form(
            13,
            [
                make_node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1),
                make_node("DequantizeLinear", ["q", "s", "z"], ["h"], axis=1),
            ],
            _QUANTISED,
        ),
        Form(
            21,
            [
                make_node("QuantizeLinear", ["x", "s", "z"], ["q"], output_dtype=2),
                make_node("DequantizeLinear", ["q", "s", "z"], ["h"]),
            ],
            _QUANTISED,
        ),
    ),
}  # fmt: skip


def graph_of(each: Form) -> Graph:
    nodes = [*each.nodes, make_node("Identity", ["h"], ["y"])]
    constants = {name: np.asarray(value) for name, value in each.constants.items()}
    context = onnx.checker.C.CheckerContext()
    context.ir_version, context.opset_imports = 8, {"": each.opset}
    for node in nodes:
        onnx.checker.check_node(node, context)
    return load_onnx(make_model(nodes, constants, ("batch", 2, 4, 4), opset=each.opset))


def described(graph: Graph) -> list[Any]:
    """All but names."""
    places = {entry.name: at for at, entry in enumerate(graph.inputs)}
    told: list[Any] = []
    for node in graph.nodes:
        said = {each.name: getattr(node, each.name) for each in fields(node)[2:]}
        arrays = {
            key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in said.items()
        }
        told.append((type(node).__name__, [places[name] for name in node.inputs], arrays))
        places[node.name] = len(places)
    return [*told, [places[tensor] for tensor in graph.outputs.values()]]


@pytest.mark.parametrize("name", FORMS)
def test_old_forms_and_new_ones_are_the_same_graph(name: str) -> None:
    first, *others = (described(graph_of(each)) for each in FORMS[name])
    for each in others:
        assert each == first


def test_a_network_is_the_same_in_every_operator_set() -> None:
    rng = np.random.default_rng(1)
    nodes = [
        make_node("Conv", ["x", "k"], ["a"], pads=[1, 1, 1, 1]),
        make_node("Relu", ["a"], ["b"]),
        make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
        make_node("Flatten", ["c"], ["d"]),
        make_node("Gemm", ["d", "w", "v"], ["h"]),
    ]
    constants = {
        name: rng.standard_normal(shape).astype(np.float32)
        for name, shape in (("k", (3, 2, 3, 3)), ("w", (12, 5)), ("v", (5,)))
    }
    first, *others = (
        described(graph_of(Form(opset, nodes, constants))) for opset in range(7, onnx_opset_version() + 1)
    )
    assert len(others) >= 21
    assert all(each == first for each in others)
