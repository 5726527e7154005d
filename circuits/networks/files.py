"""Float networks: from ONNX files, and in files of their own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from circuits.graphs.encoding import Encoding
from circuits.graphs.graph import Graph, Input
from circuits.graphs.node import Node
from circuits.networks.fusion import fuse
from circuits.onnx.reader import Trace, read, trace
from circuits.operators import FLOATS, ONNX
from circuits.operators.convolution import Conv
from circuits.operators.dense import Dense
from verifier.preamble import Kind

_ENCODING: Final = Encoding(Kind(b"fnet", 1), FLOATS)


def load_onnx(
    source: bytes | os.PathLike[str], sizes: Mapping[str, int] | None = None, *, whole: bool = False
) -> Graph:
    """The network in ``source``, a file's bytes or its path, fused.

    ``sizes``: of the dimensions of inputs that the file leaves open; a first one is the batch unless it is
    among them; and what inputs of a single whole number are, which then are inputs no more. ``whole``: with a
    Softmax or ArgMax over the classes at the end, which changes no label and is left out else. Raises
    ``ModelError``, with the codes of ``circuits.onnx``.
    """
    return fuse(read(source, ONNX, sizes or {}, whole=whole))


def trace_onnx(source: bytes | os.PathLike[str], sizes: Mapping[str, int] | None = None) -> Trace:
    """The network as it was read, not fused, with the tensors of the file that it has. As ``load_onnx``."""
    return trace(source, ONNX, sizes or {})


@dataclass(frozen=True, eq=False)
class StoredGraph:
    """A float network as a file has it. ``outputs``: names, and the tensors that they are of."""

    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[tuple[str, str], ...]
    integers: tuple[str, ...]


def graph_to_bytes(graph: Graph) -> bytes:
    """What ``graph`` computes, without the types that its file declared, as bytes. They hold the weights."""
    nodes = tuple(_undeclared(node) for node in graph.nodes)
    stored = StoredGraph(graph.inputs, nodes, tuple(graph.outputs.items()), tuple(sorted(graph.integers)))
    return _ENCODING.write(stored)


def graph_from_bytes(data: bytes) -> Graph:
    """The inverse of ``graph_to_bytes``. Raises ``FileFormatError``, and ``ModelError`` where the parts make
    no network."""
    stored = _ENCODING.read([StoredGraph], data)
    return Graph(stored.inputs, stored.nodes, dict(stored.outputs), integers=frozenset(stored.integers))


def _undeclared(node: Node) -> Node:
    if not isinstance(node, Conv | Dense):
        return node
    return replace(node, declared_weight=None)
