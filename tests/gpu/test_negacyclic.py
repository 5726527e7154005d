"""Negacyclic products against the schoolbook's, in Python's integers."""

from __future__ import annotations

from decimal import MAX_EMAX, Context, Decimal
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.gpu.known import device
from zenserve.gpu import negacyclic
from zenserve.gpu.negacyclic import Ring


def prime_below(bits: int, log_size: int) -> int:
    candidate = (1 << bits) - (2 << log_size) + 1
    while not negacyclic._is_prime(candidate):
        candidate -= 2 << log_size
    return candidate


def schoolbook(a: list[int], b: list[int], modulus: int) -> list[int]:
    size = len(a)
    sums = [0] * (2 * size)
    for i, x in enumerate(a):
        if x:
            for j, y in enumerate(b):
                sums[i + j] += x * y
    return [(low - high) % modulus for low, high in zip(sums[:size], sums[size:], strict=True)]


def through_integers(a: list[int], b: list[int], modulus: int) -> list[int]:
    """The schoolbook's sums, made by one product of long numbers (Kronecker), where decimals are fast."""
    size, width = len(a), len(str(len(a) * modulus**2))

    def packed(values: list[int]) -> Decimal:
        return Decimal("".join(f"{value:0{width}}" for value in values))

    product = Context(prec=2 * size * width, Emax=MAX_EMAX).multiply(packed(a), packed(b))
    digits = f"{product:f}".zfill((2 * size - 1) * width)  # the constant term's first, the last one's last
    sums = [int(digits[i : i + width]) for i in range(0, len(digits), width)] + [0]
    return [(low - high) % modulus for low, high in zip(sums[:size], sums[size:], strict=True)]


def multiply(ring: Ring, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return device.download(ring.product(device.upload(a), device.upload(b)))


def polynomials(ring: Ring, *shape: int) -> NDArray[Any]:
    """Random ones, with runs of zeros and of the greatest value."""
    draw = np.random.default_rng(ring.log_size)
    values = draw.integers(0, ring.modulus, (*shape, ring.size), dtype=ring.dtype)
    values[..., 5:20], values[..., 100:300] = 0, ring.modulus - 1
    return values


def test_the_two_references_agree() -> None:
    draw, modulus = np.random.default_rng(0), 97
    a, b = draw.integers(0, modulus, (2, 16)).tolist()
    assert through_integers(a, b, modulus) == schoolbook(a, b, modulus)
    assert schoolbook([0] * 15 + [1], [0, 1] + [0] * 14, modulus) == [96] + [0] * 15  # X^15 X = -1


@pytest.mark.parametrize(
    ("log_size", "bits"),
    [
        # Each size is compiled anew, for words of either kind.
        pytest.param(log_size, bits, marks=() if log_size % 2 == (bits == 62) else pytest.mark.large)
        for log_size in negacyclic.LOG_SIZES
        for bits in (30, 62)
    ],
)
def test_every_size(log_size: int, bits: int) -> None:
    """With the longest primes of either kind of words."""
    check_product(log_size, bits)


@pytest.mark.parametrize("bits", [21, 31, 47])
def test_shorter_primes(bits: int) -> None:
    check_product(11, bits)


def check_product(log_size: int, bits: int) -> None:
    ring = Ring(device, log_size, prime_below(bits, log_size))
    a, b = polynomials(ring, 2)
    product = multiply(ring, a, b)
    assert product.dtype == ring.dtype
    assert product.tolist() == through_integers(a.tolist(), b.tolist(), ring.modulus)


@pytest.mark.parametrize("bits", [30, 62])
def test_greatest_coefficients(bits: int) -> None:
    """Lazy sums grow the most with q - 1 in every place: the product is -(X^N - 1) / (X - 1) squared."""
    ring = Ring(device, 12, prime_below(bits, 12))
    a = np.full(ring.size, ring.modulus - 1, dtype=ring.dtype)
    expected = [(2 * (i + 1) - ring.size) % ring.modulus for i in range(ring.size)]
    assert multiply(ring, a, a).tolist() == expected


@pytest.mark.parametrize("bits", [30, 62])
def test_values_at_the_roots_of_minus_one(bits: int) -> None:
    ring = Ring(device, 11, prime_below(bits, 11))
    start = polynomials(ring, 3)
    values = device.upload(start)
    ring.ntt(values)
    psi = negacyclic._root_of_minus_one(ring.size, ring.modulus)
    transformed = device.download(values)
    for i in (0, 1, 2, 777, 2047):
        reverse = int(format(i, "011b")[::-1], 2)
        root = pow(psi, 2 * reverse + 1, ring.modulus)
        for row, coefficients in enumerate(start.tolist()):
            value = 0
            for coefficient in reversed(coefficients):
                value = (value * root + coefficient) % ring.modulus
            assert transformed[row, i] == value
    ring.intt(values)
    np.testing.assert_array_equal(device.download(values), start)


def test_batches_on_the_device_are_multiplied_row_by_row() -> None:
    ring = Ring(device, 11, prime_below(62, 11))
    a, b = polynomials(ring, 2, 2, 3)
    left = device.upload(a)
    product = device.download(ring.product(left, device.upload(b)))
    np.testing.assert_array_equal(device.download(left), a)
    for i in np.ndindex(2, 3):
        assert product[i].tolist() == through_integers(a[i].tolist(), b[i].tolist(), ring.modulus)
    empty = np.empty((0, 2048), dtype=np.uint64)
    assert multiply(ring, empty, empty).shape == (0, 2048)


def test_bad_arguments_are_named() -> None:
    modulus = prime_below(30, 11)
    ring, a = Ring(device, 11, modulus), device.zeros(2048, np.uint32)
    with pytest.raises(ValueError, match="a must be C-contiguous uint32"):
        ring.product(a[:1000], a)
    with pytest.raises(ValueError, match="b must be C-contiguous uint32"):
        ring.product(a, device.zeros(2048, np.uint64))
    with pytest.raises(ValueError, match="one shape"):
        ring.product(a, a.reshape(1, 2048))
    for wrong in (modulus + 4096, modulus - 1, 65537**2, (1 << 63) + 1, 1, -4095):
        with pytest.raises(ValueError, match="modulus must be a prime = 1 mod 4096"):
            Ring(device, 11, wrong)
    with pytest.raises(ValueError, match="log_size must be from 11 to 16"):
        Ring(device, 10, modulus)


def test_primality_by_trial_division() -> None:
    primes = [n for n in range(2000) if n > 1 and all(n % d for d in range(2, n) if d * d <= n)]
    assert [n for n in range(2000) if negacyclic._is_prime(n)] == primes
    assert not negacyclic._is_prime(3215031751)  # passes for 2, 3, 5 and 7
