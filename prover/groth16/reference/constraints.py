"""Rank-1 constraints over Python integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from py_ecc.optimized_bls12_381.optimized_curve import curve_order

from zenserve.prover.blocks import Csr
from zenserve.prover.constraint_system import ConstraintSystem

R: Final = curve_order


def check(system: ConstraintSystem, z: Sequence[int]) -> str | None:
    """The name of the first row that ``z`` (every variable, the constant one first) violates, or None.

    Reads the blocks' matrices, never their ``evaluate``: the two must agree.
    """
    if len(z) != system.variables or z[0] % R != 1:
        raise ValueError("z must hold every variable of the statement, the constant one first")
    row = 0
    for _, matrices in system.matrices():
        for left, right, output in zip(*(dense_rows(matrix) for matrix in matrices), strict=True):
            a, b, c = (sum(k * z[j] for j, k in entries) for entries in (left, right, output))
            if (a * b - c) % R:
                return system.row_name(row)
            row += 1
    return None


def dense_rows(matrix: Csr) -> Iterator[list[tuple[int, int]]]:
    """Each row as a list of (column, coefficient)."""
    for i in range(matrix.rows):
        entries = range(matrix.offsets[i], matrix.offsets[i + 1])
        yield [(int(matrix.columns[k]), matrix.pool[matrix.coefficients[k]]) for k in entries]
