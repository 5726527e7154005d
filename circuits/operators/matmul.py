"""Products of two computed matrices, one or many beside each other. With a constant they are layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from zenserve.circuits.graphs.node import Constants, Node, QuantNode, Written, dims
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import Affine, Bounds, FloatArray, Shape
from zenserve.circuits.onnx.constants import Constant
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.add import add
from zenserve.circuits.operators.convolution import Conv
from zenserve.circuits.operators.dense import GEMM, by_weights, gemm
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.moving import broadcast, rearranged
from zenserve.circuits.operators.reshape import shaped
from zenserve.circuits.operators.scale import affine_of
from zenserve.circuits.operators.sums import Accumulating
from zenserve.errors import ModelError
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import MatrixProduct, Relation, Tensor, Term
from zenserve.verifier.schemes import Privacy

# So many products of constants take as long as one that is kept.
_MULTIPLIED = 1 << 6


def _multiplied(node: Node | QuantNode, shapes: Sequence[Shape]) -> Shape:
    left, right = shapes
    if not len(left) == len(right) == 3 or left[0] != right[0] or left[2] != right[1]:
        raise node.refuse(f"multiplies shapes [batch, {dims(left)}] and [batch, {dims(right)}]")
    return (*left[:2], right[2])


@dataclass(frozen=True, eq=False)
class MatMul(Node):
    """``factor · left[g] right[g]`` for each g of left[groups, m, k] and right[groups, k, n]."""

    arity = 2
    called = "matmul"
    adds = True

    factor: float = 1.0

    def shape(self, *shapes: Shape) -> Shape:
        return _multiplied(self, shapes)

    def run(self, *inputs: FloatArray) -> FloatArray:
        left, right = inputs
        return left @ right * self.factor

    def times(self, factor: float) -> Node:
        return replace(self, factor=self.factor * factor)

    def quantise(self, site: Site) -> QuantNode:
        """Sums have no scale but that of what they are made of."""
        step = np.array([site.incoming(0).scale * site.incoming(1).scale * self.factor])
        unscaled = site.unscaled and self.factor == 1
        return QuantMatMul(site.name, site.inputs, rescale=None if unscaled else site.rescale(step))

    def written(self, constant: Constants) -> Written:
        if self.factor != 1:
            raise ModelError("model.unsupported_operator", "ONNX's MatMul has no factor")
        return super().written(constant)


@dataclass(frozen=True, eq=False)
class QuantMatMul(Accumulating):
    """``acc[g, i, j] = sum_k (q_1[g, i, k] - z_1) (q_2[g, k, j] - z_2)``."""

    arity = 2

    def shape(self, *shapes: Shape) -> Shape:
        return _multiplied(self, shapes)

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        left, right = (q - kind.zero_point for q, kind in zip(inputs, types, strict=True))
        return left @ right

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        ends = [left * right for left in types[0].centred for right in types[1].centred]
        terms = shapes[0][2]
        return np.array([terms * min(ends)]), np.array([terms * max(ends)])

    def step(self, types: Sequence[Affine]) -> float | None:
        return types[0].scale * types[1].scale

    def summed(self, sums: Tensor, terms: Sequence[Term], privacy: Privacy) -> list[Relation]:
        left, right = terms
        return [MatrixProduct(self.name, sums, left, right)]


def _matmul(step: Step) -> Value:
    """As ``numpy.matmul`` has it."""
    if not step.is_data(1) and len(step.whole(1)) == 2:
        return by_weights(step)
    if not step.is_data(0) and len(step.whole(0)) == len(step.shape(1)) == 2:
        return by_weights(step)
    return product(step, floats(step, 0), floats(step, 1))


def floats(step: Step, position: int) -> Value:
    """An input that is a factor."""
    if not step.is_data(position):
        return step.weights(position)
    return Data(step.floats(position), shape=step.whole(position))


def product(step: Step, left: Value, right: Value) -> Value:
    """A vector is a row on the left and a column on the right."""
    a, b = shape_of(left), shape_of(right)
    rows, columns = (a if len(a) > 1 else (1, *a)), (b if len(b) > 1 else (*b, 1))
    if not a or not b or rows[-1] != columns[-2]:
        raise step.refuse("shape", f"multiplies [{dims(a)}] and [{dims(b)}]")
    try:
        groups = np.broadcast_shapes(rows[:-2], columns[:-2])
    except ValueError:
        raise step.refuse("shape", f"multiplies [{dims(a)}] and [{dims(b)}]") from None
    if isinstance(left, Constant) and isinstance(right, Constant):
        step.spend(math.prod(groups) * rows[-2] * columns[-1] * (1 + rows[-1] // _MULTIPLIED))
        return step.folded(left.array @ right.array, left.kind)
    left, right = reshaped(step, left, rows), reshaped(step, right, columns)
    if isinstance(left, Constant):
        turned = _by_constant(step, _turned(step, right), _turned(step, left), groups)
        made = _computed(_turned(step, turned))
    elif isinstance(right, Constant):
        made = _by_constant(step, left, right, groups)
    else:
        made = _of_computed(step, left, right, groups)
    return shaped(step, made, (*groups, *rows[-2:-1][: len(a) - 1], *columns[-1:][: len(b) - 1]))


def _of_computed(step: Step, left: Value, right: Value, groups: Shape) -> Data:
    tensors = []
    for each in (left, right):
        matrix = shape_of(each)[-2:]
        whole = broadcast(step, _computed(each), (*groups, *matrix))
        tensors.append(shaped(step, whole, (1, math.prod(groups), *matrix)).tensor)
    made = Data(step.emit(MatMul, tuple(tensors)))
    return shaped(step, made, (*groups, shape_of(left)[-2], shape_of(right)[-1]))


def _by_constant(step: Step, left: Value, right: Value, groups: Shape) -> Data:
    """One matrix of weights for all, or a Conv of 1x1 with a group for each."""
    data, (*_, m, k), (*batch, _, n) = _computed(left), shape_of(left), shape_of(right)
    assert isinstance(right, Constant)  # noqa: S101  the caller has turned it to the right
    if math.prod(batch) == 1:
        weights = replace(right, array=right.array.reshape(k, n))
        made = by_weights(replace(step, inputs=[data, weights]))
        return shaped(step, made, (*groups, m, n))
    count = math.prod(groups)
    step.spend(count * k * n)
    array = np.broadcast_to(right.array, (*groups, k, n)).reshape(count, k, n).swapaxes(1, 2)
    whole = shaped(step, broadcast(step, data, (*groups, m, k)), (1, count, m, k))
    image = shaped(step, _computed(_turned(step, whole)), (1, count * k, m, 1))
    kernel, bias = array.reshape(count * n, k, 1, 1), np.zeros(count * n)
    made = Data(step.emit(Conv, (image.tensor,), kernel, bias, groups=count))
    return shaped(step, _computed(_turned(step, shaped(step, made, (1, count, n, m)))), (*groups, m, n))


def shape_of(value: Value) -> Shape:
    """The ONNX tensor's, of a constant or of what has one already."""
    return value.array.shape if isinstance(value, Constant) else value.shape or ()


