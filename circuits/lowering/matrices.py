"""Products of two matrices that the network computes: a row for each product, or for several that share a
field element, or a check at a challenge."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

import numpy as np

from zenserve.circuits.lowering.arithmetic import Arithmetic
from zenserve.circuits.lowering.cost import Cost
from zenserve.circuits.lowering.encodings import Challenged, Packed, Plain
from zenserve.circuits.r1cs.linear import Linear, LinearCombinations, Picked, Weighted
from zenserve.circuits.r1cs.lookups import POINT
from zenserve.circuits.r1cs.products import Products
from zenserve.circuits.r1cs.steps import CrossProducts, Product
from zenserve.relations.bounds import Capacity, slot_width
from zenserve.relations.integers import INTEGER_LIMIT, IntArray, Interval
from zenserve.relations.relation import MatrixProduct

MatrixWay = Plain | Packed | Challenged


class Matrices(NamedTuple):
    """``groups`` products of matrices [m, k] and [k, n]."""

    groups: int
    m: int
    k: int
    n: int

    @classmethod
    def of(cls, relation: MatrixProduct) -> Matrices:
        *groups, m, k = relation.left.tensor.shape
        return cls(math.prod(groups), m, k, relation.right.tensor.shape[-1])

    @property
    def entries(self) -> int:
        """Of the products of matrices."""
        return self.groups * self.m * self.n


class _Factors(Picked):
    """For each entry of the products and each of the k terms it adds up the row of ``base``: its factor on
    the left, or on the right."""

    def __init__(self, base: Linear, shape: Matrices, *, left: bool) -> None:
        self.base, self._shape, self._left = base, shape, left
        self.rows = shape.entries * shape.k

    def picks(self, start: int, stop: int) -> IntArray:
        _, m, k, n = self._shape
        entry, term = np.divmod(np.arange(start, stop), k)
        row, column = np.divmod(entry, n)
        picks: IntArray = row * k + term if self._left else (row // m * k + term) * n + column
        return picks


class Slots(NamedTuple):
    """Sums from ``low`` on, range-checked to ``bits``: ``size`` columns share a field element, in slots of
    ``width``, which makes ``shape`` of their products."""

    low: int
    bits: int
    width: int
    size: int
    shape: Matrices

    @classmethod
    def of(cls, shape: Matrices, interval: Interval, capacity: Capacity) -> Slots:
        low, bits = interval[0], sum_bits(interval)
        width = slot_width(interval, (low, low + (1 << bits) - 1))
        size = min(capacity.slots(width), shape.n)
        return cls(low, bits, width, size, shape._replace(n=-(-shape.n // size)))

    @property
    def fit(self) -> bool:
        """True if sums can be range-checked."""
        return abs(self.low) + (1 << self.bits) < INTEGER_LIMIT


def sum_bits(reach: Interval) -> int:
    """Of the wires that hold sums in ``reach``."""
    return max(1, (reach[1] - reach[0]).bit_length())


def multiplied(
    tools: Arithmetic, name: str, left: Linear, right: Linear, relation: MatrixProduct, way: MatrixWay
) -> LinearCombinations:
    """The entries of the products. Rows: ``matrix_cost``."""
    shape = Matrices.of(relation)
    factors = _Factors(left, shape, left=True), _Factors(right, shape, left=False)
    if isinstance(way, Packed):
        slots = Slots.of(shape, relation.out.bound.interval, tools.builder.capacity)
        return _packed(tools, name, left, right, shape, slots)
    if isinstance(way, Challenged):
        return _checked(tools, name, left, right, shape, factors)
    out = tools.builder.private(name, shape.entries, shape.k)
    wires = out.ravel()
    tools.builder.multiply(name, *factors, Weighted.wires(wires))
    tools.builder.fill(Product(name, wires, *factors))
    return Weighted.ones(out)


def _computed(tools: Arithmetic, name: str, shape: Matrices, factors: tuple[Picked, Picked]) -> IntArray:
    """Wires that the prover chooses for the entries."""
    out = tools.chosen(name, shape.entries)
    tools.builder.fill(CrossProducts(name, out[:, np.newaxis], *factors, shape.k, np.zeros((1, 1), np.int64)))
    return out


def _packed(
    tools: Arithmetic, name: str, left: Linear, right: Linear, shape: Matrices, slots: Slots
) -> LinearCombinations:
    """Columns share slots, and so do the entries, whose range checks leave one way to fill these."""
    both = _Factors(left, shape, left=True), _Factors(right, shape, left=False)
    sums = Weighted.wires(_computed(tools, name, shape, both))
    tools.ranged(name, sums, slots.bits, slots.low)
    packed = _knit(right, shape.n, slots)
    factors = _Factors(left, slots.shape, left=True), _Factors(packed, slots.shape, left=False)
    product = tools.builder.private(f"{name}/slots", slots.shape.entries, shape.k)
    tools.builder.multiply(f"{name}/slots", *factors, Weighted.wires(product.ravel()))
    # They do not fit into 64 bits.
    tools.builder.derive(Product(f"{name}/slots", product.ravel(), *factors))
    tools.builder.zero(name, Weighted.ones(product) - _knit(sums.whole(), shape.n, slots))
    return sums


def _knit(rows: Linear, columns: int, slots: Slots) -> Linear:
    """Of matrices of so many ``columns`` each row with its columns in slots."""
    row, column = np.divmod(np.arange(rows.rows), columns)
    place, slot = np.divmod(column, slots.size)
    count = slots.shape.n
    return rows.knit(row * count + place, slot * slots.width, rows.rows // columns * count)


def _checked(
    tools: Arithmetic, name: str, left: Linear, right: Linear, shape: Matrices, factors: tuple[Picked, Picked]
) -> LinearCombinations:
    """Wires for the entries, which the check leaves no choice: they need no range check."""
    groups, m, k, n = shape
    out = _computed(tools, name, shape, factors)
    for group in range(groups):
        x, y, z = (
            each.part(group * size, (group + 1) * size)
            for each, size in ((left, m * k), (right, k * n), (Linear.wires(out), m * n))
        )
        tools.products.matmul(f"{name}{group}", x, y, z, (m, k, n))
    return Weighted.wires(out)


def matrix_cost(relation: MatrixProduct, way: MatrixWay, capacity: Capacity) -> Cost:
    shape = Matrices.of(relation)
    if isinstance(way, Packed):
        slots = Slots.of(shape, relation.out.bound.interval, capacity)
        checks = Counter({slots.bits: shape.entries})
        return Cost(rows=slots.shape.entries * (shape.k + 1), ranges=checks)
    if isinstance(way, Plain):
        return Cost(rows=shape.entries * shape.k)
    each = shape.m, shape.k, shape.n
    powers = tuple((POINT, *progression) for progression in Products.matmul_powers(each))
    return Cost(rows=shape.groups * Products.matmul_rows(each), powers=powers)
