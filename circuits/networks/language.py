"""Networks by hand: tensors that know their network, and methods that add a node to it.

    image = tensor("image", 3, 32, 32)
    x = image.conv(w1, padding=1).relu().average_pool(2)
    x = (x + x.conv(w2, padding=1).relu()).flatten()
    graph = x.dense(w3, b3).graph()

Every step is checked as it is written, and a mistake is a ``ModelError`` in the line that is wrong, with the
codes of ``zenserve.circuits.graphs.graph``, ``model.bad_tensor`` for weights that are no numbers, or
``model.quantisation`` for a type that cannot be. Weights are in PyTorch's order, [outputs, inputs, ..];
without a bias it is zero.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Node, require_size
from zenserve.circuits.graphs.types import MOST_BITS, Declared, FloatArray, Shape
from zenserve.circuits.networks.fusion import fuse
from zenserve.circuits.operators.add import Add
from zenserve.circuits.operators.average_pool import AveragePool
from zenserve.circuits.operators.clip import Clip
from zenserve.circuits.operators.concat import Concat
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import Dense
from zenserve.circuits.operators.max_pool import MaxPool
from zenserve.circuits.operators.pad import Pad
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.operators.scale import Scale
from zenserve.circuits.operators.transpose import Transpose
from zenserve.errors import ModelError
from zenserve.relations.planes import Pair, Sizes


def tensor(name: str, *shape: int) -> Tensor:
    """The input of a new network: an image is (channels, height, width)."""
    network = _Network(name, shape)
    return Tensor(network, name, Graph.of(name, shape, (), name).shapes[name])


def concat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of one network, one after the other along ``axis``; the channels of images by default."""
    if not tensors:
        raise ModelError("model.graph", "concat joins one tensor or more, not none")
    return tensors[0]._join(Concat, tensors[1:], axis=axis)


@dataclass
class _Network:
    name: str
    shape: Shape
    nodes: list[Node] = field(default_factory=list)
    declared: dict[str, Declared] = field(default_factory=dict)
    taken: Counter[str] = field(default_factory=Counter)

    def fresh(self, word: str) -> str:
        """``word`` with the next number behind it that makes a new name."""
        self.taken[word] += 1
        name = f"{word}{self.taken[word]}"
        return name if name != self.name else self.fresh(word)


