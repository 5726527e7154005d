"""BabyBear, the integers modulo p = 15 * 2^27 + 1, its extension F_p[x] / (x^5 - 2), and code words over it.

Elements are ``numpy.uint32`` below p, in Montgomery form (R = 2^32) unless a name says ``canon``; kernels do
not check that they are below p. A vector over the extension is five planes, uint32[5, n]: all coefficients
of 1, then those of x, and so on. ``ValueError`` for other shapes and dtypes.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.kernels.arrays import Progress, contiguous

BearArray = NDArray[np.uint32]
"""Elements of BabyBear; planes of them where shapes say [5, n]."""

Entries = NDArray[np.int8] | NDArray[np.int16] | NDArray[np.uint32]
"""Plain integers: small ones with a sign, or words below p."""

MODULUS: Final = 15 * 2**27 + 1
DEGREE: Final = 5
BLOCK_ROWS: Final = 8
"""Rows whose code words are made side by side."""
LOG_BLOWUP: Final = 2
MOST_LOG_LENGTH: Final = 24

_R: Final = (1 << 32) % MODULUS
_KINDS: Final = (np.int8, np.int16, np.uint32)


class Bear:
    """The base field: vectors of one shape, element by element; the second may be a single element."""

    def __init__(self, extension: ModuleType) -> None:
        self._kernel = extension.bear

    def add(self, a: BearArray, b: BearArray, threads: int = 1) -> BearArray:
        return self._zip("add", a, b, threads)

    def sub(self, a: BearArray, b: BearArray, threads: int = 1) -> BearArray:
        return self._zip("sub", a, b, threads)

    def mul(self, a: BearArray, b: BearArray, threads: int = 1) -> BearArray:
        return self._zip("mul", a, b, threads)

    def from_canon(self, plain: BearArray, threads: int = 1) -> BearArray:
        """Montgomery form of plain integers below p."""
        return self.mul(plain, np.array([_R * _R % MODULUS], dtype=np.uint32), threads)

    def to_canon(self, elements: BearArray, threads: int = 1) -> BearArray:
        """The plain integers below p."""
        return self.mul(elements, np.array([1], dtype=np.uint32), threads)

    def multiply_repeatedly(self, a: BearArray, b: BearArray, rounds: int) -> None:
        """For benchmarks: a = a b, so many times; vectors of the base field, or planes uint32[5, n]."""
        if a.shape != b.shape or not a.flags.c_contiguous:
            raise ValueError(f"b must have shape {a.shape}, not {b.shape}")
        self._kernel.multiply_repeatedly(_elements(a, "a"), _elements(b, "b"), rounds)

    def _zip(self, name: str, a: BearArray, b: BearArray, threads: int) -> BearArray:
        a, b = _elements(a, "a"), _elements(b, "b")
        if a.shape != b.shape and b.size != 1:
            raise ValueError(f"b must have shape {a.shape} or one element, not {b.shape}")
        out = np.empty_like(a)
        getattr(self._kernel, name)(a, b, out, threads)
        return out


class BearExtension:
    """F_p[x] / (x^5 - 2), vectors as planes uint32[5, n]. ``Bear`` adds and subtracts them."""

    def __init__(self, extension: ModuleType) -> None:
        self._kernel = extension.bear

    def mul(self, a: BearArray, b: BearArray, threads: int = 1) -> BearArray:
        """Element by element; ``b`` may be a single one, uint32[5, 1]."""
        a, b = _planes(a, "a"), _planes(b, "b")
        if b.shape[1] not in (1, a.shape[1]):
            raise ValueError(f"b must have {a.shape[1]} elements or one, not {b.shape[1]}")
        out = np.empty_like(a)
        self._kernel.multiply(a, b, out, threads)
        return out

    def scale(self, a: BearArray, b: BearArray, threads: int = 1) -> BearArray:
        """Element by element with ``b`` of the base field, uint32[n]."""
        a, b = _planes(a, "a"), _elements(b, "b")
        if b.shape != a.shape[1:]:
            raise ValueError(f"b must have shape {a.shape[1:]}, not {b.shape}")
        out = np.empty_like(a)
        self._kernel.scale(a, b, out, threads)
        return out

    def dot(self, a: BearArray, b: BearArray) -> BearArray:
        """The inner product, uint32[5]."""
        a, b = _planes(a, "a"), _planes(b, "b")
        if a.shape != b.shape:
            raise ValueError(f"b must have shape {a.shape}, not {b.shape}")
        out = np.empty(DEGREE, dtype=np.uint32)
        self._kernel.dot(a, b, out)
        return out

    def eq(self, point: BearArray) -> BearArray:
        """uint32[5, 2^v]: eq(point, x) for x in {0, 1}^v, the first variable the highest bit of x."""
        point = _planes(point, "point")
        out = np.empty((DEGREE, 1 << point.shape[1]), dtype=np.uint32)
        self._kernel.eq(point, out)
        return out

    def combine_rows(self, rows: Entries, weights: BearArray, threads: int = 1) -> BearArray:
        """uint32[5, n]: the sum of ``weights``, uint32[5, count], times ``rows``, plain integers [count,
        n].
        """
        rows, weights = _entries(rows, "rows"), _planes(weights, "weights")
        if len(rows) != weights.shape[1]:
            raise ValueError(f"{len(rows)} rows are not combined by {weights.shape[1]} weights")
        out = np.empty((DEGREE, rows.shape[1]), dtype=np.uint32)
        self._kernel.combine_rows(rows, rows.shape[1], weights, out, threads)
        return out

    def row_products(self, rows: Entries, weights: BearArray, threads: int = 1) -> BearArray:
        """uint32[5, count]: the inner products of ``rows``, plain integers [count, n], with ``weights``,
        uint32[5, n]."""
        rows, weights = _entries(rows, "rows"), _planes(weights, "weights")
        if rows.shape[1] != weights.shape[1]:
            raise ValueError(
                f"rows of {rows.shape[1]} entries have no product with {weights.shape[1]} weights"
            )
        out = np.empty((DEGREE, len(rows)), dtype=np.uint32)
        self._kernel.row_products(rows, rows.shape[1], weights, out, threads)
        return out


class FractionTree:
    """The sum of fractions as a binary tree, and the rounds from its root to its leaves, in order.

    ``numerators``: uint32[n], of the base field, kept, must not change; ``denominators``: uint32[5, n]; n is
    a power of two, two at least. Node i of a layer of h nodes has the children i and h + i of the layer
    below: n = n0 d1 + n1 d0, d = d0 d1. Elements are uint32[5].
    """

    def __init__(
        self, extension: ModuleType, numerators: BearArray, denominators: BearArray, threads: int = 1
    ) -> None:
        self._numerators, denominators = (
            _elements(numerators, "numerators"),
            _planes(denominators, "denominators"),
        )
        count = self._numerators.size
        if count < 2 or count & (count - 1) or denominators.shape[1] != count or self._numerators.ndim != 1:
            raise ValueError(
                f"{numerators.shape} numerators and {denominators.shape} denominators make no tree"
            )
        self.log_leaves = count.bit_length() - 1
        self._tree = extension.bear.FractionTree(self._numerators, denominators, threads)
        self._left, self._layer = -1, -1

    def root(self) -> BearArray:
        """uint32[2, 5]: the sum's numerator and denominator."""
        out = np.empty((2, DEGREE), dtype=np.uint32)
        self._tree.root(out)
        return out

    def begin(self, join: BearArray) -> None:
        """The next layer below, of twice as many nodes: the claim is the numerator plus ``join`` times the
        denominator. ``ValueError`` where it is not the turn of one."""
        if self._left >= 0 or self._layer + 1 >= self.log_leaves:
            raise ValueError("a layer begins when the one above has ended, and above the leaves")
        self._layer += 1
        self._left = self._layer
        self._tree.begin(self._layer, _element(join, "join"))

    def round(self, r: BearArray | None, outer: BearArray, inner: BearArray) -> BearArray:
        """uint32[2, 5]: of the round's polynomial, eq's factor left out, the value at 1 and the coefficient
        of X^2. ``r``: what the variable before is, none in a layer's first round; eq of the variables behind
        this one is ``outer``, uint32[5, blocks], times ``inner``, uint32[5, width]."""
        outer, inner = _planes(outer, "outer"), _planes(inner, "inner")
        self._require_turn(r)
        if self._left < 1 or outer.shape[1] * inner.shape[1] != 1 << (self._left - 1):
            raise ValueError(f"a round with {self._left} variables has no {outer.shape} times {inner.shape}")
        self._left -= 1
        out = np.empty((2, DEGREE), dtype=np.uint32)
        self._tree.round(None if r is None else _element(r, "r"), outer, inner, out)
        return out

    def halves(self, r: BearArray | None) -> BearArray:
        """uint32[4, 5]: n0, n1, d0 and d1 where all variables are bound, the last to ``r``."""
        self._require_turn(r)
        if self._left != 0:
            raise ValueError(f"{self._left} rounds are left")
        self._left = -1
        out = np.empty((4, DEGREE), dtype=np.uint32)
        self._tree.halves(None if r is None else _element(r, "r"), out)
        return out

    def _require_turn(self, r: BearArray | None) -> None:
        if (r is None) != (self._left == self._layer):
            raise ValueError("a variable is bound in each round but a layer's first")


