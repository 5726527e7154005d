"""Elements and points as iden3's libraries draw them from a seed: what both sides of a proof must agree on.

A ChaCha stream whose key is the seed, no nonce, 20 rounds, read as words of 32 bits. Slow, for a few points.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

import numpy as np

from zenserve.kernels import FrArray, Group, WordArray, fp, fr, g1, g2
from zenserve.prover.groth16.iden3.blake2 import COLUMNS_AND_DIAGONALS

_P: Final = fp.modulus
_X: Final = -0xD201000000010000
"""The parameter of the curve, of which both cofactors are polynomials."""
_COFACTOR_G1: Final = (_X - 1) ** 2 // 3
_COFACTOR_G2: Final = (_X**8 - 4 * _X**7 + 5 * _X**6 - 4 * _X**4 + 6 * _X**3 - 4 * _X**2 - 4 * _X + 13) // 9

_CONSTANTS = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)
_MASK = (1 << 32) - 1


class Source:
    """Draws from ``seed``: its first 32 bytes, as eight words big-endian."""

    def __init__(self, seed: bytes) -> None:
        self._words = _chacha(struct.unpack(">8I", seed[:32]))

    def scalar(self) -> FrArray:
        """A scalar of Fr, uint64[1, 4], Montgomery."""
        return _limbs(self._below(fr.modulus), 4)

    def point_g1(self) -> WordArray:
        """A point of the subgroup, uint64[1, 2, 6]."""
        while True:
            x, greater = self._coordinate(), self._bit()
            y = _square_root(x**3 + 4)
            if y is not None:
                break
        if (y > _P // 2) != greater:
            y = -y % _P
        return _times(g1, fp.from_ints([x, y]).reshape(1, *g1.shape), _COFACTOR_G1)

    def point_g2(self) -> WordArray:
        """A point of the subgroup, uint64[1, 2, 2, 6]."""
        while True:
            x0, x1, greater = self._coordinate(), self._coordinate(), self._bit()
            # (x0 + i x1)³ + 4 + 4i
            y = _square_root_fp2(x0**3 - 3 * x0 * x1**2 + 4, 3 * x0**2 * x1 - x1**3 + 4)
            if y is not None:
                break
        if ((y[1] or y[0]) > _P // 2) != greater:
            y = -y[0] % _P, -y[1] % _P
        return _times(g2, fp.from_ints([x0, x1, *y]).reshape(1, *g2.shape), _COFACTOR_G2)

    def _coordinate(self) -> int:
        # What is drawn are the words in memory: the element in Montgomery form.
        return fp.to_ints(_limbs(self._below(_P), 6))[0]

    def _below(self, modulus: int) -> int:
        limbs, mask = -(-modulus.bit_length() // 64), (1 << modulus.bit_length()) - 1
        while True:
            value = (
                sum((next(self._words) << 32 | next(self._words)) << (64 * i) for i in range(limbs)) & mask
            )
            if value < modulus:
                return value

    def _bit(self) -> bool:
        return bool(next(self._words) & 1)


def _times(group: Group, point: WordArray, factor: int) -> WordArray:
    """By doubling and adding: the kernels' multiplication is for points of the subgroup."""
    product = point
    for bit in f"{factor:b}"[1:]:
        product = group.add(product, product)
        if bit == "1":
            product = group.add(product, point)
    return product


def _square_root(value: int) -> int | None:
    """In Fp, whose order is 3 modulo 4."""
    root = pow(value, (_P + 1) // 4, _P)
    return root if root * root % _P == value % _P else None


def _square_root_fp2(real: int, imaginary: int) -> tuple[int, int] | None:
    """In Fp2 = Fp[i]: (x + iy)² = x² - y² + 2ixy, and its norm is the square of x² + y²."""
    norm = _square_root(real * real + imaginary * imaginary)
    if norm is None:
        return None
    half = (_P + 1) // 2
    # One of the two is a square: their product is -(imaginary / 2)², and -1 is none.
    for x_squared in ((real + norm) * half, (real - norm) * half):
        x = _square_root(x_squared)
        if x:
            return x, imaginary * pow(2 * x, -1, _P) % _P
    return 0, _square_root(-real) or 0


def _limbs(value: int, count: int) -> WordArray:

    return np.frombuffer(value.to_bytes(8 * count, "little"), dtype=np.uint64).reshape(1, count)


def _chacha(key: tuple[int, ...]) -> Iterator[int]:
    counter = 0
    while True:
        start = [*_CONSTANTS, *key, *struct.unpack("<4I", counter.to_bytes(16, "little"))]
        state = list(start)
        for _ in range(10):
            for quarter in COLUMNS_AND_DIAGONALS:
                _quarter_round(state, *quarter)
        yield from ((x + y) & _MASK for x, y in zip(state, start, strict=True))
        counter += 1


def _quarter_round(state: list[int], a: int, b: int, c: int, d: int) -> None:
    for target, source, mixed, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        state[target] = (state[target] + state[source]) & _MASK
        word = state[mixed] ^ state[target]
        state[mixed] = (word << by | word >> (32 - by)) & _MASK
