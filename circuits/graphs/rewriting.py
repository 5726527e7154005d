"""Tools for rewrites of float graphs. Each leaves the graph's function as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Node

# Files mean harm with longer chains of nodes that move values.
_MOST_MOVERS = 32


def without_dead_nodes(graph: Graph) -> Graph:
    """Drop what no output depends on."""
    alive, nodes = set(graph.outputs.values()), []
    for node in reversed(graph.nodes):
        if node.name in alive:
            alive.update(node.inputs)
            nodes.append(node)
    alive.update(entry.name for entry in graph.inputs)
    declared = {name: kind for name, kind in graph.declared.items() if name in alive}
    return replace(graph, nodes=tuple(reversed(nodes)), declared=declared)


def join(graph: Graph, join: Callable[[Graph, Node, Node], Node | None]) -> Graph:
    """Replace each node and its only input, if nothing else reads that, by what ``join`` makes of the two."""
    readers = graph.readers
    made: dict[str, Node] = {}
    renamed: dict[str, str] = {}
    for node in graph.nodes:
        inputs = tuple(renamed.get(name, name) for name in node.inputs)
        if inputs != node.inputs:
            node = replace(node, inputs=inputs)
        before = made.get(inputs[0]) if len(inputs) == 1 else None
        joined = None
        if before and readers[before.name] == 1 and before.name not in graph.declared:
            joined = join(graph, before, node)
        if before is None or joined is None:
            made[node.name] = node
            continue
        del made[before.name]
        made[joined.name] = joined
        if joined.name != node.name:
            renamed[node.name] = joined.name
            readers[joined.name] = readers[node.name]
    declared = {renamed.get(name, name): kind for name, kind in graph.declared.items()}
    outputs = {name: renamed.get(tensor, tensor) for name, tensor in graph.outputs.items()}
    tied = {renamed.get(name, name): renamed.get(first, first) for name, first in graph.tied.items()}
    integers = frozenset(renamed.get(name, name) for name in graph.integers)
    return replace(
        graph,
        nodes=tuple(made.values()),
        outputs=outputs,
        declared=declared,
        tied=tied,
        integers=integers,
    )


def movers_before(
    graph: Graph, made: Mapping[str, Node], readers: Mapping[str, int], name: str
) -> list[Node]:
    """The nodes in a row that only move values, the last of which makes the tensor ``name``, each read by the
    next one alone; none where these are too many."""
    chain = list[Node]()
    while name in made and made[name].permutes and readers[name] == 1 and name not in graph.declared:
        if len(chain) == _MOST_MOVERS:
            return []
        chain.insert(0, made[name])
        name = chain[0].inputs[0]
    return chain


def fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name
