"""Sparse matrices that stay, between vectors that come."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

import numpy as np

from zenserve.kernels.arrays import CheckedCsr, FrArray, as_vector, require_in_place


class SparseForms:
    """Matrices M_k. ``placed``: of each the row of the vector on its left that its first row belongs to, and
    the matrix, whose arrays are kept and must not change. ``ValueError`` for indices out of range: there are
    so many ``variables``.
    """

    def __init__(
        self, extension: ModuleType, placed: Iterable[tuple[int, CheckedCsr]], variables: int
    ) -> None:
        self._forms = extension.SparseForms()
        self._variables, self._rows = variables, 0
        self._kept = []
        for first, checked in placed:
            if first < 0:
                raise ValueError(f"a matrix begins at row 0 at the earliest, not {first}")
            matrix = checked.within(variables)
            self._forms.add(*matrix, first)
            self._kept.append(matrix)
            self._rows = max(self._rows, first + len(matrix[0]) - 1)

    def at(self, outer: FrArray, inner: FrArray, z: FrArray, threads: int = 1) -> FrArray:
        """uint64[matrices, 4]: the sums of y[i] M_k[i, j] z[j].

        y[i] = outer[i / n] inner[i mod n], where n = len(inner); z: uint64[variables, 4], best ``aligned``.
        ``ValueError`` where y has fewer rows than the matrices.
        """
        outer, inner = as_vector(outer, (4,), "outer"), as_vector(inner, (4,), "inner")
        z = as_vector(z, (4,), "z")
        if len(z) != self._variables or len(outer) * len(inner) < self._rows:
            raise ValueError(
                f"the matrices take {self._rows} rows and {self._variables} variables, "
                f"not {len(outer)} by {len(inner)} and {len(z)}"
            )
        out = np.empty((len(self._kept), 4), dtype=np.uint64)
        self._forms.at(outer, inner, z, out, threads)
        return out

    def add_transposed(self, y: FrArray, factors: FrArray, out: FrArray, threads: int = 1) -> None:
        """out[j] += the sums of factors[k mod n] y[i] M_k[i, j], in place.

        ``y``: uint64[rows, 4], ``factors``: uint64[n, 4], out: uint64[variables, 4]. ``ValueError`` where y
        has fewer rows than the matrices.
        """
        y, factors = as_vector(y, (4,), "y"), as_vector(factors, (4,), "factors")
        require_in_place(out, (self._variables, 4), "out")
        if len(y) < self._rows or not len(factors):
            raise ValueError(
                f"the matrices take {self._rows} rows and a factor, not {len(y)}, {len(factors)}"
            )
        self._forms.add_transposed(y, factors, out, threads)
