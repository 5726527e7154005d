"""Runs of rank-1 constraints: sparse matrices, or the products of single variables.

A block yields its rows as sparse matrices for setup, and computes its share of A·z, B·z and C·z itself, so
that a layer with 10^7 coefficients never becomes 10^7 Python objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from zenserve import kernels
from zenserve.errors import StatementError
from zenserve.kernels import CheckedCsr, FrArray

# Coefficients below this in absolute value are found in a table instead of by sorting.
_SMALL = 1 << 15
# For fewer entries sorting beats a pass over that many.
_FEW = 1 << 12


Entries = tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]]
"""Offsets, columns and coefficients of a sparse matrix in compressed rows."""


@dataclass(frozen=True)
class Csr:
    """A sparse matrix in compressed rows, its coefficients drawn from a pool of distinct integers.

    ``offsets``: int64[rows + 1]; ``columns``: uint32[nonzeros], variable indices;
    ``coefficients``: uint32[nonzeros], positions in ``pool``; ``pool``: canonical or signed Python
    integers, read modulo r. Entries that name the same column twice in a row add up.
    """

    offsets: NDArray[np.int64]
    columns: NDArray[np.uint32]
    coefficients: NDArray[np.uint32]
    pool: tuple[int, ...]

    @property
    def rows(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def from_entries(
        cls,
        rows: int,
        row: NDArray[np.int64],
        column: NDArray[np.int64],
        value: NDArray[np.int64],
        exponent: NDArray[np.int64] | None = None,
    ) -> Csr:
        """Build from parallel arrays of entries, in any order. Entries with value 0 are dropped.

        With ``exponent``, int64[entries] and not negative, coefficients are ``value · 2^exponent``.
        """
        keep = value != 0
        if not keep.all():
            row, column, value = row[keep], column[keep], value[keep]
            exponent = None if exponent is None else exponent[keep]
        offsets = np.zeros(rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(row, minlength=rows), out=offsets[1:])
        pool, coefficients = _distinct(value)
        if exponent is not None:
            pool, coefficients = _raised(pool, coefficients, exponent)
        columns = column.astype(np.uint32)
        if (row[1:] < row[:-1]).any():
            order = np.argsort(row, kind="stable")
            columns, coefficients = columns[order], coefficients[order]
        return cls(offsets, columns, coefficients, pool)

    @classmethod
    def selection(cls, columns: NDArray[np.int64]) -> Csr:
        """The matrix whose row i is the single variable ``columns[i]`` with coefficient one."""
        count = len(columns)
        return cls(
            np.arange(count + 1, dtype=np.int64), columns.astype(np.uint32), np.zeros(count, np.uint32), (1,)
        )

    @classmethod
    def empty(cls, rows: int) -> Csr:
        """``rows`` rows that are all zero."""
        return cls(np.zeros(rows + 1, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.uint32), ())

    @cached_property
    def pool_mont(self) -> FrArray:
        """``pool`` as uint64[len(pool), 4], Montgomery."""
        return kernels.fr.from_ints(self.pool)

    @cached_property
    def checked(self) -> CheckedCsr:
        """As the kernels take it."""
        return kernels.checked_csr(self.offsets, self.columns, self.coefficients, self.pool_mont)

    def entries(self, rows: slice) -> Entries:
        """``offsets``, ``columns`` and ``coefficients`` of these rows alone."""
        offsets = self.offsets[rows.start : rows.stop + 1]
        inside = slice(offsets[0], offsets[-1])
        return offsets - offsets[0], self.columns[inside], self.coefficients[inside]

    def multiply(
        self, z: FrArray, threads: int = 1, *, shorts: Shorts | None = None, out: FrArray | None = None
    ) -> FrArray:
        """The product with ``z`` (uint64[variables, 4], Montgomery): uint64[rows, 4], in ``out`` if given.

        ``shorts``: ``fr.shorten(z)``, where it was made.
        """
        return kernels.checked_multiply(self.checked, z, shorts=shorts, out=out, threads=threads)

    def add_transposed(
        self, y: FrArray, out: FrArray, threads: int = 1, *, factor: FrArray | None = None
    ) -> None:
        """Add the transpose's product with ``y`` (uint64[rows, 4]), times ``factor`` (uint64[4]) or one, to
        ``out`` (uint64[variables, 4])."""
        kernels.csr_multiply_transposed(
            self.offsets,
            self.columns,
            self.coefficients,
            self.pool_mont,
            y,
            out,
            factor=factor,
            threads=threads,
        )


Shorts = NDArray[np.int32]
"""The short integers among a witness' elements, as ``zenserve.kernels.fr.shorten`` has them."""

