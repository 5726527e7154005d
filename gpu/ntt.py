"""Number-theoretic transforms over Fr on the device.

A transform is one pass over memory up to 2^9 elements, two up to 2^16, three up to 2^23, four beyond.
``quotient`` takes two transforms of each of its arrays, less one pass: the last of the inverse transform, the
coset's factors and the first of the forward transform are one, and the pointwise A B - C is part of the last.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zenserve.gpu import modules
from zenserve.gpu.device import Array, Device

Order = Literal["natural", "to_bit_reversed", "from_bit_reversed"]
"""natural: natural order in and out, for one more pass. to_bit_reversed: natural in, bit-reversed out.
from_bit_reversed: the reverse."""

MAX_LOG_SIZE: Final = 27

# Measured on an H200; source/ntt.cu says what they are.
RADIX_LOG = 2
TILE_LOG = 9
BLOCKS = 6
_LEAST_LOG_COLUMNS: Final = 2  # runs of 128 bytes

_R: Final = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
_THREADS: Final = 256


class Domain:
    """The multiplicative subgroup of size 2^log_size, 0 <= log_size <= 27, with its twiddles on ``device``.

    ``omega`` = 5^((r-1) / 2^log_size) generates it: uint64[4] on the host, Montgomery. The twiddles take
    32 bytes an element; the first ``quotient`` makes as many of factors, which stay. Both wait for the
    device, so that any stream may use them.

    Transforms work in place on uint64[..., size, 4] on the device, Montgomery, each row of the leading axes
    by itself, on the current stream. ``ValueError`` for arrays of another dtype or shape.
    """

    def __init__(self, device: Device, log_size: int) -> None:
        if not 0 <= log_size <= MAX_LOG_SIZE:
            raise ValueError(f"log_size must be from 0 to {MAX_LOG_SIZE}, not {log_size}")
        self.log_size = log_size
        self._device = device
        self.size = 1 << log_size
        self._module = modules.load(device, *source())
        root = _root_of_unity(log_size)
        self.omega = _montgomery(root)
        device.require(32 * self.size, f"a domain of 2^{log_size} elements")
        self._forward = self._powers(1, root, max(log_size - 1, 0), reverse=True)
        self._backward = self._powers(1, pow(root, -1, _R), max(log_size - 1, 0), reverse=True)
        device.synchronize()

    def ntt(
        self, values: Array, *, coset: NDArray[np.uint64] | None = None, order: Order = "natural"
    ) -> None:
        """Coefficients become evaluations at coset * omega^i.

        ``coset`` is uint64[4] on the host, Montgomery, one unless given; it costs a table and a pass.
        """
        self._check(values, "values")
        if coset is not None:
            self._scale(values, _integer(coset), reverse=order == "from_bit_reversed")
        if order == "from_bit_reversed":
            self._gather(values, self._forward)
        else:
            self._scatter(values, self._forward)
        if order == "natural":
            self._reverse(values)

    def intt(
        self, values: Array, *, coset: NDArray[np.uint64] | None = None, order: Order = "natural"
    ) -> None:
        """Evaluations at coset * omega^i become coefficients. ``coset`` must not be zero."""
        self._check(values, "values")
        shift = None if coset is None else _integer(coset)
        if shift == 0:
            raise ValueError("coset must not be zero")
        if order == "to_bit_reversed":
            self._scatter(values, self._backward, halvings=self.log_size)
        else:
            if order == "natural":
                self._reverse(values)
            self._gather(values, self._backward, halvings=self.log_size)
        if shift is not None:
            self._scale(values, pow(shift, -1, _R), reverse=order == "to_bit_reversed")

    def quotient(self, a: Array, b: Array, c: Array) -> None:
        """``a`` becomes the values of A·B − C at g · omega^i; ``b`` and ``c`` are used up.

        All of one shape uint64[..., size, 4], values of A, B and C (polynomials below the size) at omega^i.
        g² = omega, where g = 5^((r-1) / 2^(log_size + 1)) generates the domain of twice the size. No array
        is ever put into another order: the inverse transform scatters, the forward one gathers.
        """
        for values, name in ((a, "a"), (b, "b"), (c, "c")):
            self._check(values, name)
        if not a.shape == b.shape == c.shape:
            raise ValueError(f"a, b and c must have one shape, not {a.shape}, {b.shape} and {c.shape}")
        self._to_coset(b)
        self._to_coset(c)
        self._to_coset(a, b, c)

    def _to_coset(self, values: Array, right: Array | None = None, less: Array | None = None) -> None:
        """Values at omega^i become those at g omega^i, times those of ``right`` less those of ``less``."""
        *columns, rows = passes(self.log_size)
        for each in columns:
            self._pass("scatter", each, values, self._backward, np.int32(0))
        tables = (self._backward, self._forward, self._coset_factors)
        pointwise, nothing = (right, less), (None, None)
        self._pass("there_and_back", rows, values, *tables, *(nothing if columns else pointwise))
        for each in reversed(columns):
            last = nothing if each.depth else pointwise
            self._pass("gather", each, values, self._forward, np.int32(0), *last)

    def _scatter(self, values: Array, twiddles: Array, *, halvings: int = 0) -> None:
        *columns, rows = passes(self.log_size)
        for each in columns:
            self._pass("scatter", each, values, twiddles, np.int32(0))
        self._pass("scatter", rows, values, twiddles, np.int32(halvings))

    def _gather(self, values: Array, twiddles: Array, *, halvings: int = 0) -> None:
        first, *others = passes(self.log_size)
        for each in reversed(others):
            self._pass("gather", each, values, twiddles, np.int32(0), None, None)
        self._pass("gather", first, values, twiddles, np.int32(halvings), None, None)

    def _pass(self, kernel: str, which: Pass, values: Array, *arguments: Array | np.int32 | None) -> None:
        tiles = values.size // 4 >> (which.layers + which.log_columns)
        plan = (np.int32(number) for number in (self.log_size, *which))
        threads, shared_bytes = 1 << (TILE_LOG - RADIX_LOG), 32 << TILE_LOG
        self._module.launch(kernel, tiles, threads, values, *plan, *arguments, shared_bytes=shared_bytes)

    def _reverse(self, values: Array) -> None:
        self._elementwise("reverse_bits", values)

    def _scale(self, values: Array, ratio: int, *, reverse: bool) -> None:
        """values[i] *= ratio^i, where the i of ``values`` may be in bit-reversed order."""
        self._elementwise("multiply", values, self._powers(1, ratio, self.log_size, reverse=reverse))

    def _elementwise(self, kernel: str, values: Array, *arguments: Array) -> None:
        count = values.size // 4
        numbers = np.int32(self.log_size), np.int64(count)
        self._module.launch(kernel, -(-count // _THREADS), _THREADS, values, *arguments, *numbers)

    def _powers(self, first: int, ratio: int, bits: int, *, reverse: bool) -> Array:
        """first * ratio^i for i < 2^bits, in natural or bit-reversed order; a power doubles each prefix."""
        device = self._device
        table = device.empty((1 << bits, 4), np.uint64)
        exponents = [1 << (bits - 1 - bit if reverse else bit) for bit in range(bits)]
        numbers = [first, *(pow(ratio, exponent, _R) for exponent in exponents)]
        factors = device.upload(np.stack([_montgomery(number) for number in numbers]))
        device.copy(factors[0], table[0])
        for bit in range(bits):
            half = 1 << bit
            arguments = table, factors[1 + bit], np.int64(half)
            self._module.launch("extend_powers", -(-half // _THREADS), _THREADS, *arguments)
        return table

    @cached_property
    def _coset_factors(self) -> Array:
        """g^i / size, bit-reversed."""
        self._device.require(32 * self.size, f"the coset of a domain of 2^{self.log_size} elements")
        coset = _root_of_unity(self.log_size + 1)
        factors = self._powers(pow(self.size, -1, _R), coset, self.log_size, reverse=True)
        self._device.synchronize()
        return factors

    def _check(self, values: Array, name: str) -> None:
        if values.dtype != np.uint64 or values.shape[-2:] != (self.size, 4) or not values.flags.c_contiguous:
            raise ValueError(
                f"{name} must be C-contiguous uint64[..., {self.size}, 4], not {values.dtype}{values.shape}"
            )


class Pass(NamedTuple):
    """The layers depth .. depth + layers - 1, on tiles of 2^log_columns columns or, if that is 0, one row."""

    depth: int
    layers: int
    log_columns: int


def passes(log_size: int) -> list[Pass]:
    """Columns first, rows last; whole steps where the layers allow it."""
    rows = min(log_size, TILE_LOG)
    result: list[Pass] = []
    depth, most = 0, TILE_LOG - _LEAST_LOG_COLUMNS
    while left := log_size - rows - depth:
        layers = -(-left // -(-left // most))
        layers = min(layers + -layers % RADIX_LOG, left, most)
        result.append(Pass(depth, layers, TILE_LOG - layers))
        depth += layers
    return [*result, Pass(depth, rows, 0)]


def source() -> modules.Source:
    return "ntt", f"ZEN_RADIX_LOG={RADIX_LOG}", f"ZEN_TILE_LOG={TILE_LOG}", f"ZEN_BLOCKS={BLOCKS}"


def _root_of_unity(log_order: int) -> int:
    return pow(5, (_R - 1) >> log_order, _R)


def _montgomery(value: int) -> NDArray[np.uint64]:
    """uint64[4] on the host."""
    return np.frombuffer((value * 2**256 % _R).to_bytes(32, "little"), dtype=np.uint64)


def _integer(montgomery: NDArray[np.uint64]) -> int:
    if montgomery.dtype != np.uint64 or montgomery.shape != (4,):
        raise ValueError(f"coset must be uint64[4], not {montgomery.dtype}{montgomery.shape}")
    return int.from_bytes(montgomery.tobytes(), "little") * pow(2, -256, _R) % _R
