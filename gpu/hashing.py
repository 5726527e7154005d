"""BLAKE3 on the device: columns of matrices, Merkle trees, long vectors of elements, streams from a seed.

Digests, keys and seeds are uint8[..., 32].
"""

from __future__ import annotations

from typing import Final

import numpy as np

from zenserve.gpu import modules
from zenserve.gpu.device import Array, Device

_THREADS: Final = 128
_LEVELS: Final = 5
"""Of a tree, that a launch makes: more leave most of a block idle."""

_CHUNK: Final = 32
"""Elements of a chunk of BLAKE3."""

_OF_BLOCK: Final = 2 * _THREADS


def columns(
    device: Device,
    matrix: Array,
    key: Array,
    leaves: Array,
    salts: Array | None = None,
    *,
    turned: bool = False,
) -> None:
    """leaves[k], uint8[n, 32], becomes the hash of salts[k], where there are ``salts``, and of column k of
    ``matrix``, uint64[rows, n, 4], n a power of two, as it stands in memory. ``turned``: column k stands in
    the place of k's bits in reverse.
    """
    rows, count = matrix.shape[:2]
    log_size = count.bit_length() - 1
    numbers = np.int64(rows), np.int32(log_size), np.int32(turned)
    _module(device).launch("columns", _grid(count), _THREADS, matrix, *numbers, salts, key, leaves)


def tree(device: Device, nodes: Array, key: Array) -> None:
    """Of ``nodes``, uint8[2 n, 32], n a power of two, the last n are there; node i becomes that of 2 i and
    2 i + 1, node 1 the root.
    """
    count = len(nodes) // 2
    while count > 1:
        levels = min(_LEVELS, count.bit_length() - 1)
        _module(device).launch(
            "tree", count >> levels, _THREADS, nodes, np.int64(count), np.int32(levels), key
        )
        count >>= levels


def of_elements(device: Device, values: Array, key: Array, out: Array) -> None:
    """``out``, uint8[32], becomes the hash of ``values``, uint64[n, 4], n > 0, Montgomery, as canonical
    bytes."""
    module, count = _module(device), -(-len(values) // _CHUNK)
    chains = out.reshape(1, 32) if count == 1 else device.empty((count, 32), np.uint8)
    module.launch("chunks", _grid(count), _THREADS, values, np.int64(len(values)), key, chains)
    while count > 1:
        blocks = -(-count // _OF_BLOCK)
        merged = out.reshape(1, 32) if blocks == 1 else device.empty((blocks, 32), np.uint8)
        module.launch("merge_chains", blocks, _THREADS, chains, np.int64(count), key, merged)
        device.fill(chains, 0)  # they tell of the values
        chains, count = merged, blocks


class Context:
    """Of at most 64 bytes, that BLAKE3 derives in, on ``device``."""

    def __init__(self, device: Device, context: str) -> None:
        self._device, text = device, context.encode()
        self._words = device.upload(np.frombuffer(text.ljust(64, b"\0"), np.uint8)), np.int32(len(text))

    def key(self, out: Array) -> None:
        """``out``, uint8[32], becomes what a derivation begins with."""
        _module(self._device).launch("derivation_key", 1, _THREADS, *self._words, out)

    def expand(self, seed: Array, out: Array) -> None:
        """``out``, uint8[n], n a multiple of 64, becomes what is derived from ``seed``."""
        blocks = len(out) // 64
        numbers = out, np.int64(blocks)
        _module(self._device).launch("expand", _grid(blocks), _THREADS, seed, *self._words, *numbers)


def _module(device: Device) -> modules.Module:
    return modules.load(device, "hashing")


def _grid(threads: int) -> int:
    return -(-threads // _THREADS)
