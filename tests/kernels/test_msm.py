"""Multi-scalar and fixed-base multiplication against sums that are too simple to be wrong."""

from __future__ import annotations

import random
import subprocess
import sys
from functools import cache

import numpy as np
import py_ecc.optimized_bls12_381 as reference
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.strategies import KINDS, R, edge_values, scalars
from tests.kernels.targets import FEW, TARGETS, load
from zenserve.kernels import Group, Kernels, WordArray


def naive(k: Kernels, group: Group, bases: WordArray, values: list[int]) -> WordArray:
    """One scalar multiplication and one addition at a time."""
    total = np.zeros(group.shape, dtype=np.uint64)
    for product in group.mul(bases, k.fr.from_ints(values)) if values else []:
        total = group.add(total, product)
    return total


def some_points(k: Kernels, group: Group, count: int) -> WordArray:
    return group.fixed_base(group.generator, k.fr.from_ints(range(3, 3 + 7 * count, 7)))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 17])
def test_random_scalars_and_every_small_size(k: Kernels, group: Group, count: int) -> None:
    values = [random.Random(count).randrange(R) for _ in range(count)]
    bases = some_points(k, group, count)
    expected = naive(k, group, bases, values)
    for threads in (1, 5):
        np.testing.assert_array_equal(group.msm(bases, k.fr.from_ints(values), threads=threads), expected)


def test_edge_scalars_of_every_size_at_once(k: Kernels, group: Group) -> None:
    values = edge_values(R) + [R - (1 << shift) for shift in range(0, 254, 13)]
    bases = some_points(k, group, len(values))
    np.testing.assert_array_equal(group.msm(bases, k.fr.from_ints(values)), naive(k, group, bases, values))


@given(st.lists(st.tuples(st.integers(0, 4), st.one_of(st.integers(-3, 3), scalars)), max_size=40))
@settings(max_examples=20)
def test_duplicates_opposites_and_infinity(pairs: list[tuple[int, int]]) -> None:
    """Bases drawn from {0, G, -G, 2G, 3G}: buckets meet doublings, cancellations and infinity."""
    for target in TARGETS:
        k = load(target)
        multiples = [0, 1, R - 1, 2, 3]
        table = k.g1.fixed_base(k.g1.generator, k.fr.from_ints(multiples))
        bases = table[[choice for choice, _ in pairs]]
        total = sum(multiples[choice] * value for choice, value in pairs) % R
        result = k.g1.msm(bases, k.fr.from_ints(value for _, value in pairs))
        np.testing.assert_array_equal(result, k.g1.mul(k.g1.generator[None], k.fr.from_ints([total]))[0])


def with_multiples(k: Kernels, group: Group, bases: WordArray, values: list[int], threads: int) -> WordArray:
    shifts = k.fr.from_ints(1 << bits for bits in (64, 128, 192))
    multiples = np.concatenate([group.mul(bases, shift) for shift in shifts])
    return group.msm(bases, k.fr.from_ints(values), multiples=multiples, threads=threads)


WORDS = (0, 1, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 1)
"""Where a word is still itself, and where it is what the next one lacks."""


