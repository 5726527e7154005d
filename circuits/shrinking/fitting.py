"""The weights of a smaller network, in closed form: layer by layer what comes nearest to what the larger one
makes of samples (He, Zhang and Sun, Channel Pruning, ICCV 2017)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Node
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.weighted import Parametric
from zenserve.circuits.shrinking.channels import Kept
from zenserve.relations import planes
from zenserve.relations.integers import IntArray

_MOST_ROWS: Final = 1 << 14
_RIDGE: Final = 1e-3
"""Of the mean square of what a layer reads: few samples fix few weights."""


def fitted(graph: Graph, kept: Kept, x: FloatArray, larger: Mapping[str, FloatArray]) -> Graph:
    """``graph`` with the weights of least squares: of inputs x[n, *shape] its layers make what those of the
    same names make in the larger network, ``larger``, as far as they are ``kept``. Of coarser images that
    is averages. Layers of other kinds stay as they are."""
    values, nodes, rng = {graph.input.name: x}, list[Node](), np.random.default_rng(0)
    for node in graph.nodes:
        read = [values[name] for name in node.inputs]
        if isinstance(node, Conv | Dense) and node.name in larger:
            wanted = _averaged(larger[node.name][:, kept[node.name]], node.run(read[0][:1]).shape[1:])
            node = node if wanted is None else _fitted(node, read[0], wanted, rng)
        nodes.append(node)
        values[node.name] = node.run(*read).astype(np.float32)
    return replace(graph, nodes=tuple(nodes))


def _averaged(values: FloatArray, shape: tuple[int, ...]) -> FloatArray | None:
    """Means of squares, [n, *shape]; None where these do not divide it."""
    plane, wanted = values.shape[2:], shape[1:]
    if any(old % new for old, new in zip(plane, wanted, strict=True)):
        return None
    parts = [size for old, new in zip(plane, wanted, strict=True) for size in (new, old // new)]
    inner = tuple(range(3, 2 + len(parts), 2))
    means: FloatArray = values.reshape(*values.shape[:2], *parts).mean(axis=inner)
    return means


def _fitted(node: Parametric, x: FloatArray, wanted: FloatArray, rng: np.random.Generator) -> Parametric:
    if isinstance(node, Conv):
        if node.groups > 1:
            return node
        seen = planes.slide(x, node.kernel, node.stride, node.padding, 0, node.dilation)
        rank = len(node.kernel)
        seen = np.moveaxis(seen, 1, 1 + rank)  # [n, *positions, channels, *kernel]
        wanted = np.moveaxis(wanted, 1, -1)
        places = np.stack(np.unravel_index(_some(wanted[..., 0].size, rng), wanted.shape[:-1]))
        rows, targets = seen[*places].reshape(places.shape[1], -1), wanted[*places]
    else:
        rows, targets = x, wanted
    weight, bias = _least_squares(rows.astype(np.float64), targets.astype(np.float64))
    return replace(node, weight=weight.reshape(node.weight.shape), bias=bias)


def _some(count: int, rng: np.random.Generator) -> IntArray:
    return np.arange(count) if count <= _MOST_ROWS else rng.choice(count, _MOST_ROWS, replace=False)


def _least_squares(rows: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights [outputs, inputs] and biases."""
    means = rows.mean(axis=0), targets.mean(axis=0)
    x, y = rows - means[0], targets - means[1]
    gram = x.T @ x
    gram[np.diag_indices(len(gram))] += _RIDGE * max(np.trace(gram) / len(gram), 1e-12)
    weight = np.linalg.solve(gram, x.T @ y).T
    return weight, means[1] - weight @ means[0]
