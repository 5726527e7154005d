"""Fr, Fp and Fp2 against Python integers, and the laws of fields."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.strategies import P, R, edge_values, vectors
from tests.kernels.targets import TARGETS, load
from zenserve.kernels import Field, Kernels, PrimeField, WordArray


def prime(k: Kernels, name: str) -> PrimeField:
    return {"fr": k.fr, "fp": k.fp}[name]


@pytest.mark.parametrize("name", ["fr", "fp"])
def test_every_pair_of_edge_values_agrees_with_python_integers(k: Kernels, name: str) -> None:
    f, p = prime(k, name), prime(k, name).modulus
    pairs = list(itertools.product(edge_values(p), repeat=2))
    a, b = f.from_ints(x for x, _ in pairs), f.from_ints(y for _, y in pairs)
    assert f.to_ints(f.add(a, b)) == [(x + y) % p for x, y in pairs]
    assert f.to_ints(f.sub(a, b)) == [(x - y) % p for x, y in pairs]
    assert f.to_ints(f.mul(a, b)) == [x * y % p for x, y in pairs]
    assert f.to_ints(f.neg(a)) == [-x % p for x, _ in pairs]
    assert f.to_ints(f.square(a)) == [x * x % p for x, _ in pairs]
    assert f.to_ints(f.inverse(a)) == [pow(x, -1, p) if x else 0 for x, _ in pairs]


@pytest.mark.parametrize("name", ["fr", "fp"])
def test_random_values_agree_with_python_integers(k: Kernels, name: str) -> None:
    f, p = prime(k, name), prime(k, name).modulus

    @settings(max_examples=30)
    @given(vectors(p, 3))
    def check(values: list[int]) -> None:
        a = f.from_ints(values)
        b = a[::-1].copy()
        turned = values[::-1]
        assert f.to_ints(a) == values
        assert f.to_ints(f.mul(a, b)) == [x * y % p for x, y in zip(values, turned, strict=True)]
        assert f.to_ints(f.add(a, b)) == [(x + y) % p for x, y in zip(values, turned, strict=True)]
        assert f.to_ints(f.sub(a, b)) == [(x - y) % p for x, y in zip(values, turned, strict=True)]

    check()


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 67, 4096, 4099, 8200])
@pytest.mark.parametrize("threads", [1, 3])
def test_arrays_of_every_length_are_worked_on_as_their_elements_are(
    k: Kernels, size: int, threads: int
) -> None:
    """Octets, what is left over beside them, and the pieces that threads take. Edge values in every place."""
    edges = edge_values(R)
    values = [edges[i % len(edges)] for i in range(size)]
    others = [edges[i * 7 % len(edges)] for i in range(size)]
    a, b = k.fr.from_ints(values), k.fr.from_ints(others)
    one = k.fr.from_ints([R - 2])[0]
    ints = k.fr.to_ints
    assert ints(k.fr.mul(a, b, threads)) == [x * y % R for x, y in zip(values, others, strict=True)]
    assert ints(k.fr.mul(a, one, threads)) == [-2 * x % R for x in values]
    assert ints(k.fr.add(a, b, threads)) == [(x + y) % R for x, y in zip(values, others, strict=True)]
    assert ints(k.fr.sub(a, b, threads)) == [(x - y) % R for x, y in zip(values, others, strict=True)]
    inverses = {x: pow(x, -1, R) if x else 0 for x in edges}
    assert ints(k.fr.inverse(a, threads)) == [inverses[x] for x in values]
    np.testing.assert_array_equal(k.fr.from_canonical(k.fr.to_canonical(a, threads), threads), a)
    powers = k.fr.powers(one, size, first=k.fr.from_ints([3])[0], threads=threads)
    expected, power = [], 3
    for _ in range(size):
        expected.append(power)
        power = power * (R - 2) % R
    assert ints(powers) == expected
    integers = np.array([(-1) ** i * (i << i % 50) for i in range(size)], dtype=np.int64)
    assert ints(k.fr.from_int64(integers, threads)) == [int(x) % R for x in integers]


@pytest.mark.parametrize("size", [1, 8, 11, 5000])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_unsatisfied_row_is_found_wherever_it_is(k: Kernels, size: int, threads: int) -> None:
    a, b = k.fr.from_int64(np.arange(size)), k.fr.from_ints([R - 3] * size)
    c = k.fr.mul(a, b)
    assert k.fr.first_unsatisfied(a, b, c, threads) is None
    for row in sorted({size - 1, size // 2, 0}, reverse=True):
        c[row] = k.fr.add(c[row], k.fr.from_ints([1])[0])
        assert k.fr.first_unsatisfied(a, b, c, threads) == row
    with pytest.raises(ValueError, match="equally long"):
        k.fr.first_unsatisfied(a, b, c[:-1])


def elements_of(k: Kernels, f: Field, values: list[int]) -> WordArray:
    return k.fr.from_ints(values) if f is k.fr else k.fp.from_ints(values).reshape(-1, *f.shape)


@pytest.mark.parametrize("name", ["fr", "fp", "fp2"])
def test_field_laws(k: Kernels, name: str) -> None:
    f: Field = getattr(k, name)
    size = 6 if name == "fp2" else 3

    @settings(max_examples=30)
    @given(vectors(R if name == "fr" else P, size))
    def check(values: list[int]) -> None:
        a, b, c = (x[None] for x in elements_of(k, f, values))
        assert_equal(f.add(a, b), f.add(b, a))
        assert_equal(f.add(f.add(a, b), c), f.add(a, f.add(b, c)))
        assert_equal(f.mul(a, b), f.mul(b, a))
        assert_equal(f.mul(f.mul(a, b), c), f.mul(a, f.mul(b, c)))
        assert_equal(f.mul(a, f.add(b, c)), f.add(f.mul(a, b), f.mul(a, c)))
        assert_equal(f.add(a, f.neg(a)), np.zeros_like(a))
        assert_equal(f.sub(a, b), f.add(a, f.neg(b)))
        assert_equal(f.square(a), f.mul(a, a))
        if a.any():
            assert_equal(f.mul(f.mul(a, f.inverse(a)), b), b)

    check()


def assert_equal(left: WordArray, right: WordArray) -> None:
    np.testing.assert_array_equal(left, right)


def test_fp2_has_a_square_root_of_minus_one(k: Kernels) -> None:
    u = k.fp.from_ints([0, 1])[None]
    assert k.fp.to_ints(k.fp2.square(u)[0]) == [P - 1, 0]


def test_fp2_agrees_with_integers(k: Kernels) -> None:
    @settings(max_examples=30)
    @given(vectors(P, 4))
    def check(values: list[int]) -> None:
        a0, a1, b0, b1 = values
        a, b = k.fp.from_ints(values).reshape(2, 1, 2, 6)
        assert k.fp.to_ints(k.fp2.mul(a, b)) == [(a0 * b0 - a1 * b1) % P, (a0 * b1 + a1 * b0) % P]

    check()


def test_batch_inverse_skips_zeros_wherever_they_stand(k: Kernels) -> None:
    values = [0, 5, 0, 0, R - 1, 7, 0]
    assert k.fr.to_ints(k.fr.inverse(k.fr.from_ints(values))) == [pow(x, -1, R) if x else 0 for x in values]
    assert len(k.fr.inverse(k.fr.from_ints([]))) == 0


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300), max_size=5))
def test_from_int64_takes_negatives_modulo_r(values: list[int]) -> None:
    for target in TARGETS:
        fr = load(target).fr
        assert fr.to_ints(fr.from_int64(np.array(values, dtype=np.int64))) == [value % R for value in values]


def test_powers(k: Kernels) -> None:
    base, first = k.fr.from_ints([3, 5])
    assert k.fr.to_ints(k.fr.powers(base, 5)) == [1, 3, 9, 27, 81]
    assert k.fr.to_ints(k.fr.powers(base, 3, first)) == [5, 15, 45]


@pytest.mark.parametrize("shape", [(0, 4), (1, 4), (0,)])
def test_single_elements_must_be_single(k: Kernels, shape: tuple[int, ...]) -> None:
    """An empty array has no first element to read."""
    wrong, right = np.zeros(shape, dtype=np.uint64), k.fr.from_ints([2])[0]
    for base, first in ((wrong, right), (right, wrong)):
        with pytest.raises(ValueError, match="must be one element"):
            k.fr.powers(base, 3, first)
    with pytest.raises(ValueError, match="must be one element"):
        k.domain(3).ntt(k.fr.from_ints(range(8)), coset=wrong)
    with pytest.raises(ValueError, match="shape \\(9, 4\\)"):
        k.fr.multiply_repeatedly(wrong, 1)


@pytest.mark.parametrize("name", ["fr", "fp"])
@pytest.mark.parametrize("chains", [8, 64])
def test_what_benchmarks_time_are_products(k: Kernels, name: str, chains: int) -> None:
    f = prime(k, name)
    start = [f.modulus - 2 - chain for chain in range(chains)]
    factor = f.modulus // 3
    values = f.from_ints([*start, factor])
    f.multiply_repeatedly(values, 5)
    assert f.to_ints(values) == [*(x * pow(factor, 5) % f.modulus for x in start), factor]


@pytest.mark.parametrize("name", ["fr", "fp"])
def test_canonical_is_what_lies_below_the_modulus(k: Kernels, name: str) -> None:
    f, p = prime(k, name), prime(k, name).modulus
    words = f.words
    values = [0, 1, p - 1, p, p + 1, (1 << 64 * words) - 1]
    values += [p + sign * (1 << 64 * word) for word in range(words) for sign in (1, -1)]
    array = np.array([[value >> 64 * i & (1 << 64) - 1 for i in range(words)] for value in values], np.uint64)
    assert f.is_canonical(array).tolist() == [value < p for value in values]
    assert f.is_canonical(array.reshape(2, -1, words)).shape == (2, len(values) // 2)


def test_canonical_form_is_the_plain_integer(k: Kernels) -> None:
    assert k.fr.to_canonical(k.fr.from_ints([2**64 + 3]))[0].tolist() == [3, 1, 0, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((3, 4), dtype=np.int64),
        np.zeros((3, 5), dtype=np.uint64),
        np.zeros(4, dtype=np.float64),
    ],
)
def test_arrays_of_another_kind_are_refused(k: Kernels, wrong: WordArray) -> None:
    with pytest.raises(ValueError, match="must be uint64"):
        k.fr.neg(wrong)


def test_operands_that_do_not_pair_up_are_refused(k: Kernels) -> None:
    with pytest.raises(ValueError, match="shape of a"):
        k.fr.add(k.fr.from_ints([1, 2, 3]), k.fr.from_ints([1, 2]))


def transposed(values: Iterable[int], k: Kernels) -> WordArray:
    return np.asfortranarray(k.fr.from_ints(values))


def test_memory_layout_does_not_matter(k: Kernels) -> None:
    assert k.fr.to_ints(k.fr.add(transposed([1, 2, 3], k), transposed([4, 5, 6], k))) == [5, 7, 9]


def test_unaligned_arrays_are_copied(k: Kernels) -> None:
    aligned = k.fr.from_ints([1, 2, 3])
    unaligned = np.frombuffer(b"\0" + aligned.tobytes(), dtype=np.uint8)[1:].view(np.uint64).reshape(3, 4)
    assert not unaligned.flags.aligned
    assert k.fr.to_ints(unaligned) == [1, 2, 3]
