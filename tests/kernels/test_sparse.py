"""Sparse products against Python integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.strategies import R, elements
from tests.kernels.targets import PROCESSOR, TARGETS, each, load
from zenserve import kernels

# None, such as are added, small ones up to the largest that targets have, others.
POOL = (0, 1, R - 1, -7, 2**24 - 1, 1 - 2**24, 2**24, 2**32 - 1, 1 - 2**32, 2**32, 3 << 200)
entries = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(0, len(POOL) - 1)), max_size=30
)


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
            shorts = k.fr.shorten(k.fr.from_ints(z))
            assert k.fr.to_ints(k.csr_multiply(*arrays, k.fr.from_ints(z), shorts=shorts)) == forward
            out = k.fr.from_ints([1] * 7)
            k.csr_multiply_transposed(*arrays, k.fr.from_ints(y), out, threads=3)
            assert k.fr.to_ints(out) == backward
            forms = k.sparse_forms([(first, kernels.checked_csr(*arrays)) for first in (1, 0)], 7)
            outer, inner = k.fr.from_ints([2, 5]), k.fr.from_ints(range(1, 4))
            found = forms.at(outer, inner, k.fr.from_ints(z), threads=2)
            left = [2, 4, 6, 5, 10, 15]
            wanted = [sum(map(int.__mul__, left[first:], forward)) % R for first in (1, 0)]
            assert k.fr.to_ints(found) == wanted
            out = k.fr.from_ints([1] * 7)
            forms.add_transposed(k.fr.from_ints([5, *y]), k.fr.from_ints([2, 3]), out, threads=2)
            longer = [5, *y]
            both = [
                1 + sum(POOL[c] * (2 * longer[i + 1] + 3 * longer[i]) for i, j, c in matrix if j == column)
                for column in range(7)
            ]
            assert k.fr.to_ints(out) == [value % R for value in both]


@pytest.fixture(params=each(PROCESSOR))
def processor(request: pytest.FixtureRequest) -> kernels.Kernels:
    return load(request.param)


@pytest.mark.parametrize("coefficient", [2**24 - 1, 1 - 2**24, 2**32 - 1, 1 - 2**32])
@pytest.mark.parametrize("word", [0, R - 1])
def test_the_largest_sums_of_small_terms(k: kernels.Kernels, coefficient: int, word: int) -> None:
    """More terms than are added up at once, of the elements that stand there as 0 and as r - 1."""
    count = (1 << 21) + 1 if k.target != "gpu" else 1 << 10
    z = np.frombuffer(word.to_bytes(32, "little"), "<u8").reshape(1, 4)
    zeros, pool = np.zeros(count, np.uint32), k.fr.from_ints([coefficient])
    out = k.csr_multiply(np.array([0, count]), zeros, zeros, pool, z)
    assert k.fr.to_ints(out) == [coefficient * count * k.fr.to_ints(z)[0] % R]


@pytest.mark.parametrize("threads", [1, 3])
def test_forms_of_many_rows_and_of_long_ones(k: kernels.Kernels, threads: int) -> None:
    """A long row is a piece of its own; rows of one entry, and of none, are there, too."""
    draw = np.random.default_rng(6)
    lengths = np.concatenate([draw.integers(0, 3, 1500), [9000, 0, 1]])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    columns, coefficients = draw.integers(0, (50, 4), (offsets[-1], 2)).astype(np.uint32).T
    matrix = offsets, np.ascontiguousarray(columns), np.ascontiguousarray(coefficients)
    pool = k.fr.from_ints([1, -3, 77, 5 << 90])
    z, outer, inner = (draw.integers(0, 1 << 62, (count, 4), dtype=np.uint64) for count in (50, 16, 100))
    found = k.sparse_forms([(7, kernels.checked_csr(*matrix, pool))], 50).at(outer, inner, z, threads)
    left = k.fr.mul(np.repeat(outer, 100, axis=0), np.tile(inner, (16, 1)))[7 : 7 + len(lengths)]
    expected = k.multilinear.dot(left, k.csr_multiply(*matrix, pool, z))
    np.testing.assert_array_equal(found, [expected])


def test_forms_refuse_what_their_matrices_do_not_fit(k: kernels.Kernels) -> None:
    one = np.array([0], np.uint32)
    matrix = kernels.checked_csr(np.array([0, 1]), one, one, k.fr.from_ints([1]))
    two = k.fr.from_ints([1, 1])
    forms = k.sparse_forms([(3, matrix)], 2)
    assert k.fr.to_ints(forms.at(two, two, two)) == [1]
    with pytest.raises(ValueError, match="4 rows and 2 variables, not 1 by 2 and 2"):
        forms.at(two[:1], two, two)
    with pytest.raises(ValueError, match="not 2 by 2 and 1"):
        forms.at(two, two, two[:1])
    with pytest.raises(ValueError, match="4 rows and a factor, not 2, 1"):
        forms.add_transposed(two, two[:1], two.copy())
    with pytest.raises(ValueError, match="4 rows and a factor, not 4, 0"):
        forms.add_transposed(k.fr.from_ints([1] * 4), two[:0], two.copy())
    with pytest.raises(ValueError, match="out of range"):
        k.sparse_forms([(3, matrix)], 0)
    with pytest.raises(ValueError, match="begins at row 0"):
        k.sparse_forms([(-1, matrix)], 2)


def test_short_integers_are_found(processor: kernels.Kernels) -> None:
    k, edge = processor, 2**31
    found = [0, 1, edge - 1, R - 1, R - edge + 1]
    others = [edge, R - edge, 2**64, 2**64 + 1, 3 << 128, R - 2**64, R // 2]
    shorts = k.fr.shorten(k.fr.from_ints(found + others), threads=2)
    assert shorts.tolist() == [0, 1, edge - 1, -1, 1 - edge] + [-edge] * len(others)
    small = np.arange(-300, 300)
    assert k.fr.shorten(k.fr.from_ints(small.tolist())).tolist() == small.tolist()


def test_the_largest_sums_of_short_integers(processor: kernels.Kernels) -> None:
    """One more term than is added up at once."""
    k, count = processor, (1 << 21) + 1
    zeros, z = np.zeros(count, np.uint32), k.fr.from_ints([R - 2**31 + 1])
    out = k.csr_multiply(
        np.array([0, count]), zeros, zeros, k.fr.from_ints([2**32 - 1]), z, shorts=k.fr.shorten(z)
    )
    assert k.fr.to_ints(out) == [-count * (2**31 - 1) * (2**32 - 1) % R]


@pytest.mark.parametrize("value", [1 << 16, -1 << 16, (1 << 16) + 1])
def test_the_largest_sums_of_large_coefficients_and_short_integers(
    processor: kernels.Kernels, value: int
) -> None:
    """More terms than are added up at once, of the coefficient that stands there as r - 1 and of a long one
    beside it; one more than the integers that coefficients are multiplied by is a product of its own."""
    k, count = processor, (1 << 14) + 3
    word = np.frombuffer((R - 1).to_bytes(32, "little"), "<u8").reshape(1, 4)
    pool = np.concatenate([word, k.fr.from_ints([R - 5, 3 << 200])])
    columns, z = np.zeros(count, np.uint32), k.fr.from_ints([value])
    coefficients = (np.arange(count) % 3).astype(np.uint32)
    out = k.csr_multiply(np.array([0, count]), columns, coefficients, pool, z, shorts=k.fr.shorten(z))
    elements = k.fr.to_ints(pool)
    assert k.fr.to_ints(out) == [value * sum(elements[i % 3] for i in range(count)) % R]


def test_a_long_matrix_is_transposed_in_parts(processor: kernels.Kernels) -> None:
    """More rows than at once, an entry in each, and one row of more entries than rows."""
    k, draw = processor, np.random.default_rng(6)
    rows, variables = 140_000, 300_000
    offsets = np.append(np.arange(rows), 2 * rows)
    columns = draw.integers(0, variables, 2 * rows).astype(np.uint32)
    coefficients = draw.integers(0, 4, 2 * rows).astype(np.uint32)
    pool, y = k.fr.from_ints([1, R - 1, 7, 3 << 200]), draw.integers(0, 1 << 62, (rows, 4), dtype=np.uint64)
    factor, out = k.fr.from_ints([12345])[0], np.zeros((variables, 4), np.uint64)
    k.csr_multiply_transposed(offsets, columns, coefficients, pool, y, out, factor=factor, threads=2)
    row = np.minimum(np.arange(2 * rows), rows - 1)
    terms = k.fr.mul(y[row], k.fr.mul(pool, factor)[coefficients])
    for column in (columns[0], columns[rows - 1], columns[rows], columns[-1]):
        expected = sum(k.fr.to_ints(terms[columns == column])) % R
        assert k.fr.to_ints(out[column]) == [expected]
    total = k.multilinear.dot(out, k.fr.from_int64(np.ones(variables, np.int64)))
    assert np.array_equal(total, k.multilinear.dot(terms, k.fr.from_int64(np.ones(2 * rows, np.int64))))


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


def test_shorts_must_be_those_of_all_elements(k: kernels.Kernels) -> None:
    z, zeros = k.fr.from_ints(range(7)), np.zeros(1, np.uint32)
    for wrong in (np.zeros(6, np.int32), np.zeros((7, 1), np.int32)):
        with pytest.raises(ValueError, match="shorts"):
            k.csr_multiply(np.array([0, 1]), zeros, zeros, z[:1], z, shorts=wrong)


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
