"""Float networks in files of their own (``zenserve.circuits.graphs.encoding``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from zenserve.circuits.graphs.encoding import Encoding
from zenserve.circuits.graphs.graph import Graph, Input
from zenserve.circuits.graphs.node import Node
from zenserve.circuits.graphs.types import Affine, Declared
from zenserve.circuits.operators import FLOATS
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.verifier.preamble import Kind

_ENCODING: Final = Encoding(Kind(b"fnet", 1), FLOATS)


@dataclass(frozen=True, eq=False)
class StoredGraph:
    """A float network as a file has it. ``outputs``: names, and the tensors that they are of; ``declared``:
    tensors whose values are those of these types."""

    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[tuple[str, str], ...]
    integers: tuple[str, ...]
    values: tuple[str, ...] = ()
    declared: tuple[tuple[str, Affine], ...] = ()


def graph_to_bytes(graph: Graph) -> bytes:
    """Encode the function of ``graph`` as bytes, without the types that its file declares for weights: the
    weights in the bytes have these types applied."""
    nodes = tuple(_undeclared(node) for node in graph.nodes)
    stored = StoredGraph(
        graph.inputs,
        nodes,
        tuple(graph.outputs.items()),
        tuple(sorted(graph.integers)),
        graph.values,
        tuple((name, kind.affine) for name, kind in sorted(graph.declared.items())),
    )
    return _ENCODING.write(stored)


def graph_from_bytes(data: bytes) -> Graph:
    """The inverse of ``graph_to_bytes``. Raises ``FileFormatError``, and ``ModelError`` where the parts make
    no network."""
    stored = _ENCODING.read([StoredGraph], data)
    return Graph(
        stored.inputs,
        stored.nodes,
        dict(stored.outputs),
        {name: _declared(kind) for name, kind in stored.declared},
        integers=frozenset(stored.integers),
        values=stored.values,
    )


def _declared(kind: Affine) -> Declared:
    return Declared(np.array(kind.scale), np.array(kind.zero_point), kind.bits, signed=False)


def _undeclared(node: Node) -> Node:
    if not isinstance(node, Conv | Dense):
        return node
    return replace(node, declared_weight=None)
