"""Walks the nodes of an ONNX graph in order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

from circuits.graphs.graph import Graph
from circuits.onnx.advice import unsupported
from circuits.onnx.constants import MOST_DIMENSIONS, Allowance, Constant
from circuits.onnx.decoding import decode_tensor
from circuits.onnx.message import attributes, decode, input_shape
from circuits.onnx.naming import quote, where
from circuits.onnx.step import Building, Data, Operator, Step, Value, typed_shape
from zencodes import Code
from zenerrors import ModelError

# By domain and ``op_type``.
Operators = Mapping[tuple[str, str], Operator]


def read(source: bytes | os.PathLike[str], operators: Operators, sizes: Mapping[str, int]) -> Graph:
    """The network in ``source``, a file's bytes or its path. ``sizes``: of dimensions that the file only
    names. Raises ``ModelError``, codes in the package.
    """
    path = None if isinstance(source, bytes) else Path(source)
    graph = decode(source if isinstance(source, bytes) else Path(source).read_bytes()).graph
    if graph.sparse_initializer:
        raise ModelError("model.tensor_type", "sparse weights are not supported; export them dense")
    output = _only("output", graph.output)
    nodes = _needed(graph, output.name)
    missing = [node for node in nodes if _key(node) not in operators]
    if missing:
        raise unsupported(missing)
    reader = _Reader(graph, path.parent if path else None, sizes)
    for node in nodes:
        reader.read(node, operators[_key(node)])
    return reader.finish(output)


def _needed(graph: GraphProto, output: str) -> list[NodeProto]:
    """The nodes that the output is computed from, in the file's order."""
    nodes = list(graph.node)
    given = {each.name for each in (*graph.initializer, *graph.input)}
    writers: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in filter(None, node.output):
            if name in given or writers.setdefault(name, index) != index:
                raise ModelError("model.duplicate_name", f"{where(node)} must write a new tensor")
    wanted, needed = [output], set[int]()
    while wanted:
        name = wanted.pop()
        if name in writers and writers[name] not in needed:
            needed.add(writers[name])
            wanted += nodes[writers[name]].input
    return [nodes[index] for index in sorted(needed)]


class _Reader:
    """What is known of each ONNX tensor: still in the file, constant, or computed; and who will write it."""

    def __init__(self, graph: GraphProto, folder: Path | None, sizes: Mapping[str, int]) -> None:
        self._folder = folder
        self._allowance = Allowance()
        self._file = _by_name(graph.initializer)
        entry = _only("input", [value for value in graph.input if value.name not in self._file])
        shape = input_shape(entry, sizes)
        self._building = Building(entry.name, typed_shape(shape))
        self._values: dict[str, Value] = {entry.name: Data(entry.name, shape=shape)}
        self._writers = {name: node for node in graph.node for name in node.output}

    def read(self, node: NodeProto, operator: Operator) -> None:
        if not operator.least <= len(node.input) <= operator.most:
            raise ModelError(
                "model.shape",
                f"{where(node)} has {len(node.input)} inputs, not {operator.least} to {operator.most}",
            )
        inputs = [self._lookup(node, read) if read else None for read in node.input]
        said = attributes(node, operator.attributes)
        for tensor in (each for each in said if operator.attributes[each] == "t"):
            said[tensor] = decode_tensor(said[tensor], f"in {where(node)}", self._allowance, None)
        step = Step(node, inputs, said, self._building, self._allowance)
        made = operator.read(step)
        values = [made] if isinstance(made, Constant | Data) else made
        for name, value in zip(node.output, values, strict=False):
            value = self._shaped(value, step if operator.elementwise else None)
            shape = value.array.shape if isinstance(value, Constant) else value.shape or ()
            if len(shape) > MOST_DIMENSIONS:
                raise step.refuse("shape", f"makes {len(shape)} dimensions, more than {MOST_DIMENSIONS}")
            self._values[name] = value

    def _shaped(self, value: Value, step: Step | None) -> Value:
        if isinstance(value, Constant) or value.shape is not None:
            return value
        shape = (1, *self._building.shapes[value.tensor])
        if step is not None:
            shapes = [each.shape for each in step.inputs if isinstance(each, Data)]
            shape = next(each for each in shapes if each is not None)
        return replace(value, shape=shape)

    def finish(self, output: ValueInfoProto) -> Graph:
        value, building = self._values.get(output.name), self._building
        if not isinstance(value, Data) or value.tensor == building.input_name:
            raise ModelError(
                "model.outputs", f"no node computes the output {quote(output.name)} from the network's input"
            )
        if not building.nodes:
            raise ModelError("model.outputs", "the output is the input: there is nothing to prove")
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
                "must be sorted, without a cycle, and of most operators only the first output is supported",
            )
        raise ModelError(
            "model.missing_initialiser",
            f"{where(node)} reads {quote(name)}, which nothing in the file provides; export the model with "
            "its weights inside",
        )


def _key(node: NodeProto) -> tuple[str, str]:
    return "" if node.domain == "ai.onnx" else node.domain, node.op_type


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
