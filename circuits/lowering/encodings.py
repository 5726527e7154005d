"""Encodings of products of private weights and inputs: one by one, several in one, or at a challenge.

Each row of a node equates ``T = M (sum_k w_k (x_k - z) + b) + offset`` with another value that is known to be
small. ``Plain`` has a wire for each product. The other encodings never have T itself on a wire, but slots of
width w in one field element (``zenserve.circuits.r1cs.sources`` explains why that is enough), for T or, with
M = 1 and no offset, for the sums.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from zenserve.circuits.lowering.arithmetic import Arithmetic
from zenserve.circuits.lowering.cost import Cost
from zenserve.circuits.lowering.sliding import KernelSums, Paired, PairSums, Slid, Strands, Tapped, kernel_of
from zenserve.circuits.r1cs import products
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.convolved import Kernel
from zenserve.circuits.r1cs.linear import Linear, LinearCombinations, Weighted
from zenserve.circuits.r1cs.lookups import POINT
from zenserve.circuits.r1cs.products import Products
from zenserve.circuits.r1cs.sources import Source
from zenserve.circuits.r1cs.steps import CrossProducts, Product
from zenserve.relations.bounds import Capacity, slot_width
from zenserve.relations.integers import INTEGER_LIMIT, IntArray, Interval
from zenserve.relations.relation import Convolution, Lookup, MatMul


@dataclass(frozen=True, eq=False)
class Layer:
    """A relation with private weights. ``factor``: M of each output channel; ``interval``: of T;
    ``capacity``: of a field element, whose slots they share. ``alike``: how many relations with the same
    weights there are that are proven in the same way."""

    relation: MatMul | Convolution
    kernel: Kernel
    factor: IntArray
    offset: int
    interval: Interval
    capacity: Capacity
    alike: int = 1

    @property
    def taps(self) -> int:
        return math.prod(self.relation.weight.shape[1:])

    @property
    def positions(self) -> int:
        return self.kernel.positions

    @property
    def rows(self) -> int:
        return self.kernel.outputs * self.positions

    @property
    def reach(self) -> int:
        """The largest |M w (x - z)|."""
        kernel = self.kernel
        most = max(kernel.zero_point, kernel.top - kernel.zero_point)
        return int((self.factor * self.relation.weight.bound.reach.ravel()).max()) * most


def layer_of(
    relation: MatMul | Convolution, lookup: Lookup | None, capacity: Capacity, alike: int = 1
) -> Layer | None:
    """The layer whose T are the relation's sums, or those that ``lookup`` rescales; None where multipliers
    differ within a channel."""
    kernel, out = kernel_of(relation), relation.out
    if lookup is None:
        ones = np.ones(kernel.outputs, np.int64)
        return Layer(relation, kernel, ones, 0, out.bound.interval, capacity, alike)
    function = lookup.function
    multiplier = np.broadcast_to(function.multiplier, out.shape[1:]).reshape(kernel.outputs, -1)
    if (multiplier != multiplier[:, :1]).any():
        return None
    scaled = function.scaled(out.bound)
    return Layer(relation, kernel, multiplier[:, 0].copy(), function.offset, scaled, capacity, alike)


class Wires(NamedTuple):
    """``x``: of all inputs, flattened; ``weight``: int64[outputs, taps]; ``bias``: int64[outputs]."""

    x: IntArray
    weight: IntArray
    bias: IntArray


class Plain:
    """No slots: a wire and a row for each product."""

    def __str__(self) -> str:
        return "a row for each product"


class Challenged:
    """No slots: wires for the sums, which are checked at a challenge."""

    def __str__(self) -> str:
        return "checked at a challenge"


class Encoding(ABC):
    """Products that share slots."""

    def fits(self, layer: Layer, other: Interval) -> bool:
        """Return whether the slots fit into a field element."""
        return True

    def cost(self, layer: Layer, other: Interval) -> Cost:
        """Of equating the T of the layer, and of all that are alike, with values in ``other``."""
        return self.cost_of_one(layer, other).times(layer.alike)

    @abstractmethod
    def cost_of_one(self, layer: Layer, other: Interval) -> Cost:
        """Of a layer alone."""

    @abstractmethod
    def equate(self, source: Hidden, name: str, other: LinearCombinations, interval: Interval) -> None:
        """Adds the rows that say that of the T of ``source``."""


Factors = list[tuple[Linear, Linear]]
"""Of products by the same weights the vectors on the right, [batch, taps], and what is claimed of them,
[groups, batch]."""


class Hidden(Source):
    """The T of a layer, which no row reads as such. ``known``: of layers that are alike, those so far."""

    def __init__(
        self, tools: Arithmetic, encoding: Encoding, layer: Layer, wires: Wires, known: Factors
    ) -> None:
        self.tools, self.encoding, self.layer, self.wires, self.known = tools, encoding, layer, wires, known
        self.rows, self.interval, self.sums, self.short = layer.rows, layer.interval, None, False

    @cached_property
    def values(self) -> LinearCombinations:
        layer = self.layer
        sums = KernelSums(layer.kernel, *self.wires)
        return sums.scale(np.repeat(layer.factor, layer.positions)).shift(layer.offset)

    def equate(self, name: str, other: LinearCombinations, interval: Interval) -> None:
        self.encoding.equate(self, name, other, interval)


@dataclass(frozen=True)
class _Packing(Encoding):
    """``sum_i 2^(w i) w_i``, over the weights of several output channels, times the input that they share:
    one product yields a term of as many sums as there are slots (level 4)."""

    def slots(self, layer: Layer, other: Interval) -> tuple[int, int, int]:
        """The width of a slot, how many a product has, and how many groups of channels that makes."""
        width = slot_width(layer.interval, other)
        size = min(layer.capacity.slots(width), layer.kernel.outputs)
        return width, size, -(-layer.kernel.outputs // size)

    def _packed(
        self, layer: Layer, wires: Wires, other: LinearCombinations, interval: Interval
    ) -> tuple[Linear, Linear, int]:
        """Weights, a row for each group and tap; claimed sums, for each group and position; the groups."""
        width, size, groups = self.slots(layer, interval)
        group, slot = np.divmod(np.arange(layer.kernel.outputs), size)

        def knit(rows: Linear, inner: int) -> Linear:
            row = np.add.outer(group * inner, np.arange(inner)).ravel()
            return rows.knit(row, np.repeat(slot * width, inner), groups * inner)

        weights = _scaled_weights(layer, wires)
        return knit(weights, layer.taps), knit(_claimed(layer, wires, other), layer.positions), groups


class Packed(_Packing):
    """Rows: one for each input and group of channels that meet, and one for each group and position."""

    def __str__(self) -> str:
        return "outer-product packing"

    def cost_of_one(self, layer: Layer, other: Interval) -> Cost:
        _, _, groups = self.slots(layer, other)
        return Cost(rows=groups * (layer.kernel.pairs + layer.positions))

    def equate(self, source: Hidden, name: str, other: LinearCombinations, interval: Interval) -> None:
        tools, layer, wires = source.tools, source.layer, source.wires
        weights, claimed, groups = self._packed(layer, wires, other, interval)
        slid = Slid(wires.x, layer.kernel._replace(outputs=groups))
        product = tools.builder.private(f"{layer.relation.name}/product", groups * slid.pairs)
        left = Paired(slid, weights, by_input=False)
        right = Paired(slid, _centred(layer, wires), by_input=True)
        _multiply(tools.builder, f"{layer.relation.name}/product", left, right, product)
        tools.builder.zero(name, PairSums(slid, product) - claimed)


class Checked(_Packing):
    """The packed products at a random challenge (``r1cs.products``). Rows: one for each group of channels
    and tap, for each group and position, and for each input. Vectors that meet the same matrix are one
    matrix: its own rows are there once."""

    def __str__(self) -> str:
        return "packed, checked at a challenge"

    def cost(self, layer: Layer, other: Interval) -> Cost:
        if not isinstance(layer.relation, MatMul):
            return super().cost(layer, other)
        return self._cost_of_matrix(layer, other, layer.alike)

    def cost_of_one(self, layer: Layer, other: Interval) -> Cost:
        if isinstance(layer.relation, MatMul):
            return self._cost_of_matrix(layer, other, 1)
        convolution = _convolution(layer.kernel, self.slots(layer, other)[2])
        return _at_challenge(Products.convolve_rows(convolution), Products.convolve_powers(convolution))

    def _cost_of_matrix(self, layer: Layer, other: Interval, alike: int) -> Cost:
        shape = self.slots(layer, other)[2], layer.taps, alike * layer.kernel.batch
        return _at_challenge(Products.matmul_rows(shape), Products.matmul_powers(shape))

    def equate(self, source: Hidden, name: str, other: LinearCombinations, interval: Interval) -> None:
        tools, layer, wires = source.tools, source.layer, source.wires
        weights, claimed, groups = self._packed(layer, wires, other, interval)
        products, x, product = tools.products, _centred(layer, wires), f"{layer.relation.name}/product"
        batch, alike = layer.kernel.batch, layer.alike
        if isinstance(layer.relation, MatMul):
            source.known.append((x, claimed))
            if len(source.known) == alike:
                vectors, sums = map(list, zip(*source.known, strict=True))
                x = Linear.stacked(vectors).take(_transposed(alike * batch, layer.taps, 1))
                claimed = Linear.stacked(sums).take(_transposed(alike, groups, batch))
                products.matmul(product, weights, x, claimed, (groups, layer.taps, alike * batch))
        else:
            claimed = claimed.take(_transposed(groups, batch, layer.positions // batch))
            shape = _convolution(layer.kernel, groups)
            products.convolve(product, x, weights, claimed, shape)


@dataclass(frozen=True)
class Stranded(Encoding):
    """``count`` dot products in one (ZEN, section 5.6): with exponents φ and ψ,

        sum_k (sum_i 2^(w φ_i) w_ik) (sum_j 2^(w ψ_j) x_jk)

    has the i-th dot product in slot φ_i + ψ_i, which no other pair (i, j) meets. What falls between goes to
    wires of its own, range-checked like all that shares a field element.
    Rows: one for each tap and group of ``count`` rows, one for each group, and the range checks.
    """

    count: int

    def __str__(self) -> str:
        return f"stranded, {self.count} at a time"

    def fits(self, layer: Layer, other: Interval) -> bool:
        if self._reach(layer) + (1 << self._bits(layer)) >= INTEGER_LIMIT:
            return False
        return self._width(layer, other) * exponents(self.count).slots <= layer.capacity.bits

    def cost_of_one(self, layer: Layer, other: Interval) -> Cost:
        groups = -(-layer.rows // self.count)
        checks = Counter({self._bits(layer): groups * len(exponents(self.count).between)})
        return Cost(rows=groups * (layer.taps + 1), ranges=checks)

    def _reach(self, layer: Layer) -> int:
        """Of what a slot between holds."""
        return exponents(self.count).most * layer.taps * layer.reach

    def _bits(self, layer: Layer) -> int:
        return (2 * self._reach(layer)).bit_length()

    def _width(self, layer: Layer, other: Interval) -> int:
        reach = self._reach(layer)
        between = -reach, -reach + (1 << self._bits(layer)) - 1
        return max(slot_width(layer.interval, other), slot_width((-reach, reach), between))

    def equate(self, source: Hidden, name: str, other: LinearCombinations, interval: Interval) -> None:
        tools, layer, wires = source.tools, source.layer, source.wires
        found, width = exponents(self.count), self._width(layer, interval)
        groups, taps, slid = -(-layer.rows // self.count), layer.taps, Slid(wires.x, layer.kernel)
        left = Strands(slid, _scaled_weights(layer, wires), np.array(found.left) * width, by_input=False)
        right = Strands(slid, _centred(layer, wires), np.array(found.right) * width, by_input=True)
        product = tools.builder.private(f"{layer.relation.name}/product", groups * taps)
        _multiply(tools.builder, f"{layer.relation.name}/product", left, right, product)

        between = self._between(tools, layer, wires, slid, found)
        group, strand = np.divmod(np.arange(layer.rows), self.count)
        places = np.add(found.left, found.right)[strand] * width
        claimed = _claimed(layer, wires, other).knit(group, places, groups)
        group = np.repeat(np.arange(groups), len(found.between))
        places = np.tile(np.array(found.between) * width, groups)
        claimed += Linear.wires(between.ravel()).knit(group, places, groups)
        tools.builder.zero(name, Weighted.ones(product.reshape(groups, taps)) - claimed)

    def _between(
        self, tools: Arithmetic, layer: Layer, wires: Wires, slid: Slid, found: Exponents
    ) -> IntArray:
        """Wires for what falls between the sums, int64[groups, slots], range-checked."""
        groups = -(-layer.rows // self.count)
        between = tools.chosen(f"{layer.relation.name}/between", groups, len(found.between))
        lowest = -self._reach(layer)
        left = Tapped(slid, _scaled_weights(layer, wires), self.count, by_input=False)
        right = Tapped(slid, _centred(layer, wires), self.count, by_input=True)
        name = f"{layer.relation.name}/between"
        tools.builder.fill(CrossProducts(name, between, left, right, layer.taps, found.slots_between))
        tools.ranged(name, Weighted.wires(between.ravel()), self._bits(layer), lowest)
        return between


class Exponents(NamedTuple):
    """φ, ψ, and the slots where other pairs meet, ascending; ``most`` pairs meet in one of them."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    between: tuple[int, ...]
    most: int

    @property
    def slots(self) -> int:
        """The number of slots, empty ones included."""
        return max(self.left) + max(self.right) + 1

    @property
    def slots_between(self) -> IntArray:
        """The index in ``between`` of the slot where the i-th left and the j-th right exponent meet,
        int64[count, count]; -1 for i = j."""
        slots = np.searchsorted(self.between, np.add.outer(self.left, self.right))
        np.fill_diagonal(slots, -1)
        return slots


