"""Rewrites of the float graph that leave its function as it is, each a pass from graph to graph.

``fuse`` runs those that always pay. ``average_pool_into_linear`` is for the compiler: it saves the rescaling
of a pool and pays with a larger kernel, which is free only where weights are public.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from circuits.graphs.graph import (
    AveragePool,
    Clip,
    Conv,
    Dense,
    FloatArray,
    Graph,
    Node,
    Pad,
    Reshape,
    Scale,
    Shape,
)
from relations.planes import Pair

Pass = Callable[[Graph], Graph]


def fuse(graph: Graph) -> Graph:
    """The same function with fewer nodes, none of them a Scale."""
    for rewrite in PASSES:
        graph = rewrite(graph)
    return graph


def without_dead_nodes(graph: Graph) -> Graph:
    """Drop what the output does not depend on."""
    alive, nodes = {graph.output}, []
    for node in reversed(graph.nodes):
        if node.name in alive:
            alive.update(node.inputs)
            nodes.append(node)
    alive.add(graph.input_name)
    declared = {name: kind for name, kind in graph.declared.items() if name in alive}
    return replace(graph, nodes=tuple(reversed(nodes)), declared=declared)


def merge_scales(graph: Graph) -> Graph:
    """A Scale of a Scale is one."""
    return _join(graph, _merged_scales)


def scale_into_previous(graph: Graph) -> Graph:
    """Batch norm and constant factors and terms into the weights of the layer before them."""
    return _join(graph, _scaled_outputs)


def scale_into_next(graph: Graph) -> Graph:
    """A Scale into the weights of the layer after it, but no shift into a padded one: its zeros stay."""
    return _join(graph, _scaled_inputs)


def pad_into_conv(graph: Graph) -> Graph:
    """Zeros around an image into the padding of the convolution after them."""
    return _join(graph, _padded)


def merge_clips(graph: Graph) -> Graph:
    """A Clip of a Clip is one, as ReLU before the clamp of a declared type is."""
    return _join(graph, _merged_clips)


def merge_reshapes(graph: Graph) -> Graph:
    """A Reshape of a Reshape is one."""
    return _join(graph, _merged_reshapes)


def average_pool_into_linear(graph: Graph) -> Graph:
    """An average pool without padding into the layer after it, through a Reshape to a vector if need be."""
    return without_dead_nodes(_pools_into_dense(_join(graph, _pooled)))


def scale_to_conv(graph: Graph) -> Graph:
    """What is left of Scale becomes a depthwise 1x1 convolution."""
    nodes: list[Node] = []
    taken = set(graph.shapes)
    for node in graph.nodes:
        nodes += _depthwise(node, graph.shapes[node.name], taken) if isinstance(node, Scale) else [node]
    return replace(graph, nodes=tuple(nodes))


PASSES: tuple[Pass, ...] = (
    without_dead_nodes,
    merge_scales,
    scale_into_previous,
    scale_into_next,
    scale_to_conv,
    pad_into_conv,
    merge_clips,
    merge_reshapes,
)


def _join(graph: Graph, join: Callable[[Graph, Node, Node], Node | None]) -> Graph:
    """Replace each node and its only input, if nothing else reads that, by what ``join`` makes of the two."""
    readers = Counter(name for node in graph.nodes for name in node.inputs)
    readers[graph.output] += 1
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
    return replace(
        graph,
        nodes=tuple(made.values()),
        output=renamed.get(graph.output, graph.output),
        declared=declared,
    )


def _merged_scales(graph: Graph, before: Node, node: Node) -> Node | None:
    if not isinstance(before, Scale) or not isinstance(node, Scale):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        weight, bias = before.weight * node.weight, before.bias * node.weight + node.bias
    return Scale(node.name, before.inputs, weight, bias)


def _scaled_outputs(graph: Graph, before: Node, node: Node) -> Node | None:
    if not isinstance(before, Conv | Dense) or before.declared_weight or not isinstance(node, Scale):
        return None
    rows = (-1,) + (1,) * (before.weight.ndim - 1)
    with np.errstate(over="ignore", invalid="ignore"):
        weight, bias = before.weight * node.weight.reshape(rows), before.bias * node.weight + node.bias
    return replace(before, weight=weight, bias=bias)


def _scaled_inputs(graph: Graph, before: Node, node: Node) -> Node | None:
    if not isinstance(before, Scale) or not isinstance(node, Conv | Dense) or node.declared_weight:
        return None
    groups, rest = 1, node.weight.shape[2:]
    if isinstance(node, Conv):
        groups = node.groups
        if any(node.padding) and before.bias.any():
            return None
    # The channels that each group of outputs reads, beside each of its outputs.
    rows = (groups, len(node.weight) // groups, -1)
    factor, shift = (
        np.broadcast_to(vector.reshape(groups, 1, -1), (*rows[:2], len(vector) // groups))
        for vector in (before.weight, before.bias)
    )
    rows = (*node.weight.shape[:2], *(1 for _ in rest))
    with np.errstate(over="ignore", invalid="ignore"):
        weight = node.weight * factor.reshape(rows)
        moved = (node.weight * shift.reshape(rows)).reshape(len(node.weight), -1).sum(axis=1)
        return replace(node, inputs=before.inputs, weight=weight, bias=node.bias + moved)


def _padded(graph: Graph, before: Node, node: Node) -> Node | None:
    if not isinstance(before, Pad) or not isinstance(node, Conv) or any(before.padding[0]):
        return None
    (above, below), (left, right) = before.padding[1:]
    top, inner_left, bottom, inner_right = node.padding
    padding = (above + top, left + inner_left, below + bottom, right + inner_right)
    return replace(node, inputs=before.inputs, padding=padding)


def _merged_clips(graph: Graph, before: Node, node: Node) -> Node | None:
    if not isinstance(before, Clip) or not isinstance(node, Clip):
        return None
    low, high = max(before.low, node.low), min(before.high, node.high)
    return Clip(node.name, before.inputs, low, high) if low < high else None


def _merged_reshapes(graph: Graph, before: Node, node: Node) -> Node | None:
    both = isinstance(before, Reshape) and isinstance(node, Reshape)
    return replace(node, inputs=before.inputs) if both else None


def _pooled(graph: Graph, before: Node, node: Node) -> Node | None:
    if not isinstance(before, AveragePool) or not isinstance(node, Conv) or node.declared_weight:
        return None
    plane, (down, across) = graph.shapes[before.inputs[0]][1:], before.stride
    tiles = before.kernel == before.stride and plane[0] % down == plane[1] % across == 0
    if any(before.padding) or (any(node.padding) and not tiles):
        return None
    (kh, kw), (ph, pw) = node.kernel, before.kernel
    top, left, bottom, right = node.padding
    return replace(
        node,
        inputs=before.inputs,
        weight=_spread(node.weight, before, ((kh - 1) * down + ph, (kw - 1) * across + pw)),
        stride=(node.stride[0] * down, node.stride[1] * across),
        padding=(top * down, left * across, bottom * down, right * across),
    )


def _pools_into_dense(graph: Graph) -> Graph:
    made = {node.name: node for node in graph.nodes}
    nodes: list[Node] = []
    taken = set(graph.shapes)
    for node in graph.nodes:
        flat = made.get(node.inputs[0])
        pool = made.get(flat.inputs[0]) if isinstance(flat, Reshape) else None
        if isinstance(node, Dense) and isinstance(pool, AveragePool) and _absorbs(graph, node, pool):
            outputs, shape = len(node.weight), graph.shapes[pool.inputs[0]]
            weight = node.weight.reshape(outputs, *graph.shapes[pool.name])
            weight = _spread(weight, pool, (shape[1], shape[2])).reshape(outputs, -1)
            unpooled = Reshape(_fresh(f"{node.name}.input", taken), pool.inputs, (weight.shape[1],))
            nodes.append(unpooled)
            node = replace(node, inputs=(unpooled.name,), weight=weight)
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


def _absorbs(graph: Graph, node: Dense, pool: AveragePool) -> bool:
    return not any(pool.padding) and not node.declared_weight and pool.name not in graph.declared


def _spread(weight: FloatArray, pool: AveragePool, plane: Pair) -> FloatArray:
    """weight[out, channels, h, w] over pooled values as weights over the values themselves, [..., *plane]."""
    (kh, kw), (down, across), (height, width) = pool.kernel, pool.stride, weight.shape[2:]
    spread = np.zeros((*weight.shape[:2], *plane))
    for row in range(kh):
        for column in range(kw):
            spread[:, :, row : row + height * down : down, column : column + width * across : across] += (
                weight
            )
    return spread / (kh * kw)


def _depthwise(node: Scale, shape: Shape, taken: set[str]) -> list[Node]:
    """The Scale as a convolution, between Reshapes where the tensor is no image."""
    channels, weight = shape[0], node.weight[:, None, None, None]
    if len(shape) == 3:
        return [Conv(node.name, node.inputs, weight, node.bias, groups=channels)]
    image = Reshape(_fresh(f"{node.name}.image", taken), node.inputs, (channels, math.prod(shape[1:]), 1))
    scaled = Conv(_fresh(f"{node.name}.scale", taken), (image.name,), weight, node.bias, groups=channels)
    return [image, scaled, Reshape(node.name, (scaled.name,), shape)]


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name
