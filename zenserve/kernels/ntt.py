"""Number-theoretic transforms over Fr."""

from __future__ import annotations

from types import ModuleType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from zenserve.kernels.arrays import (
    FrArray,
    Progress,
    as_element,
    as_elements,
    as_indices,
    as_vector,
    require_in_place,
)

Order = Literal["natural", "to_bit_reversed", "from_bit_reversed"]
"""natural: natural order in and out. to_bit_reversed: natural in, bit-reversed out. from_bit_reversed: the
reverse. The latter two save a permutation; composed, they return to natural order."""

_ORDERS: dict[Order, int] = {"natural": 0, "to_bit_reversed": 1, "from_bit_reversed": 2}
MAX_LOG_SIZE = 26


class Domain:
    """The multiplicative subgroup of size 2^log_size, 0 <= log_size <= 26, with its twiddles.

    ``omega`` = 5^((r-1) / 2^log_size) generates it: uint64[4], Montgomery. The twiddles take 32 bytes an
    element; ``Kernels.scratch_bytes`` says what transforms take beside them. Threads may share instances.
    """

    def __init__(self, extension: ModuleType, log_size: int) -> None:
        if not 0 <= log_size <= MAX_LOG_SIZE:
            raise ValueError(f"log_size must be from 0 to {MAX_LOG_SIZE}, not {log_size}")
        self.kernel = extension.Domain(log_size)
        self.log_size = log_size
        self.size = 1 << log_size
        self.omega = np.empty(4, dtype=np.uint64)
        self.kernel.omega(self.omega)

    def ntt(
        self,
        values: FrArray,
        *,
        coset: FrArray | None = None,
        order: Order = "natural",
        threads: int = 1,
        progress: Progress | None = None,
    ) -> None:
        """In place: coefficients uint64[size, 4] become evaluations at coset * omega^i.

        ``coset`` is uint64[4], one unless given.
        """
        self._transform(values, coset, order, False, threads, progress)

    def intt(
        self,
        values: FrArray,
        *,
        coset: FrArray | None = None,
        order: Order = "natural",
        threads: int = 1,
        progress: Progress | None = None,
    ) -> None:
        """In place: evaluations at coset * omega^i become coefficients. ``coset`` must not be zero."""
        self._transform(values, coset, order, True, threads, progress)

    def encode(self, rows: FrArray, threads: int = 1, *, out: FrArray | None = None) -> FrArray:
        """Polynomials' values at omega^i, canonical: uint64[n, size, 4], of ``rows`` of a quarter as many
        coefficients, uint64[n, size / 4, 4], Montgomery. In ``out`` if given. The size is at least 4.
        """
        rows = as_elements(rows, (self.size // 4, 4), "rows")
        if rows.ndim != 3 or self.size < 4:
            raise ValueError(f"rows must be uint64[n, {self.size // 4}, 4], not {rows.shape}")
        if out is None:
            out = np.empty((len(rows), self.size, 4), dtype=np.uint64)
        require_in_place(out, (len(rows), self.size, 4), "out")
        self.kernel.encode(rows, out, threads)
        return out

    def add_powers(
        self, places: NDArray[np.uint32], weights: FrArray, out: FrArray, threads: int = 1
    ) -> None:
        """out[i] += the sum of weights[j] omega^(places[j] i), in place: uint64[n, 4], n a power of two from
        size / 64 to size / 4; uint32[count], below the size, and uint64[count, 4].
        """
        places, weights = as_indices(places, np.uint32, "places"), as_vector(weights, (4,), "weights")
        if len(places) != len(weights) or int(places.max(initial=0)) >= self.size:
            raise ValueError(f"{len(weights)} weights for {len(places)} places below {self.size}")
        count = len(out)
        if count & (count - 1) or not self.size <= 64 * count <= 16 * self.size:
            raise ValueError(f"so many powers as {count} are not made of {self.size} roots")
        require_in_place(out, (count, 4), "out")
        self.kernel.add_powers(places, weights, out, threads)

    def quotient(
        self, a: FrArray, b: FrArray, c: FrArray, *, threads: int = 1, progress: Progress | None = None
    ) -> None:
        """In place: ``a`` becomes the values of A·B − C at g · omega^i; ``b`` and ``c`` are used up.

        All uint64[size, 4], values of A, B and C (polynomials below the size) at omega^i. g² = omega, where
        g = 5^((r-1) / 2^(log_size + 1)) generates the domain of twice the size.
        """
        for values, name in ((a, "a"), (b, "b"), (c, "c")):
            require_in_place(values, (self.size, 4), name)
        self.kernel.quotient(a, b, c, threads, progress)

    def _transform(
        self,
        values: FrArray,
        coset: FrArray | None,
        order: Order,
        inverse: bool,
        threads: int,
        progress: Progress | None,
    ) -> None:
        require_in_place(values, (self.size, 4), "values")
        shift = None if coset is None else as_element(coset, (4,), "coset")
        self.kernel.transform(values, shift, _ORDERS[order], inverse, threads, progress)
