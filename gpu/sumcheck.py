"""Multilinear polynomials over Fr on the device, and rounds of sum-checks: source/sumcheck.cu.

Tables are uint64[tables, 2^v, 4], Montgomery; the first variable is the index's highest bit. What a round
says is on the host: Python integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpu import modules
from gpu.device import Array, Device

_THREADS: Final = 256
_LOG_BLOCKS: Final = 9
"""Of a round: they fill the card."""

_R: Final = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
_RADIX: Final = 1 << 256
_RADIX_INVERSE: Final = pow(_RADIX, -1, _R)


Keep = Callable[[Array], Array]
"""Is given what is derived from a sum-check's tables, to erase it one day, and hands it back."""


class Weights:
    """The values of eq(point, x), as products of two tables of the square root's size."""

    def __init__(self, device: Device, point: Sequence[int]) -> None:
        self._device, self.variables = device, len(point)
        self.low_bits = len(point) - len(point) // 2
        split = len(point) - self.low_bits
        self._high, self._low = (self._suffixes(part) for part in (point[:split], point[split:]))

    def last(self, count: int) -> tuple[Array, Array, int]:
        """Of the last ``count`` coordinates: tables ``high`` and ``low``, and of how many ``low`` is."""
        bits = min(count, self.low_bits)
        rest = 1 << (count - bits)
        return self._high[rest : 2 * rest], self._low[1 << bits : 2 << bits], bits

    def table(self) -> Array:
        """uint64[2^variables, 4]"""
        high, low, bits = self.last(self.variables)
        n = 1 << self.variables
        out = self._device.empty((n, 4), np.uint64)
        _module(self._device).launch(
            "eq_product", -(-n // _THREADS), _THREADS, high, low, np.int32(bits), np.int64(n), out
        )
        return out

    def dot(self, values: Array, keep: Keep) -> int:
        """The sum of eq(point, i) values[i], uint64[2^variables, 4]."""
        device, (high, low, bits) = self._device, self.last(self.variables)
        blocks = max(1, min(1 << _LOG_BLOCKS, len(values) // _THREADS))
        sums = keep(device.empty((blocks + 1, 1, 4), np.uint64))
        numbers = np.int32(bits), np.int64(len(values))
        _module(device).launch("weighted_sum", blocks, _THREADS, values, high, low, *numbers, sums[1:])
        _module(device).launch("add_partial", 1, _THREADS, sums[1:], np.int64(blocks), np.int32(1), sums)
        (total,) = to_ints(device.download(sums[0]))
        return total

    def _suffixes(self, point: Sequence[int]) -> Array:
        device = self._device
        out = device.empty((2 << len(point), 4), np.uint64)
        coordinates = device.bring(to_words(point)) if point else None
        threads = max(32, min(512, 1 << max(0, len(point) - 1)))
        _module(device).launch("eq_suffixes", 1, threads, coordinates, np.int32(len(point)), out)
        return out


class SumCheck:
    """A sum of products of ``tables``, uint64[tables, 2^v, 4], which stay as they are.

    ``bind`` takes effect with the next round, or with ``values``: to fold costs no launch of its own.
    """

    coefficients: int

    def __init__(self, device: Device, tables: Array, keep: Keep) -> None:
        self._device, self._tables = device, tables
        count, size = tables.shape[:2]
        # All that is folded, one after the other; what a round sums up.
        self._folded = keep(device.empty((count * size, 4), np.uint64))
        self._sums = keep(device.empty(((1 << _LOG_BLOCKS) + 1, self.coefficients, 4), np.uint64))
        self._bound: int | None = None

    def bind(self, r: int) -> None:
        self._bound = r

    def values(self) -> list[int]:
        """What the tables have left when all variables are bound."""
        if self._bound is not None:
            source, r = self._tables, _number(self._bound)
            folded = self._next()
            count, half = folded.shape[:2]
            numbers = np.int64(half), np.int64(count * half), *r
            _module(self._device).launch(
                "fold", -(-count * half // _THREADS), _THREADS, source, *numbers, folded
            )
        return to_ints(self._device.download(self._tables))

    def _round(self, kernel: str, *arguments: object) -> list[int]:
        source, r = self._tables, _number(self._bound or 0)
        folded = None if self._bound is None else self._next()
        half = self._tables.shape[1] // 2
        blocks = max(1, min(1 << _LOG_BLOCKS, half // _THREADS))
        total, partial = self._sums[0], self._sums[1:] if blocks > 1 else self._sums[:1]
        module = _module(self._device)
        module.launch(kernel, blocks, _THREADS, source, folded, np.int64(half), *r, *arguments, partial)
        if blocks > 1:
            numbers = np.int64(blocks), np.int32(self.coefficients)
            module.launch("add_partial", 1, _THREADS, partial, *numbers, total)
        return to_ints(self._device.download(total))

    def _next(self) -> Array:
        """The room of the tables that the bound variable leaves."""
        count, size = self._tables.shape[:2]
        room = self._folded[: count * size // 2]
        self._folded = self._folded[count * size // 2 :]
        self._tables, self._bound = room.reshape(count, size // 2, 4), None
        return self._tables


class R1csSumCheck(SumCheck):
    """Of eq(point, x) (a b - c), rounds without eq's factor of their own variable and of those before."""

    coefficients = 2

    def __init__(self, device: Device, tables: Array, point: Sequence[int], keep: Keep) -> None:
        super().__init__(device, tables, keep)
        self._weights, self._left = Weights(device, point), len(point)

    def round(self) -> tuple[int, int]:
        """The value at 0 and the coefficient of X^2."""
        self._left -= 1
        high, low, bits = self._weights.last(self._left)
        constant, leading = self._round("r1cs_round", high, low, np.int32(bits))
        return constant, leading


class ProductSumCheck(SumCheck):
    """Of a b."""

    coefficients = 2

    def round(self) -> tuple[int, int]:
        """The value at 0 and the coefficient of X^2."""
        constant, leading = self._round("product_round")
        return constant, leading


class CubicSumCheck(SumCheck):
    """Of a b c, and of as many triples as there are tables."""

    coefficients = 3

    def round(self) -> tuple[int, int, int]:
        """The values at 0 and -1, and the coefficient of X^3."""
        constant, before, leading = self._round("cubic_round", np.int32(len(self._tables) // 3))
        return constant, before, leading


def to_words(values: Sequence[int]) -> NDArray[np.uint64]:
    """uint64[n, 4], Montgomery, on the host."""
    data = b"".join((value * _RADIX % _R).to_bytes(32, "little") for value in values)
    return np.frombuffer(data, np.uint64).reshape(-1, 4)


def to_ints(words: NDArray[np.uint64]) -> list[int]:
    data = words.tobytes()
    parts = (data[i : i + 32] for i in range(0, len(data), 32))
    return [int.from_bytes(part, "little") * _RADIX_INVERSE % _R for part in parts]


def _number(value: int) -> tuple[np.uint64, ...]:
    return tuple(to_words([value])[0])


def _module(device: Device) -> modules.Module:
    return modules.load(device, "sumcheck")
