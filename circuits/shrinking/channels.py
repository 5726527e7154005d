"""Fewer channels of a network: those of layers whose tensors are added, or that only move, go together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Mover, Node
from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.operators.add import Sum
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.operators.weighted import Parametric
from zenserve.circuits.operators.windows import Pool
from zenserve.relations.integers import IntArray

Kept = Mapping[str, IntArray]
"""Of each layer with weights, which of its outputs are left."""


def narrower(graph: Graph, share: float, values: Mapping[str, FloatArray]) -> tuple[Graph, Kept]:
    """With this share of each layer's channels: those whose changes move most of what reads them. ``values``:
    of all tensors for some samples, float[n, *shape]. Channels of layers that are not known here stay."""
    channels = _Channels(graph)
    worth, gone = channels.worth(values), set[int]()
    for cohort in channels.cohorts():
        fewest = max(1, math.ceil(share * len(cohort)))
        gone.update(sorted(cohort, key=lambda channel: -worth[channel])[fewest:])
    nodes: list[Node] = []
    kept: dict[str, IntArray] = {}
    for node in graph.nodes:
        left = ~np.isin(channels.of(node.name), [*gone])
        if isinstance(node, Parametric):
            kept[node.name] = np.flatnonzero(left.reshape(len(node.weight), -1)[:, 0])
            node = _narrowed(node, kept[node.name], ~np.isin(channels.read(node), [*gone]))
        elif isinstance(node, Reshape) and len(node.target) == 1:
            node = replace(node, target=(int(left.sum()),))
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes)), kept


def _narrowed(node: Parametric, made: IntArray, read: NDArray[np.bool_]) -> Parametric:
    weight, bias = node.weight[made], node.bias[made]
    if isinstance(node, Conv) and node.groups > 1:
        return replace(node, weight=weight, bias=bias, groups=len(made)) if _each_its_own(node) else node
    return replace(node, weight=weight[:, read], bias=bias)


def _each_its_own(node: Conv) -> bool:
    return node.groups == len(node.weight) and node.weight.shape[1] == 1


class _Channels:
    """Numbers for the channels of all tensors, the same for those that go together; 0 for all that stay."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._above = graph, [0]
        self._numbers = {graph.input.name: np.zeros(graph.input.shape, np.int64)}
        for node in graph.nodes:
            self._numbers[node.name] = self._made(node)
        for tensor in graph.outputs.values():
            self._join(self._numbers[tensor], np.int64(0))

    def of(self, tensor: str) -> IntArray:
        """Of each entry, int64[*shape]."""
        return self._names[self._numbers[tensor]]

    def read(self, node: Parametric) -> IntArray:
        """Of what the weights along the second axis are for."""
        read = self.of(node.inputs[0])
        return read if read.ndim == 1 else read.reshape(len(read), -1)[:, 0]

    def cohorts(self) -> Iterator[list[int]]:
        """The channels that may go, of each layer, or of several together."""
        layers = [node.name for node in self._graph.nodes if isinstance(node, Parametric)]
        for cohort in dict.fromkeys(tuple(np.unique(self.of(name)).tolist()) for name in layers):
            if 0 not in cohort:
                yield [*cohort]

    def worth(self, values: Mapping[str, FloatArray]) -> FloatArray:
        """Of each channel how much its changes move what reads it: its variance times its squared weights."""
        found = np.zeros(len(self._above))
        for node in self._graph.nodes:
            if isinstance(node, Parametric) and not (isinstance(node, Conv) and node.groups > 1):
                x = values[node.inputs[0]]
                spread = np.moveaxis(x, 1, 0).reshape(x.shape[1], -1).var(axis=1)
                power = np.square(np.moveaxis(node.weight, 1, 0)).reshape(x.shape[1], -1).sum(axis=1)
                np.add.at(found, self.read(node), spread * power)
        return found

    def _made(self, node: Node) -> IntArray:
        read, shape = [self._numbers[name] for name in node.inputs], self._graph.shapes[node.name]
        image = all(each.ndim > 1 and (each == _firsts(each)).all() for each in read)
        if isinstance(node, Mover) and not (isinstance(node, Reshape) and len(node.target) > 1):
            moved: IntArray = node.move([each[np.newaxis] for each in read], 0)[0]
            return moved
        if isinstance(node, Clip):
            return read[0]
        if isinstance(node, Sum):
            for other in read[1:]:
                self._join(read[0], other)
            return read[0]
        if isinstance(node, Pool) and image:
            return np.broadcast_to(_firsts(read[0]), shape)
        if isinstance(node, Conv) and image and _each_its_own(node) and len(read[0]) == len(node.weight):
            return np.broadcast_to(_firsts(read[0]), shape)
        if (isinstance(node, Conv) and image and node.groups == 1) or (
            isinstance(node, Dense) and len(shape) == 1
        ):
            first = len(self._above)
            self._above += range(first, first + shape[0])
            return np.broadcast_to(
                np.arange(first, first + shape[0]).reshape(-1, *(1 for _ in shape[1:])), shape
            )
        for each in read:
            self._join(each, np.int64(0))
        return np.zeros(shape, np.int64)

    def _join(self, one: IntArray, other: IntArray | np.int64) -> None:
        pairs = np.stack(np.broadcast_arrays(one, other), axis=-1).reshape(-1, 2)
        for first, second in np.unique(pairs, axis=0).tolist():
            low, high = sorted((self._name(first), self._name(second)))
            self._above[high] = low

    def _name(self, number: int) -> int:
        while self._above[number] != number:
            number = self._above[number]
        return number

    @cached_property
    def _names(self) -> IntArray:
        return np.array([self._name(number) for number in range(len(self._above))], np.int64)


def _firsts(numbers: IntArray) -> IntArray:
    """Of each channel of an image the number of its first pixel."""
    return numbers[(slice(None), *(slice(0, 1) for _ in numbers.shape[1:]))]
