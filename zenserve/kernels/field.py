"""Arithmetic in Fr, Fp and Fp2 on whole arrays."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from zenserve.kernels.arrays import (
    FrArray,
    WordArray,
    as_element,
    as_elements,
    as_vector,
    contiguous,
    require_in_place,
)


class Field:
    """Elementwise operations on arrays uint64[..., *shape] in Montgomery form. New arrays are returned.

    In binary operations ``b`` has the shape of ``a`` or is a single element. Long arrays are shared among
    ``threads``. ``ValueError`` for arrays of another dtype or shape.
    """

    def __init__(self, extension: ModuleType, name: str, shape: tuple[int, ...]) -> None:
        self._kernel = getattr(extension, name)
        self.name = name
        self.shape = shape

    def add(self, a: WordArray, b: WordArray, threads: int = 1) -> WordArray:
        return self._binary(self._kernel.add, a, b, threads)

    def sub(self, a: WordArray, b: WordArray, threads: int = 1) -> WordArray:
        return self._binary(self._kernel.sub, a, b, threads)

    def mul(self, a: WordArray, b: WordArray, threads: int = 1) -> WordArray:
        return self._binary(self._kernel.mul, a, b, threads)

    def neg(self, a: WordArray, threads: int = 1) -> WordArray:
        return self._unary(self._kernel.neg, a, threads)

    def square(self, a: WordArray, threads: int = 1) -> WordArray:
        return self._unary(self._kernel.square, a, threads)

    def inverse(self, a: WordArray, threads: int = 1) -> WordArray:
        """1 / a by Montgomery's trick; zero goes to zero. Each thread takes a scratch of 2^12 elements."""
        out = as_elements(a, self.shape, "a").copy()
        self._kernel.inverse(out, threads)
        return out

    def _unary(self, operation: object, a: WordArray, threads: int) -> WordArray:
        a = as_elements(a, self.shape, "a")
        out = np.empty_like(a)
        operation(a, out, threads)  # type: ignore[operator]
        return out

    def _binary(self, operation: object, a: WordArray, b: WordArray, threads: int) -> WordArray:
        a, b = as_elements(a, self.shape, "a"), as_elements(b, self.shape, "b")
        if b.shape not in (a.shape, self.shape):
            raise ValueError(f"b must have the shape of a, {a.shape}, or be one element, not {b.shape}")
        out = np.empty_like(a)
        operation(a, b, out, threads)  # type: ignore[operator]
        return out


class PrimeField(Field):
    """A field whose elements are the integers below ``modulus``; each takes ``words`` 64-bit words."""

    def __init__(self, extension: ModuleType, name: str, shape: tuple[int, ...]) -> None:
        super().__init__(extension, name, shape)
        (self.words,) = shape
        modulus = np.empty(self.words, dtype="<u8")
        self._kernel.modulus(modulus)
        self.modulus = int.from_bytes(modulus.tobytes(), "little")

    def is_canonical(self, a: WordArray) -> NDArray[np.bool_]:
        """Return for each element of ``a``, uint64[..., words], whether it is below the modulus."""
        below = np.zeros(a.shape[:-1], dtype=np.bool_)
        equal = ~below
        for word in reversed(range(self.words)):
            bound = np.uint64(self.modulus >> 64 * word & (1 << 64) - 1)
            below |= equal & (a[..., word] < bound)
            equal &= a[..., word] == bound
        return below

    def to_canonical(self, a: WordArray, threads: int = 1) -> WordArray:
        """Montgomery to canonical form: plain integers, little-endian words."""
        return self._unary(self._kernel.to_canon, a, threads)

    def from_canonical(self, a: WordArray, threads: int = 1) -> WordArray:
        """Canonical form (each integer below the modulus, which is not checked) to Montgomery."""
        return self._unary(self._kernel.from_canon, a, threads)

    def from_ints(self, values: Iterable[int]) -> WordArray:
        """uint64[n, words]: the integers modulo the field's modulus, in Montgomery form."""
        data = b"".join((value % self.modulus).to_bytes(8 * self.words, "little") for value in values)
        return self.from_canonical(np.frombuffer(data, dtype="<u8").reshape(-1, self.words))

    def to_ints(self, a: WordArray) -> list[int]:
        """The canonical integers, flattened in C order."""
        data = self.to_canonical(a).tobytes()
        size = 8 * self.words
        return [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]

    def multiply_repeatedly(self, values: WordArray, rounds: int) -> None:
        """For benchmarks: ``rounds`` times values[:-1] *= values[-1], in place; uint64[chains + 1, words].

        The chains do not wait for each other. ``chains`` is a multiple of eight.
        """
        require_in_place(values, (max(1, len(values) // 8) * 8 + 1, self.words), "values")
        self._kernel.multiply_repeatedly(values, rounds)


class ScalarField(PrimeField):
    """Fr, where witnesses live."""

    def from_int64(
        self, values: NDArray[np.int64], threads: int = 1, *, out: FrArray | None = None
    ) -> FrArray:
        """uint64[*values.shape, 4] in Montgomery form, in ``out`` if it is given; negative integers are taken
        modulo r."""
        if values.dtype != np.int64:
            raise ValueError(f"values must be int64, not {values.dtype}")
        shape = *values.shape, self.words
        if out is None:
            out = np.empty(shape, dtype=np.uint64)
        require_in_place(out, shape, "out")
        self._kernel.from_int64(contiguous(values), out, threads)
        return out

    def shorten(self, a: FrArray, threads: int = 1) -> NDArray[np.int32]:
        """int32[n]: the integers that uint64[n, 4] are, of 31 bits and a sign; -2^31 for all others."""
        a = as_vector(a, self.shape, "a")
        out = np.empty(len(a), dtype=np.int32)
        self._kernel.shorten(a, out, threads)
        return out

    def powers(self, base: FrArray, count: int, first: FrArray | None = None, threads: int = 1) -> FrArray:
        """uint64[count, 4]: first * base^i for i = 0 .. count - 1; ``first`` is one unless given."""
        first = self.from_ints([1])[0] if first is None else as_element(first, self.shape, "first")
        out = np.empty((count, self.words), dtype=np.uint64)
        self._kernel.powers(first, as_element(base, self.shape, "base"), out, threads)
        return out

    def first_unsatisfied(self, a: FrArray, b: FrArray, c: FrArray, threads: int = 1) -> int | None:
        """The first i with a[i] · b[i] != c[i], or None; each uint64[n, 4]."""
        a, b, c = (as_vector(values, self.shape, name) for values, name in ((a, "a"), (b, "b"), (c, "c")))
        if not len(a) == len(b) == len(c):
            raise ValueError(f"a, b and c must be equally long, not {len(a)}, {len(b)} and {len(c)}")
        first = int(self._kernel.first_unsatisfied(a, b, c, threads))
        return None if first == len(a) else first
