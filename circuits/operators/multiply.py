"""Products and quotients. With a constant they are a ``Scale``; of functions of one tensor they are part of
an ``Activation``. A quotient of others is a product, too: ``x / y = x · (1 / y)``, and ``1 / y`` a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from zenserve.circuits.graphs.graph import Graph
from zenserve.circuits.graphs.node import Node, QuantNode, dims
from zenserve.circuits.graphs.rewriting import fresh
from zenserve.circuits.graphs.site import Site
from zenserve.circuits.graphs.types import Affine, Bounds, FloatArray, Shape
from zenserve.circuits.onnx.constants import Element
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.activation import (
    Activation,
    applied,
    before_repeats,
    number,
    tabulate,
    wrapping,
)
from zenserve.circuits.operators.constants import both_constant, folded, quotient
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.moving import together
from zenserve.circuits.operators.quantise_linear import declared_at, operands, typed
from zenserve.circuits.operators.scale import affine, affine_of, scale
from zenserve.circuits.operators.sums import Accumulating
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Product, Relation, Tensor, Term
from zenserve.verifier.schemes import Privacy


@dataclass(frozen=True, eq=False)
class Mul(Node):
    """The product of two tensors of one shape."""

    arity = 2
    called = "mul"
    adds = True
    curved = True

    def shape(self, *shapes: Shape) -> Shape:
        if shapes[0] != shapes[1]:
            raise self.refuse(f"combines shapes [batch, {dims(shapes[0])}] and [batch, {dims(shapes[1])}]")
        return shapes[0]

    def run(self, *inputs: FloatArray) -> FloatArray:
        return inputs[0] * inputs[1]

    def formula(self, *inputs: str) -> str | None:
        return f"({inputs[0]}) * ({inputs[1]})"

    def quantise(self, site: Site) -> QuantNode:
        step = np.array([site.incoming(0).scale * site.incoming(1).scale])
        return QuantMul(site.name, site.inputs, rescale=None if site.unscaled else site.rescale(step))


@dataclass(frozen=True, eq=False)
class Div(Mul):
    """The quotient of two tensors of one shape. ``fuse`` leaves none: it has no integer node."""

    called = ""
    adds = False

    def run(self, *inputs: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return inputs[0] / inputs[1]

    def formula(self, *inputs: str) -> str | None:
        return f"({inputs[0]}) / ({inputs[1]})"


@dataclass(frozen=True, eq=False)
class QuantMul(Accumulating):
    """``acc = (q_1 - z_1) (q_2 - z_2)`` for two tensors of one shape."""

    arity = 2

    def shape(self, *shapes: Shape) -> Shape:
        if shapes[0] != shapes[1]:
            raise self.refuse(f"multiplies shapes {shapes}")
        return shapes[0]

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        left, right = (q - kind.zero_point for q, kind in zip(inputs, types, strict=True))
        return left * right

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        ends = [left * right for left in types[0].centred for right in types[1].centred]
        return np.array([min(ends)]), np.array([max(ends)])

    def step(self, types: Sequence[Affine]) -> float | None:
        return types[0].scale * types[1].scale

    def summed(self, sums: Tensor, terms: Sequence[Term], privacy: Privacy) -> list[Relation]:
        left, right = terms
        return [Product(self.name, sums, left, right)]


def divide_by_products(graph: Graph) -> Graph:
    """A quotient of two tensors is the product of one and a function of the other."""
    taken, nodes = set(graph.shapes), list[Node]()
    for node in graph.nodes:
        if isinstance(node, Div):
            above, below = node.inputs
            inverse = Activation(fresh(f"{node.name}.inverse", taken), (below,), "1.0 / x")
            nodes += [inverse, Mul(node.name, (above, inverse.name))]
        else:
            nodes.append(node)
    if len(nodes) == len(graph.nodes):
        return graph
    return tabulate(before_repeats(replace(graph, nodes=tuple(nodes))))


def multiply(step: Step) -> Value:
    """The product of two inputs."""
    if both_constant(step):
        return folded(step, np.multiply)
    if step.is_data(0) and step.is_data(1):
        return _combined(step, Mul)
    data = 0 if step.is_data(0) else 1
    weights = step.weights(1 - data).array
    if weights.size and not weights.any():
        return _zeros(step)
    return affine(step, data, weights, 0.0)


def _zeros(step: Step) -> Value:
    """Return zeros of the broadcast shape: the result with a zero operand, whatever the other tensor
    holds."""
    try:
        shape = np.broadcast_shapes(step.whole(0), step.whole(1))
    except ValueError:
        raise step.refuse("shape", "combines shapes that do not fit") from None
    return step.folded(np.broadcast_to(np.zeros(()), shape), step.value(0).kind or Element.FLOAT)


def divide(step: Step) -> Value:
    """Of real numbers; integers are constants."""
    if both_constant(step):
        if step.is_whole(1) and not step.plain(1).array.all():
            raise step.refuse("tensor_type", "divides integers by zero")
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
    product = multiply(replace(step, inputs=operands(step)))
    if not isinstance(product, Data):
        raise step.refuse("unsupported_operator", "multiplies by zeros: have the exporter fold that")
    return replace(typed(step, product.tensor, declared_at(step, 6)), shape=product.shape)


def _gated(step: Step) -> Value:
    """The Swish of the first input, times the second."""
    gate = applied(step, f"swish(x, {number(step, step.attributes.get('alpha', 1.0))})")
    if isinstance(gate, Data):
        gate = replace(gate, shape=step.whole())
    return multiply(replace(step, inputs=[gate, step.value(1)]))


def _neg(step: Step) -> Value:
    if step.is_data(0):
        return Data(scale(step, step.floats(), -1.0, 0.0))
    constant = step.plain(0)
    return step.folded(-constant.array, constant.kind)


ENTRY = Entry(
    onnx={
        "Mul": Operator(wrapping(multiply), {}, 2, 2),
        "Neg": Operator(wrapping(_neg), elementwise=True),
        "SwiGLU": Operator(_gated, {"alpha": "f"}, 2, 2),
    },
    microsoft={"QLinearMul": Operator(_linear_mul, {}, 7, 8)},
    integers=(QuantMul,),
    passes=(divide_by_products,),
)
