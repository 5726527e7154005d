"""ONNX import: bytes of a dense network to a :class:`~circuits.graph.Graph`.

The bytes are untrusted. Only the protobuf message is decoded; nothing in it is executed and no path in
it is opened. What is not understood exactly is refused with a ``ModelError``:

    model.not_onnx                the bytes are no ONNX model
    model.opset                   no operator set version, or one too old
    model.external_data           tensors live in other files
    model.unsupported_operator    a node whose operator has no circuit
    model.unsupported_attribute   an operator used in a way that has no circuit
    model.inputs / model.outputs  not exactly one input or output
    model.not_a_chain             a node reads something else than the node before it
    model.dynamic_shape           a dimension other than the batch is not fixed
    model.shape                   shapes that do not fit together
    model.tensor_type             an element type other than float
    model.missing_initialiser     a weight that the file does not hold
    model.duplicate_name          two tensors of one name
    model.bad_tensor              a tensor that cannot be decoded
    model.not_finite              NaN or infinity in a weight
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from numpy.typing import NDArray
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, numpy_helper

from circuits.graph import Clip, Dense, FloatArray, Graph, Node, Reshape
from zenerrors import ModelError

# Before version 7 Gemm and Add broadcast by attributes of another meaning.
_OLDEST_OPSET = 7
_MOST_DIMENSIONS = 8
_FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)
_INT, _FLOAT, _TENSOR = AttributeProto.INT, AttributeProto.FLOAT, AttributeProto.TENSOR
_ATTRIBUTES: dict[str, dict[str, AttributeProto.AttributeType]] = {
    "Add": {},
    "ArgMax": {"axis": _INT, "keepdims": _INT, "select_last_index": _INT},
    "Constant": {"value": _TENSOR},
    "Flatten": {"axis": _INT},
    "Gemm": {"alpha": _FLOAT, "beta": _FLOAT, "transA": _INT, "transB": _INT},
    "Identity": {},
    "LogSoftmax": {"axis": _INT},
    "MatMul": {},
    "Relu": {},
    "Reshape": {"allowzero": _INT},
    "Softmax": {"axis": _INT},
}
# Softmax and LogSoftmax keep the order of the outputs, ArgMax reads it: the label of the proof is the same
# without them. Nothing else may follow; a second ArgMax would read the label of the first.
_AFTER_SOFTMAX = frozenset({"ArgMax", "Identity", "LogSoftmax", "Softmax"})
_AFTER_ARGMAX = frozenset({"Identity"})


def load_onnx(data: bytes) -> Graph:
    """The network in ``data``. Raises ``ModelError``, codes above."""
    model = _decode(data)
    graph = model.graph
    _refuse_foreign_operators(model)
    constants = _constants(graph)
    entry = _only("input", [value for value in graph.input if value.name not in constants])
    exit_ = _only("output", graph.output)
    chain = _Chain(entry, constants)
    for node in graph.node:
        if node.op_type != "Constant":
            chain.append(node)
    return chain.finish(exit_.name)


class _Chain:
    """The nodes read so far, the name and shape of the tensor they end in, and the weights in reach."""

    def __init__(self, entry: ValueInfoProto, constants: dict[str, TensorProto]) -> None:
        self._constants = constants
        self._input_name = entry.name
        self._input_shape = _input_shape(entry)
        self._produced = {entry.name}
        self._current = entry.name
        self._shape = self._input_shape
        self._nodes: list[Node] = []
        self._may_follow = frozenset(_ATTRIBUTES)

    def append(self, node: NodeProto) -> None:
        if len(node.output) != 1 or node.output[0] in self._produced or node.output[0] in self._constants:
            raise ModelError("model.duplicate_name", f"{_where(node)} must write exactly one new tensor")
        if node.op_type not in self._may_follow:
            raise ModelError(
                "model.unsupported_operator",
                f"{_where(node)} follows a Softmax or ArgMax; these may only stand at the end of the network",
            )
        step = getattr(self, f"_{node.op_type.lower()}")
        step(node, _attributes(node))
        self._current = node.output[0]
        self._produced.add(self._current)

    def finish(self, output_name: str) -> Graph:
        if self._current != output_name:
            raise ModelError(
                "model.outputs",
                f"the output {_quote(output_name)} is not the end of the chain of nodes, "
                f"{_quote(self._current)}; remove what the output does not need",
            )
        if len(self._shape) != 1 or self._shape[0] < 2:
            raise ModelError(
                "model.shape",
                f"the network ends in shape [batch, {_dims(self._shape)}]; it must end in [batch, classes] "
                "with two classes or more, of which the proof states the largest",
            )
        if not any(isinstance(node, Dense) for node in self._nodes):
            raise ModelError("model.shape", "the network has no Gemm or MatMul: there is nothing to prove")
        return Graph(self._input_name, self._input_shape, tuple(self._nodes), self._made())

    def _made(self) -> str:
        return self._nodes[-1].name if self._nodes else self._input_name

    def _gemm(self, node: NodeProto, attributes: dict[str, Any]) -> None:
        self._reads(node, 0)
        self._takes(node, 2, 3)
        if attributes.get("transA", 0):
            raise ModelError(
                "model.unsupported_attribute",
                f"{_where(node)} has transA=1, which would transpose the batch; export it with transA=0",
            )
        weight = self._scaled(node, 1, attributes.get("alpha", 1.0))
        if weight.ndim == 2 and not attributes.get("transB", 0):
            weight = weight.T
        bias = np.zeros(1)
        if len(node.input) == 3 and node.input[2]:
            bias = self._scaled(node, 2, attributes.get("beta", 1.0))
        self._dense(node, weight, bias)

    def _matmul(self, node: NodeProto, attributes: dict[str, Any]) -> None:
        self._reads(node, 0)
        self._takes(node, 2, 2)
        self._dense(node, self._float_constant(node, 1).T, np.zeros(1))

    def _add(self, node: NodeProto, attributes: dict[str, Any]) -> None:
        self._takes(node, 2, 2)
        data = 1 if node.input[1] == self._current else 0
        self._reads(node, data)
        bias = self._float_constant(node, 1 - data)
        dense = self._nodes[-1] if self._nodes else None
        if not isinstance(dense, Dense):
            raise ModelError(
                "model.unsupported_operator",
                f"{_where(node)} adds a constant, which is supported only straight after a Gemm or MatMul, "
                "as its bias; fold it into the layer that follows",
            )
        total = dense.bias + self._bias(node, bias, len(dense.bias))
        _require_finite(f"the summed bias of {_where(node)}", total)
        self._nodes[-1] = replace(dense, bias=total)

    def _relu(self, node: NodeProto, attributes: dict[str, Any]) -> None:
        self._reads(node, 0)
        self._takes(node, 1, 1)
        self._nodes.append(Clip(node.output[0], (self._made(),)))

    def _identity(self, node: NodeProto, attributes: dict[str, Any]) -> None:
        self._reads(node, 0)
        self._takes(node, 1, 1)

    def _flatten(self, node: NodeProto, attributes: dict[str, Any]) -> None:
        self._reads(node, 0)
        self._takes(node, 1, 1)
        if attributes.get("axis", 1) not in (1, -len(self._shape)):
            raise ModelError(
                "model.unsupported_attribute",
                f"{_where(node)} flattens the batch into the data; export it with axis=1",
            )
        self._reshape_to(node, (math.prod(self._shape),))

    def _reshape(self, node: NodeProto, attributes: dict[str, Any]) -> None:
        self._reads(node, 0)
        self._takes(node, 2, 2)
        tensor = self._constant(node, 1)
        if tensor.data_type != TensorProto.INT64 or len(tensor.dims) != 1:
            raise ModelError("model.tensor_type", f"{_where(node)} needs its shape as a vector of int64")
        if tensor.dims[0] > _MOST_DIMENSIONS:
            raise ModelError("model.shape", f"{_where(node)} reshapes to {tensor.dims[0]} dimensions")
        target = [int(size) for size in _decode_tensor(tensor, _quote(node.input[1]))]
        batch, sizes = (target[0], target[1:]) if target else (None, [])
        wildcards = target.count(-1)
        if batch not in (0, 1, -1) or wildcards > 1 or attributes.get("allowzero", 0):
            raise ModelError(
                "model.shape",
                f"{_where(node)} reshapes to {target}; the first dimension must stay the batch (0, 1 or -1), "
                "and at most one dimension may be -1",
            )
        if any(size == 0 and axis >= len(self._shape) for axis, size in enumerate(sizes)):
            raise ModelError("model.shape", f"{_where(node)} copies a dimension that the input does not have")
        sizes = [self._shape[axis] if size == 0 else size for axis, size in enumerate(sizes)]
        if -1 in sizes:
            known = -math.prod(sizes)
            sizes[sizes.index(-1)] = math.prod(self._shape) // known if known > 0 else 0
        self._reshape_to(node, tuple(sizes))

    def _softmax(self, node: NodeProto, attributes: dict[str, Any]) -> None:
        self._over_classes(node, attributes.get("axis", -1))
        self._may_follow = _AFTER_SOFTMAX

    _logsoftmax = _softmax

    def _argmax(self, node: NodeProto, attributes: dict[str, Any]) -> None:
        self._over_classes(node, attributes.get("axis", 0))
        self._may_follow = _AFTER_ARGMAX
        if attributes.get("select_last_index", 0):
            raise ModelError(
                "model.unsupported_attribute",
                f"{_where(node)} has select_last_index=1; the proof takes the first of equal classes",
            )

    def _over_classes(self, node: NodeProto, axis: int) -> None:
        self._reads(node, 0)
        self._takes(node, 1, 1)
        if len(self._shape) != 1 or axis not in (1, -1):
            raise ModelError(
                "model.unsupported_attribute",
                f"{_where(node)} must run over the classes of a [batch, classes] tensor: axis -1",
            )

    def _dense(self, node: NodeProto, weight: FloatArray, bias: FloatArray) -> None:
        """Append weight[outputs, inputs] and a bias that broadcasts to [outputs]."""
        if weight.ndim != 2 or 0 in weight.shape:
            raise ModelError("model.shape", f"{_where(node)} needs a weight matrix, not shape {weight.shape}")
        if len(self._shape) != 1:
            raise ModelError(
                "model.shape",
                f"{_where(node)} reads shape [batch, {_dims(self._shape)}]; put a Flatten before it",
            )
        if self._shape != weight.shape[1:]:
            raise ModelError(
                "model.shape",
                f"{_where(node)} has weights for {weight.shape[1]} inputs but reads {self._shape[0]}",
            )
        self._nodes.append(
            Dense(node.output[0], (self._made(),), weight, self._bias(node, bias, len(weight)))
        )
        self._shape = (len(weight),)

    def _bias(self, node: NodeProto, bias: FloatArray, outputs: int) -> FloatArray:
        if bias.shape not in ((), (1,), (outputs,), (1, 1), (1, outputs)):
            raise ModelError(
                "model.shape", f"{_where(node)} adds a bias of shape {bias.shape} to {outputs} outputs"
            )
        return np.ascontiguousarray(np.broadcast_to(bias.ravel(), (outputs,)))

    def _reshape_to(self, node: NodeProto, shape: tuple[int, ...]) -> None:
        if any(size < 1 for size in shape) or math.prod(shape) != math.prod(self._shape):
            raise ModelError(
                "model.shape",
                f"{_where(node)} reshapes [batch, {_dims(self._shape)}] to [batch, {_dims(shape)}]",
            )
        self._nodes.append(Reshape(node.output[0], (self._made(),), shape))
        self._shape = shape

    def _reads(self, node: NodeProto, position: int) -> None:
        """Input ``position`` of the node must be the tensor that the chain ends in."""
        name = node.input[position] if position < len(node.input) else ""
        if name == self._current:
            return
        if name in self._produced or name in self._constants:
            raise ModelError(
                "model.not_a_chain",
                f"{_where(node)} reads {_quote(name)} where the chain stands at {_quote(self._current)}; "
                "only networks in which each node reads the one before it are supported",
            )
        raise ModelError(
            "model.missing_initialiser",
            f"{_where(node)} reads {_quote(name)}, which nothing in the file provides",
        )

    def _takes(self, node: NodeProto, least: int, most: int) -> None:
        if not least <= len(node.input) <= most:
            raise ModelError("model.shape", f"{_where(node)} has {len(node.input)} inputs")

    def _constant(self, node: NodeProto, position: int) -> TensorProto:
        name = node.input[position]
        if name in self._produced:
            raise ModelError(
                "model.not_a_chain",
                f"{_where(node)} combines two computed tensors; one of them must be a constant in the file",
            )
        if name not in self._constants:
            raise ModelError(
                "model.missing_initialiser",
                f"{_where(node)} needs the tensor {_quote(name)}, which the file does not hold; "
                "export the model with its weights inside",
            )
        return self._constants[name]

    def _float_constant(self, node: NodeProto, position: int) -> FloatArray:
        tensor, name = self._constant(node, position), _quote(node.input[position])
        if tensor.data_type not in _FLOATS:
            raise ModelError("model.tensor_type", f"the weight {name} must be float16, float32 or float64")
        array = _decode_tensor(tensor, name).astype(np.float64)
        _require_finite(f"the weight {name}", array)
        return array

    def _scaled(self, node: NodeProto, position: int, factor: float) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            array = self._float_constant(node, position) * factor
        _require_finite(f"the weight {_quote(node.input[position])} times {factor} in {_where(node)}", array)
        return array


def _decode(data: bytes) -> ModelProto:
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise ModelError("model.not_onnx", "the file is not an ONNX model: it does not decode") from error
    if not model.ir_version or not model.graph.node:
        raise ModelError("model.not_onnx", "the file is not an ONNX model: it holds no graph")
    versions = [opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")]
    if len(versions) != 1 or versions[0] < _OLDEST_OPSET:
        raise ModelError(
            "model.opset", f"the model must name one ONNX operator set of version {_OLDEST_OPSET} or newer"
        )
    return model


def _refuse_foreign_operators(model: ModelProto) -> None:
    for node in model.graph.node:
        if node.domain not in ("", "ai.onnx") or node.op_type not in _ATTRIBUTES:
            raise ModelError(
                "model.unsupported_operator",
                f"{_where(node)} has no circuit; supported are {', '.join(sorted(_ATTRIBUTES))}. "
                "Replace the operator or remove it before export",
            )


def _constants(graph: GraphProto) -> dict[str, TensorProto]:
    """Every tensor in the file by name: initialisers, and the values of Constant nodes."""
    if graph.sparse_initializer:
        raise ModelError("model.tensor_type", "sparse weights are not supported; export them dense")
    named = [(tensor.name, tensor) for tensor in graph.initializer]
    for node in graph.node:
        if node.op_type == "Constant":
            value = _attributes(node).get("value")
            if not isinstance(value, TensorProto) or len(node.output) != 1:
                raise ModelError("model.unsupported_attribute", f"{_where(node)} must hold one tensor value")
            named.append((node.output[0], value))
    constants = dict(named)
    if len(constants) != len(named):
        raise ModelError("model.duplicate_name", "two constant tensors of the model have the same name")
    for name, tensor in named:
        if tensor.data_location == TensorProto.EXTERNAL or tensor.external_data:
            raise ModelError(
                "model.external_data",
                f"the tensor {_quote(name)} lives in another file; save the model with all weights inside",
            )
    return constants


def _only(what: str, values: Iterable[ValueInfoProto]) -> ValueInfoProto:
    values = list(values)
    if len(values) != 1:
        raise ModelError(f"model.{what}s", f"the network has {len(values)} {what}s; exactly one is supported")
    return values[0]


def _input_shape(entry: ValueInfoProto) -> tuple[int, ...]:
    tensor = entry.type.tensor_type
    if tensor.elem_type not in _FLOATS:
        raise ModelError("model.tensor_type", f"the input {_quote(entry.name)} must be a tensor of floats")
    dims = list(tensor.shape.dim)
    if not 2 <= len(dims) <= _MOST_DIMENSIONS:
        raise ModelError(
            "model.shape",
            f"the input {_quote(entry.name)} must have a batch dimension and at least one more, at most "
            f"{_MOST_DIMENSIONS} in all",
        )
    if dims[0].HasField("dim_value") and dims[0].dim_value != 1:
        raise ModelError(
            "model.shape",
            f"the batch dimension of {_quote(entry.name)} is {dims[0].dim_value}; export it as 1 or symbolic",
        )
    for axis, dim in enumerate(dims[1:], start=1):
        if not dim.HasField("dim_value") or dim.dim_value < 1:
            raise ModelError(
                "model.dynamic_shape",
                f"dimension {axis} of the input {_quote(entry.name)} is not fixed; only the batch may vary",
            )
    return tuple(int(dim.dim_value) for dim in dims[1:])


def _attributes(node: NodeProto) -> dict[str, Any]:
    """The attributes by name, as plain ints, floats and tensors; one that is not known is refused."""
    fields = {_INT: "i", _FLOAT: "f", _TENSOR: "t"}
    known = _ATTRIBUTES[node.op_type]
    for attribute in node.attribute:
        if known.get(attribute.name) != attribute.type:
            raise ModelError(
                "model.unsupported_attribute",
                f"{_where(node)} has the attribute {_quote(attribute.name)}, which is not supported",
            )
    return {attribute.name: getattr(attribute, fields[attribute.type]) for attribute in node.attribute}


def _decode_tensor(tensor: TensorProto, name: str) -> NDArray[Any]:
    try:
        if any(size < 0 for size in tensor.dims):
            raise ValueError("negative dimension")
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError) as error:
        raise ModelError(
            "model.bad_tensor", f"the data of the tensor {name} does not fit its type and shape"
        ) from error


def _require_finite(what: str, array: FloatArray) -> None:
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        index = tuple(int(i) for i in bad[0])
        raise ModelError("model.not_finite", f"{what} has {array[index]} at index {index}; it must be finite")


def _where(node: NodeProto) -> str:
    return f"node {_quote(node.name)} ({node.op_type[:40]})"


def _quote(name: str) -> str:
    return repr(name[:80])


def _dims(shape: tuple[int, ...]) -> str:
    return ", ".join(map(str, shape))