def test_words_at_their_bounds_with_multiples(k: Kernels, group: Group) -> None:
    """Every pair of neighbours; a scalar and its negative; what becomes of r - 1 and of the middle."""
    values = [low + (high << 64) + (low << 128) for low in WORDS for high in WORDS]
    values += [R - value for value in values[1:]] + [R - 1, (R - 1) // 2, (R + 1) // 2]
    values = values[:: 9 if k.target in FEW else 1]
    bases = some_points(k, group, len(values))
    expected = naive(k, group, bases, values)
    for threads in (1, 3):
        np.testing.assert_array_equal(with_multiples(k, group, bases, values, threads), expected)


@pytest.mark.parametrize("count", [0, 1, 2, 600])
def test_multiples_of_few_points_and_infinity_among_them(k: Kernels, group: Group, count: int) -> None:
    """600 scalars are more than a block of words; bases are 0, G and -G: buckets meet whatever may be."""
    count, rng = 20 if count > 20 and k.target in FEW else count, random.Random(count)
    table = group.fixed_base(group.generator, k.fr.from_ints([0, 1, R - 1]))
    choices, values = [rng.randrange(3) for _ in range(count)], [rng.randrange(R) for _ in range(count)]
    bases = table[choices]
    result = with_multiples(k, group, bases, values, threads=2)
    np.testing.assert_array_equal(result, group.msm(bases, k.fr.from_ints(values)))


def test_multiples_must_be_of_the_bases(k: Kernels, group: Group) -> None:
    bases = some_points(k, group, 4)
    for wrong in (bases, bases[:0], bases.reshape(-1, 1, *group.shape)):
        with pytest.raises(ValueError, match="multiples"):
            group.msm(bases, k.fr.from_ints(range(4)), multiples=wrong)


LOGARITHMS = [random.Random(1).randrange(R) for _ in range(2100)]  # more than a block of scalars


@cache
def known_points(target: str, name: str) -> WordArray:
    k = load(target)
    group = k.g1 if name == "g1" else k.g2
    return group.fixed_base(group.generator, k.fr.from_ints(LOGARITHMS), threads=2)


@pytest.mark.parametrize(
    ("group", "kind"),
    [*(("g1", kind) for kind in KINDS), ("g2", "random"), ("g2", "mixed")],
    indirect=["group"],
)
def test_large_against_known_logarithms(k: Kernels, group: Group, kind: str) -> None:
    """With bases e_i G the result must be (sum of e_i s_i) G, on any number of threads.

    Kinds differ in their digits, which are sorted without regard to the group.
    """
    rng, logarithms = random.Random(kind), LOGARITHMS[:150] if k.target in FEW else LOGARITHMS
    values = [KINDS[kind](rng) for _ in logarithms]
    total = sum(e * s for e, s in zip(logarithms, values, strict=True)) % R
    expected = group.mul(group.generator[None], k.fr.from_ints([total]))[0]
    bases, scalars = known_points(k.target, group.name)[: len(values)], k.fr.from_ints(values)
    for threads in (1, 7) if k.target not in ("emulated", "gpu") else (3,):
        np.testing.assert_array_equal(group.msm(bases, scalars, threads=threads), expected)


@pytest.mark.parametrize("kind", ["random", "bits"])
@pytest.mark.parametrize("multiples", [[0], [1], [1, R - 1], [0, 1, R - 1, 2]], ids=str)
def test_many_points_that_are_few(k: Kernels, group: Group, kind: str, multiples: list[int]) -> None:
    """All infinite, all equal, all equal or opposite: whole batches without a common addition."""
    count, rng = 60 if k.target in FEW else 300, random.Random(kind)
    table = group.fixed_base(group.generator, k.fr.from_ints(multiples))
    choices = [rng.randrange(len(multiples)) for _ in range(count)]
    values = [KINDS[kind](rng) for _ in range(count)]
    total = sum(multiples[choice] * value for choice, value in zip(choices, values, strict=True)) % R
    expected = group.mul(group.generator[None], k.fr.from_ints([total]))[0]
    result = group.msm(table[choices], k.fr.from_ints(values), threads=2)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("more", [False, True])
def test_scratch_memory_is_what_the_formula_says(more: bool) -> None:
    """In a process of its own, as the resident set's peak never falls."""
    program = """
import numpy as np
from zenserve.kernels import fr, g1

def resident(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))

count = 1 << 16
more = {more}
scalars = np.random.default_rng(1).integers(0, 2**62, (count, 4), dtype=np.uint64)
bases = np.repeat(g1.fixed_base(g1.generator, fr.from_ints(range(1, 257))), count // 256, axis=0)
multiples = np.concatenate([bases] * 3) if more else None
g1.msm(bases[:64], scalars[:64])
before = resident("VmRSS")
g1.msm(bases, scalars, multiples=multiples, threads=2)
print((resident("VmHWM") - before) / g1.msm_memory(count, multiples=more, threads=2))
"""
    result = subprocess.run(
        [sys.executable, "-c", program.replace("{more}", str(more))],
        check=True,
        capture_output=True,
        text=True,
    )
    assert 0.8 < float(result.stdout) < 1.2


def test_fixed_base_agrees_with_one_by_one(k: Kernels, group: Group) -> None:
    values = k.fr.from_ints(edge_values(R))
    base = group.mul(group.generator[None], k.fr.from_ints([123456789]))[0]
    many = group.fixed_base(base, values, threads=2)
    np.testing.assert_array_equal(many, group.mul(np.broadcast_to(base, (len(values), *group.shape)), values))


def test_fixed_base_of_infinity_and_of_nothing(k: Kernels, group: Group) -> None:
    infinity = np.zeros(group.shape, dtype=np.uint64)
    assert group.is_infinity(group.fixed_base(infinity, k.fr.from_ints([0, 1, R - 1]))).all()
    assert group.fixed_base(group.generator, k.fr.from_ints([])).shape == (0, *group.shape)


def test_a_small_msm_agrees_with_py_ecc(k: Kernels) -> None:
    values = [5, R - 7, 1 << 200]
    bases = some_points(k, k.g1, 3)
    total = reference.Z1
    for i, value in enumerate(values):
        total = reference.add(total, reference.multiply(reference.multiply(reference.G1, 3 + 7 * i), value))
    x, y = reference.normalize(total)
    assert k.fp.to_ints(k.g1.msm(bases, k.fr.from_ints(values))) == [x.n, y.n]


def test_points_and_scalars_must_pair_up(k: Kernels, group: Group) -> None:
    with pytest.raises(ValueError, match="do not pair up"):
        group.msm(some_points(k, group, 3), k.fr.from_ints([1, 2]))


def test_fixed_base_takes_one_base_and_a_vector_of_scalars(k: Kernels, group: Group) -> None:
    """As many points are written as there are scalars: more than ``len`` of them would overrun the result."""
    scalars = k.fr.from_ints(range(6))
    for wrong in (scalars[0], scalars.reshape(2, 3, 4)):
        with pytest.raises(ValueError, match="scalars must be a vector"):
            group.fixed_base(group.generator, wrong)
    with pytest.raises(ValueError, match="base must be one element"):
        group.fixed_base(np.zeros((0, *group.shape), dtype=np.uint64), scalars)
