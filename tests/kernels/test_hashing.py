"""Hashes of columns and trees against the blake3 package."""

from __future__ import annotations

import numpy as np
import pytest
from blake3 import blake3

from tests.kernels.targets import TARGETS, each, load
from zenserve.kernels.hashing import Blake3

_KEY = bytes(range(32))


@pytest.fixture(params=each(TARGETS))
def kernel(request: pytest.FixtureRequest) -> Blake3:
    return load(request.param).blake3


# One block, a part of one, one chunk, chunks that fill a tree and such that do not.
@pytest.mark.parametrize("rows", [1, 2, 3, 31, 32, 33, 64, 65, 96, 97, 161])
@pytest.mark.parametrize("salted", [True, False])
def test_columns(kernel: Blake3, rows: int, salted: bool) -> None:
    random = np.random.default_rng(rows)
    matrix = random.integers(0, 1 << 64, (rows, 37, 4), dtype=np.uint64)
    salts = random.integers(0, 256, (37, 32), dtype=np.uint8) if salted else None
    found = kernel.columns(matrix, _KEY, salts=salts, threads=2)
    for column in range(37):
        salt = salts[column].tobytes() if salts is not None else b""
        message = salt + matrix[:, column].astype("<u8").tobytes()
        assert found[column].tobytes() == blake3(message, key=_KEY).digest()


@pytest.mark.parametrize("rows", [1, 31, 32, 96, 161])
@pytest.mark.parametrize("salted", [True, False])
def test_columns_in_slabs(kernel: Blake3, rows: int, salted: bool) -> None:
    random = np.random.default_rng(rows)
    matrix = random.integers(0, 1 << 64, (rows, 20, 4), dtype=np.uint64)
    salts = random.integers(0, 256, (20, 32), dtype=np.uint8) if salted else None
    for chunks in (1, 2):
        hashes = kernel.column_hashes(rows, 20, _KEY, salts=salts)
        parts = list(hashes.slabs(chunks))
        assert np.concatenate([np.arange(rows)[part] for part in parts]).tolist() == list(range(rows))
        for part in parts:
            hashes.take(matrix[part])
        np.testing.assert_array_equal(hashes.digests(), kernel.columns(matrix, _KEY, salts=salts))


@pytest.mark.parametrize("leaves", [1, 2, 8, 64, 1024, 8192])
def test_tree(kernel: Blake3, leaves: int) -> None:
    digests = np.random.default_rng(leaves).integers(0, 256, (leaves, 32), dtype=np.uint8)
    nodes = kernel.tree(digests, _KEY, threads=2)
    assert not nodes[0].any()
    assert (nodes[leaves:] == digests).all()
    for node in range(1, leaves):
        assert nodes[node].tobytes() == blake3(nodes[2 * node : 2 * node + 2].tobytes(), key=_KEY).digest()


def test_what_does_not_fit_is_refused(kernel: Blake3) -> None:
    matrix, leaves = np.zeros((2, 4, 4), np.uint64), np.zeros((4, 32), np.uint8)
    with pytest.raises(ValueError, match="a key has 32 bytes"):
        kernel.columns(matrix, b"short")
    with pytest.raises(ValueError, match=r"salts must be uint8\[4, 32\]"):
        kernel.columns(matrix, _KEY, salts=leaves[:3])
    with pytest.raises(ValueError, match="matrix must be"):
        kernel.columns(matrix[:0], _KEY)
    hashes = kernel.column_hashes(40, 4, _KEY)
    with pytest.raises(ValueError, match="a slab of 31 rows ends within a chunk"):
        hashes.take(np.zeros((31, 4, 4), np.uint64))
    with pytest.raises(ValueError, match="rows are missing"):
        hashes.digests()
    with pytest.raises(ValueError, match="slab must be"):
        kernel.column_hashes(2, 4, _KEY).take(matrix[:, :3])
    with pytest.raises(ValueError, match="a power of two"):
        kernel.tree(leaves[:3], _KEY)
