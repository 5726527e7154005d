"""Prime fields as Python integers in [0, p), and trees over columns of their elements: what a verifier
without kernels computes with. Verifiers with kernels replace the methods (``prover.spartan.field``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from verifier.spartan import merkle


@dataclass(frozen=True)
class Field:
    """The integers modulo ``modulus``. ``generator`` has no square root: 2^``two_adicity`` divides p - 1."""

    modulus: int
    generator: int
    two_adicity: int

    @cached_property
    def element_bytes(self) -> int:
        """How many bytes an element takes, little-endian."""
        return (self.modulus.bit_length() + 7) // 8

    @cached_property
    def bits(self) -> float:
        """How many whole bits of randomness an element has."""
        return self.modulus.bit_length() - 1

    def root_of_unity(self, log_size: int) -> int:
        """The generator of the subgroup of order 2^log_size, as the kernels' domains have it."""
        return pow(self.generator, (self.modulus - 1) >> log_size, self.modulus)

    def eq(self, point: Sequence[int]) -> Sequence[int]:
        """The values of eq(point, x) for x in {0, 1}^v, the first variable the index's highest bit."""
        p, table = self.modulus, [1]
        for r in point:
            table = [value * part % p for value in table for part in (1 - r, r)]
        return table

    def eq_first(self, point: Sequence[int], count: int) -> Sequence[int]:
        """The first ``count`` values of ``eq``."""
        last = len(point) - (count - 1).bit_length()
        factor = self.eq_at(point[:last], [0] * last)
        return [factor * value % self.modulus for value in self.eq(point[last:])[:count]]

    def eq_at(self, point: Sequence[int], other: Sequence[int]) -> int:
        """eq(point, other)."""
        result = 1
        for a, b in zip(point, other, strict=True):
            result = result * (1 - a - b + 2 * a * b) % self.modulus
        return result

    def dot(self, a: Sequence[int], b: Sequence[int]) -> int:
        return sum(x * y for x, y in zip(a, b, strict=True)) % self.modulus

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
            result = result * (1 - r + r * x) % self.modulus
            x = x * x % self.modulus
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
        """Whether the integers that stand there are below the modulus."""
        return max(self.from_bytes(data), default=0) < self.modulus

    def from_bytes(self, data: bytes) -> list[int]:
        """The integers that stand there, whether they are below the modulus or not."""
        size = self.element_bytes
        return [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]


FR: Final = Field(0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001, 5, 32)
"""The scalars of BLS12-381."""
