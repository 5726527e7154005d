"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from zenserve.circuits.graphs.node import Constants, Written, windows
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import MOST_COMPARED_BITS, Declared, FloatArray, Shape
from zenserve.circuits.onnx.constants import Constant
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.quantise_linear import bias_of, declared_at, integer, real, typed
from zenserve.circuits.operators.weighted import Parametric, WeightedSum, declared_for_rows, integers
from zenserve.circuits.operators.windows import geometry
from zenserve.relations import planes
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import Sizes, Sliding
from zenserve.relations.relation import Convolution, Relation, Tensor, Term
from zenserve.verifier.schemes import Privacy

# Of weights: output and input channels, and one axis to three.
DIMENSIONS = tuple(range(3, 3 + planes.MOST_AXES))


@dataclass(frozen=True, eq=False)
class Conv(Parametric):
    """Cross-correlation over a zero-padded image: (channels, height, width), or one axis, or three.

    weight[out, channels / groups, *kernel], bias[out].
    """

    called = "conv"
    widest = MOST_COMPARED_BITS
    adds = multiplies = True
    dimensions = DIMENSIONS

    stride: Sizes = (1, 1)
    padding: Sizes = (0, 0, 0, 0)
    groups: int = 1
    declared_weight: Declared | None = field(default=None, repr=False)
    dilation: Sizes = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups < 1 or len(self.weight) % self.groups:
            raise self.refuse(f"cannot split {len(self.weight)} output channels into {self.groups} groups")

    @property
    def kernel(self) -> Sizes:
        return self.weight.shape[2:]

    def shape(self, *shapes: Shape) -> Shape:
        fitting = windows(self, shapes[0], self.kernel, self.stride, self.padding, self.dilation)
        if shapes[0][0] != self.weight.shape[1] * self.groups:
            raise self.refuse(
                f"has weights for {self.weight.shape[1]} channels in each of {self.groups} groups "
                f"but reads {shapes[0][0]}"
            )
        return len(self.weight), *fitting

    def run(self, *inputs: FloatArray) -> FloatArray:
        geometry = (self.stride, self.padding, self.groups, self.dilation)
        return planes.convolve(inputs[0], self.weight, self.bias, *geometry)

    def quantise(self, site: Site) -> QuantConv:
        made = integers(self, self.declared_weight, site)
        geometry = (self.stride, self.padding, self.groups, self.dilation)
        return QuantConv(
            site.name, site.inputs, made.weight, made.kind, made.bias, *geometry, rescale=made.rescale
        )

    def written(self, constant: Constants) -> Written:
        geometry: dict[str, object] = {"strides": self.stride, "pads": self.padding, "group": self.groups}
        if self.dilation:
            geometry["dilations"] = self.dilation
        return Written("Conv", [constant("weight", self.weight), constant("bias", self.bias)], geometry)


@dataclass(frozen=True, eq=False)
class QuantConv(WeightedSum):
    """Cross-correlation over (channels, *plane). What hangs over the edge is real zero.

    weight: uint8 or uint16[out, channels / groups, *kernel], the integers q_w; bias: int64[out].
    """

    stride: Sizes = (1, 1)
    padding: Sizes = (0, 0, 0, 0)
    groups: int = 1
    dilation: Sizes = ()

    def __post_init__(self) -> None:
        self._require(self.weight.ndim in DIMENSIONS, "needs weights in three to five dimensions")
        super().__post_init__()
        self._require(
            self.groups >= 1 and len(self.weight) % self.groups == 0, "cannot split its outputs into groups"
        )

    def shape(self, *shapes: Shape) -> Shape:
        fitting = windows(self, shapes[0], self._kernel, self.stride, self.padding, self.dilation)
        if shapes[0][0] != self.weight.shape[1] * self.groups:
            raise self.refuse(f"does not fit an input of shape {shapes[0]}")
        return len(self.weight), *fitting

    def sliding(self, shape: Shape) -> Sliding:
        return Sliding(shape, self._kernel, self.stride, self.padding, self.groups, self.dilation)

    def kernel_weight(self, shape: Shape) -> IntArray:
        return self.centred_weight

    def summed(self, sums: Tensor, terms: Sequence[Term], privacy: Privacy) -> list[Relation]:
        (x,), parameters = terms, self.parameters(privacy)
        return [Convolution(self.name, sums, x, *parameters, self.sliding(x.tensor.shape[1:]))]

    @property
    def _kernel(self) -> Sizes:
        return self.weight.shape[2:]


def _conv(step: Step) -> Value:
    weight = step.weights(1)
    bias = step.weights(2).array if step.has(2) else np.zeros(weight.array.shape[:1])
    return Data(_convolved(step, step.floats(), weight, bias))


def _linear_conv(step: Step) -> Value:
    tensor, weight = integer(step, 0), real(step, 3, 4, 0)
    bias = bias_of(step, 8, weight) if step.has(8) else np.zeros(len(weight.array))
    return typed(step, _convolved(step, tensor, weight, bias), declared_at(step, 6))


def _convolved(step: Step, tensor: str, weight: Constant, bias: FloatArray) -> str:
    stride, padding, dilation, _ = geometry(step, step.building.shapes[tensor], kernel_of(step, weight))
    groups, declared = step.attributes.get("group", 1), declared_for_rows(weight)
    return step.emit(Conv, (tensor,), weight.array, bias, stride, padding, groups, declared, dilation)


def kernel_of(step: Step, weight: Constant) -> Sizes:
    """The kernel of a weight of two dimensions and these behind them."""
    if weight.array.ndim not in DIMENSIONS:
        raise step.refuse(
            "shape", f"has a weight of shape {weight.array.shape}; convolutions have one axis to three"
        )
    kernel = weight.array.shape[2:]
    stated = step.attributes.get("kernel_shape", [*kernel])
    if stated != [*kernel]:
        raise step.refuse("shape", f"has kernel_shape {stated} but a weight for {[*kernel]}")
    return kernel


ATTRIBUTES = {
    "auto_pad": "s",
    "dilations": "ints",
    "group": "i",
    "kernel_shape": "ints",
    "pads": "ints",
    "strides": "ints",
}

ENTRY = Entry(
    onnx={
        "Conv": Operator(_conv, ATTRIBUTES, 2, 3),
        "QLinearConv": Operator(_linear_conv, ATTRIBUTES, 8, 9),
    },
    integers=(QuantConv,),
)
