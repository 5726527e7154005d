"""Less of a network: a coarser image, fewer layers. What is left keeps its names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Node
from zenserve.circuits.graphs.rewriting import without_dead_nodes
from zenserve.circuits.graphs.types import FloatArray, Shape
from zenserve.circuits.operators.add import Sum
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.operators.windows import Pool
from zenserve.errors import ModelError

_PLANE: Final = 2


def coarser(graph: Graph, factor: int) -> Graph | None:
    """The network of images that are averaged over squares of ``factor`` pixels first, which its first
    convolutions do themselves. None where the network is of no images, or of sizes that do not divide."""
    shape = graph.input.shape
    if len(shape) != 1 + _PLANE or any(size % factor for size in shape[1:]):
        return None
    shapes: dict[str, Shape] = {graph.input.name: shape}
    nodes: list[Node] = []
    try:
        for node in graph.nodes:
            made = _coarser(node, factor, graph, shapes)
            shapes[node.name] = made.shape(*(shapes[name] for name in made.inputs))
            nodes.append(made)
    except ModelError:
        return None
    return replace(graph, nodes=tuple(nodes))


def _coarser(node: Node, factor: int, graph: Graph, shapes: Mapping[str, Shape]) -> Node:
    """Raises ``ModelError`` where the node takes no coarser image."""
    before, now = graph.shapes[node.inputs[0]], shapes[node.inputs[0]]
    if graph.input.name in node.inputs:
        if not (isinstance(node, Conv) and len(node.kernel) == _PLANE and not node.dilation):
            raise node.refuse("reads the image, and is no convolution")
        weight = node.weight.repeat(factor, axis=2).repeat(factor, axis=3) / factor**2
        stride, padding = ((*(factor * size for size in each),) for each in (node.stride, node.padding))
        return replace(node, weight=weight, stride=stride, padding=padding)
    if isinstance(node, Pool) and any(size > most for size, most in zip(node.kernel, now[1:], strict=True)):
        kernel = (*map(min, node.kernel, now[1:]),)
        return replace(node, kernel=kernel, stride=(*map(min, node.stride, kernel),))
    if isinstance(node, Reshape) and len(node.target) == 1:
        return replace(node, target=(math.prod(now),))
    if isinstance(node, Dense) and before != now:
        (reshape,) = [each for each in graph.nodes if each.name == node.inputs[0]]
        if not isinstance(reshape, Reshape):
            raise node.refuse("reads no image")
        return replace(node, weight=_joined(node, graph.shapes[reshape.inputs[0]], shapes[reshape.inputs[0]]))
    return node


def _joined(node: Dense, before: Shape, now: Shape) -> FloatArray:
    """Weights of the squares whose average is left."""
    outputs, (channels, *plane) = len(node.weight), now
    if before[0] != channels or any(old % new for old, new in zip(before[1:], plane, strict=True)):
        raise node.refuse(f"reads an image of {before}, of which {now} is left")
    high, wide = plane
    parts = node.weight.reshape(outputs, channels, high, before[1] // high, wide, before[2] // wide)
    joined: FloatArray = parts.sum(axis=(3, 5)).reshape(outputs, -1)
    return joined


def shallower(graph: Graph) -> Graph:
    """Without the layers around which the values also go, and those that leave a shape as it is."""
    nodes = {node.name: node for node in graph.nodes}
    instead: dict[str, str] = {}
    for node in graph.nodes:
        read = [instead.get(name, name) for name in node.inputs]
        nodes[node.name] = node = replace(node, inputs=(*read,))
        if isinstance(node, Sum) and node.signs == (1, 1):
            first, second = (_behind(name, nodes) for name in read)
            around = read[0] if read[0] in second else read[1] if read[1] in first else None
            if around is not None:
                instead[node.name] = around
        elif isinstance(node, Clip):
            before = nodes.get(read[0])
            skipped = before.inputs[0] if isinstance(before, Conv) and _keeps(before, graph) else read[0]
            twin = nodes.get(skipped)
            if isinstance(twin, Clip) and twin.clamp == node.clamp:
                instead[node.name] = skipped
    outputs = {name: instead.get(tensor, tensor) for name, tensor in graph.outputs.items()}
    return without_dead_nodes(replace(graph, nodes=(*nodes.values(),), outputs=outputs))


def _keeps(node: Conv, graph: Graph) -> bool:
    return node.inputs[0] in graph.shapes and graph.shapes[node.inputs[0]] == graph.shapes[node.name]


def _behind(name: str, nodes: Mapping[str, Node]) -> set[str]:
    """Return the names of the tensor and of all tensors from which it is computed."""
    found, ahead = set[str](), [name]
    while ahead:
        here = ahead.pop()
        if here not in found:
            found.add(here)
            ahead += nodes[here].inputs if here in nodes else ()
    return found
