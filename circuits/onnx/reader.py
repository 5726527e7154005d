"""Walks the nodes of an ONNX graph in order."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto

from zenserve.circuits.graphs.graph import Graph, Input
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.onnx.advice import unsupported
from zenserve.circuits.onnx.constants import FLOATS, MOST_DIMENSIONS, Allowance, Constant
from zenserve.circuits.onnx.decoding import decode_tensor
from zenserve.circuits.onnx.folding import FOLDED, fold
from zenserve.circuits.onnx.message import (
    attributes,
    count,
    decode,
    has_learned,
    input_shape,
    input_values,
    operator_set,
    require_known,
)
from zenserve.circuits.onnx.naming import quote, where
from zenserve.circuits.onnx.scope import Scope, needed, read_by
from zenserve.circuits.onnx.step import Building, Data, Held, Operator, Step, TensorList, typed_shape
from zenserve.errors import ModelError, ZenError

# Producers of models of tables alone.
_OF_TABLES: Final = ("OnnxMLTools", "skl2onnx")
_CLASSIFIERS: Final = ("LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier", "ZipMap")
# By domain and ``op_type``.
Operators = Mapping[tuple[str, str], Operator]
# Nodes that are read, those of loops as often as they run.
_MOST_READ: Final = 1 << 14
_OTHERWISE: Final = "write it with other nodes, or simplify the model, and report the file as a fault of ours"


def read(
    source: bytes | os.PathLike[str], operators: Operators, sizes: Mapping[str, int], *, whole: bool = False
) -> Graph:
    """The network in ``source``, a file's bytes or its path. ``sizes``: of dimensions that the file only
    names. ``whole``: with a Softmax or ArgMax over classes at the end. Raises ``ModelError``, codes in the
    package.
    """
    return _walked(source, operators, sizes).finished(whole=whole)


class Traced(NamedTuple):
    """A tensor of the file by its ``name``, the ``node`` that writes it, and what the reader made of it."""

    name: str
    node: str
    data: Data

    def of(self, tensors: Mapping[str, FloatArray]) -> FloatArray:
        """Its values, as the file has them, float64[n, values], by those of the network's tensors."""
        values, declared = tensors[self.data.tensor], self.data.integer
        if declared:
            values = np.rint(values / declared.scale) + declared.zero_point
        return values.reshape(len(values), -1)


class Trace(NamedTuple):
    """A network as it was read, before any rewrite, and the tensors of the file that it has."""

    graph: Graph
    tensors: tuple[Traced, ...]


def trace(source: bytes | os.PathLike[str], operators: Operators, sizes: Mapping[str, int]) -> Trace:
    """Return the network and, for each tensor of the file, its value there. Arguments and errors as for
    ``read``."""
    reader = _walked(source, operators, sizes)
    return Trace(reader.finished(whole=True), reader.traced())


def _walked(source: bytes | os.PathLike[str], operators: Operators, sizes: Mapping[str, int]) -> _Reader:
    """The reader once it has read all nodes that matter."""
    path = None if isinstance(source, bytes) else Path(source)
    model = decode(source if isinstance(source, bytes) else Path(source).read_bytes())
    graph = model.graph
    if graph.sparse_initializer:
        raise ModelError("model.tensor_type", "sparse weights are not supported; export them dense")
    nodes, seen = needed(graph)
    if missing := [node for node in nodes if _key(node) not in operators and not _is_folded(node)]:
        raise unsupported(missing)
    require_known(sizes, graph.input)
    stored = {each.name for each in graph.initializer}
    entries = [each for each in graph.input if each.name in seen - stored]
    folder = path.parent if path else None
    reader = _Reader(model, entries, operators, folder, sizes)
    reader.read(nodes)
    return reader


def _is_folded(node: NodeProto) -> bool:
    return _key(node)[0] == "" and node.op_type in FOLDED and any(node.input)


def _of_tables(graph: Graph, model: ModelProto) -> Graph:
    """Vectors that such files read are rows of tables. Outputs of models that name no classes are values."""
    file = model.graph
    inputs = [
        replace(entry, features=entry.values == "real" and len(entry.shape) == 1) for entry in graph.inputs
    ]
    kinds = {each.type.tensor_type.elem_type for each in file.output}
    learned = model.producer_name in _OF_TABLES or any(node.domain == "ai.onnx.ml" for node in file.node)
    classifies = any(node.op_type in _CLASSIFIERS for node in file.node) or not kinds <= {0, *FLOATS}
    several = [name for name, tensor in graph.outputs.items() if math.prod(graph.shapes[tensor]) > 1]
    if learned and classifies:
        unranked = _unranked(file)
        several = [name for name in several if name in unranked]
    return replace(graph, inputs=tuple(inputs), values=tuple(several) if learned else ())


