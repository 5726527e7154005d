"""Arrays of field elements and points on the device: map, zip and reduce (source/patterns.hpp)."""

from __future__ import annotations

from typing import Final

import numpy as np

from zenserve.gpu import modules
from zenserve.gpu.device import Array, Device
from zenserve.gpu.points import to_affine

_THREADS: Final = 256
_POINT_THREADS: Final = 128
_BLOCKS: Final = 132 * 4
"""Blocks of a reduction: they fill the card, and the second launch combines one value of each."""

_CHAINS: Final = 132 * 512
_POINT_CHAINS: Final = 132 * 128
"""Threads among which inversions are shared out."""


_SHAPES: Final[dict[str, tuple[int, ...]]] = {"Fr": (4,), "Fp": (6,), "Fp2": (2, 6)}


class Field:
    """Elementwise operations on uint64[..., *shape] in Montgomery form, on ``device``.

    ``name`` is "Fr", "Fp" or "Fp2".

    ``b`` has the shape of ``a`` or is one element. Results go to ``out``, which may be an operand unless said
    otherwise; a new array unless given.
    """

    def __init__(self, device: Device, name: str) -> None:
        self._device = device
        self.name = name
        self.shape = _SHAPES[name]

    def add(self, a: Array, b: Array, out: Array | None = None) -> Array:
        return self._zip("add", a, b, out)

    def sub(self, a: Array, b: Array, out: Array | None = None) -> Array:
        return self._zip("sub", a, b, out)

    def mul(self, a: Array, b: Array, out: Array | None = None) -> Array:
        return self._zip("mul", a, b, out)

    def neg(self, a: Array, out: Array | None = None) -> Array:
        return self._map("neg", a, out)

    def square(self, a: Array, out: Array | None = None) -> Array:
        return self._map("square", a, out)

    def to_canonical(self, a: Array, out: Array | None = None) -> Array:
        """Plain integers, little-endian words."""
        return self._map("to_canonical", a, out)

    def from_canonical(self, a: Array, out: Array | None = None) -> Array:
        """Integers below the modulus, which is not checked, to Montgomery form."""
        return self._map("from_canonical", a, out)

    def inverse(self, a: Array, out: Array | None = None) -> Array:
        """1 / a; zero goes to zero. ``out`` must not be ``a``."""
        out, n = self._like(a) if out is None else out, _count(a, self.shape)
        self._module().launch("inverse", _grid(min(n, _CHAINS), _THREADS), _THREADS, a, out, np.int64(n))
        return out

    def sum(self, a: Array) -> Array:
        """The sum of all elements: uint64[*shape]."""
        n = _count(a, self.shape)
        blocks, device = _reducers(n, _THREADS), self._device
        partial, out = device.empty((blocks, *self.shape), np.uint64), device.empty(self.shape, np.uint64)
        self._module().launch("sum", blocks, _THREADS, a, partial, np.int64(n))
        self._module().launch("sum", 1, _THREADS, partial, out, np.int64(blocks))
        return out

    def _module(self) -> modules.Module:
        return modules.load(self._device, "elementwise", f"ZEN_ELEMENT={self.name}", "ZEN_CALL_PRODUCTS")

    def _like(self, a: Array) -> Array:
        return self._device.empty(a.shape, a.dtype)

    def _map(self, kernel: str, a: Array, out: Array | None) -> Array:
        out, n = self._like(a) if out is None else out, _count(a, self.shape)
        self._module().launch(kernel, _grid(n, _THREADS), _THREADS, a, out, np.int64(n))
        return out

    def _zip(self, kernel: str, a: Array, b: Array, out: Array | None) -> Array:
        out, n = self._like(a) if out is None else out, _count(a, self.shape)
        stride = _stride(a, b, self.shape)
        self._module().launch(kernel, _grid(n, _THREADS), _THREADS, a, b, stride, out, np.int64(n))
        return out