@cache
def exponents(count: int) -> Exponents:
    """Return the exponents with the fewest slots, and of these the ones with the fewest slots between."""
    found = (_exponents_within(count, slots) for slots in itertools.count(2 * count - 1))
    return next(best for best in found if best is not None)


def _exponents_within(count: int, slots: int) -> Exponents | None:
    """An exhaustive search: a pair of exponents after the other, the left ones ascending."""
    best: Exponents | None = None

    def extend(left: tuple[int, ...], right: tuple[int, ...]) -> None:
        nonlocal best
        useful = {a + b for a, b in zip(left, right, strict=True)}
        pairs = itertools.product(enumerate(left), enumerate(right))
        between = Counter(a + b for (i, a), (j, b) in pairs if i != j)
        if len(useful) < len(left) or useful & between.keys() or max([*useful, *between], default=0) >= slots:
            return
        if best is not None and len(between) >= len(best.between):
            return  # of more there are never fewer between
        if len(left) == count:
            best = Exponents(left, right, tuple(sorted(between)), max(between.values()))
            return
        for a in range(left[-1], slots) if left else (0,):
            for b in range(slots - a):
                extend((*left, a), (*right, b))

    extend((), ())
    return best


def _at_challenge(rows: int, powers: list[tuple[int, int]]) -> Cost:
    return Cost(rows=rows, powers=tuple((POINT, *each) for each in powers))


