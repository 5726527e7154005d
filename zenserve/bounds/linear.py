"""Sums of linear maps: layers, convolutions, average pools, residual sums, and values that move."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, Final, Self

import numpy as np

from zenserve.bounds.arrays import (
    EXACT,
    Array,
    Interval,
    Namespace,
    Sums,
    down,
    fused,
    gamma,
    namespace,
    together,
    up,
)
from zenserve.bounds.chains import SOURCES, Chain, Product
from zenserve.bounds.elementwise import rescaled
from zenserve.bounds.given import Given, Rules
from zenserve.bounds.maps import Kernel, Map, Matrix, Moved, Scaled
from zenserve.bounds.network import Forms, Operation, Relaxed
from zenserve.circuits.graphs.node import Mover
from zenserve.circuits.graphs.types import Shape
from zenserve.circuits.operators.add import Add, QuantAdd, Sub, Sum
from zenserve.circuits.operators.average_pool import AveragePool, WindowSum
from zenserve.circuits.operators.concat import Concat
from zenserve.circuits.operators.convolution import Conv, QuantConv
from zenserve.circuits.operators.dense import Dense, QuantDense
from zenserve.circuits.operators.gather import Gather
from zenserve.circuits.operators.pad import Pad
from zenserve.circuits.operators.reduce import SumPool
from zenserve.circuits.operators.reshape import Reshape
from zenserve.circuits.operators.scale import Scale
from zenserve.circuits.operators.transpose import Transpose
from zenserve.circuits.operators.windows import Pool
from zenserve.relations.planes import Sliding

# Entries of a matrix that is made of others.
_LARGEST: Final = 1 << 24


@dataclass(frozen=True, eq=False)
class Linear(Operation):
    """``sum_i maps[i] x_i + bias``, a bias that broadcasts to the shape, and so does ``bias_size``: what the
    absolute values of its terms come to, where it is made of others (``merged``). ``chain``: back to what the
    sums that it reads, or is made of, consist of, where there are any (``chained``)."""

    linear = True

    maps: tuple[Map, ...]
    bias: Array = field(repr=False)
    bias_size: Array | None = field(default=None, repr=False)
    chain: Chain | None = None

    def value(self, *read: Array) -> Array:
        return self.once(self.applied, list(read)) + self.bias

    def image(self, *read: Interval) -> Interval:
        """Centre and radius go through the maps, the radius through absolute values. Integers and halves
        below 2^52 are exact."""
        if self.moves:
            return Interval(*(self.once(self.applied, list(each)) for each in zip(*read, strict=True)))
        centres, radii, magnitudes = zip(*(each.parts for each in read), strict=True)
        middle, size = self.once(self.applied, centres), self.once(self.sized, magnitudes)
        if self.whole and self._exact and float((size + abs(self.bias)).max()) < EXACT:
            radius = self.once(self.absolute, [each.high / 2 - each.low / 2 for each in read])
            return Interval(middle + self.bias - radius, middle + self.bias + radius)
        radius = self.once(self.absolute, radii)
        ends = middle, radius, size, self.bias, self._bias_sized
        return Interval(*fused(_outward, *ends, of=(gamma(self.terms + 4),)))

    def relaxed(self, *read: Interval) -> Relaxed:
        return self.through([each.magnitude for each in read])

    def through(self, sizes: Sequence[Array]) -> Through:
        """Of what is read, absolute values are no more than ``sizes`` [n, *input shape]."""
        return Through(self, sizes)

    @property
    def rests_on(self) -> Sequence[str]:
        return self.chain.sources if self.chain else self.inputs

    @property
    def rounds(self) -> int:
        """The number of terms whose rounding is to be counted since the tensors by whose rests its own is
        known."""
        return self.chain.terms if self.chain else _rounds(self)

    def keeps(self) -> bool:
        return self.moves and all(isinstance(each, Moved) and each.permutes for each in self.maps)

    def on(self, xp: Namespace) -> Self:
        maps, chain = tuple(each.on(xp) for each in self.maps), self.chain and self.chain.on(xp)
        size = self.bias_size if self.bias_size is None else xp.asarray(self.bias_size)
        return replace(self, maps=maps, bias=xp.asarray(self.bias), bias_size=size, chain=chain)

    @property
    def terms(self) -> int:
        return sum(each.terms for each in self.maps)

    @cached_property
    def moves(self) -> bool:
        return all(isinstance(each, Moved) for each in self.maps) and not self.biased

    @cached_property
    def stays(self) -> bool:
        """True if the entries are those of the input, in their order."""
        (first, *others) = self.maps
        return self.moves and not others and isinstance(first, Moved) and first.same

    @cached_property
    def biased(self) -> bool:
        return bool(self.bias.any())

    @cached_property
    def biases(self) -> Array:
        """Of each entry, [1, *shape]."""
        return self._spread(self.bias)

    @cached_property
    def bias_sizes(self) -> Array:
        return self._spread(self._bias_sized)

    @cached_property
    def _bias_sized(self) -> Array:
        return abs(self.bias) if self.bias_size is None else self.bias_size

    def _spread(self, bias: Array) -> Array:
        made: Array = namespace(bias).broadcast_to(bias, (1, *self.shape)).copy()
        return made

    @cached_property
    def _exact(self) -> bool:
        whole = bool((self.bias == namespace(self.bias).rint(self.bias)).all())
        return whole and all(each.whole for each in self.maps)

    @staticmethod
    def once(through: Callable[[Sequence[Array]], Array], read: Sequence[Array]) -> Array:
        """Of one column."""
        return through([each[..., np.newaxis] for each in read])[..., 0]

    def applied(self, read: Sequence[Array]) -> Array:
        """[n, *shape, t] of [n, *input shape, t] each, without the bias."""
        factors = [each.factor for each in self.maps if isinstance(each, Scaled)]
        if len(factors) == len(self.maps):
            return _weighted(read, factors)
        # Products last, which are added in place.
        maps = sorted(zip(self.maps, read, strict=True), key=lambda pair: isinstance(pair[0], Matrix))
        (first, x), *others = maps
        made = first.apply(x)
        for each, x in others:
            made = each.apply(x, made) if isinstance(each, Matrix) else made + each.apply(x)
        return made

    def absolute(self, read: Sequence[Array]) -> Array:
        """The same by absolute values."""
        return self._added([each.absolute for each in self.maps], read)

    def sized(self, read: Sequence[Array]) -> Array:
        """And by what all terms come to that numbers are made of."""
        return self._added([each.sized for each in self.maps], read)

    def _added(self, maps: Sequence[Callable[[Array], Array]], read: Sequence[Array]) -> Array:
        factors = [each.positive for each in self.maps if isinstance(each, Scaled)]
        if len(factors) == len(self.maps):
            return _weighted(read, factors)
        return reduce(operator.add, (each(x) for each, x in zip(maps, read, strict=True)))


def _weighted(read: Sequence[Array], factors: Sequence[Array]) -> Array:
    """At once: what several maps made would be read again to be added."""
    made: Array = fused(_sum_of_products, *read, *(each[..., np.newaxis] for each in factors))[0]
    return made


def _sum_of_products(*of: Array) -> tuple[Array]:
    half = len(of) // 2
    return (reduce(operator.add, map(operator.mul, of[:half], of[half:])),)


def _outward(
    error: float, middle: Array, radius: Array, size: Array, bias: Array, bias_size: Array
) -> tuple[Array, Array]:
    middle, around = middle + bias, up(radius + error * (size + bias_size))
    return down(middle - around), up(middle + around)


@dataclass(frozen=True, eq=False)
class Through:
    operation: Linear
    sizes: Sequence[Array]

    @cached_property
    def scale(self) -> Array:
        """The largest sum of the absolute values of all terms, up to rounding."""
        operation = self.operation
        size = operation.once(operation.sized, self.sizes)
        return size + operation.bias_sizes if operation.biased else size

    def back(self, lines: Array, added: Sums) -> list[Array]:
        operation, ahead = self.operation, lines.shape[:2]
        flat = lines.reshape(-1, *operation.shape)
        made = [each.back(flat) for each in operation.maps]
        if operation.biased:
            added.add(lines, operation.biases)
        return [each.reshape(*ahead, *each.shape[1:]) for each in made]

    def forward(self, read: Sequence[Forms], rest: Callable[[], Array | None] = lambda: None) -> Forms:
        """``rest`` makes, meanwhile, that of what is made, where it is known or nobody asks for it."""
        operation = self.operation
        slope, constants = together(
            lambda: operation.applied([each.slope for each in read]),
            lambda: self._constants(read, rest()),
            read[0].slope,
        )
        offset = constants[0]
        most = read[0].most.reshape(offset.shape) if operation.stays and read[0].most is not None else None
        return Forms(slope, *constants, most)

    def _constants(self, read: Sequence[Forms], rest: Array | None) -> tuple[Array, Array, Array]:
        """Offset, rest and size."""
        operation, once = self.operation, self.operation.once
        offset = once(operation.applied, [each.offset for each in read])
        if operation.biased:
            offset = offset + operation.biases
        if rest is None:
            rest = once(operation.absolute, [each.rest for each in read])
        return offset, rest, self.scale


def _rounds(operation: Operation) -> int:
    return 8 * operation.terms + 32


def chained(operations: Sequence[Operation]) -> list[Operation]:
    """The same, where sums that read sums, or are made of some, know the products of matrices, back to what
    is no such sum."""
    sums, terms, made = dict[str, dict[str, Product]](), dict[str, int](), list[Operation]()
    for operation in operations:
        if isinstance(operation, Linear) and (products := _products(operation, sums)):
            before = [terms[name] for name in operation.inputs if name in sums]
            sums[operation.name] = products
            terms[operation.name] = _rounds(operation) + max(before, default=0)
            if before or operation.bias_size is not None:
                operation = replace(operation, chain=Chain.of(products, terms[operation.name]))
        made.append(operation)
    return made


def _products(operation: Linear, sums: Mapping[str, dict[str, Product]]) -> dict[str, Product]:
    """By source; none where places are not taken alike, or where a product would be too large."""
    products = dict[str, Product]()
    for name, each in zip(operation.inputs, operation.maps, strict=True):
        last = each.product(operation.shape[0])
        if last is None:
            return {}
        parts = {name: last}
        if name in sums:
            if any(len(last.through) * first.columns > _LARGEST for first in sums[name].values()):
                return {}
            parts = {source: last.after(first) for source, first in sums[name].items()}
        for source, part in parts.items():
            products[source] = products[source].plus(part) if source in products else part
    return products if len(products) <= SOURCES else {}


def merged(operations: Sequence[Operation], output: str) -> list[Operation]:
    """The same without sums of floats that one other sum alone reads, whose matrices become products, where
    these are no more work: each tensor's forms are as large as it times the input."""
    readers = Counter(name for operation in operations for name in operation.inputs)
    sums, made = dict[str, Linear](), dict[str, Operation]()
    for operation in operations:
        if isinstance(operation, Linear) and not operation.whole:
            inner = {name: sums[name] for name in operation.inputs if name in sums and readers[name] == 1}
            if inner and (one := _merged(operation, inner)):
                operation = one
                for name in inner:
                    del made[name]
            if operation.name != output:
                sums[operation.name] = operation
        made[operation.name] = operation
    return [*made.values()]


