"""Collects wires, constraint blocks and the steps that fill in a witness, while a circuit is compiled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from circuits.linear import Linear
from circuits.quantlayer import IntArray
from prover.statement import Block, Csr, ProductBlock, SparseBlock, Statement
from zenerrors import StatementError

# Writes some wires of the assignment z, int64[variables], from wires that earlier steps have written.
Fill = Callable[[IntArray], None]


class Builder:
    """One statement in the making. Public wires must be taken before any private wire."""

    def __init__(self) -> None:
        self.layout: dict[str, IntArray] = {}
        self.blocks: list[Block] = []
        self.fills: list[Fill] = []
        self._variables = 1
        self._public: int | None = None

    def public(self, name: str, *shape: int) -> IntArray:
        """New public wires: their variable indices, int64[shape]."""
        if self._public is not None:
            raise StatementError("statement.order", f"public wires {name!r} after private ones")
        return self._take(name, shape)

    def private(self, name: str, *shape: int) -> IntArray:
        """New private wires: their variable indices, int64[shape]."""
        if self._public is None:
            self._public = self._variables - 1
        return self._take(name, shape)

    def fill(self, step: Fill) -> None:
        self.fills.append(step)

    def boolean(self, name: str, wires: IntArray) -> None:
        """Each wire is 0 or 1. One row each."""
        flat = wires.ravel()
        self.blocks.append(ProductBlock(name, flat, flat, flat))

    def product(self, name: str, left: IntArray, right: IntArray, product: IntArray) -> None:
        """``z[left] · z[right] = z[product]``, one row each."""
        self.blocks.append(ProductBlock(name, left, right, product))

    def multiply(self, name: str, a: Linear, b: Linear, c: Linear) -> None:
        """``a · b = c`` row by row."""
        self.blocks.append(SparseBlock(name, a.csr(), b.csr(), c.csr()))

    def zero(self, name: str, value: Linear) -> None:
        """``value = 0`` row by row, as 0 · 0 = value: long sums then cost nothing in the A and B queries."""
        nothing = Csr.empty(value.rows)
        self.blocks.append(SparseBlock(name, nothing, nothing, value.csr()))

    def statement(self) -> Statement:
        public = self._variables - 1 if self._public is None else self._public
        return Statement(public, self._variables - 1 - public, tuple(self.blocks))

    def _take(self, name: str, shape: tuple[int, ...]) -> IntArray:
        if name in self.layout:
            raise StatementError("statement.duplicate_wires", f"two groups of wires are called {name!r}")
        count = int(np.prod(shape))
        wires = np.arange(self._variables, self._variables + count).reshape(shape)
        self._variables += count
        self.layout[name] = wires
        return wires