def _scaled_weights(layer: Layer, wires: Wires) -> Linear:
    """``M w``, a row for each output channel and tap."""
    return Linear.wires(wires.weight.ravel()).scale(np.repeat(layer.factor, layer.taps))


def _centred(layer: Layer, wires: Wires) -> Linear:
    """``x - z``, a row for each entry of the inputs."""
    x = Linear.wires(wires.x)
    return x.shift(-layer.kernel.zero_point) if layer.kernel.zero_point else x


def _claimed(layer: Layer, wires: Wires, other: LinearCombinations) -> Linear:
    """Return the value that ``M sum_k w_k (x_k - z)`` must have, a row for each output channel and
    position."""
    bias = Weighted.wires(np.repeat(wires.bias, layer.positions))
    constant = bias.scale(np.repeat(layer.factor, layer.positions)).shift(layer.offset)
    return (other - constant).whole()


def _transposed(rows: int, columns: int, size: int) -> IntArray:
    """The order of [columns, rows, size] in terms of [rows, columns, size]."""
    order: IntArray = np.arange(rows * columns * size).reshape(rows, columns, size).swapaxes(0, 1).ravel()
    return order


def _convolution(kernel: Kernel, outputs: int) -> products.Convolution:
    sliding = kernel.sliding
    channels, *plane = sliding.image
    padding = tuple(zip(sliding.padding[: len(plane)], sliding.padding[len(plane) :], strict=True))
    return products.Convolution(
        kernel.batch,
        channels,
        outputs,
        tuple(plane),
        sliding.kernel,
        sliding.stride,
        padding,
        sliding.dilation,
    )


def _multiply(
    builder: Builder, name: str, left: LinearCombinations, right: LinearCombinations, product: IntArray
) -> None:
    """``left · right = product``, a row each, for products that do not fit into 64 bits."""
    builder.multiply(name, left, right, Weighted.wires(product))
    builder.derive(Product(name, product, left, right))
