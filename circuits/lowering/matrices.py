"""Products of two matrices that the network computes: a row for each product, or a check at a challenge."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from circuits.lowering.arithmetic import Arithmetic
from circuits.lowering.cost import Cost
from circuits.lowering.encodings import Challenged, Plain
from circuits.r1cs.linear import Linear, LinearCombinations, Picked, Weighted
from circuits.r1cs.lookups import POINT
from circuits.r1cs.products import Products
from circuits.r1cs.steps import CrossProducts, Product
from relations.integers import IntArray
from relations.relation import MatrixProduct


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


def multiplied(
    tools: Arithmetic, name: str, left: Linear, right: Linear, shape: Matrices, way: Plain | Challenged
) -> LinearCombinations:
    """The entries of the products. Rows: ``matrix_cost``."""
    factors = _Factors(left, shape, left=True), _Factors(right, shape, left=False)
    if isinstance(way, Challenged):
        return _checked(tools, name, left, right, shape, factors)
    out = tools.builder.private(name, shape.entries, shape.k)
    wires = out.ravel()
    tools.builder.multiply(name, *factors, Weighted.wires(wires))
    tools.builder.fill(Product(name, wires, *factors))
    return Weighted.ones(out)


def _checked(
    tools: Arithmetic, name: str, left: Linear, right: Linear, shape: Matrices, factors: tuple[Picked, Picked]
) -> LinearCombinations:
    """Wires for the entries, which the check leaves no choice: they need no range check."""
    groups, m, k, n = shape
    out = tools.chosen(name, shape.entries)
    tools.builder.fill(CrossProducts(name, out[:, np.newaxis], *factors, k, np.zeros((1, 1), np.int64)))
    for group in range(groups):
        x, y, z = (
            each.part(group * size, (group + 1) * size)
            for each, size in ((left, m * k), (right, k * n), (Linear.wires(out), m * n))
        )
        tools.products.matmul(f"{name}{group}", x, y, z, (m, k, n))
    return Weighted.wires(out)


def matrix_cost(relation: MatrixProduct, way: Plain | Challenged) -> Cost:
    shape = Matrices.of(relation)
    if isinstance(way, Plain):
        return Cost(rows=shape.entries * shape.k)
    each = shape.m, shape.k, shape.n
    powers = tuple((POINT, *progression) for progression in Products.matmul_powers(each))
    return Cost(rows=shape.groups * Products.matmul_rows(each), powers=powers)
