"""The float network as a chain of typed nodes: what an ONNX file becomes before quantisation.

Shapes leave out the batch dimension. Every array is a C-contiguous float64 with finite entries.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Dense:
    """``y = weight · x + bias`` with weight[outputs, inputs] and bias[outputs]."""

    name: str
    weight: FloatArray = field(repr=False)
    bias: FloatArray = field(repr=False)

    def run(self, x: FloatArray) -> FloatArray:
        return x @ self.weight.T + self.bias


@dataclass(frozen=True)
class Relu:
    """``y = max(x, 0)`` elementwise."""

    name: str

    def run(self, x: FloatArray) -> FloatArray:
        return np.maximum(x, 0.0)


@dataclass(frozen=True)
class Reshape:
    """The same values in row-major order under another shape. Flatten is one of these."""

    name: str
    shape: tuple[int, ...]

    def run(self, x: FloatArray) -> FloatArray:
        return x.reshape(len(x), *self.shape)


Node = Dense | Relu | Reshape


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in order, each reading the one before it; the label is the argmax of the last one's output."""

    input_name: str
    input_shape: tuple[int, ...]
    nodes: tuple[Node, ...]

    def run(self, x: FloatArray) -> FloatArray:
        """The float outputs [n, classes] for inputs [n, *input_shape]."""
        for node in self.nodes:
            x = node.run(x)
        return x
