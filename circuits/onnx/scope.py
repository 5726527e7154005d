"""The names of a graph, and which of its nodes its outputs need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

from zenserve.circuits.onnx.naming import quote, where
from zenserve.circuits.onnx.step import Held
from zenserve.errors import ModelError


class Scope:
    """The tensors of a graph by name: still in the file, constant, or computed; and who writes each.
    ``outer``: the scope of the graph around it, whose tensors its nodes may read."""

    def __init__(self, graph: GraphProto, outer: Scope | None = None) -> None:
        self.file = _by_name(graph.initializer)
        self.writers = {name: node for node in graph.node for name in node.output}
        self.values: dict[str, Held] = {}
        self.outer = outer

    def of(self, name: str) -> Scope | None:
        """The innermost scope that has the name."""
        scope: Scope | None = self
        while scope and not (name in scope.values or name in scope.file or name in scope.writers):
            scope = scope.outer
        return scope


def needed(graph: GraphProto) -> tuple[list[NodeProto], set[str]]:
    """The nodes that the outputs are computed from, in the file's order, and all names that these read."""
    nodes = list(graph.node)
    given = {each.name for each in (*graph.initializer, *graph.input)}
    writers: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in filter(None, node.output):
            if name in given or writers.setdefault(name, index) != index:
                raise ModelError("model.duplicate_name", f"{where(node)} must write a new tensor")
    wanted, seen = [each.name for each in graph.output], set[str]()
    while wanted:
        name = wanted.pop()
        if name not in seen and name in writers:
            wanted += read_by(nodes[writers[name]])
        seen.add(name)
    return [nodes[at] for at in sorted({writers[name] for name in seen & set(writers)})], seen


def read_by(node: NodeProto) -> Iterator[str]:
    """The names that a node reads, and those that graphs inside it read of the graph around them."""
    yield from node.input
    for graph in graphs_of(node):
        own = {each.name for each in (*graph.initializer, *graph.input)}
        own.update(name for each in graph.node for name in each.output)
        names = [
            *(name for each in graph.node for name in read_by(each)),
            *(each.name for each in graph.output),
        ]
        yield from (name for name in names if name not in own)


def graphs_of(node: NodeProto) -> Iterator[GraphProto]:
    return (each.g for each in node.attribute if each.type == AttributeProto.GRAPH)


def _by_name(tensors: Iterable[TensorProto]) -> dict[str, TensorProto]:
    named: dict[str, TensorProto] = {}
    for tensor in tensors:
        if tensor.name in named:
            raise ModelError("model.duplicate_name", f"two weights have the name {quote(tensor.name)}")
        named[tensor.name] = tensor
    return named
