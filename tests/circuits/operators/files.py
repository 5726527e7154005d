"""Small ONNX files of one or several inputs, and what runtimes and integers make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from zenserve.circuits import load_onnx, quantise
from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.quantisation.plan import input_names
from zenserve.circuits.quantised import QuantGraph

# Name, kind of element, shape.
Entry = tuple[str, int, Sequence[int]]
QONNX = "qonnx.custom_op.general"


def file(
    nodes: Sequence[NodeProto],
    inputs: Sequence[Entry],
    weights: Mapping[str, Any],
    kind: int = TensorProto.FLOAT,
    opset: int = 21,
) -> bytes:
    """A model whose output is "y". ``weights``: arrays, or tensors."""
    stored = [
        value if isinstance(value, TensorProto) else numpy_helper.from_array(np.asarray(value), name)
        for name, value in weights.items()
    ]
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(*each) for each in inputs],
        [helper.make_tensor_value_info("y", kind, None)],
        stored,
    )
    domains = ("com.microsoft", QONNX)
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(each, 1) for each in domains)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString())


def expected(data: bytes, samples: Sequence[Mapping[str, NDArray[Any]]]) -> FloatArray:
    """By onnxruntime without optimisations, [n, values]."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(data, options)
    return np.array([np.ravel(session.run(None, dict(each))[0]) for each in samples], np.float64)


class Made(NamedTuple):
    """``floats``, ``reals``: the output [n, values] of the float network, and of the integers."""

    graph: Graph
    floats: FloatArray
    integers: QuantGraph
    reals: FloatArray


def made(data: bytes, samples: Sequence[Mapping[str, NDArray[Any]]], bits: int = 8) -> Made:
    """What the product makes of a file, calibrated by the samples."""
    graph, count = load_onnx(data, whole=True), len(samples)
    x = {
        entry.name: np.array([each[entry.name] for each in samples], np.float64).reshape(count, *entry.shape)
        for entry in graph.inputs
    }
    integers, names = quantise(graph, x, bits=bits), input_names(graph)
    q = {names[name]: integers.entries[names[name]].type.quantise(values) for name, values in x.items()}
    scale, zero = integers.output_scale or (1.0, 0)
    reals = scale * (integers.run(q) - zero).astype(np.float64)
    return Made(graph, graph.run(x).reshape(count, -1), integers, reals)


def operators(data: bytes) -> set[str]:
    return {node.op_type for node in onnx.load_from_string(data).graph.node}
