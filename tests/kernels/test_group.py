"""G1 and G2 against py_ecc, their laws, and their encodings."""

from __future__ import annotations

from typing import Any

import numpy as np
import py_ecc.optimized_bls12_381 as reference
from hypothesis import given, settings
from py_arkworks_bls12381 import G1Point, G2Point

from tests.kernels.strategies import P, R, edge_values, scalars
from tests.refusals import refuses
from zenserve.kernels import Group, Kernels, WordArray

GENERATORS: dict[str, Any] = {"g1": reference.G1, "g2": reference.G2}
PEER: dict[str, Any] = {"g1": G1Point, "g2": G2Point}


def times_generator(k: Kernels, group: Group, *values: int) -> WordArray:
    return group.mul(np.broadcast_to(group.generator, (len(values), *group.shape)), k.fr.from_ints(values))


def coordinates(k: Kernels, point: WordArray) -> list[int]:
    return k.fp.to_ints(point.reshape(-1, 6))


def reference_coordinates(name: str, point: Any) -> list[int]:
    """Affine coordinates of a py_ecc point in our layout; infinity as zeros."""
    if reference.is_inf(point):
        return [0] * (2 if name == "g1" else 4)
    x, y = reference.normalize(point)
    return [x.n, y.n] if name == "g1" else [int(c) for c in (*x.coeffs, *y.coeffs)]


def test_multiples_of_the_generator_agree_with_py_ecc(k: Kernels, group: Group) -> None:
    values = [0, 1, 2, 3, 2**32, 2**64 - 1, R - 2, R - 1, 0x1234567890ABCDEF << 150]
    points = times_generator(k, group, *values)
    for value, point in zip(values, points, strict=True):
        expected = reference.multiply(GENERATORS[group.name], value)
        assert coordinates(k, point) == reference_coordinates(group.name, expected)


def test_addition_tells_equal_opposite_and_infinite_points_apart(k: Kernels, group: Group) -> None:
    zero, one, two, minus_one = times_generator(k, group, 0, 1, 2, R - 1)
    cases = [(one, one, two), (one, minus_one, zero), (zero, one, one), (one, zero, one), (zero, zero, zero)]
    for left, right, expected in cases:
        np.testing.assert_array_equal(group.add(left, right), expected)


def test_long_additions_are_single_ones(k: Kernels, group: Group) -> None:
    """Batched, on any number of threads, with equal, opposite and infinite points among them."""
    few, indices = times_generator(k, group, *range(11), *(R - i for i in (4, 3, 2, 1))), np.arange(2100)
    first, second = indices % 7, np.where(indices % 3, -(indices % 5), indices % 5)
    left, right, expected = few[first], few[second], few[first + second]
    for threads in (1, 3):
        np.testing.assert_array_equal(group.add(left, right, threads=threads), expected)
    one_by_one = np.stack([group.add(point, left[3]) for point in left[:20]])
    np.testing.assert_array_equal(group.add(left[:20], left[3]), one_by_one)


def test_group_laws(k: Kernels, group: Group) -> None:
    @settings(max_examples=15)
    @given(scalars, scalars, scalars)
    def check(x: int, y: int, z: int) -> None:
        a, b, c, ab = times_generator(k, group, x, y, z, (x + y) % R)
        np.testing.assert_array_equal(group.add(a, b), ab)
        np.testing.assert_array_equal(group.add(a, b), group.add(b, a))
        np.testing.assert_array_equal(group.add(group.add(a, b), c), group.add(a, group.add(b, c)))
        assert group.is_infinity(group.add(a, group.neg(a)))

    check()


def off_curve(k: Kernels, group: Group) -> WordArray:
    point = group.generator.copy()
    point[1] = point[0]
    return point


