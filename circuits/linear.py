"""Batches of linear combinations of wires: what gadgets add up before a constraint reads it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from circuits.quantlayer import IntArray
from prover.statement import Csr

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
        return Linear(
            self.rows,
            np.concatenate([self.row, other.row]),
            np.concatenate([self.column, other.column]),
            np.concatenate([self.value, other.value]),
        )

    def __sub__(self, other: Linear) -> Linear:
        return self + other.scale(-1)

    def scale(self, factor: int) -> Linear:
        return Linear(self.rows, self.row, self.column, self.value * factor)

    def shift(self, constant: int) -> Linear:
        """``constant`` added to every row."""
        return self + Linear.constant(np.full(self.rows, constant))

    def evaluate(self, z: IntArray) -> IntArray:
        """The sums under the assignment ``z``, int64[rows]. The caller knows that they fit."""
        total = np.zeros(self.rows, dtype=np.int64)
        np.add.at(total, self.row, self.value * z[self.column])
        return total

    def csr(self) -> Csr:
        return Csr.from_entries(self.rows, self.row, self.column, self.value)
