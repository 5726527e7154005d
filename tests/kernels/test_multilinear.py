"""Multilinear polynomials against their definitions in Python integers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.strategies import R, elements
from tests.kernels.targets import PROCESSOR, TARGETS, each, load
from zenserve.kernels import Kernels, aligned


@pytest.fixture(params=each(TARGETS))
def k(request: pytest.FixtureRequest) -> Kernels:
    return load(request.param)


def _eq(point: list[int]) -> list[int]:
    weights = []
    for bits in itertools.product((0, 1), repeat=len(point)):
        weight = 1
        for r, bit in zip(point, bits, strict=True):
            weight = weight * (r if bit else 1 - r) % R
        weights.append(weight)
    return weights


def _random(*shape: int, seed: int = 0) -> list[int]:
    words = np.random.default_rng(seed).integers(0, 1 << 62, (int(np.prod(shape)), 5))
    edges = [0, 1, R - 1]
    return [sum(int(word) << 60 * i for i, word in enumerate(each)) % R for each in words][:-3] + edges


@given(st.lists(elements(R), max_size=6), st.sampled_from(PROCESSOR))
def test_eq(point: list[int], target: str) -> None:
    k = load(target)
    assert k.fr.to_ints(k.multilinear.eq(k.fr.from_ints(point), threads=2)) == _eq(point)


def test_a_large_eq_table_is_one_in_sum(k: Kernels) -> None:
    table = k.multilinear.eq(k.fr.from_ints(_random(15)), threads=2)
    ones = k.fr.from_ints([1] * len(table))
    assert k.fr.to_ints(k.multilinear.dot(table, ones, threads=2)) == [1]


def test_products(k: Kernels) -> None:
    outer, inner = _random(4, seed=1), _random(2100, seed=2)
    out = aligned(3 * 2100 + 11)
    k.multilinear.products(k.fr.from_ints(outer), k.fr.from_ints(inner), out, threads=2)
    assert out.ctypes.data % 64 == 0
    assert k.fr.to_ints(out) == [x * y % R for x in outer for y in inner][: len(out)]
    with pytest.raises(ValueError, match="have no 9 products"):
        k.multilinear.products(out[:2], out[:4], aligned(9))


@pytest.mark.parametrize("count", [3, 8, 13, 4099])
def test_dot(k: Kernels, count: int) -> None:
    a, b = _random(count, seed=1), _random(count, seed=2)
    found = k.multilinear.dot(k.fr.from_ints(a), k.fr.from_ints(b), threads=2)
    assert k.fr.to_ints(found) == [sum(x * y for x, y in zip(a, b, strict=True)) % R]


@pytest.mark.parametrize(("rows", "columns"), [(1, 8), (3, 5), (35, 24), (9, 4107)])
def test_rows_are_combined(k: Kernels, rows: int, columns: int) -> None:
    matrix, coefficients, before = _random(rows, columns), _random(rows + 3)[3:], _random(columns, seed=4)
    wanted = [
        (before[j] + sum(coefficients[i] * matrix[columns * i + j] for i in range(rows))) % R
        for j in range(columns)
    ]
    out = k.fr.from_ints(before)
    words = k.fr.from_ints(matrix).reshape(rows, columns, 4)
    k.multilinear.combine_rows(words, k.fr.from_ints(coefficients), out, threads=2)
    assert k.fr.to_ints(out) == wanted
    plain = k.fr.to_canonical(k.fr.from_ints(before))
    k.multilinear.combine_rows(k.fr.to_canonical(words), k.fr.from_ints(coefficients), plain)
    assert k.fr.to_ints(k.fr.from_canonical(plain)) == wanted


@pytest.mark.parametrize(("rows", "width"), [(1, 8), (2, 8), (8, 16), (4, 1 << 12)])
def test_a_round_of_rows_is_that_of_their_table(rows: int, width: int) -> None:
    """Those that are bound are not written to."""
    for target in PROCESSOR:
        k = load(target)
        x, table = (k.fr.from_ints(_random(rows * width, seed=seed)) for seed in range(2))
        scattered = [row.copy() for row in table.reshape(rows, width, 4)[::-1]][::-1]
        found = k.multilinear.rows_round(x, scattered, threads=2)
        np.testing.assert_array_equal(found, k.multilinear.product_round(x, table, threads=2))
        (r,), folded, same = k.fr.from_ints([R - 2]), aligned(rows * width // 2), x.copy()
        found = k.multilinear.rows_round(x, scattered, threads=2, bound=r, folded=folded)
        np.testing.assert_array_equal(np.concatenate(scattered), table)
        np.testing.assert_array_equal(found, k.multilinear.product_round(same, table, threads=2, bound=r))
        np.testing.assert_array_equal(folded, table[: len(folded)])
        np.testing.assert_array_equal(x, same)


def test_rows_that_are_no_table_are_refused() -> None:
    k = load(PROCESSOR[0])
    x, r = k.fr.from_ints(range(16)), k.fr.from_ints([2])[0]
    for rows in ([x[:8], x[:4]], [x[:4]] * 4, [x[:8]] * 3):
        with pytest.raises(ValueError, match="no table as long as 16"):
            k.multilinear.rows_round(x, rows)
    with pytest.raises(ValueError, match="need a place"):
        k.multilinear.rows_round(x, [x], bound=r)
    with pytest.raises(ValueError, match="folded must be"):
        k.multilinear.rows_round(x, [x[:8], x[8:]], bound=r, folded=x.copy())


@pytest.mark.parametrize("variables", [1, 2, 3, 4, 7, 14])
def test_rounds_say_what_the_sums_are(k: Kernels, variables: int) -> None:
    """Values at 0, 1 and 2 by folding."""
    size = 1 << variables
    a, b, c = (k.fr.from_ints(_random(max(size, 3), seed=seed)[:size]) for seed in range(3))
    split = (variables - 1) // 2
    point = k.fr.from_ints(_random(variables + 2)[: variables - 1])
    outer, inner = k.multilinear.eq(point[:split]), k.multilinear.eq(point[split:])
    weights = k.multilinear.eq(point)
    product = k.multilinear.product_round(a, b, threads=2)
    r1cs = k.multilinear.r1cs_round(a, b, c, outer, inner, threads=2)
    unread = k.multilinear.r1cs_round(a, b, None, outer, inner, threads=2)
    np.testing.assert_array_equal(unread.leading, r1cs.leading)
    assert not unread.constant.any()

    def at(x: int) -> list[int]:
        folded = [k.multilinear.fold(table.copy(), k.fr.from_ints([x])[0], threads=2) for table in (a, b, c)]
        left, right, less = folded
        terms = k.fr.sub(k.fr.mul(left, right), less)
        return [k.fr.to_ints(k.multilinear.dot(*pair))[0] for pair in ((left, right), (weights, terms))]

    values = [at(x) for x in range(3)]
    for place, found in enumerate((product, r1cs)):
        zero, one, two = (each[place] for each in values)
        assert k.fr.to_ints(found.constant) == [zero]
        assert 2 * k.fr.to_ints(found.leading)[0] % R == (two - 2 * one + zero) % R


@pytest.mark.parametrize("variables", [2, 3, 4, 7, 14])
def test_a_round_that_binds_is_folding_and_a_round(k: Kernels, variables: int) -> None:
    size, r = 1 << variables, k.fr.from_ints([2**200 + 3])[0]
    tables = [k.fr.from_ints(_random(max(size, 3), seed=seed)[:size]) for seed in range(3)]
    folded = [k.multilinear.fold(table.copy(), r) for table in tables]
    point = k.fr.from_ints(_random(variables + 1)[: variables - 2])
    weights = k.multilinear.eq(point[: variables // 3]), k.multilinear.eq(point[variables // 3 :])
    own = [table.copy() for table in tables]
    found = k.multilinear.r1cs_round(own[0], own[1], own[2], *weights, threads=2, bound=r)
    wanted = k.multilinear.r1cs_round(folded[0], folded[1], folded[2], *weights)
    assert np.array_equal(found, wanted)
    for table, expected in zip(own, folded, strict=True):
        np.testing.assert_array_equal(table[: size // 2], expected)
    x, y = tables[0].copy(), tables[1].copy()
    product = k.multilinear.product_round(x, y, threads=2, bound=r)
    assert np.array_equal(product, k.multilinear.product_round(folded[0], folded[1]))
    np.testing.assert_array_equal(x[: size // 2], folded[0])


def test_folding_binds_the_highest_bit(k: Kernels) -> None:
    table, r = _random(32), 12345
    folded = k.multilinear.fold(k.fr.from_ints(table), k.fr.from_ints([r])[0])
    assert k.fr.to_ints(folded) == [(table[i] + r * (table[16 + i] - table[i])) % R for i in range(16)]


def test_what_does_not_fit_is_refused(k: Kernels) -> None:
    a = k.fr.from_ints(range(4))
    with pytest.raises(ValueError, match="equally long"):
        k.multilinear.dot(a, a[:3])
    with pytest.raises(ValueError, match="no variable to bind"):
        k.multilinear.fold(a[:3].copy(), a[0])
    with pytest.raises(ValueError, match="weights do not make half"):
        k.multilinear.r1cs_round(a, a, a, a[:1], a[:1])
    with pytest.raises(ValueError, match="no variable to bind"):
        k.multilinear.r1cs_round(a[:0], a[:0], a[:0], a[:1], a[:0])
    with pytest.raises(ValueError, match="a table is missing"):
        k.multilinear.r1cs_round(a.copy(), a.copy(), None, a[:1], a[:1], bound=a[0])
    with pytest.raises(ValueError, match="no variable to bind"):
        k.multilinear.product_round(a[:2], a[:2], bound=a[0])
    with pytest.raises(ValueError, match="weights do not make half of 2 values"):
        k.multilinear.r1cs_round(a, a.copy(), a.copy(), a[:2], a[:1], bound=a[0])