def _merged(outer: Linear, inner: Mapping[str, Linear]) -> Linear | None:
    own = _products(outer, {})
    parts = {name: _products(each, {}) for name, each in inner.items()}
    if not (own and all(parts.values())):
        return None
    products = _products(outer, parts)
    if any(each.through.ndim == 1 and each.terms > 1 for each in products.values()):
        return None
    before = sum(each.through.size for some in (own, *parts.values()) for each in some.values())
    if sum(each.through.size for each in products.values()) > before:
        return None
    bias, size = outer.bias, outer._bias_sized
    for name, each in inner.items():
        bias = bias + _once(own[name].through, each.bias, each.shape)
        size = size + _once(own[name].size, each._bias_sized, each.shape)
    maps = (_map(each, outer.shape) for each in products.values())
    return Linear(outer.name, (*products,), outer.shape, False, (*maps,), bias, size)


def _once(through: Array, bias: Array, shape: Shape) -> Array:
    """Of what broadcasts to a tensor of this shape."""
    wide = np.broadcast_to(bias, (shape[0], *(bias.shape[1:] if bias.ndim == len(shape) else shape[1:])))
    if through.ndim == 1:
        return through.reshape(-1, *(1 for _ in shape[1:])) * wide
    return (through @ wide.reshape(len(wide), -1)).reshape(-1, *wide.shape[1:])


