"""Sparse products against Python integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernels
from tests.kernels.strategies import R, elements
from tests.kernels.targets import PROCESSOR, TARGETS, load

# None, such as are added, small ones up to the largest, others.
POOL = (0, 1, R - 1, -7, 2**32 - 1, 1 - 2**32, 2**32, 3 << 200)
entries = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(0, len(POOL) - 1)), max_size=30
)


@settings(deadline=None)  # it starts threads
@given(entries, st.lists(elements(R), min_size=7, max_size=7), st.lists(elements(R), min_size=5, max_size=5))
def test_both_products(matrix: list[tuple[int, int, int]], z: list[int], y: list[int]) -> None:
    matrix = sorted(matrix, key=lambda entry: entry[0])
    offsets = np.searchsorted([row for row, _, _ in matrix], range(6)).astype(np.int64)
    columns = np.array([column for _, column, _ in matrix], dtype=np.uint32)
    coefficients = np.array([c for _, _, c in matrix], dtype=np.uint32)
    forward = [sum(POOL[c] * z[j] for i, j, c in matrix if i == row) % R for row in range(5)]
    backward = [(1 + sum(POOL[c] * y[i] for i, j, c in matrix if j == column)) % R for column in range(7)]
    for target in TARGETS:
        k = load(target)
        arrays = offsets, columns, coefficients, k.fr.from_ints(POOL)
        assert k.fr.to_ints(k.csr_multiply(*arrays, k.fr.from_ints(z), threads=2)) == forward
        if target in PROCESSOR:
            out = k.fr.from_ints([1] * 7)
            k.csr_multiply_transposed(*arrays, k.fr.from_ints(y), out, threads=3)
            assert k.fr.to_ints(out) == backward


@pytest.mark.parametrize("coefficient", [2**32 - 1, 1 - 2**32])
@pytest.mark.parametrize("word", [0, R - 1])
def test_the_largest_sums_of_small_terms(k: kernels.Kernels, coefficient: int, word: int) -> None:
    """One more term than is added up at once, of the elements that stand there as 0 and as r - 1."""
    count = (1 << 21) + 1 if k.target != "gpu" else 1 << 10
    z = np.frombuffer(word.to_bytes(32, "little"), "<u8").reshape(1, 4)
    zeros, pool = np.zeros(count, np.uint32), k.fr.from_ints([coefficient])
    out = k.csr_multiply(np.array([0, count]), zeros, zeros, pool, z)
    assert k.fr.to_ints(out) == [coefficient * count * k.fr.to_ints(z)[0] % R]


def test_many_rows_on_several_threads(k: kernels.Kernels) -> None:
    rows = 5000
    columns = np.arange(rows, dtype=np.uint32)[::-1].copy()
    z = k.fr.from_int64(np.arange(rows))
    out = k.csr_multiply(
        np.arange(rows + 1), columns, np.zeros(rows, np.uint32), k.fr.from_ints([2]), z, threads=3
    )
    np.testing.assert_array_equal(out, k.fr.from_int64(2 * np.arange(rows)[::-1]))


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_add_to_shared_columns_without_losing_any(k: kernels.Kernels, threads: int) -> None:
    """Every row reads the constant one, and many rows the same few columns."""
    draw = np.random.default_rng(5)
    rows, variables, entries = 3000, 500, 9
    columns = draw.integers(0, variables, (rows, entries)).astype(np.uint32)
    columns[:, 0] = 0
    coefficients = draw.integers(0, 5, rows * entries).astype(np.uint32)
    pool = k.fr.from_ints([1, R - 1, 0, 7, 3 << 200])
    y, start = draw.integers(0, 1 << 62, (rows, 4), dtype=np.uint64), k.fr.from_int64(np.arange(variables))
    matrix = np.arange(rows + 1) * entries, columns.ravel(), coefficients, pool
    one, several = start.copy(), start.copy()
    k.csr_multiply_transposed(*matrix, y, one)
    k.csr_multiply_transposed(*matrix, y, several, threads=threads)
    np.testing.assert_array_equal(several, one)
    terms = k.fr.mul(np.repeat(y, entries, axis=0), pool[coefficients])
    chosen = terms[columns.ravel() == 7]
    assert sum(k.fr.to_ints(chosen), 7) % R == k.fr.to_ints(one[7])[0]


@pytest.mark.parametrize(
    ("offsets", "columns", "coefficients", "message"),
    [
        ([0, 1], [7], [0], "out of range"),
        ([0, 1], [0], [1], "out of range"),
        ([0, 2], [0], [0], "offsets"),
        ([1, 1], [0], [0], "offsets"),
        ([0, 2, 1], [0], [0], "offsets"),
        ([0, 2**63 - 1, -2, 1], [0], [0], "offsets"),
        ([0, 1], [0], [0, 0], "equally long"),
    ],
)
def test_malformed_matrices_are_refused(
    k: kernels.Kernels, offsets: list[int], columns: list[int], coefficients: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        k.csr_multiply(
            np.array(offsets, dtype=np.int64),
            np.array(columns, dtype=np.uint32),
            np.array(coefficients, dtype=np.uint32),
            k.fr.from_ints([1]),
            k.fr.from_ints(range(7)),
        )


@pytest.mark.parametrize("shape", [(4,), (7, 0, 4), (7, 1, 4)])
def test_pools_and_vectors_must_be_vectors(k: kernels.Kernels, shape: tuple[int, ...]) -> None:
    """The kernel trusts ``len`` for the number of elements, so an index below it must be inside."""
    matrix = np.array([0, 1]), np.array([3], dtype=np.uint32), np.array([3], dtype=np.uint32)
    wrong, right = np.zeros(shape, dtype=np.uint64), k.fr.from_ints(range(7))
    with pytest.raises(ValueError, match="pool must be a vector"):
        k.csr_multiply(*matrix, wrong, right)
    with pytest.raises(ValueError, match="z must be a vector"):
        k.csr_multiply(*matrix, right, wrong)
    with pytest.raises(ValueError, match="out must be"):
        k.csr_multiply_transposed(*matrix, right, right[:1], wrong)
