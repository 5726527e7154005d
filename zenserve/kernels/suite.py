"""All kernels of one target, bundled, so that tests and benchmarks can hold targets side by side."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from zenserve.kernels.arrays import (
    CheckedCsr,
    FrArray,
    WordArray,
    as_csr,
    as_element,
    as_indices,
    as_vector,
    checked_csr,
    require_in_place,
)
from zenserve.kernels.babybear import Bear, BearArray, BearDomain, BearExtension, FractionTree
from zenserve.kernels.cube import Multilinear
from zenserve.kernels.field import Field, PrimeField, ScalarField
from zenserve.kernels.group import Group
from zenserve.kernels.hashing import Blake3
from zenserve.kernels.ntt import Domain
from zenserve.kernels.sparse import SparseForms
from zenserve.kernels.target import extension


class Kernels:
    """The kernels of ``target``, one of ``available_targets()``."""

    def __init__(self, target: str) -> None:
        self.target = target
        self._extension = extension(target)
        self.fr = ScalarField(self._extension, "fr", (4,))
        self.fp = PrimeField(self._extension, "fp", (6,))
        self.fp2 = Field(self._extension, "fp2", (2, 6))
        self.g1 = Group(self._extension, "g1", (2, 6))
        self.g2 = Group(self._extension, "g2", (2, 2, 6))
        self.multilinear = Multilinear(self._extension)
        self.blake3 = Blake3(self._extension)
        self.bear = Bear(self._extension)
        self.bear5 = BearExtension(self._extension)

    def domain(self, log_size: int) -> Domain:
        return Domain(self._extension, log_size)

    def bear_domain(self, log_length: int) -> BearDomain:
        return BearDomain(self._extension, log_length)

    def fraction_tree(self, numerators: BearArray, denominators: BearArray, threads: int = 1) -> FractionTree:
        return FractionTree(self._extension, numerators, denominators, threads)

    def scratch_bytes(self, log_size: int, threads: int) -> int:
        """Return the most bytes of a domain's transform or quotient, beside its arrays and the twiddles."""
        return int(self._extension.Domain.scratch_bytes(log_size, threads))

    def pairing_product_is_one(self, p: WordArray, q: WordArray) -> bool:
        """Return whether the product of the pairings e(p[i], q[i]) is one.

        ``p`` is uint64[n, 2, 6], ``q`` uint64[n, 2, 2, 6], points of the subgroups, which is not checked. A
        pair with infinity on either side contributes one. Raises ``ValueError`` for other shapes.
        """
        p, q = as_vector(p, self.g1.shape, "p"), as_vector(q, self.g2.shape, "q")
        if len(p) != len(q):
            raise ValueError(f"{len(p)} points of G1 and {len(q)} of G2 do not pair up")
        return bool(self._extension.pairing_product_is_one(p, q))

    def sparse_forms(self, placed: Iterable[tuple[int, CheckedCsr]], variables: int) -> SparseForms:
        return SparseForms(self._extension, placed, variables)

    def csr_multiply(
        self,
        offsets: NDArray[np.int64],
        columns: NDArray[np.uint32],
        coefficients: NDArray[np.uint32],
        pool: FrArray,
        z: FrArray,
        *,
        shorts: NDArray[np.int32] | None = None,
        out: FrArray | None = None,
        threads: int = 1,
    ) -> FrArray:
        """M z for the sparse matrix M in compressed rows: uint64[rows, 4], in ``out`` if it is given.

        Entry i of row j (offsets[j] <= i < offsets[j+1]) is pool[coefficients[i]] at columns[i]. Elements in
        Montgomery form. ``shorts``: ``fr.shorten(z)``, to read less where z is mostly short. ``ValueError``
        for indices out of range.
        """
        matrix = checked_csr(offsets, columns, coefficients, pool)
        return self.checked_multiply(matrix, z, shorts=shorts, out=out, threads=threads)

    def checked_multiply(
        self,
        matrix: CheckedCsr,
        z: FrArray,
        *,
        shorts: NDArray[np.int32] | None = None,
        out: FrArray | None = None,
        threads: int = 1,
    ) -> FrArray:
        """``csr_multiply`` by a matrix whose indices were looked at before."""
        z = as_vector(z, (4,), "z")
        if shorts is not None and len(as_indices(shorts, np.int32, "shorts")) != len(z):
            raise ValueError(f"shorts and z must be equally long, not {len(shorts)} and {len(z)}")
        rows = len(matrix.offsets) - 1
        if out is None:
            out = np.empty((rows, 4), dtype=np.uint64)
        require_in_place(out, (rows, 4), "out")
        self._extension.csr_multiply(*matrix.within(len(z)), z, shorts, out, threads)
        return out

    def csr_multiply_transposed(
        self,
        offsets: NDArray[np.int64],
        columns: NDArray[np.uint32],
        coefficients: NDArray[np.uint32],
        pool: FrArray,
        y: FrArray,
        out: FrArray,
        *,
        factor: FrArray | None = None,
        threads: int = 1,
    ) -> None:
        """out += factor M^T y, in place; y is uint64[rows, 4], out uint64[variables, 4], ``factor`` uint64[4]
        or one."""
        matrix = as_csr(offsets, columns, coefficients, pool, variables=len(out))
        require_in_place(out, (len(out), 4), "out")
        y = as_vector(y, (4,), "y")
        if len(y) != len(offsets) - 1:
            raise ValueError(f"y must have shape ({len(offsets) - 1}, 4), not {y.shape}")
        scale = None if factor is None else as_element(factor, (4,), "factor")
        self._extension.csr_multiply_transposed(*matrix, y, scale, out, threads)


@cache
def load(target: str) -> Kernels:
    """The kernels of a target, built once in each process."""
    return Kernels(target)