def _map(product: Product, shape: Shape) -> Map:
    if product.through.ndim == 1:
        return Scaled(_along(product.through, shape))
    return Matrix(product.through, product.size, product.terms)


def _summed(given: Given, maps: Sequence[Map], bias: Any = 0.0) -> Linear:
    """Under the name of the sums where the node rescales them."""
    return Linear(given.sums, given.inputs, given.shape, given.whole, (*maps,), np.asarray(bias, np.float64))


def _along(values: Any, shape: Shape) -> Array:
    """One number for each channel, broadcasting to ``shape``."""
    along: Array = np.asarray(values, np.float64).reshape(-1, *(1 for _ in shape[1:]))
    return along


def _dense(given: Given, node: Dense) -> list[Operation]:
    return [_summed(given, [Matrix(node.weight)], node.bias)]


def _quant_dense(given: Given, node: QuantDense) -> list[Operation]:
    made = _summed(given, [Matrix(node.centred_weight.astype(np.float64))], node.bias)
    return rescaled(given, made, node.rescale)


def _conv(given: Given, node: Conv) -> list[Operation]:
    sliding = Sliding(given.shapes[0], node.kernel, node.stride, node.padding, node.groups, node.dilation)
    return [_summed(given, [Kernel(node.weight, sliding)], _along(node.bias, given.shape))]