def _computed(value: Value) -> Data:
    assert isinstance(value, Data)  # noqa: S101  what is made of a computed tensor is one
    return value


def reshaped(step: Step, value: Value, shape: Shape) -> Value:
    """The same values under another shape."""
    if isinstance(value, Constant):
        return replace(value, array=value.array.reshape(shape))
    return shaped(step, value, shape)


def _turned(step: Step, value: Value) -> Value:
    """Rows for columns."""
    return rearranged(replace(step, inputs=[value]), lambda places: places.swapaxes(-1, -2), 0)


def _gemm(step: Step) -> Value:
    """``alpha A B + beta C``, either matrix turned."""
    by_weights_alone = not step.is_data(0) or not step.is_data(1)
    if by_weights_alone and not (step.has(2) and step.is_data(2)):
        return gemm(step)
    said, factors = step.attributes, []
    for position, turned in enumerate((said.get("transA", 0), said.get("transB", 0))):
        factor = floats(step, position)
        if len(shape_of(factor)) != 2:
            raise step.refuse("shape", f"multiplies a tensor of shape [{dims(shape_of(factor))}]; no matrix")
        factors.append(_turned(step, factor) if turned else factor)
    made = _scaled(step, _computed(product(step, *factors)), said.get("alpha", 1.0))
    if not step.has(2):
        return made
    beta, bias = said.get("beta", 1.0), floats(step, 2)
    if isinstance(bias, Constant):
        bias = replace(bias, array=step.times(bias.array, beta))
    else:
        bias = _scaled(step, bias, beta)
    return add(replace(step, inputs=[made, bias]))


def _fused(step: Step) -> Value:
    """``alpha A B``, either matrix turned."""
    said, factors = step.attributes, []
    if said.get("transBatchA", 0) or said.get("transBatchB", 0):
        raise step.refuse("unsupported_attribute", "turns a batch; export it with transBatchA=transBatchB=0")
    for position, name in enumerate(("transA", "transB")):
        factor = floats(step, position)
        turned = said.get(name, 0) and len(shape_of(factor)) > 1
        factors.append(_turned(step, factor) if turned else factor)
    made = product(step, *factors)
    return _scaled(step, made, said.get("alpha", 1.0)) if isinstance(made, Data) else made


def _scaled(step: Step, data: Data, factor: float) -> Data:
    return data if factor == 1 else affine_of(step, data, factor, 0.0)


ENTRY = Entry(
    onnx={"Gemm": Operator(_gemm, GEMM, 2, 3), "MatMul": Operator(_matmul, {}, 2, 2)},
    microsoft={
        "FusedMatMul": Operator(
            _fused,
            {"alpha": "f", **dict.fromkeys(("transA", "transB", "transBatchA", "transBatchB"), "i")},
            2,
            2,
        )
    },
    integers=(QuantMatMul,),
)
