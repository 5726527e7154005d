"""Prime fields and their extensions as Python integers, and trees over columns of their elements: what a
verifier without kernels computes with. Verifiers with kernels replace the methods
(``zenserve.prover.spartan.field``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from zenserve.verifier.spartan import merkle

WIDE: Final = 64
"""Random bytes of which a remainder is as good as uniform: modulo 255 bits it is 2^-257 from it."""


@dataclass(frozen=True)
class Field:
    """The integers modulo ``modulus``. ``generator`` has no square root: 2^``two_adicity`` divides p - 1.

    Elements are Python integers. Their sums, differences and products are elements again once ``reduce`` was
    called.
    """

    modulus: int
    generator: int
    two_adicity: int

    @property
    def base(self) -> Field:
        """The prime field below, this one itself unless it is an ``Extension``."""
        return self

    @property
    def degree(self) -> int:
        """The degree over ``base``."""
        return 1

    @property
    def order(self) -> int:
        """The number of elements of the field."""
        return int(self.modulus**self.degree)

    @cached_property
    def element_bytes(self) -> int:
        """The number of bytes of an element, little-endian."""
        return (self.modulus.bit_length() + 7) // 8

    @cached_property
    def bits(self) -> float:
        """The number of whole bits of randomness of an element."""
        return self.modulus.bit_length() - 1

    @property
    def wide_bytes(self) -> int:
        """The number of random bytes that ``from_wide`` takes."""
        return WIDE

    def reduce(self, value: int) -> int:
        """The element that a sum of products is, each of three elements at most: its one spelling."""
        return value % self.modulus

    def inverse(self, value: int) -> int:
        """One over ``value``, which is not zero."""
        return pow(value, -1, self.modulus)

    def coefficients(self, value: int) -> list[int]:
        """The element's ``degree`` coefficients over ``base``."""
        return [value]

    def from_coefficients(self, coefficients: Sequence[int]) -> int:
        """The inverse of ``coefficients``."""
        (value,) = coefficients
        return value

    def from_wide(self, data: bytes) -> int:
        """The element that ``wide_bytes`` random bytes make."""
        return int.from_bytes(data, "little") % self.modulus

    def root_of_unity(self, log_size: int) -> int:
        """The generator of the subgroup of order 2^log_size, as the kernels' domains have it."""
        return pow(self.generator, (self.modulus - 1) >> log_size, self.modulus)

    def eq(self, point: Sequence[int]) -> Sequence[int]:
        """The values of eq(point, x) for x in {0, 1}^v, the first variable the index's highest bit."""
        table = [1]
        for r in point:
            table = [self.reduce(value * part) for value in table for part in (1 - r, r)]
        return table

    def eq_first(self, point: Sequence[int], count: int) -> Sequence[int]:
        """The first ``count`` values of ``eq``."""
        last = len(point) - (count - 1).bit_length()
        factor = self.eq_at(point[:last], [0] * last)
        return [self.reduce(factor * value) for value in self.eq(point[last:])[:count]]

    def eq_at(self, point: Sequence[int], other: Sequence[int]) -> int:
        """eq(point, other)."""
        result = 1
        for a, b in zip(point, other, strict=True):
            result = self.reduce(result * (1 - a - b + 2 * a * b))
        return result

    def dot(self, a: Sequence[int], b: Sequence[int]) -> int:
        return self.reduce(sum(x * y for x, y in zip(a, b, strict=True)))

    def combine(self, weights: Sequence[int], columns: Sequence[bytes]) -> list[int]:
        """The inner product of ``weights`` with each column, whose bytes are canonical elements."""
        return [self.dot(weights, self.from_bytes(column)) for column in columns]

    def words_at(
        self, log_length: int, places: Sequence[int], weights: Sequence[int], point: Sequence[int]
    ) -> int:
        """The multilinear extension, at ``point``, of what makes a row's coefficients its code word's entries
        at these places, weighted."""
        root = self.root_of_unity(log_length)
        return self.dot(weights, [self.powers_at(pow(root, place, self.modulus), point) for place in places])

    def powers_at(self, x: int, point: Sequence[int]) -> int:
        """The multilinear extension of 1, x, x^2, x^3, .."""
        result = 1
        for r in reversed(point):
            result = self.reduce(result * (1 - r + r * x))
            x = self.reduce(x * x)
        return result

    def tree_tops(
        self, log_leaves: int, places: Sequence[int], openings: Sequence[merkle.Opened]
    ) -> Sequence[bytes]:
        """Node 1 of the trees that were opened at these places, ascending."""
        tops = []
        for each in openings:
            leaves = map(merkle.leaf, each.salts, each.columns)
            tops.append(merkle.top(dict(zip(places, leaves, strict=True)), log_leaves, each.path))
        return tops

    def encode(self, coefficients: Sequence[int], log_length: int) -> Sequence[int]:
        """The polynomial's values at the 2^log_length-th roots of unity, in the order of their exponents."""
        values = [*coefficients, *([0] * ((1 << log_length) - len(coefficients)))]
        return self._transform(values, self.root_of_unity(log_length))

    def _transform(self, values: list[int], root: int) -> list[int]:
        size, p = len(values), self.modulus
        if size == 1:
            return values
        square = root * root % p
        even, odd = self._transform(values[::2], square), self._transform(values[1::2], square)
        out, power = [0] * size, 1
        for i in range(size // 2):
            term = power * odd[i] % p
            out[i], out[size // 2 + i] = (even[i] + term) % p, (even[i] - term) % p
            power = power * root % p
        return out

    def to_bytes(self, values: Sequence[int]) -> bytes:
        return b"".join(value.to_bytes(self.element_bytes, "little") for value in values)

    def are_canonical(self, data: bytes) -> bool:
        """Return whether all integers in ``data`` are below the modulus."""
        return max(self.from_bytes(data), default=0) < self.modulus

    def from_bytes(self, data: bytes) -> list[int]:
        """The integers that stand there, whether they are below the modulus or not."""
        size = self.element_bytes
        return [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]


_DIGIT_BITS: Final = 128
_DIGIT_BYTES: Final = _DIGIT_BITS // 8
_HALF: Final = 1 << (_DIGIT_BITS - 1)


@dataclass(frozen=True)
class Extension(Field):
    """The polynomials over the integers modulo ``modulus``, below 2^32, modulo x^``degree`` - ``w``.

    An element is the integer that its polynomial is at x = 2^128, coefficients below the modulus: elements of
    the base field stand for themselves, and the integers' own sums, differences and products are those of
    polynomials (Kronecker's substitution), whose coefficients may have signs, while they are below 2^127: a
    product of three elements has such of 2^101.
    """

    extension_degree: int
    w: int

    @cached_property
    def base(self) -> Field:
        return Field(self.modulus, self.generator, self.two_adicity)

    @property
    def degree(self) -> int:
        return self.extension_degree

    @cached_property
    def element_bytes(self) -> int:
        """The number of bytes of an element: its coefficients, lowest degree first, each little-endian."""
        return self.degree * self.base.element_bytes

    @cached_property
    def bits(self) -> float:
        return self.degree * self.base.bits

    @property
    def wide_bytes(self) -> int:
        """Eight bytes a coefficient, which are 2^-33 from uniform."""
        return 8 * self.degree

    def reduce(self, value: int) -> int:
        count = value.bit_length() // _DIGIT_BITS + 1
        data = (value + _HALF * _ones(count)).to_bytes(_DIGIT_BYTES * (count + 1), "little")
        digits = [
            int.from_bytes(data[i : i + _DIGIT_BYTES], "little") - _HALF
            for i in range(0, _DIGIT_BYTES * count, _DIGIT_BYTES)
        ]
        for i in reversed(range(self.degree, count)):
            digits[i - self.degree] += self.w * digits[i]
        return self.from_coefficients([digit % self.modulus for digit in digits[: self.degree]])

    def inverse(self, value: int) -> int:
        """By Frobenius: the product of the other conjugates, over that of all, which is of the base field."""
        others, conjugate = 1, value
        for _ in range(self.degree - 1):
            conjugate = self._frobenius(conjugate)
            others = self.reduce(others * conjugate)
        return self.reduce(others * pow(self.reduce(others * value), -1, self.modulus))

    def _frobenius(self, value: int) -> int:
        """``value`` to the power of the modulus: x^p = w^((p - 1) / degree) x."""
        root = pow(self.w, (self.modulus - 1) // self.degree, self.modulus)
        powers = [pow(root, i, self.modulus) for i in range(self.degree)]
        found = zip(self.coefficients(value), powers, strict=True)
        return self.from_coefficients([c * power % self.modulus for c, power in found])

    def coefficients(self, value: int) -> list[int]:
        mask = (1 << _DIGIT_BITS) - 1
        return [value >> (_DIGIT_BITS * i) & mask for i in range(self.degree)]

    def from_coefficients(self, coefficients: Sequence[int]) -> int:
        return sum(c << (_DIGIT_BITS * i) for i, c in enumerate(coefficients))

    def from_wide(self, data: bytes) -> int:
        words = (data[i : i + 8] for i in range(0, len(data), 8))
        return self.from_coefficients([int.from_bytes(word, "little") % self.modulus for word in words])

    def encode(self, coefficients: Sequence[int], log_length: int) -> Sequence[int]:
        """Each coefficient over the base field by itself."""
        planes = zip(*map(self.coefficients, coefficients), strict=True)
        words = [self.base.encode(plane, log_length) for plane in planes]
        return [self.from_coefficients(each) for each in zip(*words, strict=True)]

    def to_bytes(self, values: Sequence[int]) -> bytes:
        return self.base.to_bytes([c for value in values for c in self.coefficients(value)])

    def from_bytes(self, data: bytes) -> list[int]:
        found = self.base.from_bytes(data)
        return [self.from_coefficients(found[i : i + self.degree]) for i in range(0, len(found), self.degree)]

    def are_canonical(self, data: bytes) -> bool:
        return self.base.are_canonical(data)


@lru_cache(maxsize=64)
def _ones(count: int) -> int:
    """One in each of ``count`` digits."""
    return sum(1 << (_DIGIT_BITS * i) for i in range(count))


BEAR: Final = Field(15 * 2**27 + 1, 31, 27)
"""BabyBear, the base field of the tensor system."""

BEAR5: Final = Extension(BEAR.modulus, BEAR.generator, BEAR.two_adicity, 5, 2)
"""The extension of BabyBear that challenges are drawn from."""

FR: Final = Field(0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001, 5, 32)
"""The scalars of BLS12-381."""
