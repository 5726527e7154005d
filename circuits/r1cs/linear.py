"""Batches of linear combinations of wires: what gadgets add up before a constraint reads it.

``LinearCombinations`` is what they have in common, however they are kept: as entries (``Linear``), as tables
of wires (``Weighted``) or as the combination of other batches (``Combination``). Blocks of many rows are
made in parts, so that a layer with 10^7 coefficients is never in memory as a whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from zenserve.errors import StatementError
from zenserve.prover.blocks import Csr
from zenserve.relations.integers import INTEGER_LIMIT, IntArray

# Variable 0 of every statement is the constant one.
ONE = 0


class LinearCombinations(ABC):
    """``rows`` linear combinations of wires, each with about ``width`` entries."""

    rows: int

    @property
    @abstractmethod
    def width(self) -> int: ...

    @abstractmethod
    def part(self, start: int, stop: int) -> Linear:
        """The rows from ``start`` up to ``stop``."""

    @property
    def columns(self) -> IntArray:
        """The wires that rows may read."""
        return np.unique(self.whole().column)

    @abstractmethod
    def evaluate(self, z: IntArray) -> IntArray:
        """The sums under the assignment ``z``, int64[rows]. The caller knows that they fit.

        int64 arithmetic is exact modulo 2^64: sums that fit are right, however far the terms before them run.
        """

    def whole(self) -> Linear:
        """All rows."""
        return self.part(0, self.rows)

    def __add__(self, other: LinearCombinations) -> LinearCombinations:
        return Combination(self.rows, ((1, self), (1, other)))

    def __sub__(self, other: LinearCombinations) -> LinearCombinations:
        return Combination(self.rows, ((1, self), (-1, other)))

    def scale(self, factor: int | IntArray) -> LinearCombinations:
        """Each row times ``factor``, int64[rows] where it differs from row to row."""
        return Combination(self.rows, ((factor, self),))

    def shift(self, constant: int | IntArray) -> LinearCombinations:
        """``constant`` added to every row, int64[rows] where it differs from row to row."""
        return Combination(self.rows, ((1, self),), constant)


@dataclass(frozen=True)
class Linear(LinearCombinations):
    """Parallel entries: row ``row[i]`` holds ``value[i] · 2^exponent[i] · z[column[i]]``.

    All arrays are int64[entries], in any order; entries of the same row and column add up. Exponents are
    None, all 0, but for rows that ``knit`` made: those are elements of the field and have no ``evaluate``.
    """

    rows: int
    row: IntArray
    column: IntArray
    value: IntArray
    exponent: IntArray | None = None

    @classmethod
    def wires(cls, wires: IntArray) -> Linear:
        """The wires themselves, one to a row."""
        return cls.ones(wires[:, np.newaxis])

    @classmethod
    def constant(cls, values: IntArray) -> Linear:
        """``values[r]`` in row r."""
        rows = np.arange(len(values))
        return cls(len(values), rows, np.full(len(values), ONE), values)

    @classmethod
    def empty(cls, rows: int) -> Linear:
        """Zero in every row."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(rows, nothing, nothing, nothing)

    @classmethod
    def weighted(cls, wires: IntArray, weights: IntArray) -> Linear:
        """``sum_i weights[r, i] · z[wires[r, i]]`` in row r; either may have one row for all."""
        wires, weights = np.broadcast_arrays(np.atleast_2d(wires), np.atleast_2d(weights))
        rows, width = wires.shape
        return cls(rows, np.repeat(np.arange(rows), width), wires.ravel(), weights.ravel())

    @classmethod
    def ones(cls, wires: IntArray) -> Linear:
        """``sum_i z[wires[r, i]]`` in row r, for wires[rows, width]."""
        return cls.weighted(wires, np.ones(wires.shape[1], dtype=np.int64))

    @classmethod
    def digits(cls, bits: IntArray) -> Linear:
        """``sum_i 2^i · z[bits[r, i]]`` in row r, for bits[rows, width]."""
        return cls.weighted(bits, np.int64(1) << np.arange(bits.shape[1]))

    @classmethod
    def total(cls, parts: list[Linear]) -> Linear:
        """Their sum, row by row."""
        return cls(
            parts[0].rows,
            np.concatenate([part.row for part in parts]),
            np.concatenate([part.column for part in parts]),
            np.concatenate([part.value for part in parts]),
            _exponents(parts),
        )

    @classmethod
    def stacked(cls, parts: list[Linear]) -> Linear:
        """Their rows, one after the other."""
        starts = np.cumsum([0, *(part.rows for part in parts)]).tolist()
        moved = zip(parts, starts[:-1], strict=True)
        return cls.total([replace(part, rows=starts[-1], row=part.row + start) for part, start in moved])

    @property
    def width(self) -> int:
        return -(-len(self.row) // max(1, self.rows))

    def __add__(self, other: LinearCombinations) -> Linear:
        if self.rows != other.rows:
            raise ValueError(f"{self.rows} and {other.rows} linear combinations do not add up row by row")
        return Linear.total([self, other.whole()])

    def __sub__(self, other: LinearCombinations) -> Linear:
        return self + other.whole().scale(-1)

    def scale(self, factor: int | IntArray) -> Linear:
        """As for all. Raises ``StatementError`` (``statement.could_wrap``) beyond 62 bits."""
        if isinstance(factor, int) and factor == 1:
            return self
        most = int(np.abs(factor).max()) if np.size(factor) else 0
        largest = max(int(self.value.max()), -int(self.value.min())) if len(self.value) else 0
        if most * max(1, largest) >= INTEGER_LIMIT:
            raise StatementError(
                "statement.could_wrap", f"a coefficient of {largest} times {most} exceeds 62 bits"
            )
        factors = factor if isinstance(factor, int) else factor[self.row]
        return replace(self, value=self.value * factors)

    def shift(self, constant: int | IntArray) -> Linear:
        return self + Linear.constant(np.broadcast_to(constant, self.rows))

    def part(self, start: int, stop: int) -> Linear:
        if (start, stop) == (0, self.rows):
            return self
        return self.take(np.arange(start, stop)) if len(self.row) else Linear.empty(stop - start)

    def take(self, rows: IntArray) -> Linear:
        """The rows ``rows``, in that order; a row may be taken several times."""
        order, starts = self._by_row
        first, lengths = starts[rows], starts[rows + 1] - starts[rows]
        before = np.cumsum(lengths) - lengths
        entries = order[np.repeat(first - before, lengths) + np.arange(lengths.sum())]
        exponent = None if self.exponent is None else self.exponent[entries]
        row = np.repeat(np.arange(len(rows)), lengths)
        return Linear(len(rows), row, self.column[entries], self.value[entries], exponent)

    def sums(self, groups: IntArray, count: int) -> Linear:
        """``count`` rows: the sum of the rows i with ``groups[i] = g`` in row g."""
        return replace(self, rows=count, row=groups[self.row])

    def knit(self, groups: IntArray, exponents: IntArray, count: int) -> Linear:
        """``count`` rows: the sum of ``2^exponents[i]`` times the rows i with ``groups[i] = g`` in row g."""
        raised = exponents[self.row] + (0 if self.exponent is None else self.exponent)
        return replace(self.sums(groups, count), exponent=raised)

    @cached_property
    def _by_row(self) -> tuple[IntArray, IntArray]:
        """The entries in the order of their rows, and where those of each row start."""
        starts = np.zeros(self.rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.row, minlength=self.rows), out=starts[1:])
        if (self.row[1:] < self.row[:-1]).any():
            return np.argsort(self.row, kind="stable"), starts
        return np.arange(len(self.row)), starts

    def evaluate(self, z: IntArray) -> IntArray:
        return evaluate(self.csr, z)

    @property
    def compact(self) -> IntArray | Csr:
        """The combinations for a step that outlives the compilation: wires [rows], or a matrix."""
        if self.exponent is None and len(self.row) == self.rows and (self.value == 1).all():
            order, starts = self._by_row
            if (np.diff(starts) == 1).all():
                return self.column[order]
        return self.matrix()

    @cached_property
    def csr(self) -> Csr:
        return self.matrix()

    def matrix(self) -> Csr:
        """The same, made anew: nothing keeps it alive."""
        return Csr.from_entries(self.rows, self.row, self.column, self.value, self.exponent)