class ScalarField(Field):
    """Fr, where witnesses live."""

    def __init__(self, device: Device) -> None:
        super().__init__(device, "Fr")

    def from_int64(self, values: Array) -> Array:
        """int64[...] to uint64[..., 4]; negative integers are taken modulo r."""
        out, n = self._device.empty((*values.shape, 4), np.uint64), values.size
        self._scalars().launch("from_int64", _grid(n, _THREADS), _THREADS, values, out, np.int64(n))
        return out

    def place_int64(self, values: Array, places: Array, out: Array) -> None:
        """out[places[i]] = values[i], int64[n] at uint32[n] of uint64[.., 4]."""
        self._at("place_int64", len(places), values, places, np.int64(len(places)), out)

    def take_int64(self, a: Array, places: Array, out: Array) -> None:
        """out[i] = a[places[i]], int64[n]: elements that are less than 2^63 from zero."""
        self._at("take_int64", len(places), a, places, np.int64(len(places)), out)

    def add_int64(self, values: Array, factors: Array, out: Array) -> None:
        """out += factors · values, products of 64 bits; int64[n] each, or one factor for all."""
        stride, n = np.int64(len(factors) > 1), np.int64(len(values))
        self._at("add_int64", len(values), values, factors, stride, n, out)

    def place(self, values: Array, places: Array, out: Array) -> None:
        """out[places[i]] = values[i], uint32[n]."""
        self._at("place", len(places), values, places, np.int64(len(places)), out)

    def equal(self, a: Array, b: Array) -> bool:
        """Return whether two arrays of equally many elements are the same. Waits for the device."""
        found, quads = self._device.zeros(1, np.uint32), 2 * _count(a, self.shape)
        self._at("differ", quads, a, b, np.int64(quads), found)
        return not self._device.download(found)[0]

    def _at(self, kernel: str, threads: int, *arguments: object) -> None:
        self._scalars().launch(kernel, _grid(threads, _THREADS), _THREADS, *arguments)

    def powers(self, first: Array, ratio: Array, count: int) -> Array:
        """uint64[count, 4]: first * ratio^i for i < count; ``first`` and ``ratio`` are uint64[4]."""
        out = self._device.empty((count, 4), np.uint64)
        bits = max(5, min(16, count.bit_length() - 4))
        threads = min(_THREADS, 1 << bits)
        self._scalars().launch(
            "powers", (1 << bits) // threads, threads, first, ratio, out, np.int64(count), np.int32(bits)
        )
        return out

    def _scalars(self) -> modules.Module:
        return modules.load(self._device, "scalars")


class Group:
    """Operations on affine points, uint64[..., *shape] in Montgomery form; infinity is all zeros.

    On ``device``, over the coordinate field "Fp" (G1) or "Fp2" (G2). Points are trusted to lie on the curve.
    """

    def __init__(self, device: Device, field: str) -> None:
        self._device = device
        self.shape = (2, *_SHAPES[field])
        self._sum_shape = (4, *_SHAPES[field])  # in XYZZ coordinates
        self._field = field

    def neg(self, points: Array, out: Array | None = None) -> Array:
        out, n = self._like(points) if out is None else out, _count(points, self.shape)
        self._launch("neg", n, points, out, np.int64(n))
        return out

    def add(self, p: Array, q: Array) -> Array:
        """p[i] + q[i], or one point added to all: a new array."""
        out, n = self._like(p), _count(p, self.shape)
        self._launch("add", min(n, _POINT_CHAINS), p, q, _stride(p, q, self.shape), out, np.int64(n))
        return out

    def sum(self, points: Array) -> Array:
        """The sum of all points, one affine point."""
        n = _count(points, self.shape)
        blocks = _reducers(n, _POINT_THREADS)
        partial = self._device.empty((blocks, *self._sum_shape), np.uint64)
        total = self._device.empty((1, *self._sum_shape), np.uint64)
        self._module().launch("sum", blocks, _POINT_THREADS, points, partial, np.int64(n))
        self._module().launch("sum_of_sums", 1, _POINT_THREADS, partial, total, np.int64(blocks))
        return self._affine(total)[0]

    def is_on_curve(self, points: Array) -> Array:
        """uint8[...]: 1 where a point satisfies the curve's equation or is infinity, else 0."""
        return self._predicate("on_curve", points)

    def in_subgroup(self, points: Array) -> Array:
        """uint8[...]: 1 where r times the point, which must be on the curve, is infinity, else 0."""
        return self._predicate("subgroup", points)

    def _like(self, a: Array) -> Array:
        return self._device.empty(a.shape, a.dtype)

    def _predicate(self, kernel: str, points: Array) -> Array:
        n = _count(points, self.shape)
        out = self._device.empty(points.shape[: points.ndim - len(self.shape)], np.uint8)
        self._launch(kernel, n, points, out, np.int64(n))
        return out

    def _affine(self, sums: Array) -> Array:
        out = self._device.empty((len(sums), *self.shape), np.uint64)
        to_affine(self._device, sums, out)
        return out

    def _module(self) -> modules.Module:
        return modules.load(self._device, "group", f"ZEN_FIELD={self._field}", "ZEN_CALL_PRODUCTS")

    def _launch(self, kernel: str, threads: int, *arguments: Array) -> None:
        self._module().launch(kernel, _grid(threads, _POINT_THREADS), _POINT_THREADS, *arguments)


def _grid(threads: int, block: int) -> int:
    return -(-threads // block)


def _reducers(n: int, block: int) -> int:
    """Return the number of blocks that reduce n elements, to one value each: 1 if n is 0 (the identity)."""
    return max(1, min(_BLOCKS, _grid(n, block)))


def _count(a: Array, shape: tuple[int, ...]) -> int:
    """Return the number of elements of this shape in ``a``."""
    return int(np.prod(a.shape[: a.ndim - len(shape)], dtype=np.int64))


def _stride(a: Array, b: Array, shape: tuple[int, ...]) -> np.int64:
    """0 where ``b`` is one element for all of ``a``, 1 where it has as many; else ``ValueError``."""
    if b.shape not in (shape, a.shape):
        raise ValueError(
            f"{a.shape} and {b.shape} do not pair up: the second must be as the first, or {shape}"
        )
    return np.int64(b.shape != shape)
