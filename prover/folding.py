"""Rows that fold public inputs: Horner's rule (docs/groth16.md, "Folded inputs").

Inputs x_1 .. x_f that the prover commits to have the fold y = Σ x_{i+1} c^i at a challenge c. To demand it
takes f − 1 rows ``s c = s' − x``, from the last input to the first: s is x_f in the first row, and s' of the
row before in the others; s' of the last row is y.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zenserve import kernels
from zenserve.prover.blocks import Csr

Indices = NDArray[np.int64]
Matrices = tuple[Csr, Csr, Csr]


def horner(inputs: Indices, sums: Indices, at: int, fold: int) -> Matrices:
    """A, B and C of the rows, given variables: ``inputs``, int64[f], f > 1; ``sums`` between an input and the
    fold, int64[f − 2]; the challenge ``at`` and the ``fold``.
    """
    rows = len(inputs) - 1
    chain = np.concatenate([inputs[-1:], sums, [fold]])
    row = np.arange(rows)
    added = Csr.from_entries(
        rows,
        np.concatenate([row, row]),
        np.concatenate([chain[1:], inputs[-2::-1]]),
        np.repeat([1, -1], rows),
    )
    return Csr.selection(chain[:-1]), Csr.selection(np.full(rows, at)), added


def ends_with_horner(matrices: Matrices, inputs: Indices, at: int, fold: int) -> bool:
    """Whether a block's last rows are those of ``horner``, whatever variables are the sums."""
    rows = len(inputs) - 1
    if matrices[0].rows < rows:
        return False
    found = [_last_entries(matrix, rows) for matrix in matrices]
    sums = found[0][1:, 1]
    if len(sums) != rows - 1:
        return False
    expected = [_last_entries(matrix, rows) for matrix in horner(inputs, sums, at, fold)]
    return all(np.array_equal(*each) for each in zip(found, expected, strict=True))


def _last_entries(matrix: Csr, rows: int) -> Indices:
    """Row, column and coefficient of each entry of the last rows, in order: int64[entries, 3].

    Coefficients: 1, -1, and 0 for any other.
    """
    units = {1: 1, kernels.fr.modulus - 1: -1}
    offsets, columns, coefficients = matrix.entries(slice(matrix.rows - rows, matrix.rows))
    values = np.array([units.get(value % kernels.fr.modulus, 0) for value in matrix.pool], np.int64)
    row = np.repeat(np.arange(rows), np.diff(offsets))
    entries = np.stack([row, columns.astype(np.int64), values[coefficients]], axis=1)
    return entries[np.lexsort(entries.T[::-1])]
