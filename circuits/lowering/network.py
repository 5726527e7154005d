"""A typed network to constraints, node by node, at the levels of DESIGN 5.3.

Every level proves the same statement. Level 2 decomposes a value into as many digits as its type needs, and
so checks quotient and remainder of every division in one go (ZEN 5.5.2). Level 1 takes no notice of types:
signs, divisions and comparisons decompose all 254 digits of a field element. Level 0 checks, besides, the
sign of every term ``q - z`` of every product on its own (ZEN 5.5.1), which grouping by signs spares (5.5.2).
Level 5 looks values up instead of decomposing them, and checks products of private weights at a challenge.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from circuits.builder import Builder
from circuits.gadgets import at_least
from circuits.integers import IntArray, Interval
from circuits.linear import Linear, Sums, Weighted
from circuits.lowering.arithmetic import Arithmetic
from circuits.lowering.digits import Digits
from circuits.lowering.pooling import max_pool
from circuits.lowering.sliding import Kernel, PublicKernel
from circuits.lowering.tables import Tables
from circuits.quantised import (
    Accumulating,
    Add,
    Affine,
    Conv,
    Dense,
    MaxPool,
    Mover,
    Pad,
    QuantNode,
    Requantise,
    Windowed,
)
from circuits.typed import TypedGraph

Level = Literal[0, 1, 2, 5]


def arithmetic(builder: Builder, level: Level) -> Arithmetic:
    """The gadgets of a level."""
    return Tables(builder) if level == 5 else Digits(builder, full=level < 2)


class Lowering:
    """Adds the constraints of a network to ``builder``.

    ``x``: the wires of the input, int64[*input_shape], each range-checked by the caller.
    """

    def __init__(self, arithmetic: Arithmetic, typed: TypedGraph, level: Level, x: IntArray) -> None:
        self._arithmetic, self._builder = arithmetic, arithmetic.builder
        self._typed, self._level = typed, level
        # A typed tensor as its wires, sums without a type row by row.
        self._wires: dict[str, IntArray] = {typed.qgraph.input_name: x}
        self._sums: dict[str, Sums] = {}

    def output(self) -> tuple[Linear, Interval]:
        """Lower all nodes: the network's output, flattened, and a proven interval of its values."""
        graph = self._typed.qgraph
        for node in graph.nodes:
            if isinstance(node, Accumulating):
                self._accumulate(node)
            elif node.inputs[0] in self._sums:
                self._move_sums(node)
            else:
                self._move(node)
        kind = self._typed.tensors[graph.output]
        if graph.output in self._sums:
            return self._sums[graph.output].whole(), (kind.low, kind.high)
        return Linear.wires(self._wires[graph.output].ravel()), (kind.low, kind.high)

    def _accumulate(self, node: Accumulating) -> None:
        sums = self._sum(node)
        if node.rescale is None:
            self._sums[node.name] = sums
            return
        rescale, shape = node.rescale, self._typed.qgraph.shapes[node.name]
        multiplier = np.broadcast_to(rescale.multiplier, shape).ravel()
        total = sums.scale(multiplier).shift(rescale.offset)
        scaled = rescale.scaled(self._typed.bounds(node))
        out = self._arithmetic.requantise(node.name, total, scaled, rescale)
        self._wires[node.name] = out.reshape(shape)

    def _sum(self, node: Accumulating) -> Sums:
        types = self._typed.qgraph.types_of(node)
        if isinstance(node, Windowed):
            return self._slide(node, types[0])
        factors = node.factors if isinstance(node, Add) else (1,)
        assert isinstance(node, Add | Requantise)  # noqa: S101  there are no others
        first, *rest = (
            Weighted.wires(self._wires[name].ravel()).scale(factor).shift(-factor * kind.zero_point)
            for name, factor, kind in zip(node.inputs, factors, types, strict=True)
        )
        return first + rest[0] if rest else first

    def _slide(self, node: Windowed, kind: Affine) -> Sums:
        x = self._wires[node.inputs[0]]
        weight = node.kernel_weight(x.shape)
        kernel = Kernel(node.sliding(x.shape), len(weight), kind.zero_point, kind.top)
        weight = weight.reshape(len(weight), -1)
        if not isinstance(node, Conv | Dense):
            return PublicKernel(x, kernel, weight, np.zeros(len(weight), np.int64))
        public = PublicKernel(x, kernel, weight, node.bias)
        if self._level == 0:
            at_least_zero = Linear.constant(np.full(len(public.terms()), kind.zero_point))
            wires = Weighted.wires(public.terms())
            at_least(self._builder, f"{node.name}/term_sign", wires, at_least_zero, kind.bits)
        if self._typed.weights[node.name].privacy == "public":
            return public
        return self._arithmetic.private_sums(node, x, kernel)

    def _move_sums(self, node: QuantNode) -> None:
        """Sums are reshaped and transposed alone: the rows of the output in the order that the node makes."""
        assert isinstance(node, Mover)  # noqa: S101
        sums = self._sums[node.inputs[0]]
        shape = self._typed.qgraph.shapes[node.inputs[0]]
        order = node.run([np.arange(sums.rows).reshape(1, *shape)], 0).ravel()
        self._sums[node.name] = sums.whole().take(order)

    def _move(self, node: QuantNode) -> None:
        """A wire is moved as its integer would be."""
        assert isinstance(node, Mover)  # noqa: S101
        inputs = [self._wires[name] for name in node.inputs]
        kind = self._typed.tensors[node.inputs[0]].affine
        assert kind is not None  # noqa: S101
        if isinstance(node, MaxPool):
            wires = max_pool(self._arithmetic, node, inputs[0], kind.bits)
        else:
            padding = self._constant(node.name, kind.zero_point) if isinstance(node, Pad) else 0
            wires = node.run([x[np.newaxis] for x in inputs], padding)[0]
        self._wires[node.name] = wires

    def _constant(self, name: str, value: int) -> int:
        """A wire that holds ``value``. One row."""
        wire = self._builder.private(f"{name}/padding", 1)
        self._builder.zero(f"{name}/padding", Linear.wires(wire).shift(-value))

        def fill(z: IntArray) -> None:
            z[wire] = value

        self._builder.fill(fill)
        return int(wire[0])
