"""Walks the nodes of an ONNX graph in order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Literal

from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

from circuits.graphs.graph import Graph
from circuits.graphs.node import dims
from circuits.onnx.advice import unsupported
from circuits.onnx.constants import Allowance
from circuits.onnx.decoding import decode_tensor
from circuits.onnx.message import attributes, decode, input_shape
from circuits.onnx.naming import quote, where
from circuits.onnx.step import Building, Data, Operator, Step, Value
from zencodes import Code
from zenerrors import ModelError

# By domain and ``op_type``.
Operators = Mapping[tuple[str, str], Operator]


def read(source: bytes | os.PathLike[str], operators: Operators) -> Graph:
    """The network in ``source``, a file's bytes or its path. Raises ``ModelError``, codes in the package."""
    path = None if isinstance(source, bytes) else Path(source)
    graph = decode(source if isinstance(source, bytes) else Path(source).read_bytes()).graph
    if graph.sparse_initializer:
        raise ModelError("model.tensor_type", "sparse weights are not supported; export them dense")
    found = [_find(node, operators) for node in graph.node]
    reader = _Reader(graph, path.parent if path else None)
    for node, operator in zip(graph.node, found, strict=True):
        reader.read(node, operator)
    return reader.finish(_only("output", graph.output))


class _Reader:
    """What is known of each ONNX tensor: still in the file, constant, or computed; and who will write it."""

    def __init__(self, graph: GraphProto, folder: Path | None) -> None:
        self._folder = folder
        self._allowance = Allowance()
        self._file = _by_name(graph.initializer)
        entry = _only("input", [value for value in graph.input if value.name not in self._file])
        self._building = Building(entry.name, input_shape(entry))
        self._values: dict[str, Value] = {entry.name: Data(entry.name)}
        self._writers = {name: node for node in graph.node for name in node.output}

    def read(self, node: NodeProto, operator: Operator) -> None:
        if not operator.least <= len(node.input) <= operator.most:
            raise ModelError(
                "model.shape",
                f"{where(node)} has {len(node.input)} inputs, not {operator.least} to {operator.most}",
            )
        name = node.output[0] if node.output else ""
        if not name or name in self._values or name in self._file:
            raise ModelError("model.duplicate_name", f"{where(node)} must write a new tensor")
        inputs = [self._lookup(node, read) if read else None for read in node.input]
        said = attributes(node, operator.attributes)
        for tensor in (each for each in said if operator.attributes[each] == "t"):
            said[tensor] = decode_tensor(said[tensor], f"in {where(node)}", self._allowance, None)
        self._values[name] = operator.read(Step(node, inputs, said, self._building, self._allowance))

    def finish(self, output: ValueInfoProto) -> Graph:
        value, building = self._values.get(output.name), self._building
        if not isinstance(value, Data) or value.tensor == building.input_name:
            raise ModelError(
                "model.outputs", f"no node computes the output {quote(output.name)} from the network's input"
            )
        shape = building.shapes[value.tensor]
        if len(shape) != 1 or shape[0] < 2:
            raise ModelError(
                "model.shape",
                f"the network ends in shape [batch, {dims(shape)}]; it must end in [batch, classes] with two "
                "classes or more, of which the proof states the largest",
            )
        if not any(node.multiplies for node in building.nodes):
            raise ModelError(
                "model.shape", "the network has no Conv, Gemm or MatMul: there is nothing to prove"
            )
        return Graph(
            building.input_name,
            building.shapes[building.input_name],
            tuple(building.nodes),
            value.tensor,
            building.declared,
        )

    def _lookup(self, node: NodeProto, name: str) -> Value:
        if name in self._values:
            return self._values[name]
        if name in self._file:
            return decode_tensor(self._file[name], quote(name), self._allowance, self._folder)
        if name in self._writers:
            raise ModelError(
                "model.order",
                f"{where(node)} reads {quote(name)} before {where(self._writers[name])} writes it; nodes "
                "must be sorted, without a cycle, and only the first output of each is supported",
            )
        raise ModelError(
            "model.missing_initialiser",
            f"{where(node)} reads {quote(name)}, which nothing in the file provides; export the model with "
            "its weights inside",
        )


def _find(node: NodeProto, operators: Operators) -> Operator:
    domain = "" if node.domain == "ai.onnx" else node.domain
    operator = operators.get((domain, node.op_type))
    if operator is None:
        raise unsupported(node, domain)
    return operator


def _by_name(tensors: Iterable[TensorProto]) -> dict[str, TensorProto]:
    named: dict[str, TensorProto] = {}
    for tensor in tensors:
        if tensor.name in named:
            raise ModelError("model.duplicate_name", f"two weights have the name {quote(tensor.name)}")
        named[tensor.name] = tensor
    return named


_CODES: Final[Mapping[str, Code]] = {"input": "model.inputs", "output": "model.outputs"}


def _only(what: Literal["input", "output"], values: Iterable[ValueInfoProto]) -> ValueInfoProto:
    values = list(values)
    if len(values) != 1:
        raise ModelError(_CODES[what], f"the network has {len(values)} {what}s; exactly one is supported")
    return values[0]
