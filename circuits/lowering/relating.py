"""A typed network as relations between tensors of integers: what must hold, whoever proves it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from circuits import quantised
from circuits.quantised import Accumulating, MaxPool, Mover, Pad, QuantNode
from circuits.quantised.typed import TypedGraph
from relations.bounds import Bound, Proof
from relations.integers import IntArray
from relations.planes import Sliding
from relations.relation import (
    Accumulation,
    Convolution,
    Linear,
    Lookup,
    MatMul,
    Maximum,
    Move,
    Parameter,
    Relation,
    Tensor,
    Term,
    Weighted,
    WindowSum,
)

_PROOFS: Final[dict[str, Proof]] = {"public": "relation", "private": "range", "committed": "registration"}


@dataclass(frozen=True, eq=False)
class Related:
    """The relations of a network, in the order of its nodes, from ``input`` [batch, *shape] to ``output``."""

    input: Tensor
    output: Tensor
    relations: tuple[Relation, ...]

    @cached_property
    def lookups(self) -> dict[Tensor, Lookup]:
        """For sums that are looked up, the lookup: nothing else reads them."""
        return {relation.value: relation for relation in self.relations if isinstance(relation, Lookup)}

    @property
    def accumulations(self) -> list[Accumulation]:
        return [relation for relation in self.relations if isinstance(relation, Accumulation)]

    @property
    def weighted(self) -> list[Weighted]:
        return [relation for relation in self.relations if isinstance(relation, Weighted)]


def relate(typed: TypedGraph) -> Related:
    """The relations of ``typed``."""
    graph = typed.qgraph
    shape, kind = (typed.batch, *graph.input_shape), graph.input_type
    first = Tensor("input", shape, Bound.of(0, kind.top, "range"), kind.bits)
    relating, tensors = Relating(typed), {graph.input_name: first}
    for node in graph.nodes:
        inputs = [tensors[name] for name in node.inputs]
        tensors[node.name] = _RELATE[type(node)](relating, node, inputs)
    return Related(first, tensors[graph.output], tuple(relating.relations))


class Relating:
    """What nodes say their relations to, one after the other."""

    def __init__(self, typed: TypedGraph) -> None:
        self._typed = typed
        self.relations: list[Relation] = []

    def terms(self, node: QuantNode, inputs: Sequence[Tensor], factors: Sequence[int] = (1,)) -> list[Term]:
        """What the node reads, less the zero points."""
        kinds = self._typed.qgraph.types_of(node)
        return [
            Term(tensor, factor, kind.zero_point)
            for tensor, factor, kind in zip(inputs, factors, kinds, strict=True)
        ]

    def parameters(self, node: quantised.Conv | quantised.Dense) -> tuple[Parameter, Parameter]:
        """The node's weights, less their zero points, and biases."""
        kind, privacy = node.weight_type, self._typed.weight_privacy
        proof = _PROOFS[privacy]
        zero = kind.zero_point.reshape(-1, *(1 for _ in node.weight.shape[1:]))
        of_weight = Bound(-zero, kind.top - zero, proof)
        of_bias = Bound.of(-(1 << node.bias_bits), (1 << node.bias_bits) - 1, proof)
        return (
            Parameter(
                f"{node.name}/weight",
                node.weight.shape,
                of_weight,
                values=node.centred_weight,
                privacy=privacy,
            ),
            Parameter(f"{node.name}/bias", node.bias.shape, of_bias, values=node.bias, privacy=privacy),
        )

    def accumulate(self, node: Accumulating, kind: Callable[..., Accumulation], *operands: Any) -> Tensor:
        """The relation ``kind`` of ``operands`` and, where the node rescales, the lookup behind it."""
        low, high = self._typed.bounds(node)
        sums = Tensor(node.name, self._shape(node), Bound(low, high))
        self.relations.append(kind(node.name, sums, *operands))
        rescale = node.rescale
        if rescale is None:
            return sums
        bound = Bound.of(rescale.low, rescale.high)
        out = Tensor(node.name, sums.shape, bound, rescale.output.bits)
        self.relations.append(Lookup(node.name, out, sums, rescale.function))
        return out

    def move(self, node: Mover, inputs: Sequence[Tensor], constant: int | None = None) -> Tensor:
        """Entries moved about, or ``constant`` where the node puts one."""
        first, indices = 0, []
        for tensor in inputs:
            shape = tensor.shape[1:]
            indices.append(first + np.arange(math.prod(shape)).reshape(1, *shape))
            first += math.prod(shape)
        places: IntArray = node.run(indices, -1)[0]
        ends = [end for tensor in inputs for end in tensor.bound.interval]
        ends += [] if constant is None else [constant]
        out = self.moved(node, inputs[0], min(ends), max(ends))
        self.relations.append(Move(node.name, out, tuple(inputs), places, constant))
        return out

    def largest(self, node: MaxPool, value: Tensor) -> Tensor:
        channels, height, width = value.shape[1:]
        sliding = Sliding((channels, height, width), node.kernel, node.stride, node.padding, channels)
        out = self.moved(node, value, *value.bound.interval)
        self.relations.append(Maximum(node.name, out, value, sliding))
        return out

    def zero_point(self, node: QuantNode) -> int:
        """Of what the node reads."""
        return self._typed.qgraph.types_of(node)[0].zero_point

    def moved(self, node: QuantNode, value: Tensor, low: int, high: int) -> Tensor:
        """A tensor of the type of ``value``, in the shape that the node makes."""
        return Tensor(node.name, self._shape(node), Bound.of(low, high), value.bits)

    def _shape(self, node: QuantNode) -> tuple[int, ...]:
        return self._typed.batch, *self._typed.qgraph.shapes[node.name]


