"""A float network as an ONNX file that onnxruntime runs and ``load_onnx`` reads back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from circuits.graphs.graph import (
    Add,
    AveragePool,
    Clip,
    Concat,
    Conv,
    Dense,
    FloatArray,
    Graph,
    MaxPool,
    Node,
    Pad,
    Reshape,
    Transpose,
)
from zenerrors import ModelError

_OPSET, _IR = 17, 8


def to_onnx(graph: Graph) -> bytes:
    """``graph`` with float32 weights and a free batch dimension.

    Raises ``ModelError`` (``model.unsupported_operator``) for declared types and nodes that fusion removes.
    """
    if graph.declared:
        raise ModelError(
            "model.unsupported_operator", "networks with declared types cannot be written to ONNX"
        )
    tensors: list[TensorProto] = []
    nodes = [_written(node, tensors) for node in graph.nodes]
    entry, end = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *graph.shapes[name]])]
        for name in (graph.input_name, graph.output)
    )
    made = helper.make_graph(nodes, "zenserve", entry, end, tensors)
    opsets = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(made, opset_imports=opsets, ir_version=_IR, producer_name="zenserve")
    return bytes(model.SerializeToString())


def _written(node: Node, tensors: list[TensorProto]) -> NodeProto:
    def constant(name: str, values: FloatArray | list[int]) -> str:
        array = np.asarray(values)
        stored = array.astype(np.float32 if array.dtype.kind == "f" else np.int64)
        tensors.append(numpy_helper.from_array(stored, f"{node.name}.{name}"))
        return f"{node.name}.{name}"

    inputs = list(node.inputs)
    attributes: dict[str, Any] = {}
    if isinstance(node, Conv):
        operator = "Conv"
        inputs += [constant("weight", node.weight), constant("bias", node.bias)]
        attributes = {"strides": node.stride, "pads": node.padding, "group": node.groups}
    elif isinstance(node, Dense):
        operator, attributes = "Gemm", {"transB": 1}
        inputs += [constant("weight", node.weight), constant("bias", node.bias)]
    elif isinstance(node, MaxPool | AveragePool):
        operator = type(node).__name__
        attributes = {"kernel_shape": node.kernel, "strides": node.stride, "pads": node.padding}
        if isinstance(node, AveragePool):
            attributes["count_include_pad"] = int(node.counts_padding)
    elif isinstance(node, Clip):
        operator = "Relu" if (node.low, node.high) == (0.0, math.inf) else "Clip"
        if operator == "Clip":
            inputs += [constant("low", np.array(node.low)), constant("high", np.array(node.high))]
    elif isinstance(node, Add):
        operator = "Add"
    elif isinstance(node, Concat):
        operator, attributes = "Concat", {"axis": node.axis + 1}
    elif isinstance(node, Pad):
        operator = "Pad"
        befores, afters = zip(*node.padding, strict=True)
        inputs.append(constant("padding", [0, *befores, 0, *afters]))
    elif isinstance(node, Reshape):
        operator = "Flatten" if len(node.target) == 1 else "Reshape"
        if operator == "Reshape":
            inputs.append(constant("shape", [0, *node.target]))
    elif isinstance(node, Transpose):
        operator, attributes = "Transpose", {"perm": [0, *(axis + 1 for axis in node.axes)]}
    else:
        raise ModelError(
            "model.unsupported_operator", f"a {type(node).__name__} cannot be written to ONNX; fuse the graph"
        )
    return helper.make_node(operator, inputs, [node.name], name=node.name, **attributes)