@dataclass(frozen=True, eq=False)
class Tensor:
    """One tensor of a network in the making."""

    network: _Network = field(repr=False)
    name: str
    shape: Shape

    def conv(
        self,
        weight: ArrayLike,
        bias: ArrayLike | None = None,
        *,
        stride: int | Pair = 1,
        padding: int | Sizes = 0,
        groups: int = 1,
        declared: Declared | None = None,
    ) -> Tensor:
        """Cross-correlation with weight[out, channels / groups, kh, kw] and bias[out]. ``declared``: the
        weights' type, else it is left to the quantiser."""
        weight, bias = _parameters(weight, bias)
        return self.then(Conv, weight, bias, _pair(stride), _around(padding), groups, declared)

    def dense(
        self, weight: ArrayLike, bias: ArrayLike | None = None, *, declared: Declared | None = None
    ) -> Tensor:
        """``weight · x + bias`` for a vector x: weight[out, in], bias[out]; ``declared`` as for ``conv``."""
        return self.then(Dense, *_parameters(weight, bias), declared)

    def scale(self, factor: ArrayLike, offset: ArrayLike | None = None) -> Tensor:
        """Each channel times its factor, plus its offset: a batch norm. Folded into its neighbours."""
        return self.then(Scale, *_parameters(factor, offset))

    def relu(self) -> Tensor:
        return self.then(Clip)

    def clip(self, low: float, high: float) -> Tensor:
        return self.then(Clip, low, high)

    def max_pool(
        self, kernel: int | Pair, stride: int | Pair | None = None, padding: int | Sizes = 0
    ) -> Tensor:
        """The largest in each window; windows are side by side unless there is a ``stride``."""
        return self._pool(MaxPool, kernel, stride, padding)

    def average_pool(
        self, kernel: int | Pair, stride: int | Pair | None = None, padding: int | Sizes = 0
    ) -> Tensor:
        """The mean of each window, padding left out."""
        return self._pool(AveragePool, kernel, stride, padding)

    def global_average_pool(self) -> Tensor:
        """The mean of each channel, a vector."""
        return self.average_pool(cast(Pair, self.shape[1:])).flatten()

    def flatten(self) -> Tensor:
        return self.reshape(math.prod(self.shape))

    def reshape(self, *shape: int) -> Tensor:
        return self.then(Reshape, shape)

    def transpose(self, *axes: int) -> Tensor:
        """Axis i of the result is axis ``axes[i]``."""
        return self.then(Transpose, axes)

    def pad(self, *padding: Pair) -> Tensor:
        """Zeros, (before, after) for each axis."""
        return self.then(Pad, padding)

    def then(self, kind: type[Node], *arguments: object) -> Tensor:
        """Any operator of ``zenserve.circuits.operators`` that reads one tensor, with the rest of its
        arguments.
        """
        return self._join(kind, [], *arguments)

    def __add__(self, other: Tensor) -> Tensor:
        return self._join(Add, [other]) if isinstance(other, Tensor) else NotImplemented

    def quantised(self, scale: float, zero_point: int = 0, bits: int = 8) -> Tensor:
        """Prescribe the type ``real = scale (q - zero_point)``, 0 <= q < 2^bits; others saturate.

        ``scale`` is positive, 0 <= zero_point < 2^bits, and ``bits`` is 1 to 16.
        """
        if not (0 < scale < math.inf and 1 <= bits <= MOST_BITS and 0 <= zero_point < 1 << bits):
            raise ModelError(
                "model.quantisation",
                f"{self.name[:80]!r} cannot have scale {scale}, zero point {zero_point} and {bits} bits: "
                f"take a positive scale, 1 to {MOST_BITS} bits and a zero point of so many",
            )
        kind = Declared(np.array(scale), np.array(zero_point), bits, signed=False)
        typed = self if self.name == self.network.name else self.clip(*kind.interval)
        self.network.declared[typed.name] = kind
        return typed

    def graph(self) -> Graph:
        """The network whose output this tensor is, fused."""
        network = self.network
        nodes, declared = tuple(network.nodes), dict(network.declared)
        return fuse(Graph.of(network.name, network.shape, nodes, self.name, declared))

    def _pool(
        self, kind: type[Node], kernel: int | Pair, stride: int | Pair | None, padding: int | Sizes
    ) -> Tensor:
        stride = kernel if stride is None else stride
        return self.then(kind, _pair(kernel), _pair(stride), _around(padding))

    def _join(
        self, kind: type[Node], others: Sequence[Tensor], *arguments: object, **named: object
    ) -> Tensor:
        network, read = self.network, (self, *others)
        if any(tensor.network is not network for tensor in read):
            raise ModelError("model.graph", f"{kind.__name__} reads tensors of two networks")
        name = network.fresh(kind.__name__.lower())
        node = kind(name, tuple(tensor.name for tensor in read), *arguments, **named)
        shape = node.shape(*(tensor.shape for tensor in read))
        require_size(name, shape)
        network.nodes.append(node)
        return Tensor(network, name, shape)


def _parameters(weight: ArrayLike, bias: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    array = _floats(weight)
    return array, _floats(np.zeros(len(array)) if bias is None else bias)


def _floats(values: ArrayLike) -> FloatArray:
    try:
        return np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ModelError("model.bad_tensor", f"a weight or bias is no array of numbers: {error}") from None


def _pair(value: int | Pair) -> Pair:
    return (value, value) if isinstance(value, int) else value


def _around(padding: int | Sizes) -> Sizes:
    return (padding,) * 4 if isinstance(padding, int) else padding