NOT_SHORT: Final = -(1 << 31)

RowValues = tuple[FrArray, FrArray, FrArray]
"""A·z, B·z and C·z of a run of rows."""


class Block(Protocol):
    """A run of constraints with a common structure, placed in the statement's global variables."""

    @property
    def name(self) -> str:
        """The origin of the rows, for error messages: ``layer/gadget``."""

    @property
    def rows(self) -> int: ...

    def matrices(self) -> tuple[Csr, Csr, Csr]:
        """A, B and C of these rows, over all variables of the statement."""

    def evaluate(self, z: FrArray, out: RowValues, threads: int = 1, *, shorts: Shorts | None = None) -> None:
        """Write A·z, B·z and C·z of these rows to ``out``, each uint64[rows, 4] in Montgomery form.

        ``shorts``: of z, where it was made."""


@dataclass(frozen=True)
class SparseBlock:
    """A block without further structure: three sparse matrices."""

    name: str
    a: Csr
    b: Csr
    c: Csr

    def __post_init__(self) -> None:
        if not self.a.rows == self.b.rows == self.c.rows:
            raise StatementError(
                "statement.block_shape", f"block {self.name!r}: A, B and C must have equally many rows"
            )

    @property
    def rows(self) -> int:
        return self.a.rows

    def matrices(self) -> tuple[Csr, Csr, Csr]:
        return self.a, self.b, self.c

    def evaluate(self, z: FrArray, out: RowValues, threads: int = 1, *, shorts: Shorts | None = None) -> None:
        for matrix, values in zip(self.matrices(), out, strict=True):
            matrix.multiply(z, threads, shorts=shorts, out=values)


@dataclass(frozen=True)
class ProductBlock:
    """Rows ``z[left] · z[right] = z[product]``: three index vectors, int64[rows] each."""

    name: str
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    product: NDArray[np.int64]

    @property
    def rows(self) -> int:
        return len(self.left)

    def matrices(self) -> tuple[Csr, Csr, Csr]:
        return Csr.selection(self.left), Csr.selection(self.right), Csr.selection(self.product)

    def evaluate(self, z: FrArray, out: RowValues, threads: int = 1, *, shorts: Shorts | None = None) -> None:
        for variables, values in zip((self.left, self.right, self.product), out, strict=True):
            # With any other mode numpy gathers into a buffer first, and copies that.
            np.take(z, variables, axis=0, out=values, mode="clip")


def _distinct(values: NDArray[np.int64]) -> tuple[tuple[int, ...], NDArray[np.uint32]]:
    """The distinct values, none of them 0, ascending, and each one's position. Fast where most are small."""
    if len(values) < _FEW:
        distinct, inverse = np.unique(values, return_inverse=True)
        return tuple(distinct.tolist()), inverse.astype(np.uint32)
    large = np.flatnonzero(np.abs(values) >= _SMALL)
    beyond, inverse = np.unique(values[large], return_inverse=True)
    below = int(np.searchsorted(beyond, 0))
    place = values + _SMALL
    place[large] = _SMALL  # that of 0, which no other value has
    seen = np.zeros(2 * _SMALL, dtype=np.bool_)
    seen[place] = True
    seen[_SMALL] = False
    position = (np.cumsum(seen) + (below - 1)).astype(np.uint32)
    found = position[place]
    found[large] = inverse + np.where(inverse < below, 0, int(seen.sum()))
    pool = np.concatenate([beyond[:below], np.flatnonzero(seen) - _SMALL, beyond[below:]])
    return tuple(pool.tolist()), found


def _raised(
    pool: tuple[int, ...], coefficients: NDArray[np.uint32], exponent: NDArray[np.int64]
) -> tuple[tuple[int, ...], NDArray[np.uint32]]:
    """The distinct ``pool[coefficients] · 2^exponent``, and each one's position."""
    steps = int(exponent.max(initial=0)) + 1
    pairs = coefficients.astype(np.int64) * steps + exponent
    seen = np.zeros(len(pool) * steps, dtype=np.bool_)
    seen[pairs] = True
    position = (np.cumsum(seen) - 1).astype(np.uint32)
    factors = (divmod(pair, steps) for pair in np.flatnonzero(seen).tolist())
    return tuple(pool[index] << power for index, power in factors), position[pairs]