class Weighted(LinearCombinations):
    """``sum_i weights[i] · z[wires[r, i]]`` in row r, for wires[rows, width]."""

    def __init__(self, wires: IntArray, weights: IntArray) -> None:
        self.rows = len(wires)
        self._wires, self._weights = wires, weights

    @classmethod
    def wires(cls, wires: IntArray) -> Weighted:
        """The wires themselves, one to a row."""
        return cls.ones(wires[:, np.newaxis])

    @classmethod
    def ones(cls, wires: IntArray) -> Weighted:
        """The sum of the wires in each row."""
        return cls(wires, np.ones(wires.shape[1], dtype=np.int64))

    @classmethod
    def digits(cls, bits: IntArray) -> Weighted:
        """The integer whose binary digits the wires of a row are, lowest first."""
        return cls(bits, np.int64(1) << np.arange(bits.shape[1]))

    @property
    def width(self) -> int:
        return len(self._weights)

    def part(self, start: int, stop: int) -> Linear:
        return Linear.weighted(self._wires[start:stop], self._weights)

    def evaluate(self, z: IntArray) -> IntArray:
        # For integers numpy's matrix product is slower.
        sums: IntArray = np.einsum("ij,j->i", z.take(self._wires), self._weights)
        return sums


class Combination(LinearCombinations):
    """``constant + sum_t factor_t · sums_t`` row by row; constant and factors are integers or int64[rows]."""

    def __init__(
        self,
        rows: int,
        terms: tuple[tuple[int | IntArray, LinearCombinations], ...],
        constant: int | IntArray = 0,
    ) -> None:
        if any(sums.rows != rows for _, sums in terms):
            raise ValueError("linear combinations of different numbers of rows do not add up row by row")
        self.rows = rows
        self.terms: list[tuple[int | IntArray, LinearCombinations]] = []
        self.constant: IntArray = np.broadcast_to(constant, rows)
        for factor, sums in terms:
            if isinstance(sums, Combination):
                # Its own terms instead: a part is then put together once, however deep the sum was.
                self.terms += [(_times(factor, inner), leaf) for inner, leaf in sums.terms]
                self.constant = self.constant + _times(factor, sums.constant)
            else:
                self.terms.append((factor, sums))

    @property
    def width(self) -> int:
        return sum(sums.width for _, sums in self.terms) + 1

    @property
    def columns(self) -> IntArray:
        return np.unique(np.concatenate([np.array([ONE]), *(sums.columns for _, sums in self.terms)]))

    def part(self, start: int, stop: int) -> Linear:
        parts = [Linear.constant(self.constant[start:stop])]
        for factor, sums in self.terms:
            factors = factor if isinstance(factor, int) else factor[start:stop]
            parts.append(sums.part(start, stop).scale(factors))
        return Linear.total(parts)

    def evaluate(self, z: IntArray) -> IntArray:
        return self.add_up(lambda sums: sums.evaluate(z))

    def add_up(self, values: Callable[[LinearCombinations], IntArray]) -> IntArray:
        """The sums, int64[rows], for the ``values`` of the terms."""
        total = self.constant.copy()
        for factor, sums in self.terms:
            total += factor * values(sums)
        return total


