"""Arrays of field elements and points on the device against Python's integers and the processor's kernels."""

from __future__ import annotations

import random

import numpy as np
import pytest

import zenserve.gpu.elementwise as e
from tests.gpu.known import device
from tests.kernels.strategies import P, R, edge_values
from tests.kernels.test_group import outside_subgroup
from zenserve import kernels
from zenserve.gpu import scan
from zenserve.kernels import WordArray

SCALARS = e.ScalarField(device)
FIELDS = {
    "fr": (SCALARS, kernels.fr),
    "fp": (e.Field(device, "Fp"), kernels.fp),
    "fp2": (e.Field(device, "Fp2"), kernels.fp2),
}
GROUPS = {"g1": (e.Group(device, "Fp"), kernels.g1), "g2": (e.Group(device, "Fp2"), kernels.g2)}


def elements(name: str, count: int) -> WordArray:
    """Edge values and random ones, zeros among them."""
    rng, modulus = random.Random(count), R if name == "fr" else P
    edges = edge_values(modulus)
    pool = [rng.choice(edges) if rng.random() < 0.5 else rng.randrange(modulus) for _ in range(2 * count)]
    if name == "fr":
        return kernels.fr.from_ints(pool[:count])
    words = kernels.fp.from_ints(pool)
    return words[:count] if name == "fp" else words.reshape(count, 2, 6)


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("size", [0, 1, 31, 300])
def test_elements_one_by_one(name: str, size: int) -> None:
    ours, theirs = FIELDS[name]
    a, b = elements(name, size + 1)[:size], elements(name, size + 2)[:size]
    x, y = device.upload(a), device.upload(b)
    one = elements(name, 5)[4]
    for operation in ("add", "sub", "mul"):
        zipped = getattr(ours, operation)
        np.testing.assert_array_equal(device.download(zipped(x, y)), getattr(theirs, operation)(a, b))
        with_one = device.download(zipped(x, device.upload(one)))
        np.testing.assert_array_equal(with_one, getattr(theirs, operation)(a, one))
    for operation in ("neg", "square", "inverse"):
        result = device.download(getattr(ours, operation)(x))
        np.testing.assert_array_equal(result, getattr(theirs, operation)(a))
    ours.mul(x, y, out=x)
    np.testing.assert_array_equal(device.download(x), theirs.mul(a, b))


@pytest.mark.parametrize("name", FIELDS)
def test_canonical_form_is_the_plain_integer(name: str) -> None:
    ours, _ = FIELDS[name]
    theirs = kernels.fr if name == "fr" else kernels.fp
    a = elements(name, 40)
    canonical = ours.to_canonical(device.upload(a))
    np.testing.assert_array_equal(device.download(canonical), theirs.to_canonical(a))
    np.testing.assert_array_equal(device.download(ours.from_canonical(canonical)), a)


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("size", [0, 1, 33, 1030])
def test_sums_are_those_of_integers(name: str, size: int) -> None:
    ours, _ = FIELDS[name]
    theirs, modulus = (kernels.fr, R) if name == "fr" else (kernels.fp, P)
    a = elements(name, size)
    total = theirs.to_ints(device.download(ours.sum(device.upload(a))))
    columns = np.array(theirs.to_ints(a), dtype=object).reshape(size, len(total))
    assert total == [int(sum(columns[:, i])) % modulus for i in range(len(total))]


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_integers_become_scalars(size: int) -> None:
    values = np.array([(-1) ** i * (i << i % 50) for i in range(size)], dtype=np.int64)
    values[:3] = [-(2**63), 2**63 - 1, -1][:size]
    out = device.download(SCALARS.from_int64(device.upload(values)))
    np.testing.assert_array_equal(out, kernels.fr.from_int64(values))


@pytest.mark.parametrize("count", [0, 1, 33, 2000])
def test_powers_of_a_ratio(count: int) -> None:
    first, ratio = kernels.fr.from_ints([R - 5, 1234567 << 200])
    out = SCALARS.powers(device.upload(first), device.upload(ratio), count)
    np.testing.assert_array_equal(device.download(out), kernels.fr.powers(ratio, count, first))


@pytest.mark.parametrize("size", [0, 1, 15, 4095, 4096, 30_000])
def test_starts_are_sums_of_the_counts_before(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_BLOCKS", 3)
    counts = np.random.default_rng(size).integers(0, 1 << 32, size, dtype=np.uint32)
    starts = device.download(scan.starts_of(device, device.upload(counts)))
    np.testing.assert_array_equal(starts, np.concatenate([[0], counts.cumsum(dtype=np.uint32)]))


def points(name: str, exponents: list[int]) -> WordArray:
    group = GROUPS[name][1]
    return group.fixed_base(group.generator, kernels.fr.from_ints(exponents))


def exponents(count: int) -> list[int]:
    """Few enough that equal, opposite and infinite points meet."""
    rng = random.Random(count)
    return [rng.choice([0, 1, 2, 3, -1, -2]) for _ in range(count)]


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("size", [0, 1, 300])
def test_points_one_by_one(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e, "_CHAINS", 128)
    ours, _ = GROUPS[name]
    left, right = exponents(size), exponents(size + 1)[1:]
    p, q = device.upload(points(name, left)), device.upload(points(name, right))
    sums = points(name, [a + b for a, b in zip(left, right, strict=True)])
    np.testing.assert_array_equal(device.download(ours.add(p, q)), sums)
    one = device.upload(points(name, [2])[0])
    np.testing.assert_array_equal(device.download(ours.add(p, one)), points(name, [a + 2 for a in left]))
    np.testing.assert_array_equal(device.download(ours.neg(p)), points(name, [-a for a in left]))
    assert device.download(ours.is_on_curve(p)).all()


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("size", [0, 1, 100, 700])
def test_sums_of_points(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e, "_BLOCKS", 3)
    ours, _ = GROUPS[name]
    logarithms = exponents(size)
    array = device.upload(points(name, logarithms))
    np.testing.assert_array_equal(device.download(ours.sum(array)), points(name, [sum(logarithms)])[0])


@pytest.mark.parametrize("name", GROUPS)
def test_membership(name: str) -> None:
    ours, theirs = GROUPS[name]
    inside = points(name, [0, 1, 2, -5])
    off = inside.copy()
    off[1:, 1, ..., 0] ^= np.uint64(1)
    outside = outside_subgroup(kernels.load(kernels.available_targets()[0]), theirs)
    array = np.concatenate([inside, off, outside[None]])
    on_curve = device.download(ours.is_on_curve(device.upload(array))).astype(bool)
    np.testing.assert_array_equal(on_curve, theirs.is_on_curve(array))
    assert on_curve.tolist() == [True] * 5 + [False] * 3 + [True]
    in_subgroup = device.download(ours.in_subgroup(device.upload(array[on_curve])))
    assert in_subgroup.tolist() == [1] * 5 + [0]


def test_operands_that_do_not_pair_up_are_refused() -> None:
    """One element is uint64[4] alone: as an array of one it would be read beyond its end."""
    a, b = (device.zeros((count, 4), np.uint64) for count in (5, 1))
    with pytest.raises(ValueError, match="do not pair up"):
        SCALARS.add(a, b)
