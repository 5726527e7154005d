"""Sums and differences of two tensors; with a constant they are a ``Scale``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from circuits.graphs import rescaling
from circuits.graphs.node import Node, dims
from circuits.graphs.site import Site
from circuits.graphs.types import Affine, Bounds, FloatArray, Rescale, Shape, require_narrow
from circuits.onnx.step import Data, Operator, Step, Value
from circuits.operators.constants import both_constant, folded
from circuits.operators.entry import Entry
from circuits.operators.masks import finite, of_sum
from circuits.operators.moving import together
from circuits.operators.quantise_linear import declared_at, integer, operands, typed
from circuits.operators.scale import affine, scale
from circuits.operators.sums import Accumulating
from relations.integers import IntArray
from relations.planes import Pair
from relations.relation import Linear, Relation, Tensor, Term
from verifier.schemes import Privacy


@dataclass(frozen=True, eq=False)
class Add(Node):
    """The sum of two tensors of one shape."""

    arity = 2
    called = "add"
    adds = True

    def shape(self, *shapes: Shape) -> Shape:
        if shapes[0] != shapes[1]:
            raise self.refuse(f"adds shapes [batch, {dims(shapes[0])}] and [batch, {dims(shapes[1])}]")
        return shapes[0]

    def run(self, *inputs: FloatArray) -> FloatArray:
        return inputs[0] + inputs[1]

    def formula(self, *inputs: str) -> str | None:
        return f"({inputs[0]}) + ({inputs[1]})"

    @property
    def sign(self) -> int:
        """Of the second term."""
        return 1

    def quantise(self, site: Site) -> QuantAdd:
        """Both terms at the output's scale: ``s_i / s_y = m_i / 2^k``, each to a quarter of a step as far as
        it and the output reach: terms that cancel may be wider than their sum."""
        types = [site.incoming(index) for index in (0, 1)]
        scales, rescale = np.array([kind.scale for kind in types]), None
        if site.unscaled:
            factors, _ = rescaling.approximate(scales / scales.max(), 2.0**-16)
        else:
            output = site.output()
            ratios = scales / output.scale
            reach = ratios * [max(map(abs, kind.centred)) for kind in types]
            factors, shift = rescaling.approximate(ratios, 1 / (4 * np.maximum(reach, output.top)))
            rescale = Rescale(np.array([1]), shift, output, *site.limits(output))
        terms = int(factors[0]), self.sign * int(factors[1])
        return QuantAdd(site.name, site.inputs, terms, rescale=rescale)


@dataclass(frozen=True, eq=False)
class Sub(Add):
    """The difference of two tensors of one shape."""

    def run(self, *inputs: FloatArray) -> FloatArray:
        return inputs[0] - inputs[1]

    def formula(self, *inputs: str) -> str | None:
        return f"({inputs[0]}) - ({inputs[1]})"

    @property
    def sign(self) -> int:
        return -1


@dataclass(frozen=True, eq=False)
class QuantAdd(Accumulating):
    """``acc = m_1 (q_1 - z_1) + m_2 (q_2 - z_2)`` for two tensors of one shape and ``factors`` (m_1, m_2)."""

    factors: Pair
    arity = 2

    def __post_init__(self) -> None:
        self._require(0 not in self.factors, "needs factors that are not zero")

    def shape(self, *shapes: Shape) -> Shape:
        if shapes[0] != shapes[1]:
            raise self.refuse(f"adds shapes {shapes}")
        return shapes[0]

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        first, second = (
            factor * (q - kind.zero_point)
            for factor, q, kind in zip(self.factors, inputs, types, strict=True)
        )
        return first + second

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        ends = [
            sorted(factor * end for end in kind.centred)
            for factor, kind in zip(self.factors, types, strict=True)
        ]
        low, high = (sum(end) for end in zip(*ends, strict=True))
        require_narrow(self.name, max(-low, high))
        return np.array([low]), np.array([high])

    def step(self, types: Sequence[Affine]) -> float | None:
        """Of both to 2^-16: the factors' ratio is that of the scales."""
        return types[0].scale / abs(self.factors[0])

    def summed(self, sums: Tensor, terms: Sequence[Term], privacy: Privacy) -> list[Relation]:
        scaled = zip(terms, self.factors, strict=True)
        return [Linear(self.name, sums, tuple(term._replace(factor=factor) for term, factor in scaled))]


def add(step: Step) -> Value:
    """The sum of two inputs."""
    if both_constant(step):
        return folded(step, np.add)
    step = replace(step, inputs=[finite(step.value(at)) for at in (0, 1)])
    if step.is_data(0) and step.is_data(1):
        return of_sum(step, _combined(step, Add), add)
    data = 0 if step.is_data(0) else 1
    return of_sum(step, affine(step, data, 1.0, step.weights(1 - data).array), add)


def subtract(step: Step) -> Value:
    """The difference of two inputs."""
    if both_constant(step):
        return folded(step, np.subtract)
    if not step.is_data(1):
        return affine(step, 0, 1.0, -step.weights(1).array)
    if not step.is_data(0):
        return affine(step, 1, -1.0, step.weights(0).array)
    return _combined(step, Sub)


def _combined(step: Step, kind: type[Add]) -> Data:
    left, right, shape = together(step)
    return Data(step.emit(kind, (left, right)), shape=shape)


def _linear_add(step: Step) -> Value:
    if step.is_data(0) and step.is_data(3):
        total = step.emit(Add, (integer(step, 0), integer(step, 3)))
    else:
        data, constant = operands(step)
        total = scale(step, data, 1.0, constant)
    return typed(step, total, declared_at(step, 6))


ENTRY = Entry(
    onnx={"Add": Operator(add, {}, 2, 2), "Sub": Operator(subtract, {}, 2, 2)},
    microsoft={"QLinearAdd": Operator(_linear_add, {}, 7, 8)},
    integers=(QuantAdd,),
)
