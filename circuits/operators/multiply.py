"""Products and quotients. With a constant they are a ``Scale``; of functions of one tensor they are part of
an ``Activation``; others have no circuit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from circuits.graphs.graph import Graph
from circuits.graphs.node import Node, dims
from circuits.graphs.types import FloatArray, Shape
from circuits.onnx.step import Data, Operator, Step, Value
from circuits.operators.activation import Activation
from circuits.operators.constants import both_constant, folded, quotient
from circuits.operators.entry import Entry
from circuits.operators.moving import together
from circuits.operators.quantise_linear import declared_at, integer, operands, typed
from circuits.operators.scale import affine, affine_of, scale
from zenerrors import ModelError


@dataclass(frozen=True, eq=False)
class Mul(Node):
    """The product of two tensors of one shape."""

    arity = 2
    curved = True

    def shape(self, *shapes: Shape) -> Shape:
        if shapes[0] != shapes[1]:
            raise self.refuse(f"combines shapes [batch, {dims(shapes[0])}] and [batch, {dims(shapes[1])}]")
        return shapes[0]

    def run(self, *inputs: FloatArray) -> FloatArray:
        return inputs[0] * inputs[1]

    def formula(self, *inputs: str) -> str | None:
        return f"({inputs[0]}) * ({inputs[1]})"


@dataclass(frozen=True, eq=False)
class Div(Mul):
    """The quotient of two tensors of one shape."""

    def run(self, *inputs: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return inputs[0] / inputs[1]

    def formula(self, *inputs: str) -> str | None:
        return f"({inputs[0]}) / ({inputs[1]})"


def refuse_others(graph: Graph) -> Graph:
    """``ModelError`` (``model.unsupported_operator``) for what no ``Activation`` took in."""
    for node in graph.nodes:
        if isinstance(node, Mul):
            raise ModelError(
                "model.unsupported_operator",
                f"node {node.name[:80]!r} ({node.operator()}) combines two computed tensors; only constants, "
                "or functions of the same tensor, can be factors and divisors",
            )
    return graph


def _mul(step: Step) -> Value:
    if both_constant(step):
        return folded(step, np.multiply)
    if step.is_data(0) and step.is_data(1):
        return _combined(step, Mul)
    data = 0 if step.is_data(0) else 1
    return affine(step, data, step.weights(1 - data).array, 0.0)


def _div(step: Step) -> Value:
    if both_constant(step):
        return folded(step, quotient)
    if not step.is_data(0):
        inverse = Data(step.emit(Activation, (step.floats(1),), "1.0 / x"), shape=step.whole(1))
        return affine_of(step, inverse, step.weights(0).array, 0.0)
    if step.is_data(1):
        return _combined(step, Div)
    with np.errstate(divide="ignore"):
        inverses = 1.0 / step.weights(1).array
    return affine(step, 0, inverses, 0.0)


def _combined(step: Step, kind: type[Mul]) -> Data:
    left, right, shape = together(step)
    return Data(step.emit(kind, (left, right)), shape=shape)


def _linear_mul(step: Step) -> Value:
    if step.is_data(0) and step.is_data(3):
        product = step.emit(Mul, (integer(step, 0), integer(step, 3)))
    else:
        data, constant = operands(step)
        product = scale(step, data, constant, 0.0)
    return typed(step, product, declared_at(step, 6))


def _neg(step: Step) -> Value:
    if step.is_data(0):
        return Data(scale(step, step.floats(), -1.0, 0.0))
    constant = step.plain(0)
    return step.folded(-constant.array, constant.kind)


ENTRY = Entry(
    onnx={
        "Div": Operator(_div, {}, 2, 2),
        "Mul": Operator(_mul, {}, 2, 2),
        "Neg": Operator(_neg, elementwise=True),
    },
    microsoft={"QLinearMul": Operator(_linear_mul, {}, 7, 8)},
    passes=(refuse_others,),
)
