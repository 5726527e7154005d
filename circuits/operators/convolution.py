"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from circuits.graphs.node import Constants, Written, windows
from circuits.graphs.site import Site
from circuits.graphs.types import Declared, FloatArray, Shape
from circuits.onnx.constants import Constant
from circuits.onnx.step import Data, Operator, Step, Value
from circuits.operators.entry import Entry
from circuits.operators.quantise_linear import bias_of, declared_at, integer, real, typed
from circuits.operators.weighted import Parametric, WeightedSum, declared_for_rows, integers
from circuits.operators.windows import stride_and_padding
from relations import planes
from relations.integers import IntArray
from relations.planes import Padding, Pair, Sliding
from relations.relation import Convolution, Relation, Tensor, Term
from verifier.schemes import Privacy


@dataclass(frozen=True, eq=False)
class Conv(Parametric):
    """2-D cross-correlation over zero-padded (channels, height, width), dilation 1.

    weight[out, channels / groups, kh, kw], bias[out].
    """

    called = "conv"
    adds = multiplies = True
    dimensions = 4

    stride: Pair = (1, 1)
    padding: Padding = (0, 0, 0, 0)
    groups: int = 1
    declared_weight: Declared | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups < 1 or len(self.weight) % self.groups:
            raise self.refuse(f"cannot split {len(self.weight)} output channels into {self.groups} groups")

    @property
    def kernel(self) -> Pair:
        return self.weight.shape[2], self.weight.shape[3]

    def shape(self, *shapes: Shape) -> Shape:
        fitting = windows(self, shapes[0], self.kernel, self.stride, self.padding)
        if shapes[0][0] != self.weight.shape[1] * self.groups:
            raise self.refuse(
                f"has weights for {self.weight.shape[1]} channels in each of {self.groups} groups "
                f"but reads {shapes[0][0]}"
            )
        return len(self.weight), *fitting

    def run(self, *inputs: FloatArray) -> FloatArray:
        return planes.convolve(inputs[0], self.weight, self.bias, self.stride, self.padding, self.groups)

    def quantise(self, site: Site) -> QuantConv:
        made = integers(self, self.declared_weight, site)
        geometry = (self.stride, self.padding, self.groups)
        return QuantConv(
            site.name, site.inputs, made.weight, made.kind, made.bias, *geometry, rescale=made.rescale
        )

    def written(self, constant: Constants) -> Written:
        geometry = {"strides": self.stride, "pads": self.padding, "group": self.groups}
        return Written("Conv", [constant("weight", self.weight), constant("bias", self.bias)], geometry)


@dataclass(frozen=True, eq=False)
class QuantConv(WeightedSum):
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
        fitting = windows(self, shapes[0], self._kernel, self.stride, self.padding)
        if shapes[0][0] != self.weight.shape[1] * self.groups:
            raise self.refuse(f"does not fit an input of shape {shapes[0]}")
        return len(self.weight), *fitting

    def sliding(self, shape: Shape) -> Sliding:
        channels, height, width = shape
        return Sliding((channels, height, width), self._kernel, self.stride, self.padding, self.groups)

    def kernel_weight(self, shape: Shape) -> IntArray:
        return self.centred_weight

    def summed(self, sums: Tensor, terms: Sequence[Term], privacy: Privacy) -> list[Relation]:
        (x,), parameters = terms, self.parameters(privacy)
        return [Convolution(self.name, sums, x, *parameters, self.sliding(x.tensor.shape[1:]))]

    @property
    def _kernel(self) -> Pair:
        return self.weight.shape[2], self.weight.shape[3]


def _conv(step: Step) -> Value:
    weight = step.weights(1)
    bias = step.weights(2).array if step.has(2) else np.zeros(len(weight.array))
    return Data(_convolved(step, step.floats(), weight, bias))


def _linear_conv(step: Step) -> Value:
    tensor, weight = integer(step, 0), real(step, 3, 4, 0)
    bias = bias_of(step, 8, tensor, weight) if step.has(8) else np.zeros(len(weight.array))
    return typed(step, _convolved(step, tensor, weight, bias), declared_at(step, 6))


def _convolved(step: Step, tensor: str, weight: Constant, bias: FloatArray) -> str:
    if weight.array.ndim != 4:
        raise step.refuse(
            "shape",
            f"has a weight of shape {weight.array.shape}; only 2-D convolutions are supported: use Conv2d",
        )
    kernel = (weight.array.shape[2], weight.array.shape[3])
    stated = step.attributes.get("kernel_shape", [*kernel])
    if stated != [*kernel]:
        raise step.refuse("shape", f"has kernel_shape {stated} but a weight for {[*kernel]}")
    stride, padding = stride_and_padding(step, step.building.shapes[tensor], kernel)
    groups = step.attributes.get("group", 1)
    return step.emit(
        Conv, (tensor,), weight.array, bias, stride, padding, groups, declared_for_rows(step, weight)
    )


_ATTRIBUTES = {
    "auto_pad": "s",
    "dilations": "ints",
    "group": "i",
    "kernel_shape": "ints",
    "pads": "ints",
    "strides": "ints",
}

ENTRY = Entry(
    onnx={
        "Conv": Operator(_conv, _ATTRIBUTES, 2, 3),
        "QLinearConv": Operator(_linear_conv, _ATTRIBUTES, 8, 9),
    },
    integers=(QuantConv,),
)
