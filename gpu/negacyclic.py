"""Products of polynomials modulo X^N + 1 and a prime of one word, as homomorphic encryption needs them.

After Shivdikar et al., "Accelerating polynomial multiplication for homomorphic encryption on GPUs", 2022, at
the paper's sizes: N = 2^11 to 2^16, primes q = 1 mod 2 N below 2^30 (words of 32 bits) or 2^62 (64). A
transform is two passes over memory, a product three.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from zenserve.gpu import modules
from zenserve.gpu.device import Array, Device

LOG_SIZES: Final = range(11, 17)
MAX_MODULUS_BITS: Final = 62
_TILE_LOG: Final = 9  # as in source/negacyclic.cu
_WITNESSES: Final = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)  # of primality below 2^64


class Ring:
    """Z_modulus[X] / (X^N + 1), N = 2^log_size, with its twiddles on ``device``.

    Arrays are C-contiguous ``dtype``[..., N] on it, values below ``modulus``, which is not checked
    there; each row of the leading axes is a polynomial of its own. All work goes to the current stream.
    """

    def __init__(self, device: Device, log_size: int, modulus: int) -> None:
        if log_size not in LOG_SIZES:
            raise ValueError(f"log_size must be from 11 to 16, not {log_size}")
        self.log_size = log_size
        self._device = device
        self.size = 1 << log_size
        self.modulus = modulus
        psi = _root_of_minus_one(self.size, modulus)
        self.bits = 32 if modulus < 1 << 30 else 64
        self.dtype = np.dtype(np.uint32 if self.bits == 32 else np.uint64)
        self._module = modules.load(device, *source(log_size, self.bits))
        self._forward = self._twiddles(psi, 1)
        self._inverse = self._twiddles(pow(psi, -1, modulus), pow(self.size, -1, modulus))
        device.synchronize()  # any stream may use them

    def ntt(self, values: Array) -> None:
        """In place: coefficients become values at psi^(2 i + 1), i in bit-reversed order, psi^N = -1."""
        self.check(values, "values")
        q = np.uint64(self.modulus)
        self._launch("forward_columns", values, None, values, None, self._forward, q, count=values.size)
        self._launch("forward_rows", values, self._forward, q, count=values.size)

    def intt(self, values: Array) -> None:
        """In place: the inverse of ``ntt``."""
        self.check(values, "values")
        q = np.uint64(self.modulus)
        self._launch("inverse_rows", values, self._inverse, q, count=values.size)
        self._launch("inverse_columns", values, self._inverse, q, count=values.size)

    def product(self, a: Array, b: Array) -> Array:
        """a b, of the shape of both."""
        self.check(a, "a")
        self.check(b, "b")
        if a.shape != b.shape:
            raise ValueError(f"a and b must have one shape, not {a.shape} and {b.shape}")
        result, right = (self._device.empty(a.shape, self.dtype) for _ in range(2))
        q, full_bits = np.uint64(self.modulus), self.bits - 2
        shift = full_bits - self.modulus.bit_length()
        reciprocal = np.uint64((1 << (2 * full_bits + 1)) // (self.modulus << shift))
        self._launch("forward_columns", a, b, result, right, self._forward, q, count=a.size, pairs=2)
        numbers = q, reciprocal, np.int32(shift)
        self._launch("multiply_rows", result, right, self._forward, self._inverse, *numbers, count=a.size)
        self._launch("inverse_columns", result, self._inverse, q, count=a.size)
        return result

    def check(self, values: Array, name: str) -> None:
        """``ValueError`` unless the array is one of this ring."""
        if values.dtype != self.dtype or values.shape[-1:] != (self.size,) or not values.flags.c_contiguous:
            expected = f"C-contiguous {self.dtype}[..., {self.size}]"
            raise ValueError(f"{name} must be {expected}, not {values.dtype}{values.shape}")

    def _launch(self, kernel: str, *arguments: Any, count: int, pairs: int = 1) -> None:
        grid, threads = (count >> _TILE_LOG, pairs), 1 << (_TILE_LOG - 2)
        shared_bytes = (2 << _TILE_LOG) * self.bits // 8  # a tile of each factor
        self._module.launch(kernel, grid, threads, *arguments, shared_bytes=shared_bytes)

    def _twiddles(self, root: int, scale: int) -> Array:
        """Entry i: root^reverse(i), and its quotient; entries 0 and 1 (the first layer's) times ``scale``."""
        powers = [1] * self.size
        for bit in range(self.log_size):
            factor = pow(root, self.size >> (bit + 1), self.modulus)
            for i in range(1 << bit):
                powers[(1 << bit) + i] = powers[i] * factor % self.modulus
        powers[:2] = [power * scale % self.modulus for power in powers[:2]]
        table: NDArray[Any] = np.empty((self.size, 2), dtype=self.dtype)
        table[:, 0] = powers
        table[:, 1] = [(power << self.bits) // self.modulus for power in powers]
        return self._device.upload(table)


def source(log_size: int, bits: int) -> modules.Source:
    """For N = 2^log_size and words of 32 or 64 bits."""
    return "negacyclic", f"ZEN_LOG_SIZE={log_size}", f"ZEN_WORD_BITS={bits}"


def _root_of_minus_one(size: int, modulus: int) -> int:
    if modulus.bit_length() > MAX_MODULUS_BITS or modulus % (2 * size) != 1 or not _is_prime(modulus):
        raise ValueError(f"modulus must be a prime = 1 mod {2 * size} below 2^62, not {modulus}")
    roots = (pow(x, (modulus - 1) // (2 * size), modulus) for x in range(2, modulus))
    return next(root for root in roots if pow(root, size, modulus) == modulus - 1)


def _is_prime(number: int) -> bool:
    """Miller and Rabin's test, exact below 2^64 (Sorenson and Webster, 2015)."""
    if number < 2 or any(number % witness == 0 for witness in _WITNESSES):
        return number in _WITNESSES
    twos = (number - 1 & 1 - number).bit_length() - 1
    for witness in _WITNESSES:
        power = pow(witness, number - 1 >> twos, number)
        chain = [pow(power, 1 << i, number) for i in range(twos)]
        if power != 1 and number - 1 not in chain:
            return False
    return True