class Picked(LinearCombinations):
    """Rows of ``base``, whose numbers are made anew for every part."""

    base: Linear

    @abstractmethod
    def picks(self, start: int, stop: int) -> IntArray:
        """Return the row of ``base`` for each of the rows from ``start`` up to ``stop``."""

    @property
    def width(self) -> int:
        return self.base.width

    def part(self, start: int, stop: int) -> Linear:
        return self.base.take(self.picks(start, stop))

    def evaluate(self, z: IntArray) -> IntArray:
        return self.base.evaluate(z)[self.picks(0, self.rows)]


class Unvalued(LinearCombinations):
    """Combinations whose values do not fit into 64 bits."""

    def evaluate(self, z: IntArray) -> IntArray:
        raise NotImplementedError("packed values do not fit into 64 bits")


class Knitted(Unvalued):
    """``sum_i 2^(width i) · sums[size r + i]`` in row r, i < ``size``: elements of the field."""

    def __init__(self, sums: LinearCombinations, size: int, width: int) -> None:
        self.rows = -(-sums.rows // size)
        self._sums, self._size, self._step = sums, size, width

    @property
    def width(self) -> int:
        return self._sums.width * self._size

    def part(self, start: int, stop: int) -> Linear:
        part = self._sums.part(start * self._size, min(stop * self._size, self._sums.rows))
        row, slot = np.divmod(np.arange(part.rows), self._size)
        return part.knit(row, slot * self._step, stop - start)


def evaluate(matrix: Csr, z: IntArray, rows: slice | None = None) -> IntArray:
    """Its product with ``z``, int64[rows], for coefficients of 64 bits; or of these rows alone."""
    pool = np.array(matrix.pool or (0,), dtype=np.int64)
    offsets, columns, coefficients = matrix.entries(rows or slice(0, matrix.rows))
    running = np.zeros(len(columns) + 1, dtype=np.int64)
    np.cumsum(pool[coefficients] * z[columns], out=running[1:])
    return np.diff(running[offsets])


def _times(a: int | IntArray, b: int | IntArray) -> int | IntArray:
    """Their product. Raises ``StatementError`` (``statement.could_wrap``) beyond 62 bits."""
    most = [int(np.abs(factor).max()) if np.size(factor) else 0 for factor in (a, b)]
    if most[0] * most[1] >= INTEGER_LIMIT:
        raise StatementError(
            "statement.could_wrap", f"a coefficient of {most[0]} times {most[1]} exceeds 62 bits"
        )
    return a * b


def _exponents(parts: list[Linear]) -> IntArray | None:
    if all(part.exponent is None for part in parts):
        return None
    return np.concatenate(
        [np.zeros(len(part.row), np.int64) if part.exponent is None else part.exponent for part in parts]
    )