def _windowed(given: Given, node: QuantConv | WindowSum) -> list[Operation]:
    (shape,) = given.shapes
    weight = node.kernel_weight(shape).astype(np.float64)
    bias = _along(node.biases(len(weight)), given.shape)
    return rescaled(given, _summed(given, [Kernel(weight, node.sliding(shape))], bias), node.rescale)


def _average(given: Given, node: AveragePool) -> list[Operation]:
    ones = _ones(given, node)
    sums = Linear(f"{node.name}/sums", given.inputs, given.shape, False, (ones,), np.zeros(()))
    _, *plane = given.shapes[0]
    means = Scaled(1 / node.counts(tuple(plane))[np.newaxis])
    return [sums, Linear(node.name, (sums.name,), given.shape, False, (means,), np.zeros(()))]


def _sum_pool(given: Given, node: SumPool) -> list[Operation]:
    return [_summed(given, [_ones(given, node, node.divisor)])]


def _ones(given: Given, node: Pool, divisor: float = 1) -> Kernel:
    """Of each channel its own window."""
    channels, *_ = given.shapes[0]
    sliding = Sliding(given.shapes[0], node.kernel, node.stride, node.padding, channels, node.dilation)
    return Kernel(np.full((channels, 1, *node.kernel), 1 / divisor), sliding)


def _scale(given: Given, node: Scale) -> list[Operation]:
    return [_summed(given, [Scaled(_along(node.weight, given.shape))], _along(node.bias, given.shape))]


def _sum(given: Given, node: Sum) -> list[Operation]:
    return [_summed(given, [Scaled(np.array(float(sign))) for sign in node.signs])]


def _quant_add(given: Given, node: QuantAdd) -> list[Operation]:
    made = _summed(given, [Scaled(np.array(float(factor))) for factor in node.factors])
    return rescaled(given, made, node.rescale)


def _moved(given: Given, node: Mover) -> list[Operation]:
    """Return the operation of a node that moves values: the node is applied to places to find the source of
    each entry."""
    sizes = [math.prod(shape) for shape in given.shapes]
    ends = np.cumsum(sizes)
    indices = [
        np.arange(end - size, end).reshape(1, *shape)
        for size, end, shape in zip(sizes, ends, given.shapes, strict=True)
    ]
    places = node.move(indices, -1)[0]
    maps = []
    for size, end, shape in zip(sizes, ends, given.shapes, strict=True):
        own = (places >= end - size) & (places < end)
        maps.append(Moved(np.where(own, places - (end - size), -1), shape))
    return [_summed(given, maps)]


RULES: Rules = {
    Dense: _dense,
    QuantDense: _quant_dense,
    Conv: _conv,
    QuantConv: _windowed,
    WindowSum: _windowed,
    AveragePool: _average,
    SumPool: _sum_pool,
    Scale: _scale,
    Sum: _sum,
    Add: _sum,
    Sub: _sum,
    QuantAdd: _quant_add,
    **dict.fromkeys((Concat, Gather, Pad, Reshape, Transpose), _moved),
}
