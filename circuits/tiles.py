"""Blocks whose rows are made when they are read, and forgotten again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from circuits.integers import IntArray
from kernels import FrArray
from prover.statement import Csr, ProductBlock

Matrices = tuple[Csr, Csr, Csr]
# Left factor, right factor and product of each row: int64[rows], variables.
Products = tuple[IntArray, IntArray, IntArray]


@dataclass(frozen=True)
class Tile:
    """``rows`` constraints; ``make`` gives their A, B and C, the same every time."""

    name: str
    rows: int
    make: Callable[[], Matrices]

    def matrices(self) -> Matrices:
        return self.make()

    def evaluate(self, z: FrArray, threads: int = 1) -> tuple[FrArray, FrArray, FrArray]:
        a, b, c = (matrix.multiply(z, threads) for matrix in self.make())
        return a, b, c


@dataclass(frozen=True)
class ProductTile:
    """``rows`` products of two variables; ``make`` gives their indices, the same every time."""

    name: str
    rows: int
    make: Callable[[], Products]

    def matrices(self) -> Matrices:
        return ProductBlock(self.name, *self.make()).matrices()

    def evaluate(self, z: FrArray, threads: int = 1) -> tuple[FrArray, FrArray, FrArray]:
        return ProductBlock(self.name, *self.make()).evaluate(z, threads)
