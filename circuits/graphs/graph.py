"""The float network: typed nodes in topological order, what an ONNX file becomes before quantisation.

Tensors are named: the input is one, and every node makes one that is named like the node. Shapes and axes
leave out the batch: an image is (channels, height, width). Arrays of weights are C-contiguous float64 with
finite entries. A network built by hand is checked like one that was imported: ``ModelError`` with

    model.graph       names that are not unique, or a node that reads what no earlier node makes
    model.shape       shapes that do not fit together
    model.not_finite  NaN or infinity in a weight
    model.too_large   a tensor of more than ``MOST_ELEMENTS``
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from relations import planes
from relations.planes import Padding, Pair
from zenerrors import ModelError

FloatArray = NDArray[np.float64]
Shape = tuple[int, ...]

MOST_ELEMENTS = 1 << 24


@dataclass(frozen=True, eq=False)
class Declared:
    """A quantisation that the file prescribes: ``real = scale (q - zero_point)``.

    ``q`` has ``bits`` bits and is signed (two's complement) or not. ``scale`` float64 and ``zero_point``
    int64 are scalars [] or, for weights alone, one per output channel [out].
    """

    scale: FloatArray
    zero_point: NDArray[np.int64]
    bits: int
    signed: bool

    @property
    def integers(self) -> tuple[int, int]:
        """The least and the largest q."""
        low = -(1 << (self.bits - 1)) if self.signed else 0
        return low, low + (1 << self.bits) - 1

    @property
    def interval(self) -> tuple[float, float]:
        """The least and the largest real of a per-tensor type."""
        low, high = (float(self.scale) * (q - int(self.zero_point)) for q in self.integers)
        return low, high

    def matches(self, other: Declared) -> bool:
        return (
            (self.bits, self.signed) == (other.bits, other.signed)
            and np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero_point, other.zero_point)
        )


@dataclass(frozen=True, eq=False)
class Node:
    """Makes the tensor ``name`` from the tensors ``inputs``."""

    name: str
    inputs: tuple[str, ...]
    arity: ClassVar[int | None] = 1

    def shape(self, *shapes: Shape) -> Shape:
        """The output's shape. Raises ``ModelError`` (``model.shape``) when the inputs do not fit."""
        raise NotImplementedError

    def run(self, *inputs: FloatArray) -> FloatArray:
        """float64[n, *shape] from float64[n, *input shape] each."""
        raise NotImplementedError

    def refuse(self, reason: str) -> ModelError:
        return ModelError("model.shape", f"node {self.name[:80]!r} ({type(self).__name__}) {reason}")

    def _tensors(self, dimensions: int) -> None:
        """Check a ``weight`` with this many dimensions and its ``bias`` [len(weight)]."""
        counts = []
        for attribute, wanted in (("weight", dimensions), ("bias", 1)):
            array = np.ascontiguousarray(getattr(self, attribute), dtype=np.float64)
            if array.ndim != wanted or array.size == 0:
                raise self.refuse(f"needs {attribute} in {wanted} dimensions, not of shape {array.shape}")
            if not np.isfinite(array).all():
                raise ModelError(
                    "model.not_finite", f"node {self.name[:80]!r} has a {attribute} with NaN or infinity"
                )
            object.__setattr__(self, attribute, array)
            counts.append(len(array))
        if counts[0] != counts[1]:
            raise self.refuse(f"has {counts[1]} biases for {counts[0]} outputs")


@dataclass(frozen=True, eq=False)
class Conv(Node):
    """2-D cross-correlation over zero-padded (channels, height, width), dilation 1.

    weight[out, channels / groups, kh, kw], bias[out].
    """

    weight: FloatArray = field(repr=False)
    bias: FloatArray = field(repr=False)
    stride: Pair = (1, 1)
    padding: Padding = (0, 0, 0, 0)
    groups: int = 1
    declared_weight: Declared | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._tensors(4)
        if self.groups < 1 or len(self.weight) % self.groups:
            raise self.refuse(f"cannot split {len(self.weight)} output channels into {self.groups} groups")

    @property
    def kernel(self) -> Pair:
        return self.weight.shape[2], self.weight.shape[3]

    def shape(self, *shapes: Shape) -> Shape:
        windows = _windows(self, shapes[0], self.kernel, self.stride, self.padding)
        if shapes[0][0] != self.weight.shape[1] * self.groups:
            raise self.refuse(
                f"has weights for {self.weight.shape[1]} channels in each of {self.groups} groups "
                f"but reads {shapes[0][0]}"
            )
        return len(self.weight), *windows

    def run(self, *inputs: FloatArray) -> FloatArray:
        return planes.convolve(inputs[0], self.weight, self.bias, self.stride, self.padding, self.groups)


@dataclass(frozen=True, eq=False)
class Dense(Node):
    """``y = weight · x + bias`` over a vector, with weight[out, in] and bias[out]."""

    weight: FloatArray = field(repr=False)
    bias: FloatArray = field(repr=False)
    declared_weight: Declared | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._tensors(2)

    def shape(self, *shapes: Shape) -> Shape:
        if len(shapes[0]) != 1:
            raise self.refuse(f"reads shape [batch, {dims(shapes[0])}]; put a Flatten before it")
        if shapes[0] != self.weight.shape[1:]:
            raise self.refuse(f"has weights for {self.weight.shape[1]} inputs but reads {shapes[0][0]}")
        return (len(self.weight),)

    def run(self, *inputs: FloatArray) -> FloatArray:
        return inputs[0] @ self.weight.T + self.bias


@dataclass(frozen=True, eq=False)
class Scale(Node):
    """``y = weight x + bias`` along the first axis: weight[channels], bias[channels].

    Batch norm and constants of the file start as one; ``fusion.fuse`` leaves none.
    """

    weight: FloatArray = field(repr=False)
    bias: FloatArray = field(repr=False)

    def __post_init__(self) -> None:
        self._tensors(1)

    def shape(self, *shapes: Shape) -> Shape:
        if len(self.weight) != shapes[0][0]:
            raise self.refuse(f"scales {len(self.weight)} channels but reads {shapes[0][0]}")
        return shapes[0]

    def run(self, *inputs: FloatArray) -> FloatArray:
        along = (-1,) + (1,) * (inputs[0].ndim - 2)
        return inputs[0] * self.weight.reshape(along) + self.bias.reshape(along)


@dataclass(frozen=True, eq=False)
class Clip(Node):
    """``y = min(max(x, low), high)`` elementwise. ReLU is ``Clip(0, inf)``, and ReLU6 ``Clip(0, 6)``."""

    low: float = 0.0
    high: float = math.inf

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise self.refuse(f"has the bounds {self.low} and {self.high}, which leave no interval")

    def shape(self, *shapes: Shape) -> Shape:
        return shapes[0]

    def run(self, *inputs: FloatArray) -> FloatArray:
        return np.clip(inputs[0], self.low, self.high)


@dataclass(frozen=True, eq=False)
class _Pool(Node):
    kernel: Pair
    stride: Pair
    padding: Padding = (0, 0, 0, 0)

    def shape(self, *shapes: Shape) -> Shape:
        windows = _windows(self, shapes[0], self.kernel, self.stride, self.padding)
        top, left, bottom, right = self.padding
        if max(top, bottom) >= self.kernel[0] or max(left, right) >= self.kernel[1]:
            raise self.refuse(f"slides {self.kernel} over a padding {self.padding} that holds whole windows")
        return shapes[0][0], *windows


@dataclass(frozen=True, eq=False)
class MaxPool(_Pool):
    """The largest value in each window; padding never wins."""

    def run(self, *inputs: FloatArray) -> FloatArray:
        seen = planes.slide(inputs[0], self.kernel, self.stride, self.padding, -np.inf)
        largest: FloatArray = seen.max(axis=(4, 5))
        return largest


@dataclass(frozen=True, eq=False)
class AveragePool(_Pool):
    """The mean of each window; zeros of the padding count as values only if ``counts_padding``."""

    counts_padding: bool = False

    def run(self, *inputs: FloatArray) -> FloatArray:
        seen = planes.slide(inputs[0], self.kernel, self.stride, self.padding, 0)
        sums: FloatArray = seen.sum(axis=(4, 5))
        return sums / self.counts(inputs[0].shape[2:])

    def counts(self, plane: Shape) -> NDArray[np.int64]:
        """How many values each window over ``plane`` averages: int64[output height, output width]."""
        inside = np.ones((1, 1, *plane), np.int64)
        seen = planes.slide(inside, self.kernel, self.stride, self.padding, int(self.counts_padding))
        counts: NDArray[np.int64] = seen.sum(axis=(4, 5))[0, 0]
        return counts


@dataclass(frozen=True, eq=False)
class Add(Node):
    """The sum of two tensors of one shape."""

    arity = 2

    def shape(self, *shapes: Shape) -> Shape:
        if shapes[0] != shapes[1]:
            raise self.refuse(f"adds shapes [batch, {dims(shapes[0])}] and [batch, {dims(shapes[1])}]")
        return shapes[0]

    def run(self, *inputs: FloatArray) -> FloatArray:
        return inputs[0] + inputs[1]


@dataclass(frozen=True, eq=False)
class Concat(Node):
    """Two or more tensors one after the other along ``axis``."""

    axis: int = 0
    arity = None

    def shape(self, *shapes: Shape) -> Shape:
        first = shapes[0]
        if not 0 <= self.axis < len(first):
            raise self.refuse(f"joins axis {self.axis} of shape [batch, {dims(first)}]")
        rests = {(*shape[: self.axis], *shape[self.axis + 1 :], len(shape)) for shape in shapes}
        if len(rests) > 1:
            raise self.refuse("joins tensors that differ in more than the joined axis")
        total = sum(shape[self.axis] for shape in shapes)
        return (*first[: self.axis], total, *first[self.axis + 1 :])

    def run(self, *inputs: FloatArray) -> FloatArray:
        return np.concatenate(inputs, axis=self.axis + 1)


@dataclass(frozen=True, eq=False)
class Pad(Node):
    """Zeros around a tensor: ``padding`` has (before, after) for each axis."""

    padding: tuple[Pair, ...]

    def shape(self, *shapes: Shape) -> Shape:
        if len(self.padding) != len(shapes[0]) or any(min(pair) < 0 for pair in self.padding):
            raise self.refuse(f"pads shape [batch, {dims(shapes[0])}] by {self.padding}")
        return tuple(size + sum(pair) for size, pair in zip(shapes[0], self.padding, strict=True))

    def run(self, *inputs: FloatArray) -> FloatArray:
        return np.pad(inputs[0], ((0, 0), *self.padding))


@dataclass(frozen=True, eq=False)
class Reshape(Node):
    """The same values in row-major order under another shape. Flatten is one of these."""

    target: Shape

    def shape(self, *shapes: Shape) -> Shape:
        if any(size < 1 for size in self.target) or math.prod(self.target) != math.prod(shapes[0]):
            raise self.refuse(f"reshapes [batch, {dims(shapes[0])}] to [batch, {dims(self.target)}]")
        return self.target

    def run(self, *inputs: FloatArray) -> FloatArray:
        return inputs[0].reshape(len(inputs[0]), *self.target)


@dataclass(frozen=True, eq=False)
class Transpose(Node):
    """Axis i of the output is axis ``axes[i]`` of the input."""

    axes: tuple[int, ...]

    def shape(self, *shapes: Shape) -> Shape:
        if sorted(self.axes) != list(range(len(shapes[0]))):
            raise self.refuse(f"permutes shape [batch, {dims(shapes[0])}] by {self.axes}")
        return tuple(shapes[0][axis] for axis in self.axes)

    def run(self, *inputs: FloatArray) -> FloatArray:
        return np.ascontiguousarray(inputs[0].transpose(0, *(axis + 1 for axis in self.axes)))


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in topological order; the label is the argmax of the tensor ``output``.

    ``declared`` maps names of tensors to the quantisation that the file prescribes for them, if any.
    """

    input_name: str
    input_shape: Shape
    nodes: tuple[Node, ...]
    output: str
    declared: Mapping[str, Declared] = field(default_factory=dict)

    def __post_init__(self) -> None:
        missing = {self.output, *self.declared} - set(self.shapes)
        if missing:
            raise ModelError("model.graph", f"no node makes the tensor {min(missing)[:80]!r}")

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """The shape of every tensor."""
        shapes = {self.input_name: self.input_shape}
        require_size(self.input_name, self.input_shape)
        for node in self.nodes:
            arity = len(node.inputs) if node.arity is None else node.arity
            if len(node.inputs) != arity or arity < 1 or node.name in shapes:
                raise ModelError(
                    "model.graph", f"node {node.name[:80]!r} has {len(node.inputs)} inputs or no new name"
                )
            unknown = [name for name in node.inputs if name not in shapes]
            if unknown:
                raise ModelError(
                    "model.graph",
                    f"node {node.name[:80]!r} reads {unknown[0][:80]!r}, which no earlier node makes",
                )
            shapes[node.name] = node.shape(*(shapes[name] for name in node.inputs))
            require_size(node.name, shapes[node.name])
        return shapes

    def run(self, x: FloatArray) -> FloatArray:
        """The tensor ``output`` [n, *shape] for inputs [n, *input_shape]."""
        return next(value for name, value in self.tensors(x) if name == self.output)

    def tensors(self, x: FloatArray) -> Iterator[tuple[str, FloatArray]]:
        """Name and value of every tensor in order, the input first; each is let go after its last reader."""
        last_reader = {name: node.name for node in self.nodes for name in node.inputs}
        values = {self.input_name: x}
        yield self.input_name, x
        for node in self.nodes:
            values[node.name] = node.run(*(values[name] for name in node.inputs))
            for name in set(node.inputs):
                if last_reader[name] == node.name:
                    del values[name]
            yield node.name, values[node.name]


def dims(shape: Shape) -> str:
    return ", ".join(map(str, shape))


def _windows(node: Node, shape: Shape, kernel: Pair, stride: Pair, padding: Padding) -> Pair:
    """How many windows fit down and across an image of this shape."""
    if len(shape) != 3:
        raise node.refuse(f"reads shape [batch, {dims(shape)}]; it takes [batch, channels, height, width]")
    windows = planes.windows(shape[1:], kernel, stride, padding)
    if windows is None:
        raise node.refuse(
            f"slides {kernel} by {stride} over {shape[1:]} padded by {padding}, which does not fit"
        )
    top, left, bottom, right = padding
    require_size(node.name, (shape[0], shape[1] + top + bottom, shape[2] + left + right))
    return windows


def require_size(name: str, shape: Shape) -> None:
    if not shape or any(size < 1 for size in shape):
        raise ModelError("model.shape", f"the tensor {name[:80]!r} has the shape [batch, {dims(shape)}]")
    if math.prod(shape) > MOST_ELEMENTS:
        raise ModelError(
            "model.too_large",
            f"the tensor {name[:80]!r} of shape [batch, {dims(shape)}] exceeds {MOST_ELEMENTS} elements",
        )
