"""BLAKE3 on the device: columns of matrices, Merkle trees, long vectors of elements, streams from a seed.

Digests, keys and seeds are uint8[..., 32].
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpu import modules
from gpu.device import Array, Device

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


def of_elements(device: Device, values: Array, key: Array) -> Array:
    """uint8[32]: the hash of ``values``, uint64[n, 4], n > 0, Montgomery, as canonical bytes."""
    module, count = _module(device), -(-len(values) // _CHUNK)
    chains = device.empty((count, 32), np.uint8)
    module.launch("chunks", _grid(count), _THREADS, values, np.int64(len(values)), key, chains)
    while count > 1:
        blocks = -(-count // _OF_BLOCK)
        merged = device.empty((blocks, 32), np.uint8)
        module.launch("merge_chains", blocks, _THREADS, chains, np.int64(count), key, merged)
        device.fill(chains, 0)  # they tell of the values
        chains, count = merged, blocks
    return chains[0]


def expand(device: Device, seed: Array, context: str, length: int) -> Array:
    """uint8[length], a multiple of 64: BLAKE3's derivation from ``seed`` in a ``context`` of at most 64."""
    out, blocks = device.empty(length, np.uint8), length // 64
    numbers = out, np.int64(blocks)
    _module(device).launch("expand", _grid(blocks), _THREADS, seed, *_context(device, context), *numbers)
    return out


def derivation_key(device: Device, context: str) -> Array:
    """uint8[32]: what BLAKE3's derivation in a ``context`` of at most 64 bytes begins with."""
    out = device.empty(32, np.uint8)
    _module(device).launch("derivation_key", 1, _THREADS, *_context(device, context), out)
    return out


def _context(device: Device, context: str) -> tuple[Array, np.int32]:
    text = context.encode()
    return device.bring(np.frombuffer(text.ljust(64, b"\0"), np.uint8)), np.int32(len(text))


def _module(device: Device) -> modules.Module:
    return modules.load(device, "hashing")


def _grid(threads: int) -> int:
    return -(-threads // _THREADS)