def _unranked(file: GraphProto) -> set[str]:
    """Tensors whose largest entry is not the label: distances from centres, and both scores of two classes
    that a support vector machine tells apart, the second of which is that of the first class."""
    if any(node.op_type == "ArgMin" for node in file.node):
        return {each.name for each in file.output}
    found: set[str] = set()
    for node in file.node:
        said = {each.name: each for each in node.attribute}
        labels = [*said["classlabels_ints"].ints] if "classlabels_ints" in said else []
        labels += [*said["classlabels_strings"].strings] if "classlabels_strings" in said else []
        if node.op_type == "SVMClassifier" and len(labels) == 2 and "prob_a" not in said:
            found |= {*node.output[1:]}
        elif node.op_type in ("Cast", "Identity", "ZipMap") and node.input[0] in found:
            found |= {*node.output}
    return found


class _Reader:
    """Has each node say what it becomes, in the graph and in those inside its nodes."""

    def __init__(
        self,
        model: ModelProto,
        entries: Sequence[ValueInfoProto],
        operators: Operators,
        folder: Path | None,
        sizes: Mapping[str, int],
    ) -> None:
        self._operators, self._folder, self._opset = operators, folder, operator_set(model)
        self._model = model
        self._allowance, self._left = Allowance(), _MOST_READ
        fixed = {each.name: value for each in entries if (value := count(each, sizes)) is not None}
        kinds = {each.name: each.type.tensor_type.elem_type for each in entries}
        entries = [each for each in entries if each.name not in fixed]
        shapes = {entry.name: input_shape(entry, sizes) for entry in entries}
        if len(shapes) < len(entries):
            raise ModelError("model.duplicate_name", "two inputs have one name")
        inputs = [Input(each.name, typed_shape(shapes[each.name]), input_values(each)) for each in entries]
        self._building = Building(inputs)
        self._outputs = [each.name for each in model.graph.output]
        if len(set(self._outputs)) < len(self._outputs):
            raise ModelError("model.duplicate_name", "two outputs have one name")
        self._scope = Scope(model.graph)
        self._scope.values |= {
            each.name: Data(each.name, shape=shapes[each.name], kind=kinds[each.name]) for each in entries
        }
        self._scope.values |= {name: Constant(value, kinds[name]) for name, value in fixed.items()}

    def read(self, nodes: Sequence[NodeProto]) -> None:
        """Constants that no later node reads are let go."""
        values = self._scope.values
        readers = Counter([name for node in nodes for name in read_by(node)] + self._outputs)
        for node in nodes:
            self._read(node, self._scope)
            read = [*read_by(node)]
            readers.subtract(read)
            for name in read:
                if not readers[name] and isinstance(values.get(name), Constant):
                    del values[name]

    def _inside(self, graph: GraphProto, scope: Scope) -> Callable[[Sequence[Held]], list[Held]]:
        """A graph inside a node as a function of its inputs' values."""
        nodes, names = needed(graph)[0], [each.name for each in graph.input]

        def outputs(inputs: Sequence[Held]) -> list[Held]:
            self._count(f"the graph {quote(graph.name)}")
            inner = Scope(graph, scope)
            inner.values.update(zip(names, inputs, strict=False))
            for node in nodes:
                self._read(node, inner)
            return [self._lookup(f"the graph {quote(graph.name)}", each.name, inner) for each in graph.output]

        return outputs

    def _count(self, what: str) -> None:
        self._left -= 1
        if self._left < 0:
            raise ModelError("model.too_large", f"loops unroll to more than {_MOST_READ} nodes, up to {what}")

    def _read(self, node: NodeProto, scope: Scope) -> None:
        self._count(where(node))
        inputs = [self._lookup(where(node), read, scope) if read else None for read in node.input]
        if _is_folded(node) and all(each is None or isinstance(each, Constant) for each in inputs):
            constants = [each for each in inputs if each is None or isinstance(each, Constant)]
            made: Sequence[Held] = fold(node, constants, self._allowance, self._opset)
            scope.values.update((name, value) for name, value in zip(node.output, made, strict=False) if name)
            return
        operator = self._operators.get(_key(node))
        if operator is None:
            raise unsupported([node])
        step = self._step(node, operator, inputs, scope)
        made = _made(operator, step)
        if not all(isinstance(each, Constant) for each in made):
            for each in inputs:
                if isinstance(each, Constant):
                    self._allowance.keep(each.array)
        for name, value in zip(node.output, made, strict=False):
            value = self._completed(value, step, elementwise=operator.elementwise)
            shape = value.array.shape if isinstance(value, Constant) else getattr(value, "shape", None) or ()
            if len(shape) > MOST_DIMENSIONS:
                raise step.refuse("shape", f"makes {len(shape)} dimensions, more than {MOST_DIMENSIONS}")
            scope.values[name] = value
            if isinstance(value, Data) and not value.integer and value.kind not in FLOATS:
                self._building.integers.add(value.tensor)

    def _step(self, node: NodeProto, operator: Operator, inputs: Sequence[Held | None], scope: Scope) -> Step:
        if not operator.least <= len(inputs) <= operator.most:
            raise ModelError(
                "model.shape",
                f"{where(node)} has {len(inputs)} inputs, not {operator.least} to {operator.most}",
            )
        said = attributes(node, operator.attributes)
        for name in (each for each in said if operator.attributes[each] == "t"):
            said[name] = decode_tensor(said[name], f"in {where(node)}", self._allowance, None)
        graphs = {
            name: self._inside(said.pop(name), scope) for name in [*said] if operator.attributes[name] == "g"
        }
        return Step(node, inputs, said, self._building, self._allowance, self._opset, graphs)

    def _completed(self, value: Held, step: Step, *, elementwise: bool) -> Held:
        """With the shape and the kind that an operator left out."""
        if not isinstance(value, Data):
            return value
        shape, kind = value.shape, value.kind
        if shape is None and elementwise:
            shape = next(each.shape for each in step.inputs if isinstance(each, Data))
        if shape is None:
            shape = (1, *self._building.shapes[value.tensor])
        if kind is None:
            kind = next(each.kind for each in step.inputs if isinstance(each, Constant | Data))
        return replace(value, shape=shape, kind=kind)

    def finished(self, *, whole: bool) -> Graph:
        """Outputs that no input changes are left out."""
        building, scope = self._building, self._scope
        values = {name: scope.values.get(name) for name in self._outputs}
        computed = {name: value for name, value in values.items() if isinstance(value, Data)}
        missing = [name for name, value in values.items() if value is None and name not in scope.file]
        lists = [name for name, value in values.items() if isinstance(value, TensorList)]
        if missing and missing[0] in scope.writers:
            raise _unwritten(scope, missing[0], "the network's outputs")
        if lists:
            raise ModelError(
                "model.outputs", f"the output {quote(lists[0])} is a list of tensors; make each an output"
            )
        if missing or not computed:
            name = quote(next(iter(missing or values), ""))
            reason = f"no node computes the output {name} from the network's input: there is nothing to prove"
            raise ModelError("model.outputs", reason)
        outputs = {name: building.as_numbers(value) for name, value in computed.items()}
        ranked = frozenset[str]()
        if len(outputs) == 1 and not whole:
            classes = {name: self._classes(value.tensor, outputs[name]) for name, value in computed.items()}
            ranked = frozenset(name for name in outputs if classes[name] != outputs[name])
            outputs = classes
        made = Graph(
            building.inputs,
            building.nodes,
            outputs,
            building.declared,
            building.tied,
            frozenset(building.integers),
            ranked=ranked,
            measured=building.measured,
        )
        return _of_tables(made, self._model) if has_learned(self._model) else made

    def traced(self) -> tuple[Traced, ...]:
        """The computed tensors of the file's graph, in the order in which its nodes write them."""
        scope = self._scope
        known = ((name, where(node), scope.values.get(name)) for name, node in scope.writers.items())
        return tuple(Traced(name, node, value) for name, node, value in known if isinstance(value, Data))

    def _classes(self, tensor: str, output: str) -> str:
        """Return the tensor that a final Softmax or ArgMax over classes reads, if nodes compute that tensor:
        the label stays the same. Else return the output."""
        ranked = self._building.ranked.get(tensor, output)
        return output if ranked in {entry.name for entry in self._building.inputs} else ranked

    def _lookup(self, reader: str, name: str, scope: Scope) -> Held:
        found = scope.of(name)
        if found is None:
            raise ModelError(
                "model.missing_initialiser",
                f"{reader} reads {quote(name)}, which nothing in the file provides; export the model with "
                "its weights inside",
            )
        if name in found.values:
            return found.values[name]
        if name in found.file:
            return decode_tensor(found.file[name], quote(name), self._allowance, self._folder)
        raise _unwritten(found, name, reader)


def _unwritten(scope: Scope, name: str, reader: str) -> ModelError:
    """A node that should have written the tensor has not: it comes later, or does not make that output."""
    writer = scope.writers[name]
    if any(each in scope.values for each in writer.output):
        return ModelError(
            "model.unsupported_operator",
            f"{reader}: {quote(name)} is output {[*writer.output].index(name)} of {where(writer)}, of which "
            "only the first outputs are made; have the network do without it",
        )
    return ModelError(
        "model.order",
        f"{reader} reads {quote(name)} before {where(writer)} writes it; nodes must be sorted, without a "
        "cycle",
    )


def _made(operator: Operator, step: Step) -> Sequence[Held]:
    """Return the values that the node becomes. A failure of the reader itself becomes an error that names the
    node."""
    try:
        made = operator.read(step)
    except (ZenError, MemoryError):
        raise
    except Exception as error:
        raise ModelError(
            "model.unreadable",
            f"{where(step.node)} has inputs or attributes of a form that is not read "
            f"({type(error).__name__}); {_OTHERWISE}",
        ) from error
    return [made] if isinstance(made, Held) else made


def _key(node: NodeProto) -> tuple[str, str]:
    return "" if node.domain == "ai.onnx" else node.domain, node.op_type