class BearDomain:
    """The 2^log_length-th roots of unity, from 4 up to 2^24, and code words of rate 1/4 there."""

    def __init__(self, extension: ModuleType, log_length: int) -> None:
        if not LOG_BLOWUP <= log_length <= MOST_LOG_LENGTH:
            raise ValueError(f"a domain has 2^{LOG_BLOWUP} to 2^{MOST_LOG_LENGTH} roots, not 2^{log_length}")
        self._kernel = extension.bear.Domain(log_length)
        self.length = 1 << log_length

    def encode(
        self,
        values: Entries,
        tails: BearArray | None = None,
        *,
        threads: int = 1,
        progress: Progress | None = None,
    ) -> BearArray:
        """uint32[blocks, length, 8]: the code words of rows, eight of them side by side in a block.

        A row's coefficients are ``values``, plain integers [rows, width], and ``tails``, uint32[rows, tail],
        length / 4 of them together. Entry [b, j, r] is the value of the polynomial of row 8 b + r at the j-th
        power of the root, plain. Rows that the last block lacks are zero. Seen as uint64[blocks, length, 4]
        this is what ``Blake3.columns`` takes: a column's entries stand in order, 4 bytes each.
        """
        values, degree = _entries(values, "values"), self.length >> LOG_BLOWUP
        rows, width = values.shape
        if tails is None:
            tails = np.empty((rows, 0), dtype=np.uint32)
        tails = _elements(tails, "tails")
        if not rows or tails.shape != (rows, degree - width):
            raise ValueError(f"{values.shape} values and {tails.shape} tails are no rows of {degree}")
        out = np.empty((-(-rows // BLOCK_ROWS), self.length, BLOCK_ROWS), dtype=np.uint32)
        self._kernel.encode(values, tails, out, threads, progress)
        return out


def _elements(array: BearArray, name: str) -> BearArray:
    if array.dtype != np.uint32:
        raise ValueError(f"{name} must be uint32, not {array.dtype}")
    return contiguous(array)


def _element(array: BearArray, name: str) -> BearArray:
    if array.shape != (DEGREE,):
        raise ValueError(f"{name} must be uint32[{DEGREE}], not {array.shape}")
    return _elements(array, name)


def _planes(array: BearArray, name: str) -> BearArray:
    if array.ndim != 2 or len(array) != DEGREE:
        raise ValueError(f"{name} must be uint32[{DEGREE}, n], not {array.shape}")
    return _elements(array, name)


def _entries(array: Entries, name: str) -> NDArray[Any]:
    if array.ndim != 2 or array.dtype not in _KINDS:
        raise ValueError(f"{name} must be int8, int16 or uint32 [rows, n], not {array.dtype}{array.shape}")
    return contiguous(array)