def _dense(relating: Relating, node: quantised.Dense, inputs: Sequence[Tensor]) -> Tensor:
    (x,) = relating.terms(node, inputs)
    return relating.accumulate(node, MatMul, x, *relating.parameters(node))


def _convolution(relating: Relating, node: quantised.Conv, inputs: Sequence[Tensor]) -> Tensor:
    (x,) = relating.terms(node, inputs)
    sliding = node.sliding(x.tensor.shape[1:])
    return relating.accumulate(node, Convolution, x, *relating.parameters(node), sliding)


def _window_sum(relating: Relating, node: quantised.WindowSum, inputs: Sequence[Tensor]) -> Tensor:
    (x,) = relating.terms(node, inputs)
    return relating.accumulate(node, WindowSum, x, node.sliding(x.tensor.shape[1:]))


def _add(relating: Relating, node: quantised.Add, inputs: Sequence[Tensor]) -> Tensor:
    return relating.accumulate(node, Linear, tuple(relating.terms(node, inputs, node.factors)))


def _requantise(relating: Relating, node: quantised.Requantise, inputs: Sequence[Tensor]) -> Tensor:
    return relating.accumulate(node, Linear, tuple(relating.terms(node, inputs)))


def _max_pool(relating: Relating, node: MaxPool, inputs: Sequence[Tensor]) -> Tensor:
    return relating.largest(node, inputs[0])


def _pad(relating: Relating, node: Pad, inputs: Sequence[Tensor]) -> Tensor:
    return relating.move(node, inputs, relating.zero_point(node))


def _moved(relating: Relating, node: Mover, inputs: Sequence[Tensor]) -> Tensor:
    return relating.move(node, inputs)


_RELATE: Final[dict[type[QuantNode], Callable[..., Tensor]]] = {
    quantised.Dense: _dense,
    quantised.Conv: _convolution,
    quantised.WindowSum: _window_sum,
    quantised.Add: _add,
    quantised.Requantise: _requantise,
    quantised.MaxPool: _max_pool,
    quantised.Pad: _pad,
    quantised.Reshape: _moved,
    quantised.Transpose: _moved,
    quantised.Concat: _moved,
}
