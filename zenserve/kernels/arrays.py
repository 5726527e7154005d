"""Checks of kernels' arrays, made here once so that the extension can trust them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

WordArray = NDArray[np.uint64]
"""Field elements or points as little-endian 64-bit words, Montgomery form unless a name says ``canon``."""

FrArray = WordArray
"""Elements of Fr, shape [..., 4]."""

Progress = Callable[[float], None]
"""Receives the fraction done, on the calling thread. Raising from it stops the kernel; the exception
reaches the caller."""

_LINE = 64
_ELEMENT_BYTES = 32


def as_elements(array: WordArray, shape: tuple[int, ...], name: str) -> WordArray:
    """``array`` as C-contiguous words of elements of the given trailing shape; ValueError otherwise."""
    if array.dtype != np.uint64 or array.shape[array.ndim - len(shape) :] != shape:
        raise ValueError(
            f"{name} must be uint64[..., {', '.join(map(str, shape))}], not {array.dtype}{array.shape}"
        )
    return contiguous(array)


def as_element(array: WordArray, shape: tuple[int, ...], name: str) -> WordArray:
    """``array`` as the words of exactly one element; ValueError otherwise."""
    if array.shape != shape:
        raise ValueError(f"{name} must be one element of shape {shape}, not {array.shape}")
    return as_elements(array, shape, name)


def as_vector(array: WordArray, shape: tuple[int, ...], name: str) -> WordArray:
    """``array`` as C-contiguous words [len(array), *shape]; ValueError otherwise."""
    if array.ndim != 1 + len(shape):
        raise ValueError(f"{name} must be a vector of elements of shape {shape}, not {array.shape}")
    return as_elements(array, shape, name)


def as_indices(array: NDArray[Any], dtype: type[np.generic], name: str) -> NDArray[Any]:
    """``array`` as a C-contiguous vector of exactly ``dtype``; ValueError otherwise."""
    if array.dtype != dtype or array.ndim != 1:
        raise ValueError(f"{name} must be a vector of {np.dtype(dtype)}, not {array.dtype}{array.shape}")
    return contiguous(array)


class CheckedCsr(NamedTuple):
    """A sparse matrix in compressed rows whose indices are in range where there are ``width`` variables."""

    offsets: NDArray[np.int64]
    columns: NDArray[np.uint32]
    coefficients: NDArray[np.uint32]
    pool: FrArray
    width: int

    def within(self, variables: int) -> CsrArrays:
        """Return the arrays for the extension. Raises ``ValueError`` if a column is out of range."""
        if self.width > variables:
            raise ValueError("a column or a coefficient is out of range")
        return self[:4]


CsrArrays = tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32], FrArray]
"""Offsets, columns, coefficients and pool, as ``csr_multiply`` takes them."""


def checked_csr(
    offsets: NDArray[np.int64],
    columns: NDArray[np.uint32],
    coefficients: NDArray[np.uint32],
    pool: FrArray,
) -> CheckedCsr:
    """For who multiplies by a matrix again and again. ``ValueError`` for indices out of range."""
    offsets = as_indices(offsets, np.int64, "offsets")
    columns = as_indices(columns, np.uint32, "columns")
    coefficients = as_indices(coefficients, np.uint32, "coefficients")
    pool = as_vector(pool, (4,), "pool")
    entries = len(columns)
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != entries or (offsets[1:] < offsets[:-1]).any():
        raise ValueError("offsets must rise from 0 to the number of entries")
    if len(coefficients) != entries:
        raise ValueError("columns and coefficients must be equally long")
    if entries and int(coefficients.max()) >= len(pool):
        raise ValueError("a column or a coefficient is out of range")
    return CheckedCsr(offsets, columns, coefficients, pool, int(columns.max()) + 1 if entries else 0)


def as_csr(
    offsets: NDArray[np.int64],
    columns: NDArray[np.uint32],
    coefficients: NDArray[np.uint32],
    pool: FrArray,
    variables: int,
) -> CsrArrays:
    """A sparse matrix whose indices are all in range; ValueError otherwise."""
    return checked_csr(offsets, columns, coefficients, pool).within(variables)


def contiguous(array: NDArray[Any]) -> NDArray[Any]:
    """``array``, or its copy where the extension could not read it in place: C order, aligned."""
    if type(array) is np.ndarray and array.flags.c_contiguous and array.flags.aligned:
        return array  # as numpy would, which is slow to find it out
    return np.require(array, requirements=("C", "A", "E"))


def aligned(count: int, *, zeros: bool = False) -> FrArray:
    """uint64[count, 4], not initialised or zeros, no element of which lies on two lines of the cache.

    Large arrays of numpy begin 16 bytes behind a line, and to gather from those takes twice as long.
    """
    memory = (np.zeros if zeros else np.empty)(count * _ELEMENT_BYTES + _LINE, dtype=np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + count * _ELEMENT_BYTES].view(np.uint64).reshape(count, 4)


def require_in_place(array: WordArray, shape: tuple[int, ...], name: str) -> None:
    """ValueError unless the kernel can work in ``array``'s own memory and it has exactly this shape."""
    if array.dtype != np.uint64 or array.shape != shape or not array.flags.carray:
        raise ValueError(f"{name} must be a writable C-contiguous, aligned uint64 array of shape {shape}")
