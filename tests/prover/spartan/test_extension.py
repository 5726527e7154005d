"""Extensions of prime fields, elements as integers, against polynomials multiplied term by term."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from zenserve.verifier.spartan.field import BEAR, BEAR5, FR, Extension, Field
from zenserve.verifier.spartan.transcript import Transcript

SMALL = Extension(17, 3, 4, 2, 3)
"""Of 289 elements: 3 is no square modulo 17."""
TERNARY = Extension(13, 2, 2, 3, 2)


def slow(field: Extension, a: list[int], b: list[int]) -> list[int]:
    terms = [0] * (2 * field.degree)
    for (i, x), (j, y) in product(enumerate(a), enumerate(b)):
        terms[i + j] += x * y
    low, high = terms[: field.degree], terms[field.degree :]
    return [(x + field.w * y) % field.modulus for x, y in zip(low, high, strict=True)]


def drawn(field: Field, random: Random) -> int:
    choices = (0, 1, field.modulus - 1, random.randrange(field.modulus))
    return field.from_coefficients([random.choice(choices) for _ in range(field.degree)])


@pytest.mark.parametrize("field", [SMALL, TERNARY, BEAR5])
def test_sums_and_products(field: Extension) -> None:
    random = Random(1)
    for _ in range(200):
        a, b, c = (drawn(field, random) for _ in range(3))
        x, y, z = (field.coefficients(value) for value in (a, b, c))
        assert field.from_coefficients(x) == a
        assert field.coefficients(field.reduce(a * b)) == slow(field, x, y)
        assert field.coefficients(field.reduce(a * b * c)) == slow(field, slow(field, x, y), z)
        expected = [(i - j) % field.modulus for i, j in zip(slow(field, x, y), z, strict=True)]
        assert field.coefficients(field.reduce(a * b - c)) == expected
        assert field.reduce(c - a * b) == field.reduce(-field.reduce(a * b - c))
        assert field.reduce(5 - a) == field.from_coefficients(
            [(5 * (not i) - v) % field.modulus for i, v in enumerate(x)]
        )
        if a:
            assert field.reduce(a * field.inverse(a)) == 1


def test_long_sums_of_the_largest_products_have_room() -> None:
    most = BEAR5.from_coefficients([BEAR5.modulus - 1] * 5)
    count = 1 << 20
    exact = [v * count % BEAR5.modulus for v in BEAR5.coefficients(BEAR5.reduce(most * most * most))]
    assert BEAR5.coefficients(BEAR5.reduce(count * (most * most * most))) == exact
    assert BEAR5.reduce(-count * (most * most * most)) == BEAR5.reduce(-BEAR5.from_coefficients(exact))


@pytest.mark.parametrize("field", [SMALL, TERNARY])
def test_every_element_but_zero_has_an_inverse(field: Extension) -> None:
    """So it is a field, and x^degree - w irreducible."""
    values = [
        field.from_coefficients(list(each)) for each in product(range(field.modulus), repeat=field.degree)
    ]
    assert len(set(values)) == field.order
    assert all(field.reduce(value * field.inverse(value)) == 1 for value in values if value)


def test_two_is_no_fifth_power() -> None:
    """x^5 - 2 is irreducible over BabyBear, as 5 divides p - 1; and 31 generates its powers of two."""
    assert (BEAR.modulus - 1) % 5 == 0
    assert pow(2, (BEAR.modulus - 1) // 5, BEAR.modulus) != 1
    assert pow(BEAR.generator, (BEAR.modulus - 1) // 2, BEAR.modulus) == BEAR.modulus - 1


@pytest.mark.parametrize("field", [BEAR5, SMALL])
def test_methods_are_those_of_the_prime_field(field: Extension) -> None:
    """Of elements of the base field; and linear in others."""
    random, base = Random(2), field.base
    point = [random.randrange(base.modulus) for _ in range(4)]
    assert list(field.eq(point)) == list(base.eq(point))
    assert list(field.eq_first(point, 5)) == list(base.eq(point))[:5]
    assert field.powers_at(3, point) == base.powers_at(3, point)
    values = [drawn(field, random) for _ in range(4)]
    powers = [
        [pow(field.root_of_unity(4), place * i, field.modulus) for i in range(4)] for place in range(16)
    ]
    assert field.encode(values, 4) == [field.dot(values, each) for each in powers]
    places, weights = [1, 5, 12], [drawn(field, random) for _ in range(3)]
    at = [drawn(field, random) for _ in range(2)]
    root = field.root_of_unity(4)
    table = [field.dot(weights, [pow(root, place * i, field.modulus) for place in places]) for i in range(4)]
    assert field.words_at(4, places, weights, at) == field.dot(table, field.eq(at))
    assert field.eq_at(values, values[::-1]) == field.reduce(
        field.eq_at(values[:2], values[:1:-1]) * field.eq_at(values[2:], values[1::-1])
    )


def test_bytes() -> None:
    values = [BEAR5.from_coefficients([1, 2, 3, 4, BEAR5.modulus - 1]), 0, 7]
    data = BEAR5.to_bytes(values)
    assert len(data) == 3 * BEAR5.element_bytes == 60
    assert data[:20] == b"".join(c.to_bytes(4, "little") for c in (1, 2, 3, 4, BEAR5.modulus - 1))
    assert BEAR5.from_bytes(data) == values
    assert BEAR5.are_canonical(data)
    assert not BEAR5.are_canonical(data[:36] + BEAR5.modulus.to_bytes(4, "little") + data[40:])


def test_challenges_are_of_the_whole_extension() -> None:
    drawn = Transcript(BEAR5, b"statement").challenges("label", 50)
    assert all(BEAR5.reduce(value) == value for value in drawn)
    assert all(any(BEAR5.coefficients(value)[i] for value in drawn) for i in range(5))
    states = [Transcript(field, b"statement").state for field in (BEAR, BEAR5, FR)]
    assert len({*states, Transcript(BEAR5, b"statement", "another protocol").state}) == 4
