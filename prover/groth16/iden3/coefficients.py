"""The coefficients of a statement in one canonical order, a bounded number of rows at a time.

A ``Csr`` may name a column twice in a row, or with coefficient zero; iden3's readers disagree about what the
former means, so neither is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zenserve import kernels
from zenserve.kernels import FrArray, fr
from zenserve.prover.blocks import Csr
from zenserve.prover.constraint_system import ConstraintSystem

CHUNK_ROWS = 1 << 14


class Entries(NamedTuple):
    """Entries of a matrix, ascending by row, then column; no place twice, no value zero.

    ``row`` int64[n], ``column`` int64[n], ``value`` uint64[n, 4] in Montgomery form.
    """

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    value: FrArray


def merged(row: NDArray[np.int64], column: NDArray[np.int64], value: FrArray) -> Entries:
    """Entries from parallel arrays in any order; what shares a place is added up."""
    order = np.lexsort((column, row))
    row, column = row[order], column[order]
    fresh = np.ones(len(row), dtype=np.bool_)
    fresh[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    starts = np.flatnonzero(fresh)
    # Row i of this matrix picks the values that share the i-th place.
    total = kernels.csr_multiply(
        np.append(starts, len(row)),
        order.astype(np.uint32),
        np.zeros(len(row), dtype=np.uint32),
        fr.from_ints([1]),
        value,
    )
    keep = total.any(axis=1)
    return Entries(row[starts][keep], column[starts][keep], total[keep])


def chunks(system: ConstraintSystem) -> Iterator[tuple[slice, tuple[Entries, Entries, Entries]]]:
    """The constraints in order: a range of rows, and the entries of A, B and C in them."""
    for start, matrices in system.matrices():
        rows = matrices[0].rows
        for first in range(0, rows, CHUNK_ROWS):
            last = min(first + CHUNK_ROWS, rows)
            a, b, c = (_entries(matrix, first, last, start) for matrix in matrices)
            yield slice(start + first, start + last), (a, b, c)


def _entries(matrix: Csr, first: int, last: int, start: int) -> Entries:
    """Rows ``first`` to ``last`` of ``matrix``, whose row 0 is row ``start`` of the statement."""
    offsets = matrix.offsets[first : last + 1]
    inside = slice(int(offsets[0]), int(offsets[-1]))
    row = np.repeat(np.arange(start + first, start + last), np.diff(offsets))
    value = matrix.pool_mont[matrix.coefficients[inside]]
    return merged(row, matrix.columns[inside].astype(np.int64), value)
