"""BLAKE3 over the columns of matrices, and Merkle trees of such hashes."""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from kernels.arrays import FrArray, Progress, require_in_place

Digests = NDArray[np.uint8]
"""uint8[n, 32]."""

DIGEST_BYTES = 32


class Blake3:
    """Keyed hashes; a key has 32 bytes. ``ValueError`` for arrays of other shapes or dtypes."""

    def __init__(self, extension: ModuleType) -> None:
        self._kernel = extension.blake3

    def columns(
        self,
        matrix: FrArray,
        key: bytes,
        *,
        salts: Digests | None = None,
        threads: int = 1,
        progress: Progress | None = None,
    ) -> Digests:
        """uint8[n, 32]: the hash of every column of ``matrix``, uint64[rows, n, 4]: of its salt, where there
        are ``salts``, uint8[n, 32], and of its entries in order, as they stand in memory.
        """
        if matrix.ndim != 3 or 0 in matrix.shape:
            raise ValueError(f"matrix must be uint64[rows, n, 4], not {matrix.shape}")
        require_in_place(matrix, (*matrix.shape[:2], 4), "matrix")
        count = matrix.shape[1]
        if salts is not None:
            salts = _digests(salts, count, "salts")
        out = np.empty((count, DIGEST_BYTES), dtype=np.uint8)
        self._kernel.columns(matrix, salts, _key(key), out, threads, progress)
        return out

    def tree(self, leaves: Digests, key: bytes, threads: int = 1) -> Digests:
        """uint8[2 n, 32] for n leaves, a power of two: node 1 is the root, i the hash of 2 i and 2 i + 1, and
        the leaves are the last n. Node 0 is zero.
        """
        count = len(leaves)
        if not count or count & (count - 1):
            raise ValueError(f"a tree has a power of two of leaves, not {count}")
        nodes = np.zeros((2 * count, DIGEST_BYTES), dtype=np.uint8)
        nodes[count:] = _digests(leaves, count, "leaves")
        self._kernel.tree(nodes, _key(key), threads)
        return nodes


def _key(key: bytes) -> NDArray[np.uint8]:
    if len(key) != DIGEST_BYTES:
        raise ValueError(f"a key has {DIGEST_BYTES} bytes, not {len(key)}")
    return np.frombuffer(key, dtype=np.uint8)


def _digests(array: Digests, count: int, name: str) -> Digests:
    if array.dtype != np.uint8 or array.shape != (count, DIGEST_BYTES):
        raise ValueError(f"{name} must be uint8[{count}, {DIGEST_BYTES}], not {array.dtype}{array.shape}")
    return np.ascontiguousarray(array)
