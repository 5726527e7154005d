"""Walks the nodes of an ONNX graph in order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

from circuits.graphs.graph import Graph, Input
from circuits.onnx.advice import unsupported
from circuits.onnx.constants import FLOATS, MOST_DIMENSIONS, Allowance, Constant
from circuits.onnx.decoding import decode_tensor
from circuits.onnx.message import (
    attributes,
    count,
    decode,
    has_learned,
    input_shape,
    input_values,
    operator_set,
    require_known,
)
from circuits.onnx.naming import quote, where
from circuits.onnx.step import Building, Data, Operator, Step, Value, typed_shape
from zenerrors import ModelError

# By domain and ``op_type``.
Operators = Mapping[tuple[str, str], Operator]


def read(
    source: bytes | os.PathLike[str], operators: Operators, sizes: Mapping[str, int], *, whole: bool = False
) -> Graph:
    """The network in ``source``, a file's bytes or its path. ``sizes``: of dimensions that the file only
    names. ``whole``: with a Softmax or ArgMax over classes at the end. Raises ``ModelError``, codes in the
    package.
    """
    path = None if isinstance(source, bytes) else Path(source)
    model = decode(source if isinstance(source, bytes) else Path(source).read_bytes())
    graph, opset = model.graph, operator_set(model)
    if graph.sparse_initializer:
        raise ModelError("model.tensor_type", "sparse weights are not supported; export them dense")
    nodes, entries = _needed(graph)
    missing = [node for node in nodes if _key(node) not in operators]
    if missing:
        raise unsupported(missing)
    reader = _Reader(graph, entries, path.parent if path else None, sizes, opset)
    for node in nodes:
        reader.read(node, operators[_key(node)])
    made = reader.finish(whole=whole)
    return _of_tables(made) if has_learned(model) else made


def _of_tables(graph: Graph) -> Graph:
    """Vectors that such files read are rows of tables."""
    inputs = [
        replace(entry, features=entry.values == "real" and len(entry.shape) == 1) for entry in graph.inputs
    ]
    return replace(graph, inputs=tuple(inputs))


def _needed(graph: GraphProto) -> tuple[list[NodeProto], list[ValueInfoProto]]:
    """The nodes and the inputs that the outputs are computed from, in the file's order."""
    nodes = list(graph.node)
    given = {each.name for each in (*graph.initializer, *graph.input)}
    writers: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in filter(None, node.output):
            if name in given or writers.setdefault(name, index) != index:
                raise ModelError("model.duplicate_name", f"{where(node)} must write a new tensor")
    wanted, seen = [each.name for each in graph.output], set[str]()
    if len(set(wanted)) < len(wanted):
        raise ModelError("model.duplicate_name", "two outputs have one name")
    while wanted:
        name = wanted.pop()
        if name not in seen:
            wanted += nodes[writers[name]].input if name in writers else []
        seen.add(name)
    stored = {each.name for each in graph.initializer}
    entries = [each for each in graph.input if each.name in seen - stored]
    return [nodes[at] for at in sorted({writers[name] for name in seen & set(writers)})], entries


class _Reader:
    """What is known of each ONNX tensor: still in the file, constant, or computed; and who will write it."""

    def __init__(
        self,
        graph: GraphProto,
        entries: Sequence[ValueInfoProto],
        folder: Path | None,
        sizes: Mapping[str, int],
        opset: int,
    ) -> None:
        self._folder, self._outputs = folder, [each.name for each in graph.output]
        self._opset = opset
        self._allowance = Allowance()
        self._file = _by_name(graph.initializer)
        require_known(sizes, graph.input)
        fixed = {each.name: value for each in entries if (value := count(each, sizes)) is not None}
        kinds = {each.name: each.type.tensor_type.elem_type for each in entries}
        entries = [each for each in entries if each.name not in fixed]
        shapes = {entry.name: input_shape(entry, sizes) for entry in entries}
        if len(shapes) < len(entries):
            raise ModelError("model.duplicate_name", "two inputs have one name")
        inputs = [Input(each.name, typed_shape(shapes[each.name]), input_values(each)) for each in entries]
        self._building = Building(inputs)
        self._values: dict[str, Value] = {
            each.name: Data(each.name, shape=shapes[each.name], kind=kinds[each.name]) for each in entries
        }
        self._values |= {name: Constant(value, kinds[name]) for name, value in fixed.items()}
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
        step = Step(node, inputs, said, self._building, self._allowance, self._opset)
        made = operator.read(step)
        values = [made] if isinstance(made, Constant | Data) else made
        for name, value in zip(node.output, values, strict=False):
            value = self._completed(value, step, elementwise=operator.elementwise)
            shape = value.array.shape if isinstance(value, Constant) else value.shape or ()
            if len(shape) > MOST_DIMENSIONS:
                raise step.refuse("shape", f"makes {len(shape)} dimensions, more than {MOST_DIMENSIONS}")
            self._values[name] = value
            if isinstance(value, Data) and not value.integer and value.kind not in FLOATS:
                self._building.integers.add(value.tensor)

    def _completed(self, value: Value, step: Step, *, elementwise: bool) -> Value:
        """With the shape and the kind that an operator left out."""
        if isinstance(value, Constant):
            return value
        shape, kind = value.shape, value.kind
        if shape is None and elementwise:
            shape = next(each.shape for each in step.inputs if isinstance(each, Data))
        if shape is None:
            shape = (1, *self._building.shapes[value.tensor])
        if kind is None:
            kind = next(each.kind for each in step.inputs if each is not None)
        return replace(value, shape=shape, kind=kind)

    def finish(self, *, whole: bool) -> Graph:
        """Outputs that no input changes are left out."""
        building, values = self._building, {name: self._values.get(name) for name in self._outputs}
        outputs = {name: value.tensor for name, value in values.items() if isinstance(value, Data)}
        missing = [name for name, value in values.items() if value is None and name not in self._file]
        if missing or not outputs:
            name = quote(next(iter(missing or values), ""))
            reason = f"no node computes the output {name} from the network's input: there is nothing to prove"
            raise ModelError("model.outputs", reason)
        if len(outputs) == 1 and not whole:
            outputs = {name: self._classes(tensor) for name, tensor in outputs.items()}
        return Graph(
            building.inputs,
            building.nodes,
            outputs,
            building.declared,
            building.tied,
            frozenset(building.integers),
        )

    def _classes(self, tensor: str) -> str:
        """What a Softmax or ArgMax over classes at the end reads, if nodes compute that: the label stays."""
        ranked = self._building.ranked.get(tensor, tensor)
        return tensor if ranked in {entry.name for entry in self._building.inputs} else ranked

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
