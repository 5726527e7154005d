"""Operations over many points, by scalars, transforms and sparse matrices, against py_ecc and exponents."""

from __future__ import annotations

import random
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import py_ecc.optimized_bls12_381 as reference
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.strategies import P, R, edge_values, scalars
from tests.kernels.targets import FEW
from tests.kernels.test_group import GENERATORS, coordinates, reference_coordinates
from zenserve import kernels
from zenserve.errors import Cancelled
from zenserve.kernels import Group, Kernels, WordArray

Z = 0xD201000000010000
MANY, TWO_CHUNKS = 400, 150
"""More than fit one chunk of the kernel."""


def points(k: Kernels, group: Group, exponents: list[int]) -> WordArray:
    return group.fixed_base(group.generator, k.fr.from_ints(exponents))


def some_scalars(count: int) -> list[int]:
    """Edge values, digits to the base of the endomorphism and their neighbours, short ones, random ones."""
    source = random.Random(1)
    bases = [Z, Z**2, Z**3, Z**2 - 1, R - Z**2, R // 2, R // 2 + 1]
    edges = [*edge_values(R), *(base + offset for base in bases for offset in (-1, 0, 1))]
    short = [source.choice((-1, 1)) * source.getrandbits(bits) % R for bits in range(1, 255)]
    return ([*edges, *short] + [source.randrange(R) for _ in range(count)])[:count]


@cache
def products_by_py_ecc(name: str) -> dict[int, list[int]]:
    """value * 77 * generator, for each value."""
    values = [0, 1, R - 1, 7, 8, 9, Z, Z**2, Z**3 + 1, R // 2, R // 2 + 1, 0x1234567890ABCDEF << 150]
    base: Any = reference.multiply(GENERATORS[name], 77)
    return {value: reference_coordinates(name, reference.multiply(base, value)) for value in values}


def test_products_agree_with_py_ecc(k: Kernels, group: Group) -> None:
    expected = products_by_py_ecc(group.name)
    out = group.mul(points(k, group, [77] * len(expected)), k.fr.from_ints(expected))
    assert {value: coordinates(k, point) for value, point in zip(expected, out, strict=True)} == expected


def test_each_point_times_its_own_scalar(k: Kernels, group: Group) -> None:
    values, exponents = some_scalars(MANY), some_scalars(MANY)[::-1]
    exponents[:3] = [0, 0, 1]
    out = group.mul(points(k, group, exponents), k.fr.from_ints(values), threads=3)
    expected = points(k, group, [x * y % R for x, y in zip(values, exponents, strict=True)])
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("scalar", [0, 1, R - 1, 5, Z**2, R // 3])
def test_all_points_times_one_scalar(k: Kernels, group: Group, scalar: int) -> None:
    exponents = some_scalars(TWO_CHUNKS)
    out = group.mul(points(k, group, exponents), k.fr.from_ints([scalar])[0], threads=2)
    np.testing.assert_array_equal(out, points(k, group, [scalar * x % R for x in exponents]))


def test_products_of_any_scalar(k: Kernels, group: Group) -> None:
    @settings(max_examples=3 if k.target in FEW else 20)
    @given(scalars, scalars)
    def check(x: int, y: int) -> None:
        out = group.mul(points(k, group, [x]), k.fr.from_ints([y]))
        np.testing.assert_array_equal(out, points(k, group, [x * y % R]))

    check()


def test_scalars_that_do_not_pair_up_are_refused(k: Kernels) -> None:
    three = points(k, k.g1, [1, 2, 3])
    for wrong in (k.fr.from_ints([1, 2]), k.fr.from_ints([1]), np.zeros(3, dtype=np.uint64)):
        with pytest.raises(ValueError, match=r"pair up|scalars"):
            k.g1.mul(three, wrong)


@cache
def outside_points(name: str) -> list[Any]:
    """py_ecc points outside the subgroup: without a part in it, of small order among them, and with one."""
    z = -Z
    b: Any
    one: Any
    if name == "g1":
        b, one, cofactor, orders = reference.b, reference.FQ.one(), (z - 1) ** 2 // 3, (3, 11, 10177)
    else:
        b, one, orders = reference.b2, reference.FQ2.one(), (13, 23, 2713)
        cofactor = (z**8 - 4 * z**7 + 5 * z**6 - 4 * z**4 + 6 * z**3 - 4 * z**2 - 4 * z + 13) // 9
    found = []
    for x in range(1, 6):
        y = square_root(one * x * one * x * one * x + b)
        if y is not None:
            base = reference.multiply((one * x, y, one), R)
            found += [base, *(reference.multiply(base, cofactor // order**2) for order in orders)]
            found += [reference.multiply(found[-1], order) for order in orders]
    outside = [point for point in found if not reference.is_inf(point)]
    return outside + [reference.add(point, GENERATORS[name]) for point in outside]


def square_root(square: Any) -> Any:
    """A root in Fp or Fp2, or None."""
    if isinstance(square, reference.FQ):
        candidates = [square ** ((P + 1) // 4)]
    else:
        half = square ** ((P**2 + 7) // 16)
        candidates = [half * reference.FQ2([1, 1]) ** ((P**2 - 1) // 8 * twist) for twist in range(8)]
    return next((root for root in candidates if root * root == square), None)


def test_no_point_of_small_order_passes_for_one_of_the_subgroup(k: Kernels, group: Group) -> None:
    words = [k.fp.from_ints(reference_coordinates(group.name, point)) for point in outside_points(group.name)]
    array = np.stack(words).reshape(-1, *group.shape)
    assert len(array) >= 12
    assert group.is_on_curve(array).all()
    assert not group.in_subgroup(array, threads=2).any()
    assert group.in_subgroup(points(k, group, some_scalars(MANY)), threads=2).all()


@pytest.mark.parametrize(
    ("group", "log_size"), [*product(["g1", "g2"], [0, 1, 2, 5]), ("g1", 9)], indirect=["group"]
)
def test_the_transform_of_points_is_that_of_their_exponents(k: Kernels, group: Group, log_size: int) -> None:
    domain = k.domain(log_size)
    exponents = k.fr.from_ints(some_scalars(domain.size))
    array = group.fixed_base(group.generator, exponents)
    group.intt(domain, array, threads=2)
    domain.intt(exponents)
    np.testing.assert_array_equal(array, group.fixed_base(group.generator, exponents))


def test_powers_become_lagrange_polynomials(k: Kernels, group: Group) -> None:
    tau, size = 12345, 8
    omega = pow(5, (R - 1) // size, R)
    array = points(k, group, [pow(tau, i, R) for i in range(size)])
    group.intt(k.domain(3), array)
    at_tau = []
    for i in range(size):
        others = [pow(omega, j, R) for j in range(size) if j != i]
        value = 1
        for x in others:
            value = value * (tau - x) * pow(pow(omega, i, R) - x, -1, R) % R
        at_tau.append(value)
    np.testing.assert_array_equal(array, points(k, group, at_tau))


def test_a_transform_takes_as_many_points_as_its_domain(k: Kernels) -> None:
    with pytest.raises(ValueError, match="points must be a writable"):
        k.g1.intt(k.domain(2), points(k, k.g1, [1, 2, 3]))


POOL = [0, 1, R - 1, 2, R - 3, 255, 2**64, Z**2, R // 2, 3 << 200]
entries = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(0, len(POOL) - 1)), max_size=40
)


@settings(max_examples=15)
@given(entries, st.lists(scalars, min_size=5, max_size=5), st.lists(scalars, min_size=7, max_size=7))
def test_sparse_combinations(matrix: list[tuple[int, int, int]], rows: list[int], start: list[int]) -> None:
    matrix = sorted(matrix, key=lambda entry: entry[0])
    offsets = np.searchsorted([row for row, _, _ in matrix], range(6)).astype(np.int64)
    columns = np.array([column for _, column, _ in matrix], dtype=np.uint32)
    coefficients = np.array([c for _, _, c in matrix], dtype=np.uint32)
    sums = [x + sum(POOL[c] * rows[i] for i, j, c in matrix if j == v) for v, x in enumerate(start)]
    for target in kernels.available_targets():  # without the emulated one: the test below runs there
        k = kernels.load(target)
        for group in (k.g1, k.g2):
            out = points(k, group, start)
            arrays = offsets, columns, coefficients, k.fr.from_ints(POOL)
            group.csr_multiply_transposed(*arrays, points(k, group, rows), out, threads=2)
            np.testing.assert_array_equal(out, points(k, group, [value % R for value in sums]))


def test_sparse_combinations_across_chunks(k: Kernels) -> None:
    """One column that every chunk shares, others that end in the middle of one or have no entries."""
    source, count, columns = random.Random(2), 10_000, 50
    column = np.array(
        [0 if i % 3 else source.randrange(0, columns, 2) for i in range(count)], dtype=np.uint32
    )
    coefficient = np.array([source.randrange(len(POOL)) for _ in range(count)], dtype=np.uint32)
    offsets = np.linspace(0, count, 101).astype(np.int64)
    exponents = some_scalars(100)
    expected = [0] * columns
    for row in range(100):
        for i in range(offsets[row], offsets[row + 1]):
            expected[column[i]] += POOL[coefficient[i]] * exponents[row]
    out = np.zeros((columns, 2, 6), dtype=np.uint64)
    rows = points(k, k.g1, exponents)
    k.g1.csr_multiply_transposed(offsets, column, coefficient, k.fr.from_ints(POOL), rows, out, threads=3)
    np.testing.assert_array_equal(out, points(k, k.g1, [value % R for value in expected]))


def test_malformed_sparse_combinations_are_refused(k: Kernels) -> None:
    two, out = points(k, k.g1, [1, 2]), points(k, k.g1, [1, 2, 3])
    one, pool = np.zeros(1, dtype=np.uint32), k.fr.from_ints([1])
    with pytest.raises(ValueError, match="out of range"):
        k.g1.csr_multiply_transposed(np.array([0, 1, 1]), one + 3, one, pool, two, out)
    with pytest.raises(ValueError, match="one for each row"):
        k.g1.csr_multiply_transposed(np.array([0, 1]), one, one, pool, two, out)
    with pytest.raises(ValueError, match="out must be"):
        k.g1.csr_multiply_transposed(np.array([0, 1, 1]), one, one, pool, two, out[::2])


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_rises_to_one_and_can_stop(k: Kernels, threads: int) -> None:
    array, values = points(k, k.g1, some_scalars(256)), k.fr.from_ints(some_scalars(256))
    matrix = np.arange(257), np.zeros(256, np.uint32), np.arange(256, dtype=np.uint32), values

    def stop(_: float) -> None:
        raise Cancelled

    for call in (
        lambda progress: k.g1.mul(array, values, threads=threads, progress=progress),
        lambda progress: k.g1.intt(k.domain(5), array[:32].copy(), threads=threads, progress=progress),
        lambda progress: k.g1.csr_multiply_transposed(
            *matrix, array, array[:1].copy(), threads=threads, progress=progress
        ),
    ):
        seen: list[float] = []
        call(seen.append)
        assert seen == sorted(seen)
        assert 0 < seen[0] <= seen[-1] == 1
        with pytest.raises(Cancelled):
            call(stop)
