"""BLAKE3 over the columns of matrices, and Merkle trees of such hashes."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from zenserve.kernels.arrays import FrArray, Progress, require_in_place

Digests = NDArray[np.uint8]
"""uint8[n, 32]."""

DIGEST_BYTES = 32
CHUNK_BYTES = 1024
"""Of a message: chunks are hashed one by one."""
_CHUNK_ENTRIES = CHUNK_BYTES // DIGEST_BYTES


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
        rows, count, _ = matrix.shape
        hashes = ColumnHashes(self._kernel, rows, count, key, salts=salts, threads=threads)
        hashes.take(matrix, progress)
        return hashes.digests()

    def column_hashes(
        self, rows: int, count: int, key: bytes, *, salts: Digests | None = None, threads: int = 1
    ) -> ColumnHashes:
        """``columns`` of a matrix uint64[rows, count, 4] that comes in slabs."""
        return ColumnHashes(self._kernel, rows, count, key, salts=salts, threads=threads)

    def tree(self, leaves: Digests, key: bytes, threads: int = 1) -> Digests:
        """uint8[2 n, 32] for n leaves, a power of two: node 1 is the root, i the hash of 2 i and 2 i + 1, and
        the leaves are the last n. Node 0 is zero.
        """
        count = len(leaves)
        if not count or count & (count - 1):
            raise ValueError(f"a tree has a power of two of leaves, not {count}")
        nodes = np.empty((2 * count, DIGEST_BYTES), dtype=np.uint8)
        nodes[0], nodes[count:] = 0, _digests(leaves, count, "leaves")
        self._kernel.tree(nodes, _key(key), threads)
        return nodes


class ColumnHashes:
    """Hashes of columns whose rows come in ``slabs``. Of 32 rows 32 bytes a column are kept."""

    def __init__(
        self,
        kernel: ModuleType,
        rows: int,
        count: int,
        key: bytes,
        *,
        salts: Digests | None,
        threads: int,
    ) -> None:
        self._kernel, self._key, self._threads = kernel, _key(key), threads
        self._salts = None if salts is None else _digests(salts, count, "salts")
        self._length, self._taken = rows + (salts is not None), 0
        chunks = -(-self._length // _CHUNK_ENTRIES)
        self._chains = np.empty((chunks, count, DIGEST_BYTES), dtype=np.uint8)

    def slabs(self, chunks: int) -> Iterator[slice]:
        """Rows that make up so many chunks of the hash, a salt included, or what is left of them."""
        salted = self._salts is not None
        for first in range(0, self._length, chunks * _CHUNK_ENTRIES):
            end = min(first + chunks * _CHUNK_ENTRIES, self._length)
            yield slice(max(0, first - salted), end - salted)

    def take(self, slab: FrArray, progress: Progress | None = None) -> None:
        """The next of the ``slabs``, uint64[rows, count, 4]. ``ValueError`` for other rows."""
        count = self._chains.shape[1]
        require_in_place(slab, (len(slab), count, 4), "slab")
        first, salts = self._taken, self._salts if not self._taken else None
        self._taken += len(slab) + (salts is not None)
        if self._taken > self._length or (self._taken % _CHUNK_ENTRIES and self._taken < self._length):
            raise ValueError(f"a slab of {len(slab)} rows ends within a chunk, or is one too many")
        chains = self._chains[first // _CHUNK_ENTRIES : -(-self._taken // _CHUNK_ENTRIES)]
        self._kernel.chunks(slab, salts, first, self._length, self._key, chains, self._threads, progress)

    def digests(self) -> Digests:
        """uint8[count, 32], once all rows were taken."""
        if self._taken < self._length:
            raise ValueError("rows are missing")
        out = np.empty(self._chains.shape[1:], dtype=np.uint8)
        self._kernel.join(self._chains, self._key, out, self._threads)
        return out


def _key(key: bytes) -> NDArray[np.uint8]:
    if len(key) != DIGEST_BYTES:
        raise ValueError(f"a key has {DIGEST_BYTES} bytes, not {len(key)}")
    return np.frombuffer(key, dtype=np.uint8)


def _digests(array: Digests, count: int, name: str) -> Digests:
    if array.dtype != np.uint8 or array.shape != (count, DIGEST_BYTES):
        raise ValueError(f"{name} must be uint8[{count}, {DIGEST_BYTES}], not {array.dtype}{array.shape}")
    return np.ascontiguousarray(array)
