"""The nodes of an integer network. Shapes and axes leave out the batch, which arrays have in front.

An accumulating node adds up, exactly and in int64, and its ``rescale`` makes a tensor of the sums; without
one the sums themselves are the tensor. The other nodes move integers about, and their types with them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from circuits.quantised.types import (
    Affine,
    Bounds,
    Rescale,
    WeightType,
    require,
    require_narrow,
)
from relations import planes
from relations.bounds import Bound
from relations.functions import slack_factor
from relations.integers import IntArray
from relations.planes import Padding, Pair, Sliding
from zenerrors import ModelError

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class QuantNode:
    """Makes the tensor ``name`` from the tensors ``inputs``."""

    name: str
    inputs: tuple[str, ...]
    arity: ClassVar[int | None] = 1

    def shape(self, *shapes: Shape) -> Shape:
        """The output's shape. Raises ``ModelError`` (``model.quantised``) when the inputs do not fit."""
        raise NotImplementedError

    def _require(self, condition: bool, message: str) -> None:
        require(condition, f"node {self.name[:80]!r} ({type(self).__name__}) {message}")


@dataclass(frozen=True, eq=False)
class Accumulating(QuantNode):
    """``rescale`` (keyword only) is None where the sums are the output."""

    rescale: Rescale | None = field(default=None, kw_only=True)

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        """The exact sums, int64[n, *shape], of inputs of these types."""
        raise NotImplementedError

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        """What the sums reach over all inputs of these types and shapes, for exactly these weights."""
        raise NotImplementedError

    def type_bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        """The same over all weights and biases of their types too."""
        return self.bounds(types, shapes)

    def run(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        """The node's tensor, int64[n, *shape]."""
        acc = self.accumulate(inputs, types)
        return acc if self.rescale is None else self.rescale.function.apply(acc)

    def check(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> None:
        """``ModelError`` unless all integers, those of the constraints too, stay below 62 bits."""
        bounds = self.type_bounds(types, shapes)
        reach = max(-int(bounds[0].min()), int(bounds[1].max()))
        slack = 0
        if self.rescale is not None:
            out = self.shape(*shapes)
            multiplier = self.rescale.multiplier
            try:
                fits = np.broadcast_shapes(multiplier.shape, out) == out
            except ValueError:
                fits = False
            self._require(fits, f"has multipliers of shape {multiplier.shape} for outputs of shape {out}")
            least, most = self.rescale.function.scaled(Bound(*bounds))
            reach = max(-least, most) + (self.rescale.high << self.rescale.shift)
            overflow = max(0, (reach >> self.rescale.shift).bit_length() - self.rescale.output.bits)
            slack = slack_factor(overflow) * self.rescale.output.top
        # The circuit adds to T a power of two of up to twice its bound, and subtracts accumulators.
        require_narrow(self.name, max(4 * reach, slack))


@dataclass(frozen=True, eq=False)
class Windowed(Accumulating):
    """Sums over windows that slide: ``acc = sum_k centred_weight[o, k] (q_k - z) + bias[o]``."""

    def sliding(self, shape: Shape) -> Sliding:
        """How the kernel slides over an input of this shape, read as an image."""
        raise NotImplementedError

    def kernel_weight(self, shape: Shape) -> IntArray:
        """``q_w - z_w``: int64[outputs, channels / groups, kernel height, kernel width]."""
        raise NotImplementedError

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        (q,), shape = inputs, inputs[0].shape[1:]
        sliding, weight = self.sliding(shape), self.kernel_weight(shape)
        # Sums stay below 2^53: at most 2^24 terms (circuits.graphs.graph) of two factors below 2^8. So
        # float64, and with it a BLAS, is exact.
        centred = (q.reshape(-1, *sliding.image) - types[0].zero_point).astype(np.float64)
        nothing = np.zeros(len(weight))
        acc = planes.convolve(
            centred, weight.astype(np.float64), nothing, sliding.stride, sliding.padding, sliding.groups
        )
        return (acc.astype(np.int64) + self._bias(len(weight))).reshape(-1, *self.shape(shape))

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        weight = self.kernel_weight(shapes[0])
        flat = weight.reshape(len(weight), -1)
        low, high = types[0].centred
        # A tap that hangs over the edge adds 0, which lies between the two: low <= 0 <= high.
        least = np.minimum(flat * low, flat * high).sum(axis=1)
        most = np.maximum(flat * low, flat * high).sum(axis=1)
        return self._along(shapes, least), self._along(shapes, most)

    def _bias(self, outputs: int) -> IntArray:
        """int64[outputs, 1, 1]."""
        return np.zeros((outputs, 1, 1), dtype=np.int64)

    def _along(self, shapes: Sequence[Shape], values: IntArray) -> IntArray:
        """One value for each output channel, broadcasting to the output's shape."""
        return values.reshape(-1, *(1 for _ in self.shape(*shapes)[1:]))


@dataclass(frozen=True, eq=False)
class _Weighted(Windowed):
    weight: NDArray[np.uint8] = field(repr=False)
    weight_type: WeightType = field(repr=False)
    bias: IntArray = field(repr=False)

    def __post_init__(self) -> None:
        outputs = len(self.weight)
        self._require(self.weight.size > 0, "has no weights")
        self._require(int(self.weight.max()) <= self.weight_type.top, "has a weight beyond its type")
        self._require(self.bias.shape == (outputs,), "has biases that do not fit its weights")
        for values in (self.weight_type.scale, self.weight_type.zero_point):
            self._require(len(values) in (1, outputs), "has types that do not fit its weights")
        require_narrow(self.name, 1 << self.bias_bits)

    @cached_property
    def centred_weight(self) -> IntArray:
        """``q_w - z_w``, int64 of the weights' shape."""
        zero = self.weight_type.zero_point.reshape(-1, *(1 for _ in self.weight.shape[1:]))
        return self.weight.astype(np.int64) - zero

    @property
    def bias_bits(self) -> int:
        """The biases' type: a b >= 1 with -2^b <= bias < 2^b for every entry."""
        return max(1, int(self.bias.min()).bit_length(), int(self.bias.max()).bit_length())

    def blank(self) -> Self:
        """The same node with weights 0, and biases that say no more than ``bias_bits``."""
        largest = np.full_like(self.bias, (1 << self.bias_bits) - 1)
        return replace(self, weight=np.zeros_like(self.weight), bias=largest)

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        least, most = super().bounds(types, shapes)
        bias = self._along(shapes, self.bias)
        return least + bias, most + bias

    def type_bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        low, high = types[0].centred
        terms = math.prod(self.weight.shape[1:])
        reach = terms * self.weight_type.reach * max(-low, high) + (1 << self.bias_bits)
        along = self._along(shapes, reach)
        return -along, along

    def _bias(self, outputs: int) -> IntArray:
        return self.bias[:, np.newaxis, np.newaxis]


@dataclass(frozen=True, eq=False)
class Conv(_Weighted):
    """Cross-correlation over (channels, height, width). What hangs over the edge is real zero.

    weight: uint8[out, channels / groups, kh, kw], the integers q_w; bias: int64[out].
    """

    stride: Pair = (1, 1)
    padding: Padding = (0, 0, 0, 0)
    groups: int = 1

    def __post_init__(self) -> None:
        self._require(self.weight.ndim == 4, "needs weights in four dimensions")
        super().__post_init__()
        self._require(
            self.groups >= 1 and len(self.weight) % self.groups == 0, "cannot split its outputs into groups"
        )

    def shape(self, *shapes: Shape) -> Shape:
        self._require(
            len(shapes[0]) == 3 and shapes[0][0] == self.weight.shape[1] * self.groups,
            f"does not fit an input of shape {shapes[0]}",
        )
        return len(self.weight), *_out(self, shapes[0], self._kernel, self.stride, self.padding)

    def sliding(self, shape: Shape) -> Sliding:
        channels, height, width = shape
        return Sliding((channels, height, width), self._kernel, self.stride, self.padding, self.groups)

    def kernel_weight(self, shape: Shape) -> IntArray:
        return self.centred_weight

    @property
    def _kernel(self) -> Pair:
        return self.weight.shape[2], self.weight.shape[3]


@dataclass(frozen=True, eq=False)
class Dense(_Weighted):
    """A matrix times a vector. weight: uint8[out, in]; bias: int64[out]."""

    def __post_init__(self) -> None:
        self._require(self.weight.ndim == 2, "needs weights in two dimensions")
        super().__post_init__()

    def shape(self, *shapes: Shape) -> Shape:
        self._require(shapes[0] == self.weight.shape[1:], f"does not fit an input of shape {shapes[0]}")
        return (len(self.weight),)

    def sliding(self, shape: Shape) -> Sliding:
        return Sliding((shape[0], 1, 1), (1, 1))

    def kernel_weight(self, shape: Shape) -> IntArray:
        return self.centred_weight[:, :, np.newaxis, np.newaxis]


@dataclass(frozen=True, eq=False)
class WindowSum(Windowed):
    """``acc = sum (q - z)`` over each window of each channel: average pooling, its divisor in ``rescale``."""

    kernel: Pair
    stride: Pair
    padding: Padding = (0, 0, 0, 0)

    def shape(self, *shapes: Shape) -> Shape:
        return shapes[0][0], *_out(self, shapes[0], self.kernel, self.stride, self.padding)

    def sliding(self, shape: Shape) -> Sliding:
        channels, height, width = shape
        return Sliding((channels, height, width), self.kernel, self.stride, self.padding, channels)

    def kernel_weight(self, shape: Shape) -> IntArray:
        return np.ones((shape[0], 1, *self.kernel), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Add(Accumulating):
    """``acc = m_1 (q_1 - z_1) + m_2 (q_2 - z_2)`` for two tensors of one shape and ``factors`` (m_1, m_2)."""

    factors: Pair
    arity = 2

    def __post_init__(self) -> None:
        self._require(min(self.factors) > 0, "needs positive factors")

    def shape(self, *shapes: Shape) -> Shape:
        self._require(shapes[0] == shapes[1], f"adds shapes {shapes}")
        return shapes[0]

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        first, second = (
            factor * (q - kind.zero_point)
            for factor, q, kind in zip(self.factors, inputs, types, strict=True)
        )
        return first + second

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        low, high = (
            sum(factor * kind.centred[end] for factor, kind in zip(self.factors, types, strict=True))
            for end in (0, 1)
        )
        require_narrow(self.name, max(-low, high))
        return np.array([low]), np.array([high])


@dataclass(frozen=True, eq=False)
class Requantise(Accumulating):
    """``acc = q - z``: a clamp on its own, or a change of type."""

    def shape(self, *shapes: Shape) -> Shape:
        return shapes[0]

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        return inputs[0] - types[0].zero_point

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        low, high = types[0].centred
        return np.array([low]), np.array([high])


@dataclass(frozen=True, eq=False)
class Mover(QuantNode):
    """Integers of one type, moved."""

    def run(self, inputs: Sequence[IntArray], zero_point: int) -> IntArray:
        """The node's tensor, int64[n, *shape]. ``zero_point``: of the type."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class MaxPool(Mover):
    """The largest integer in each window; padding never wins."""

    kernel: Pair
    stride: Pair
    padding: Padding = (0, 0, 0, 0)

    def shape(self, *shapes: Shape) -> Shape:
        top, left, bottom, right = self.padding
        self._require(
            max(top, bottom) < self.kernel[0] and max(left, right) < self.kernel[1],
            "has windows that lie in the padding",
        )
        return shapes[0][0], *_out(self, shapes[0], self.kernel, self.stride, self.padding)

    def run(self, inputs: Sequence[IntArray], zero_point: int) -> IntArray:
        seen = planes.slide(inputs[0], self.kernel, self.stride, self.padding, -1)
        largest: IntArray = seen.max(axis=(4, 5))
        return largest


@dataclass(frozen=True, eq=False)
class Reshape(Mover):
    """The same integers in row-major order under another shape."""

    target: Shape

    def shape(self, *shapes: Shape) -> Shape:
        self._require(
            min(self.target, default=1) > 0 and math.prod(self.target) == math.prod(shapes[0]),
            f"cannot reshape {shapes[0]} to {self.target}",
        )
        return self.target

    def run(self, inputs: Sequence[IntArray], zero_point: int) -> IntArray:
        return inputs[0].reshape(len(inputs[0]), *self.target)


@dataclass(frozen=True, eq=False)
class Transpose(Mover):
    """Axis i of the output is axis ``axes[i]`` of the input."""

    axes: tuple[int, ...]

    def shape(self, *shapes: Shape) -> Shape:
        self._require(sorted(self.axes) == list(range(len(shapes[0]))), f"cannot permute {shapes[0]}")
        return tuple(shapes[0][axis] for axis in self.axes)

    def run(self, inputs: Sequence[IntArray], zero_point: int) -> IntArray:
        return np.ascontiguousarray(inputs[0].transpose(0, *(axis + 1 for axis in self.axes)))


@dataclass(frozen=True, eq=False)
class Pad(Mover):
    """Real zeros around a tensor: ``padding`` has (before, after) for each axis."""

    padding: tuple[Pair, ...]

    def shape(self, *shapes: Shape) -> Shape:
        self._require(
            len(self.padding) == len(shapes[0]) and all(min(pair) >= 0 for pair in self.padding),
            f"cannot pad {shapes[0]}",
        )
        return tuple(size + sum(pair) for size, pair in zip(shapes[0], self.padding, strict=True))

    def run(self, inputs: Sequence[IntArray], zero_point: int) -> IntArray:
        return np.pad(inputs[0], ((0, 0), *self.padding), constant_values=zero_point)


@dataclass(frozen=True, eq=False)
class Concat(Mover):
    """Two or more tensors of one type one after the other along ``axis``."""

    axis: int
    arity = None

    def shape(self, *shapes: Shape) -> Shape:
        first = shapes[0]
        rests = {(*shape[: self.axis], *shape[self.axis + 1 :], len(shape)) for shape in shapes}
        self._require(0 <= self.axis < len(first) and len(rests) == 1, f"cannot join {shapes}")
        total = sum(shape[self.axis] for shape in shapes)
        return (*first[: self.axis], total, *first[self.axis + 1 :])

    def run(self, inputs: Sequence[IntArray], zero_point: int) -> IntArray:
        return np.concatenate(inputs, axis=self.axis + 1)


def _out(node: QuantNode, shape: Shape, kernel: Pair, stride: Pair, padding: Padding) -> Pair:
    out = planes.windows(shape[1:], kernel, stride, padding) if len(shape) == 3 else None
    if out is None:
        raise ModelError(
            "model.quantised", f"node {node.name[:80]!r} slides {kernel} over an input of shape {shape}"
        )
    return out
