"""Kernels over BLS12-381: fields, groups, pairings, transforms, multi-scalar multiplication, sparse products;
multilinear polynomials; hashes; and kernels over BabyBear (``zenserve.kernels.babybear``).

Arrays are ``numpy.uint64`` words, little-endian, in Montgomery form unless a name says ``canon``. The names
below are the fastest target's that this processor runs; ``load(target)`` gives any other. Kernels are not
constant-time. They own no state but the caches named here, start threads only when told to, release the GIL
while they work, and never print.
"""

from __future__ import annotations

from functools import lru_cache

from zenserve.kernels.arrays import CheckedCsr, FrArray, Progress, WordArray, aligned, checked_csr
from zenserve.kernels.field import Field, PrimeField, ScalarField
from zenserve.kernels.group import Group
from zenserve.kernels.ntt import MAX_LOG_SIZE
from zenserve.kernels.ntt import Domain as _Domain
from zenserve.kernels.sparse import SparseForms
from zenserve.kernels.suite import Kernels, load
from zenserve.kernels.target import available_targets

_fastest = load(available_targets()[0])

fr = _fastest.fr
fp = _fastest.fp
fp2 = _fastest.fp2
g1 = _fastest.g1
g2 = _fastest.g2
multilinear = _fastest.multilinear
blake3 = _fastest.blake3
bear = _fastest.bear
bear5 = _fastest.bear5
bear_domain = _fastest.bear_domain
fraction_tree = _fastest.fraction_tree
checked_multiply = _fastest.checked_multiply
csr_multiply = _fastest.csr_multiply
csr_multiply_transposed = _fastest.csr_multiply_transposed
pairing_product_is_one = _fastest.pairing_product_is_one
sparse_forms = _fastest.sparse_forms
scratch_bytes = _fastest.scratch_bytes


@lru_cache(maxsize=4)
def Domain(log_size: int) -> _Domain:  # noqa: N802 - reads as the class it returns
    """The subgroup of size 2^log_size, its twiddles shared; the four used last are kept."""
    return _fastest.domain(log_size)


__all__ = [
    "MAX_LOG_SIZE",
    "CheckedCsr",
    "Domain",
    "Field",
    "FrArray",
    "Group",
    "Kernels",
    "PrimeField",
    "Progress",
    "ScalarField",
    "SparseForms",
    "WordArray",
    "aligned",
    "available_targets",
    "bear",
    "bear5",
    "bear_domain",
    "blake3",
    "checked_csr",
    "checked_multiply",
    "csr_multiply",
    "csr_multiply_transposed",
    "fp",
    "fp2",
    "fr",
    "fraction_tree",
    "g1",
    "g2",
    "load",
    "multilinear",
    "pairing_product_is_one",
    "scratch_bytes",
    "sparse_forms",
]
