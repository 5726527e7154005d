"""A typed network to constraints, node by node, at the levels of DESIGN 5.3. Every level proves the same.

Level 2 decomposes a value into as many digits as its type needs, and so checks quotient and remainder of
every division in one go (ZEN 5.5.2). Level 1 takes no notice of types: signs, divisions and comparisons
decompose all 254 digits of a field element. Level 0 checks, besides, the sign of every term ``q - z`` of
every product on its own (ZEN 5.5.1), which grouping by signs spares (5.5.2).
Levels 3 to 5 choose for every node the way that makes the circuit smallest (``optimiser``): level 3 has
stranded products and knits equations of bounded sums together, level 4 packs products over output channels,
and level 5 looks values up instead of decomposing them and checks products at a challenge.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from circuits.lowering.arithmetic import Arithmetic
from circuits.lowering.cost import Cost
from circuits.lowering.digits import Digits
from circuits.lowering.encodings import Encoding, Hidden, Layer, Wires, layer_of
from circuits.lowering.optimiser import Optimiser, Plan, is_short, sum_bits
from circuits.lowering.parameters import chosen_parameters, committed_parameters
from circuits.lowering.pooling import max_pool
from circuits.lowering.sliding import Kernel, PrivateKernel, PublicKernel, Slid
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
from circuits.quantised.typed import TypedGraph
from circuits.r1cs.builder import Builder
from circuits.r1cs.gadgets import at_least
from circuits.r1cs.linear import Linear, LinearCombinations, Weighted
from circuits.r1cs.sources import Known, Source
from circuits.r1cs.steps import Constant, Product, Sum
from relations.integers import IntArray, Interval

Level = Literal[0, 1, 2, 3, 4, 5]


def arithmetic(builder: Builder, level: Level) -> Arithmetic:
    """The gadgets of a level."""
    return Tables(builder) if level == 5 else Digits(builder, full=level < 2)


def best_plan(tools: Arithmetic, typed: TypedGraph, level: Level, others: Cost) -> Plan:
    """How to prove each node. ``others``: the cost of what is no node: input, argmax and the like."""
    return Optimiser(tools, typed, level, others).plan()


class Lowering:
    """Adds the constraints of a network to ``builder``.

    ``x``: the wires of the inputs, int64[batch, *input_shape], each range-checked by the caller. So are all
    tensors; sums are rows of a batch in that order.
    """

    def __init__(self, tools: Arithmetic, typed: TypedGraph, level: Level, plan: Plan, x: IntArray) -> None:
        self._tools, self._builder = tools, tools.builder
        self._typed, self._level, self._plan = typed, level, plan
        # A typed tensor as its wires, sums without a type as rows.
        self._wires: dict[str, IntArray] = {typed.qgraph.input_name: x}
        self._sums: dict[str, LinearCombinations] = {}

    def output(self) -> tuple[Linear, Interval]:
        """Lower all nodes: the network's outputs, flattened, and a proven interval of their values."""
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
        if isinstance(node, Conv | Dense) and self._typed.weight_privacy != "public":
            self._multiply(node)
        else:
            self._finish(node, self._sum(node), short=is_short(node))

    def _finish(self, node: Accumulating, sums: LinearCombinations, *, short: bool) -> None:
        """Rescale sums of wires, or leave them as they are."""
        order = self._order(node)
        if node.rescale is None:
            self._sums[node.name] = sums if self._typed.batch == 1 else sums.whole().take(order.ravel())
            return
        multiplier = np.empty(order.size, np.int64)
        multiplier[order] = np.broadcast_to(node.rescale.multiplier, order.shape)
        total = sums.scale(multiplier).shift(node.rescale.offset)
        scaled = node.rescale.scaled(self._typed.bounds(node))
        self._rescale(node, Known(self._builder, total, scaled, knit=self._level >= 3, short=short))

    def _rescale(self, node: Accumulating, source: Source) -> None:
        assert node.rescale is not None  # noqa: S101  the callers ask
        out = self._tools.requantise(node.name, source, node.rescale, self._plan.ways[node.name].clamp)
        self._wires[node.name] = out[self._order(node)]

    def _order(self, node: Accumulating) -> IntArray:
        """Which row has each entry of the tensor, int64[batch, *shape]: rows of windows are output channels
        first (``circuits.lowering.sliding``)."""
        batch, shape = self._typed.batch, self._typed.qgraph.shapes[node.name]
        index: IntArray = np.arange(batch * math.prod(shape))
        if isinstance(node, Windowed):
            index = index.reshape(shape[0], batch, -1).swapaxes(0, 1)
        return index.reshape(batch, *shape)

    def _sum(self, node: Accumulating) -> LinearCombinations:
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

    def _slide(self, node: Windowed, kind: Affine) -> LinearCombinations:
        """Sums over windows with public weights."""
        x = self._wires[node.inputs[0]]
        weight = node.kernel_weight(x.shape[1:])
        kernel = Kernel(node.sliding(x.shape[1:]), len(weight), kind.zero_point, kind.top, len(x))
        bias = node.bias if isinstance(node, Conv | Dense) else np.zeros(len(weight), np.int64)
        if isinstance(node, Conv | Dense):
            self._check_term_signs(node, x, kernel, kind)
        return PublicKernel(x, kernel, weight.reshape(len(weight), -1), bias)

    def _check_term_signs(self, node: Conv | Dense, x: IntArray, kernel: Kernel, kind: Affine) -> None:
        """What level 0 alone does."""
        if self._level == 0:
            terms = Slid(x, kernel).terms()
            at_least_zero = Linear.constant(np.full(len(terms), kind.zero_point))
            at_least(self._builder, f"{node.name}/term_sign", Weighted.wires(terms), at_least_zero, kind.bits)

    def _multiply(self, node: Conv | Dense) -> None:
        """Sums of products of private weights, rescaled where they are to be."""
        x, way = self._wires[node.inputs[0]].ravel(), self._plan.ways[node.name]
        layer = layer_of(node, self._typed, node.rescale if way.scaled else None)
        assert layer is not None  # noqa: S101  the plan says that there is one
        (kind,) = self._typed.qgraph.types_of(node)
        self._check_term_signs(node, x, layer.kernel, kind)
        if self._typed.weight_privacy == "committed":
            wires = Wires(x, *committed_parameters(self._builder, node))
        else:
            wires = Wires(x, *chosen_parameters(self._tools, node))
        if not isinstance(way.encoding, Encoding):
            self._finish(node, self._products(node, layer.kernel, wires), short=is_short(node))
        elif way.scaled:
            self._rescale(node, Hidden(self._tools, way.encoding, layer, wires))
        else:
            sums = self._held_sums(node, way.encoding, layer, wires)
            self._finish(node, Weighted.wires(sums), short=True)

    def _held_sums(self, node: Conv | Dense, encoding: Encoding, layer: Layer, wires: Wires) -> IntArray:
        """Wires for the sums, range-checked to what they can reach."""
        hidden = Hidden(self._tools, encoding, layer, wires)
        sums = self._tools.chosen(f"{node.name}/sums", layer.rows)
        self._builder.fill(Sum(f"{node.name}/sums", sums, hidden.values))
        low, bits = layer.interval[0], sum_bits(layer.interval)
        self._tools.ranged(f"{node.name}/sums", Weighted.wires(sums), bits, low)
        hidden.equate(f"{node.name}/sum", Weighted.wires(sums), (low, low + (1 << bits) - 1))
        return sums

    def _products(self, node: Conv | Dense, kernel: Kernel, wires: Wires) -> LinearCombinations:
        """One row for each product of a weight and an input."""
        slid = Slid(wires.x, kernel)
        name = f"{node.name}/product"
        product = self._builder.private(name, kernel.outputs * slid.pairs)
        sums = PrivateKernel(slid, wires.weight, wires.bias, product)
        self._builder.fill(Product(name, product, *sums.factors))
        self._builder.products(name, len(product), sums.products)
        return sums

    def _move_sums(self, node: QuantNode) -> None:
        """Sums are reshaped and transposed alone: the rows of the output in the order that the node makes."""
        assert isinstance(node, Mover)  # noqa: S101
        sums = self._sums[node.inputs[0]]
        shape = self._typed.qgraph.shapes[node.inputs[0]]
        order = node.run([np.arange(sums.rows).reshape(-1, *shape)], 0).ravel()
        self._sums[node.name] = sums.whole().take(order)

    def _move(self, node: QuantNode) -> None:
        """A wire is moved as its integer would be."""
        assert isinstance(node, Mover)  # noqa: S101
        inputs = [self._wires[name] for name in node.inputs]
        kind = self._typed.tensors[node.inputs[0]].affine
        assert kind is not None  # noqa: S101
        if isinstance(node, MaxPool):

            def largest(name: str, candidates: IntArray) -> IntArray:
                return self._tools.largest(name, candidates, kind.bits)

            (x,) = inputs
            # To a pool an input more is so many channels more.
            wires = max_pool(largest, node, x.reshape(-1, *x.shape[2:]))
            wires = wires.reshape(len(x), -1, *wires.shape[1:])
        else:
            padding = self._constant(node.name, kind.zero_point) if isinstance(node, Pad) else 0
            wires = node.run(inputs, padding)
        self._wires[node.name] = wires

    def _constant(self, name: str, value: int) -> int:
        """A wire that holds ``value``. One row."""
        wire = self._builder.private(f"{name}/padding", 1)
        self._builder.zero(f"{name}/padding", Linear.wires(wire).shift(-value))
        self._builder.fill(Constant(f"{name}/padding", wire, np.array([value])))
        return int(wire[0])
