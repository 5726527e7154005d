"""A float network as an ONNX file that onnxruntime runs and ``load_onnx`` reads back."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Node
from zenserve.circuits.graphs.types import FloatArray
from zenserve.errors import ModelError
from zenserve.relations.integers import IntArray

_OPSET, _IR = 19, 9


def to_onnx(graph: Graph) -> bytes:
    """``graph`` with float32 weights and a free batch dimension.

    Raises ``ModelError`` (``model.unsupported_operator``) for declared types and nodes that fusion removes,
    ``model.inputs`` and ``model.outputs`` for networks of several.
    """
    if graph.declared:
        raise ModelError(
            "model.unsupported_operator", "networks with declared types cannot be written to ONNX"
        )
    tensors: list[TensorProto] = []
    nodes = [_written(node, tensors) for node in graph.nodes]
    entry, end = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *graph.shapes[name]])]
        for name in (graph.input.name, graph.output)
    )
    made = helper.make_graph(nodes, "zenserve", entry, end, tensors)
    opsets = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(made, opset_imports=opsets, ir_version=_IR, producer_name="zenserve")
    return bytes(model.SerializeToString())


def _written(node: Node, tensors: list[TensorProto]) -> NodeProto:
    def constant(name: str, values: FloatArray | IntArray | list[int]) -> str:
        array = np.asarray(values)
        stored = array.astype(np.float32 if array.dtype.kind == "f" else np.int64)
        tensors.append(numpy_helper.from_array(stored, f"{node.name}.{name}"))
        return f"{node.name}.{name}"

    if not node.called:
        raise ModelError(
            "model.unsupported_operator", f"a {node.operator()} cannot be written to ONNX; fuse the graph"
        )
    operator, constants, attributes = node.written(constant)
    return helper.make_node(operator, [*node.inputs, *constants], [node.name], name=node.name, **attributes)
