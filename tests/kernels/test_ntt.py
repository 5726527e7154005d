"""Transforms against galois and against Horner's rule."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest

from tests.kernels.strategies import R
from tests.kernels.targets import PROCESSOR, each, load
from zenserve.kernels import Kernels
from zenserve.kernels.ntt import Order


def bit_reversal(log_size: int) -> list[int]:
    return [int(format(i, f"0{log_size}b")[::-1], 2) if log_size else 0 for i in range(1 << log_size)]


def horner(coefficients: list[int], x: int) -> int:
    value = 0
    for coefficient in reversed(coefficients):
        value = (value * x + coefficient) % R
    return value


def coefficients_of(log_size: int) -> list[int]:
    rng = random.Random(log_size)
    return [rng.choice([0, 1, R - 1, rng.randrange(R)]) for _ in range(1 << log_size)]


@cache
def by_galois(log_size: int) -> list[int]:
    import galois  # slow to load

    # galois.ntt itself would first factor r - 1 to find a root of unity; the root is given here.
    field, size = galois.GF(R, primitive_element=7, verify=False), 1 << log_size
    matrix = field.Vandermonde(field(pow(5, (R - 1) // size, R)), size, size)
    return [int(x) for x in matrix @ field(coefficients_of(log_size))]


@pytest.mark.parametrize("log_size", [1, 2, 3, 6])
def test_natural_order_is_the_product_with_galois_vandermonde_matrix(k: Kernels, log_size: int) -> None:
    array = k.fr.from_ints(coefficients_of(log_size))
    k.domain(log_size).ntt(array)
    assert k.fr.to_ints(array) == by_galois(log_size)


@pytest.mark.parametrize("log_size", [0, 1, 4, 7])
@pytest.mark.parametrize("shift", [1, 7, R - 2])
def test_coset_evaluations_by_horner(k: Kernels, log_size: int, shift: int) -> None:
    domain = k.domain(log_size)
    values = coefficients_of(log_size)
    omega = k.fr.to_ints(domain.omega)[0]
    expected = [horner(values, shift * pow(omega, i, R) % R) for i in range(domain.size)]
    array = k.fr.from_ints(values)
    domain.ntt(array, coset=k.fr.from_ints([shift])[0])
    assert k.fr.to_ints(array) == expected


@pytest.mark.parametrize("log_size", range(15))
@pytest.mark.parametrize("with_coset", [False, True])
def test_every_size_on_polynomials_of_three_terms(k: Kernels, log_size: int, with_coset: bool) -> None:
    """The values of c X^e are a geometric sequence, which needs no transform."""
    domain, rng = k.domain(log_size), random.Random(log_size)
    omega, shift = k.fr.to_ints(domain.omega)[0], rng.randrange(2, R) if with_coset else 1
    values, expected = (np.zeros((domain.size, 4), dtype=np.uint64) for _ in range(2))
    for coefficient in (1, R - 1, rng.randrange(R)):
        exponent = rng.randrange(domain.size)
        first = coefficient * pow(shift, exponent, R)
        ratio, start, term = k.fr.from_ints([pow(omega, exponent, R), first, coefficient])
        expected = k.fr.add(expected, k.fr.powers(ratio, domain.size, first=start))
        values[exponent] = k.fr.add(values[exponent], term)
    polynomial = values.copy()
    coset = k.fr.from_ints([shift])[0] if with_coset else None
    domain.ntt(values, coset=coset, threads=2)
    np.testing.assert_array_equal(values, expected)
    domain.intt(values, coset=coset, threads=2)
    np.testing.assert_array_equal(values, polynomial)


@pytest.mark.parametrize("target", each(PROCESSOR))
@pytest.mark.parametrize("log_size", [2, 3, 5, 6, 7, 8, 11, 13])
def test_code_words_are_transforms_of_rows_with_zeros(target: str, log_size: int) -> None:
    k = load(target)
    domain = k.domain(log_size)
    rows = np.random.default_rng(log_size).integers(0, 1 << 62, (3, domain.size // 4, 4), dtype=np.uint64)
    rows[0] = np.frombuffer((R - 1).to_bytes(32, "little"), dtype="<u8")  # the words r - 1
    words = domain.encode(rows, threads=2)
    for row, word in zip(rows, words, strict=True):
        values = np.zeros((domain.size, 4), dtype=np.uint64)
        values[: len(row)] = row
        domain.ntt(values)
        np.testing.assert_array_equal(word, k.fr.to_canonical(values))
    given = np.empty_like(words)
    assert domain.encode(rows, out=given) is given
    np.testing.assert_array_equal(given, words)
    with pytest.raises(ValueError, match="rows must be"):
        domain.encode(rows[:, 1:])
    with pytest.raises(ValueError, match="out must be"):
        domain.encode(rows, out=given[1:])


@pytest.mark.parametrize("target", each(PROCESSOR))
@pytest.mark.parametrize("log_size", [2, 6, 10, 11, 12, 13])
@pytest.mark.parametrize("share", [4, 8, 64])
def test_powers_of_few_roots_are_a_transform(target: str, log_size: int, share: int) -> None:
    k = load(target)
    domain, draw = k.domain(log_size), np.random.default_rng(log_size)
    count = max(1, domain.size // share)
    # Some in one group of 2^8, and none in many.
    places = np.unique(draw.integers(0, domain.size, 40) // 4 * 4).astype(np.uint32)
    weights = draw.integers(0, 1 << 62, (len(places), 4), dtype=np.uint64)
    weights[0] = k.fr.from_ints([R - 1])[0]
    before = draw.integers(0, 1 << 62, (count, 4), dtype=np.uint64)
    values = np.zeros((domain.size, 4), dtype=np.uint64)
    values[places] = weights
    domain.ntt(values)
    for threads in (1, 3):
        out = before.copy()
        domain.add_powers(places, weights, out, threads)
        np.testing.assert_array_equal(out, k.fr.add(before, values[:count]))
    domain.add_powers(places[:0], weights[:0], before, 2)
    np.testing.assert_array_equal(k.fr.sub(out, values[:count]), before)


def test_powers_that_do_not_fit_are_refused() -> None:
    k = load(PROCESSOR[0])
    domain, places, weights = k.domain(4), np.arange(2, dtype=np.uint32), np.zeros((2, 4), np.uint64)
    with pytest.raises(ValueError, match="places below 16"):
        domain.add_powers(places + np.uint32(15), weights, weights.copy())
    with pytest.raises(ValueError, match="1 weights for 2 places"):
        domain.add_powers(places, weights[:1], weights.copy())
    for count in (0, 3, 8):
        with pytest.raises(ValueError, match=f"as {count} are not made of 16"):
            domain.add_powers(places, weights, np.zeros((count, 4), np.uint64))


@pytest.mark.parametrize("log_size", [0, 1, 3, 5, 6, 7, 9, 12, 14])
def test_the_quotient_is_made_of_transforms(k: Kernels, log_size: int) -> None:
    domain, g = k.domain(log_size), k.domain(log_size + 1).omega
    draw = np.random.default_rng(log_size)
    a, b, c = draw.integers(0, 1 << 62, (3, domain.size, 4), dtype=np.uint64)
    c[::3], b[1::5] = k.fr.from_ints([R - 1])[0], 0
    on_coset = [a.copy(), b.copy(), c.copy()]
    for values in on_coset:
        domain.intt(values)
        domain.ntt(values, coset=g)
    expected = k.fr.sub(k.fr.mul(on_coset[0], on_coset[1]), on_coset[2])
    for threads in (1, 3) if k.target != "gpu" else (1,):
        made = a.copy()
        domain.quotient(made, b.copy(), c.copy(), threads=threads)
        np.testing.assert_array_equal(made, expected)


def test_the_largest_values_overflow_nowhere(k: Kernels) -> None:
    """Vector targets reduce lazily: sums of r - 1 in every place grow the most."""
    domain = k.domain(13)
    values = np.empty((domain.size, 4), dtype=np.uint64)
    values[:] = np.frombuffer((R - 1).to_bytes(32, "little"), dtype="<u8")  # the words r - 1
    start = values.copy()
    domain.ntt(values, order="to_bit_reversed")
    total = k.fr.mul(start[0], k.fr.from_ints([domain.size])[0])
    np.testing.assert_array_equal(values[0], total)
    assert not values[1:].any()
    domain.intt(values, order="from_bit_reversed")
    np.testing.assert_array_equal(values, start)
    domain.ntt(values, order="from_bit_reversed")
    np.testing.assert_array_equal(values[0], total)
    assert not values[1:].any()


@pytest.mark.parametrize("log_size", [0, 1, 5, 13, 15])
@pytest.mark.parametrize(("threads", "with_coset"), [(1, True), (7, False), (7, True)])
def test_orders_differ_by_the_bit_reversal_alone(
    k: Kernels, log_size: int, threads: int, with_coset: bool
) -> None:
    domain = k.domain(log_size)
    coset = k.fr.from_ints([5])[0] if with_coset else None
    reversal = bit_reversal(log_size)
    start = k.fr.mul(k.fr.powers(k.fr.from_ints([3])[0], domain.size), k.fr.from_ints([11])[0])
    for transform in (domain.ntt, domain.intt):
        natural = start.copy()
        transform(natural, coset=coset)
        scattered = start.copy()
        transform(scattered, coset=coset, order="to_bit_reversed", threads=threads)
        np.testing.assert_array_equal(scattered, natural[reversal])
        gathered = start[reversal].copy()
        transform(gathered, coset=coset, order="from_bit_reversed", threads=threads)
        np.testing.assert_array_equal(gathered, natural)


@pytest.mark.parametrize("orders", [("natural", "natural"), ("to_bit_reversed", "from_bit_reversed")])
@pytest.mark.parametrize("log_size", [0, 3, 16])
def test_inverse_undoes_forward(k: Kernels, log_size: int, orders: tuple[Order, Order]) -> None:
    domain = k.domain(log_size)
    coset = k.fr.from_ints([R - 5])[0]
    start = k.fr.powers(k.fr.from_ints([1234567])[0], domain.size)
    values = start.copy()
    domain.ntt(values, coset=coset, order=orders[0], threads=2)
    domain.intt(values, coset=coset, order=orders[1], threads=2)
    np.testing.assert_array_equal(values, start)


def test_a_large_transform_at_sampled_points(k: Kernels) -> None:
    domain = k.domain(15)
    values = coefficients_of(15)
    array = k.fr.from_ints(values)
    domain.ntt(array, threads=2)
    omega = k.fr.to_ints(domain.omega)[0]
    for index in (0, 1, 12345, domain.size - 1):
        assert k.fr.to_ints(array[index])[0] == horner(values, pow(omega, index, R))


def test_omega_has_exactly_the_domain_size_as_order(k: Kernels) -> None:
    for log_size in (1, 10, 16):
        domain = k.domain(log_size)
        omega = k.fr.to_ints(domain.omega)[0]
        assert pow(omega, domain.size // 2, R) == R - 1


@pytest.mark.parametrize("log_size", [-1, 27])
def test_sizes_out_of_range_are_refused(k: Kernels, log_size: int) -> None:
    with pytest.raises(ValueError, match="log_size"):
        k.domain(log_size)


def test_arrays_that_cannot_be_changed_in_place_are_refused(k: Kernels) -> None:
    domain = k.domain(3)
    frozen = k.fr.from_ints(range(8))
    frozen.flags.writeable = False
    unaligned = np.zeros(257, dtype=np.uint8)[1:].view(np.uint64).reshape(8, 4)
    for wrong in (k.fr.from_ints(range(4)), k.fr.from_ints(range(16))[::2], frozen, unaligned):
        with pytest.raises(ValueError, match="writable C-contiguous"):
            domain.ntt(wrong)


def test_scratch_is_two_tiles_a_thread(k: Kernels) -> None:
    """2^10 groups, eight elements of 256 bytes, of 320 in lanes, or twelve of 704, and two tables of 2^10
    elements for a domain of 2^20."""
    group = {256, 320, 704}
    assert {k.scratch_bytes(20, threads) - (64 << 10) for threads in (1, 2)} <= {
        2 * threads * size << 10 for threads in (1, 2) for size in group
    }
    assert k.scratch_bytes(20, 16) > 7 * k.scratch_bytes(20, 2)
    assert k.scratch_bytes(4, 1) == 0


def test_arrays_of_a_quotient_must_fit(k: Kernels) -> None:
    domain = k.domain(3)
    for place, name in enumerate("abc"):
        arrays = [k.fr.from_ints(range(8)) for _ in range(3)]
        arrays[place] = arrays[place][:4].copy()
        with pytest.raises(ValueError, match=f"{name} must be a writable"):
            domain.quotient(*arrays)
