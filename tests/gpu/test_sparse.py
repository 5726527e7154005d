"""Sparse matrices on the device against the processor's, with rows and columns of very unequal lengths."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.gpu.known import device
from tests.kernels.strategies import R
from zenserve import kernels
from zenserve.gpu import sparse
from zenserve.kernels import FrArray, fr

Csr = tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32], FrArray]

POOL = [1, R - 1, 0, 7, R - 3, 3 << 200]


def matrix(lengths: list[int], columns: int) -> Csr:
    """Rows of these lengths. Every third entry is in column 0, as the constant one is in constraints."""
    draw = np.random.default_rng(len(lengths))
    entries = sum(lengths)
    places = draw.integers(0, columns, entries).astype(np.uint32)
    places[::3] = 0
    coefficients = draw.choice([0, 0, 0, 0, 1, 1, 2, 3, 4, 5], entries).astype(np.uint32)
    return np.cumsum([0, *lengths], dtype=np.int64), places, coefficients, fr.from_ints(POOL)


def values(count: int) -> FrArray:
    return fr.powers(fr.from_ints([0x123456789ABCDEF << 190])[0], count)


ROWS = {
    "no rows": [],
    "no entries": [0, 0, 0],
    "one entry": [0, 1, 0],
    "equal": [3] * 100,
    "short and long": [1, 0, 2000, 0, 0, 1, 5] * 2,
    "one row": [3000],
    "empty between": [0, 2] * 700,
}


@pytest.mark.parametrize("lengths", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("columns", [1, 40])
def test_products_with_vectors(lengths: list[int], columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "_WORKERS", 200)
    csr = matrix(lengths, columns)
    z = values(columns)
    ours, out = sparse.Matrix(device, *csr), device.empty((len(lengths), 4), np.uint64)
    ours.multiply(device.upload(z), out)
    np.testing.assert_array_equal(device.download(out), kernels.csr_multiply(*csr, z))


def test_shares_of_almost_all_entries_that_there_can_be() -> None:
    """Entries and workers together exceed 32 bits: here by the workers, most of which are not launched."""
    count, launched = 100, 32
    offsets, zeros = np.arange(count + 1, dtype=np.uint32), np.zeros(count, np.uint32)
    one, out = fr.from_ints([1]), device.zeros((count, 4), np.uint64)
    carries, rows = device.empty((launched, 4), np.uint64), device.empty(launched, np.uint32)
    parts = [device.upload(offsets), *(device.upload(each) for each in (zeros, zeros, one, one))]
    numbers = np.uint32(count), np.uint32(2**32 - 10)
    sparse._module(device).launch("multiply_shares", 1, launched, *parts, *numbers, out, carries, rows)
    assert fr.to_ints(device.download(out)) == [1] * launched + [0] * (count - launched)


def test_products_go_to_a_part_of_an_array() -> None:
    csr = matrix([2, 0, 4], 5)
    z, out = values(5), device.zeros((8, 4), np.uint64)
    ours = sparse.Matrix(device, *csr)
    ours.multiply(device.upload(z), out[2 : 2 + ours.rows])
    expected = np.zeros((8, 4), np.uint64)
    expected[2:5] = kernels.csr_multiply(*csr, z)
    np.testing.assert_array_equal(device.download(out), expected)


@pytest.mark.parametrize("size", [0, 1, 255, 3000])
def test_the_first_unsatisfied_row_is_found_wherever_it_is(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparse, "_BLOCKS", 2)
    a, b = fr.from_int64(np.arange(size)), fr.from_ints([R - 3] * size)
    c = fr.mul(a, b)
    x, y = device.upload(a), device.upload(b)
    assert sparse.first_unsatisfied(device, x, y, device.upload(c)) is None
    for row in sorted({size - 1, size // 2, 0} & set(range(size)), reverse=True):
        c[row] = fr.add(c[row], fr.from_ints([1])[0])
        assert sparse.first_unsatisfied(device, x, y, device.upload(c)) == row


def test_a_stack_of_matrices_is_transposed_in_sum() -> None:
    """Columns that share a place, a place without entries, coefficients in the place of the pool's."""
    shapes = [2, 0, 4, 1, 7], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]
    offsets, columns, coefficients, pool = matrix([length for lengths in shapes for length in lengths], 5)
    y, places = values(5), np.array([6, 2, 0, 2, 5], np.uint32)
    stack = sparse.Matrix(device, offsets, columns, coefficients, pool)
    found = sparse.transposed(device, stack, 5, device.upload(places), 7)
    for given in (None, fr.mul(pool, values(len(pool)))):
        expected, used = fr.from_ints([0] * 7), pool if given is None else given
        for row in range(15):
            for i in range(offsets[row], offsets[row + 1]):
                term = fr.mul(used[coefficients[i]], y[row % 5])
                expected[places[columns[i]]] = fr.add(expected[places[columns[i]]], term)
        out = device.empty((7, 4), np.uint64)
        found.multiply(device.upload(y), out, given if given is None else device.upload(given))
        np.testing.assert_array_equal(device.download(out), expected)