def outside_subgroup(k: Kernels, group: Group) -> WordArray:
    """A point on the curve whose order is not r: the least x that gives one (x^3 + b must be a square)."""
    for x in range(1, 100):
        y = reference_sqrt(group.name, x)
        if y is None:
            continue
        point = k.fp.from_ints([x, *y] if group.name == "g1" else [x, 0, *y]).reshape(group.shape)
        if not group.in_subgroup(point[None])[0]:
            return point
    raise AssertionError


def reference_sqrt(name: str, x: int) -> list[int] | None:
    if name == "g1":
        square = (x**3 + 4) % P
        root = pow(square, (P + 1) // 4, P)
        return [root] if root * root % P == square else None
    value = reference.FQ2([(x**3 + 4) % P, 4])
    for k in range(8):
        candidate = value ** ((P**2 + 7) // 16) * reference.FQ2([1, 1]) ** ((P**2 - 1) // 8 * k)
        if candidate * candidate == value:
            return [int(c) for c in candidate.coeffs]
    return None


def test_membership(k: Kernels, group: Group) -> None:
    inside = times_generator(k, group, 0, 1, 12345, R - 1)
    assert group.is_on_curve(inside).all()
    assert group.in_subgroup(inside).all()
    assert group.is_infinity(inside).tolist() == [True, False, False, False]
    outside = outside_subgroup(k, group)
    assert group.is_on_curve(outside[None])[0]
    assert not group.in_subgroup(outside[None])[0]
    assert not group.is_on_curve(off_curve(k, group)[None])[0]


def test_encoding_agrees_with_arkworks_both_ways(k: Kernels, group: Group) -> None:
    points = times_generator(k, group, *edge_values(R))
    data = group.compress(points)
    size = group.encoded_bytes
    for i in range(len(points)):
        chunk = data[i * size : (i + 1) * size]
        assert bytes(PEER[group.name].from_compressed_bytes(chunk).to_compressed_bytes()) == chunk
    np.testing.assert_array_equal(group.decompress(data), points)


def test_decoding_refuses_everything_else(k: Kernels, group: Group) -> None:
    good = bytearray(group.compress(group.generator))
    size = group.encoded_bytes

    def refused(data: bytes, code: str) -> None:
        with refuses(code):
            group.decompress(data)

    refused(bytes(good[:-1]), "encoding.length")
    refused(bytes(good) + b"\0", "encoding.length")
    refused(bytes([good[0] & 0x7F]) + bytes(good[1:]), "encoding.flags")
    infinity = bytes([0xC0]) + bytes(size - 1)
    assert group.is_infinity(group.decompress(infinity))[0]
    refused(bytes([0xE0]) + infinity[1:], "encoding.flags")
    refused(infinity[:-1] + b"\1", "encoding.flags")
    modulus = P.to_bytes(48, "big")
    refused(bytes([modulus[0] | 0x80]) + modulus[1:] + bytes(size - 48), "encoding.not_canonical")
    if size == 96:
        refused(bytes([0x80]) + bytes(47) + modulus, "encoding.not_canonical")
    refused(no_such_x(group), "encoding.not_on_curve")
    refused(group.compress(outside_subgroup(k, group)), "encoding.not_in_subgroup")


def test_decoding_counts_bytes_whatever_the_buffer_counts(k: Kernels, group: Group) -> None:
    data = group.compress(group.generator) * 8
    words: Any = memoryview(data).cast("Q")
    np.testing.assert_array_equal(group.decompress(words), group.decompress(data))


def no_such_x(group: Group) -> bytes:
    x = next(x for x in range(1, 100) if reference_sqrt(group.name, x) is None)
    return bytes([0x80]) + x.to_bytes(group.encoded_bytes - 1, "big")


def test_the_sign_flag_selects_the_other_root(k: Kernels, group: Group) -> None:
    data = group.compress(group.generator)
    flipped = bytes([data[0] ^ 0x20]) + data[1:]
    np.testing.assert_array_equal(group.decompress(flipped)[0], group.neg(group.generator))
