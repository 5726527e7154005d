"""Batches of linear combinations of wires: what gadgets add up before a constraint reads it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from circuits.integers import INTEGER_LIMIT, IntArray
from prover.statement import Csr
from zenerrors import StatementError

# Variable 0 of every statement is the constant one.
ONE = 0


@dataclass(frozen=True)
class Linear:
    """``rows`` linear combinations as parallel entries: row ``row[i]`` holds ``value[i] · z[column[i]]``.

    All arrays are int64[entries], in any order; entries of the same row and column add up.
    """

    rows: int
    row: IntArray
    column: IntArray
    value: IntArray

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

    def __add__(self, other: Linear) -> Linear:
        if self.rows != other.rows:
            raise ValueError(f"{self.rows} and {other.rows} linear combinations do not add up row by row")
        return Linear(
            self.rows,
            np.concatenate([self.row, other.row]),
            np.concatenate([self.column, other.column]),
            np.concatenate([self.value, other.value]),
        )

    def __sub__(self, other: Linear) -> Linear:
        return self + other.scale(-1)

    def scale(self, factor: int) -> Linear:
        """Each row times ``factor``. Raises ``StatementError`` (``statement.could_wrap``) beyond 62 bits."""
        largest = max(int(self.value.max()), -int(self.value.min())) if len(self.value) else 0
        if abs(factor) * max(1, largest) >= INTEGER_LIMIT:
            raise StatementError(
                "statement.could_wrap", f"a coefficient of {largest} times {factor} exceeds 62 bits"
            )
        return Linear(self.rows, self.row, self.column, self.value * factor)

    def shift(self, constant: int) -> Linear:
        """``constant`` added to every row."""
        return self + Linear.constant(np.full(self.rows, constant))

    def take(self, rows: IntArray) -> Linear:
        """The rows ``rows``, in that order and each at most once."""
        position = np.full(self.rows, -1)
        position[rows] = np.arange(len(rows))
        row = position[self.row]
        keep = row >= 0
        return Linear(len(rows), row[keep], self.column[keep], self.value[keep])

    def sums(self, groups: IntArray, count: int) -> Linear:
        """``count`` rows: the sum of the rows i with ``groups[i] = g`` in row g."""
        return Linear(count, groups[self.row], self.column, self.value)

    def evaluate(self, z: IntArray) -> IntArray:
        """The sums under the assignment ``z``, int64[rows]. The caller knows that they fit.

        int64 arithmetic is exact modulo 2^64: sums that fit are right, however far the terms before them run.
        """
        pool = np.array(self.csr.pool or (0,), dtype=np.int64)
        running = np.zeros(len(self.csr.columns) + 1, dtype=np.int64)
        np.cumsum(pool[self.csr.coefficients] * z[self.csr.columns], out=running[1:])
        return np.diff(running[self.csr.offsets])

    @cached_property
    def csr(self) -> Csr:
        """The combinations as a matrix. Steps that outlive the compilation keep this, not ``self``."""
        return Csr.from_entries(self.rows, self.row, self.column, self.value)
