"""Multilinear polynomials over Fr as tables of their values on the Boolean cube, and rounds of sum-checks."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from zenserve.kernels.arrays import FrArray, as_element, as_elements, as_vector, require_in_place


class Round(NamedTuple):
    """A polynomial of degree 2 in the variable that a round binds: its value at 0, its coefficient of X^2.

    uint64[4] each, Montgomery.
    """

    constant: FrArray
    leading: FrArray


class Multilinear:
    """Tables are uint64[2^v, 4], Montgomery; the first variable is the index's highest bit.

    A round binds the first variable. ``ValueError`` for arrays of other shapes or dtypes.
    """

    def __init__(self, extension: ModuleType) -> None:
        self._kernel = extension.multilinear

    def eq(self, point: FrArray, threads: int = 1) -> FrArray:
        """uint64[2^v, 4]: the values of eq(point, x), ``point`` uint64[v, 4]."""
        point = as_vector(point, (4,), "point")
        out = np.empty((1 << len(point), 4), dtype=np.uint64)
        self._kernel.eq(point, out, threads)
        return out

    def products(self, outer: FrArray, inner: FrArray, out: FrArray, threads: int = 1) -> None:
        """out[i] = outer[i / n] inner[i mod n], n = len(inner), in place; all uint64[.., 4]."""
        outer, inner = as_vector(outer, (4,), "outer"), as_vector(inner, (4,), "inner")
        require_in_place(out, (len(out), 4), "out")
        if len(out) > len(outer) * len(inner):
            raise ValueError(f"{len(outer)} by {len(inner)} elements have no {len(out)} products")
        self._kernel.products(outer, inner, out, threads)

    def dot(self, a: FrArray, b: FrArray, threads: int = 1) -> FrArray:
        """uint64[4]: the sum of a[i] b[i], each uint64[n, 4]."""
        a, b = as_vector(a, (4,), "a"), as_vector(b, (4,), "b")
        _require_equal(len(a), len(b))
        out = np.empty(4, dtype=np.uint64)
        self._kernel.dot(a, b, out, threads)
        return out

    def combine_rows(self, matrix: FrArray, coefficients: FrArray, out: FrArray, threads: int = 1) -> None:
        """out += coefficients · matrix, in place: uint64[columns, 4], [rows, 4] and [rows, columns, 4].

        Rows and result may be canonical instead, coefficients never.
        """
        coefficients = as_vector(coefficients, (4,), "coefficients")
        require_in_place(out, (len(out), 4), "out")
        matrix = as_elements(matrix, (len(coefficients), len(out), 4), "matrix")
        self._kernel.combine_rows(matrix, coefficients, out, threads)

    def fold(self, table: FrArray, r: FrArray, threads: int = 1) -> FrArray:
        """Bind the first variable to ``r``: the first half of ``table``, which it is written to."""
        require_in_place(table, (len(table), 4), "table")
        _require_even(table)
        self._kernel.fold(table, as_element(r, (4,), "r"), threads)
        return table[: len(table) // 2]

    def product_round(
        self, x: FrArray, y: FrArray, threads: int = 1, *, bound: FrArray | None = None
    ) -> Round:
        """Of the sum of x y over all other variables.

        With ``bound`` the first variable is bound to it before, as ``fold`` does: the tables are read once.
        """
        x, y = _tables(bound, x=x, y=y)
        _require_equal(len(x), len(y))
        _require_rounds(x, bound)
        out = np.empty((2, 4), dtype=np.uint64)
        self._kernel.product_round(x, y, _element(bound), out, threads)
        return Round(out[0], out[1])

    def rows_round(
        self,
        x: FrArray,
        rows: Sequence[FrArray],
        threads: int = 1,
        *,
        bound: FrArray | None = None,
        folded: FrArray | None = None,
    ) -> Round:
        """``product_round`` with a table that stands in ``rows``, a power of two of uint64[2^k, 4],
        k >= 3. They are not written to: with ``bound`` its values go to ``folded``, half as many.
        """
        (x,) = _tables(bound, x=x)
        width = len(rows[0])
        rows = [as_vector(row, (4,), "rows") for row in rows]
        if (
            width < 8
            or width & (width - 1)
            or len(rows) * width != len(x)
            or {len(r) for r in rows} != {width}
        ):
            raise ValueError(f"{len(rows)} rows of {width} values are no table as long as {len(x)}")
        _require_rounds(x, bound)
        if bound is not None:
            if folded is None:
                raise ValueError("rows that are bound need a place for what they become")
            require_in_place(folded, (len(x) // 2, 4), "folded")
        out = np.empty((2, 4), dtype=np.uint64)
        self._kernel.rows_round(x, rows, _element(bound), folded, out, threads)
        return Round(out[0], out[1])

    def r1cs_round(
        self,
        a: FrArray,
        b: FrArray,
        c: FrArray | None,
        outer: FrArray,
        inner: FrArray,
        threads: int = 1,
        *,
        bound: FrArray | None = None,
    ) -> Round:
        """Of the sum of w (a b - c) over all other variables; ``bound`` as for ``product_round``. Without
        ``c`` nothing may be bound: then a b = c is known to hold everywhere, and so the constant to be zero.

        w[i] = outer[i / n] inner[i mod n], where n = len(inner) is a power of two, and n len(outer) half the
        tables' length, when that variable is bound.
        """
        a, b = _tables(bound, a=a, b=b)
        _require_equal(len(a), len(b))
        if c is not None:
            (c,) = _tables(bound, c=c)
            _require_equal(len(a), len(c))
        elif bound is not None:
            raise ValueError("a table is missing that is to be bound")
        outer, inner = as_vector(outer, (4,), "outer"), as_vector(inner, (4,), "inner")
        _require_rounds(a, bound)
        length = len(a) if bound is None else len(a) // 2
        if len(inner) & (len(inner) - 1) or 2 * len(outer) * len(inner) != length:
            raise ValueError(f"{len(outer)} by {len(inner)} weights do not make half of {length} values")
        out = np.empty((2, 4), dtype=np.uint64)
        self._kernel.r1cs_round(a, b, c, _element(bound), outer, inner, out, threads)
        return Round(out[0], out[1])


def _tables(bound: FrArray | None, **tables: FrArray) -> list[FrArray]:
    """Each uint64[n, 4]; those that are bound are written to."""
    if bound is not None:
        for name, table in tables.items():
            require_in_place(table, (len(table), 4), name)
    return [as_vector(table, (4,), name) for name, table in tables.items()]


def _element(bound: FrArray | None) -> FrArray | None:
    return None if bound is None else as_element(bound, (4,), "bound")


def _require_rounds(table: FrArray, bound: FrArray | None) -> None:
    _require_even(table)
    if bound is not None:
        _require_even(table[: len(table) // 2])


def _require_equal(one: int, other: int) -> None:
    if one != other:
        raise ValueError(f"the arrays must be equally long, not {one} and {other}")


def _require_even(table: FrArray) -> None:
    if len(table) < 2 or len(table) % 2:
        raise ValueError(f"a table of {len(table)} values has no variable to bind")
