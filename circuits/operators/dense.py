"""Dense layers, and products with a matrix of weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from zenserve.circuits.graphs.node import Constants, Written, dims
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import MOST_COMPARED_BITS, Declared, FloatArray, Shape
from zenserve.circuits.onnx.constants import Constant, Element
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.quantise_linear import bias_of, declared_at, integer, real, typed
from zenserve.circuits.operators.reshape import Reshape, shaped
from zenserve.circuits.operators.transpose import Transpose
from zenserve.circuits.operators.weighted import Parametric, WeightedSum, declared_for_rows, integers
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import Sliding
from zenserve.relations.relation import MatMul, Relation, Tensor, Term
from zenserve.verifier.schemes import Privacy


@dataclass(frozen=True, eq=False)
class Dense(Parametric):
    """``y = weight · x + bias`` over a vector, with weight[out, in] and bias[out]."""

    called = "dense"
    widest = MOST_COMPARED_BITS
    adds = multiplies = True
    dimensions = (2,)

    declared_weight: Declared | None = field(default=None, repr=False)

    def shape(self, *shapes: Shape) -> Shape:
        if len(shapes[0]) != 1:
            raise self.refuse(f"reads shape [batch, {dims(shapes[0])}]; put a Flatten before it")
        if shapes[0] != self.weight.shape[1:]:
            raise self.refuse(f"has weights for {self.weight.shape[1]} inputs but reads {shapes[0][0]}")
        return (len(self.weight),)

    def run(self, *inputs: FloatArray) -> FloatArray:
        return inputs[0] @ self.weight.T + self.bias

    def quantise(self, site: Site) -> QuantDense:
        made = integers(self, self.declared_weight, site)
        return QuantDense(site.name, site.inputs, made.weight, made.kind, made.bias, rescale=made.rescale)

    def written(self, constant: Constants) -> Written:
        return Written("Gemm", [constant("weight", self.weight), constant("bias", self.bias)], {"transB": 1})


@dataclass(frozen=True, eq=False)
class QuantDense(WeightedSum):
    """A matrix times a vector. weight: uint8 or uint16[out, in]; bias: int64[out]."""

    def __post_init__(self) -> None:
        self._require(self.weight.ndim == 2, "needs weights in two dimensions")
        super().__post_init__()

    def shape(self, *shapes: Shape) -> Shape:
        if shapes[0] != self.weight.shape[1:]:
            raise self.refuse(f"does not fit an input of shape {shapes[0]}")
        return (len(self.weight),)

    def sliding(self, shape: Shape) -> Sliding:
        return Sliding((shape[0], 1, 1), (1, 1))

    def kernel_weight(self, shape: Shape) -> IntArray:
        return self.centred_weight[:, :, np.newaxis, np.newaxis]

    def summed(self, sums: Tensor, terms: Sequence[Term], privacy: Privacy) -> list[Relation]:
        return [MatMul(self.name, sums, terms[0], *self.parameters(privacy))]


def gemm(step: Step) -> Value:
    """A computed matrix by one of weights, and a bias."""
    bias = np.zeros(1)
    if step.has(2):
        bias = step.times(step.weights(2).array, step.attributes.get("beta", 1.0))
    return _affine(step, 0, step.weights(1), bias)


def _linear_gemm(step: Step) -> Value:
    tensor, weight = integer(step, 0), real(step, 3, 4, 0 if step.attributes.get("transB", 0) else -1)
    bias = bias_of(step, 6, weight) if step.has(6) else np.zeros(1)
    data = Data(tensor, shape=step.whole(0))
    result = _affine(replace(step, inputs=[data]), 0, weight, bias)
    return typed(step, result.tensor, declared_at(step, 7)) if step.has(7) else result


def _affine(step: Step, position: int, weight: Constant, bias: FloatArray) -> Data:
    if step.attributes.get("transA", 0):
        raise step.refuse("unsupported_attribute", "has transA=1; export it with transA=0")
    whole = step.whole(position)
    if len(whole) != 2:
        raise step.refuse("shape", f"reads shape [{dims(whole)}]; put a Flatten before it")
    alpha = step.attributes.get("alpha", 1.0)
    array = step.times(weight.array, alpha)
    if alpha != 1:
        weight = replace(weight, declared=None)
    turned = not step.attributes.get("transB", 0)
    return _multiplied(step, position, _turned(weight, array) if turned else _with(weight, array), bias)


def by_weights(step: Step) -> Data:
    """A computed tensor by a matrix of weights, on either side."""
    if step.is_data(0):
        weight = step.weights(1)
        return _multiplied(step, 0, _turned(weight, weight.array), np.zeros(1))
    tensor, weight, shape = step.floats(1), step.weights(0), step.shape(1)
    if len(shape) != 2:
        raise step.refuse("shape", f"multiplies shape [batch, {dims(shape)}] by weights on its left")
    made = _pointwise(step, tensor, weight, np.zeros(1))
    return Data(made, shape=(*step.whole(1)[:-2], len(weight.array), shape[1]))


def _multiplied(step: Step, position: int, weight: Constant, bias: FloatArray) -> Data:
    """Each row of the input by weight[out, in], plus a bias that broadcasts to [out]. A Dense for one row,
    else a 1x1 Conv.
    """
    array, whole = weight.array, step.whole(position)
    if array.ndim != 2 or 0 in array.shape:
        raise step.refuse("shape", f"needs a weight matrix, not shape {array.shape}")
    if whole[-1:] != array.shape[1:]:
        raise step.refuse("shape", f"has weights for {array.shape[1]} inputs but reads {dims(whole[-1:])}")
    if bias.shape not in ((), (1,), (len(array),), (1, 1), (1, len(array))):
        raise step.refuse("shape", f"adds a bias of shape {bias.shape} to {len(array)} outputs")
    bias = np.broadcast_to(bias.ravel(), (len(array),))
    rows = math.prod(whole[:-1])
    data = Data(step.floats(position))
    read = shaped(step, data, (1, whole[-1]) if rows == 1 else (1, rows, whole[-1])).tensor
    if rows == 1:
        made = Data(step.emit(Dense, (read,), array, bias, declared_for_rows(weight)))
    else:
        columns = step.emit(Transpose, (read,), (1, 0))
        made = Data(step.emit(Transpose, (_pointwise(step, columns, weight, bias),), (1, 0)))
    return shaped(step, made, (*whole[:-1], len(array)))


def _pointwise(step: Step, tensor: str, weight: Constant, bias: FloatArray) -> str:
    """weight[out, in] and bias[out] applied to every column of a tensor [in, columns]."""
    if weight.array.ndim != 2 or 0 in weight.array.shape:
        raise step.refuse("shape", f"needs a weight matrix, not shape {weight.array.shape}")
    rows, columns = step.building.shapes[tensor]
    image = step.emit(Reshape, (tensor,), (rows, columns, 1))
    kernel, bias = weight.array[:, :, None, None], np.broadcast_to(bias, (len(weight.array),))
    image = step.emit(Conv, (image,), kernel, bias, declared_weight=declared_for_rows(weight))
    return step.emit(Reshape, (image,), (len(weight.array), columns))


def layer(step: Step, data: Data, weight: FloatArray, bias: FloatArray) -> Data:
    """A computed tensor [.., in] by weight[out, in], plus bias[out]."""
    step.spend(weight.size)
    return _multiplied(replace(step, inputs=[data]), 0, Constant(weight, Element.FLOAT), bias)


def _turned(weight: Constant, array: FloatArray) -> Constant:
    return Constant(array.T, weight.kind, weight.declared, weight.array.ndim - 1 - weight.axis)


def _with(weight: Constant, array: FloatArray) -> Constant:
    return Constant(array, weight.kind, weight.declared, weight.axis)


GEMM = {"alpha": "f", "beta": "f", "transA": "i", "transB": "i"}

ENTRY = Entry(
    microsoft={"QGemm": Operator(_linear_gemm, GEMM, 6, 9)},
    integers=(QuantDense,),
)
