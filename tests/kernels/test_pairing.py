"""Products of pairings: bilinear, not degenerate, and one exactly where two other libraries say so."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import py_ecc.optimized_bls12_381 as reference
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py_arkworks_bls12381 import GT, G1Point, G2Point, Scalar

from tests.kernels.strategies import R, scalars
from tests.kernels.targets import PROCESSOR, each
from zenserve import kernels
from zenserve.kernels import Kernels, WordArray

EDGES = [0, 1, 2, R - 1, R // 2]


@pytest.fixture(params=each(PROCESSOR))
def k(request: pytest.FixtureRequest) -> Kernels:
    """Every target of the processor: the GPU has no pairing."""
    return kernels.load(request.param)


def multiples(k: Kernels, logarithms: Sequence[tuple[int, int]]) -> tuple[WordArray, WordArray]:
    """a G1 and b G2 for each (a, b)."""
    left, right = [a for a, _ in logarithms], [b for _, b in logarithms]
    return (
        k.g1.fixed_base(k.g1.generator, k.fr.from_ints(left)),
        k.g2.fixed_base(k.g2.generator, k.fr.from_ints(right)),
    )


def is_one(k: Kernels, logarithms: Sequence[tuple[int, int]]) -> bool:
    """Whether the product of e(a G1, b G2) is one: exactly where Σ a b = 0 modulo r."""
    return k.pairing_product_is_one(*multiples(k, logarithms))


def by_arkworks(logarithms: Sequence[tuple[int, int]]) -> bool:
    left = [G1Point() * Scalar(a) for a, _ in logarithms]
    right = [G2Point() * Scalar(b) for _, b in logarithms]
    return bool(GT.pairing_check(left, right))


@cache
def by_py_ecc(logarithms: tuple[tuple[int, int], ...]) -> bool:
    product: Any = reference.FQ12.one()
    for a, b in logarithms:
        p, q = reference.multiply(reference.G1, a), reference.multiply(reference.G2, b)
        product = product * reference.pairing(q, p, final_exponentiate=False)
    return bool(reference.final_exponentiate(product) == reference.FQ12.one())


@pytest.mark.parametrize("a", EDGES)
@pytest.mark.parametrize("b", EDGES)
def test_bilinear_at_the_edges(k: Kernels, a: int, b: int) -> None:
    assert is_one(k, [(a, b), (-a * b % R, 1)])
    assert not is_one(k, [(a, b), ((1 - a * b) % R, 1)])
    assert is_one(k, [(a, b)]) == (a * b % R == 0)


@given(st.lists(st.tuples(scalars, scalars), max_size=4))
@settings(max_examples=10)
def test_bilinear_everywhere(logarithms: list[tuple[int, int]]) -> None:
    total = sum(a * b for a, b in logarithms) % R
    for target in PROCESSOR:
        k = kernels.load(target)
        assert is_one(k, logarithms) == (total == 0)
        assert is_one(k, [*logarithms, (R - total, 1)])


@pytest.mark.parametrize("count", [0, 1, 2, 17])
def test_products_of_many(k: Kernels, count: int) -> None:
    rng = random.Random(count)
    logarithms = [(rng.randrange(1, R), rng.randrange(1, R)) for _ in range(count)]
    total = sum(a * b for a, b in logarithms) % R
    assert is_one(k, logarithms) == (count == 0)
    for closing in ((-total % R, 1), (R - 1, total)):
        assert is_one(k, [*logarithms, closing])
    assert not is_one(k, [*logarithms, (-total % R, 2), (1, 1)])


@pytest.mark.parametrize(
    "logarithms",
    [
        [],
        [(1, 1)],
        [(0, 5)],
        [(5, 0), (3, 4), (12, R - 1)],
        [(2, 3), (R - 6, 1)],
        [(2, 3), (R - 5, 1)],
        [(7, 11), (7, R - 11)],
        [(2**100 + 1, R - 9), (3, 3 * (2**100 + 1))],
    ],
)
def test_other_libraries_agree(k: Kernels, logarithms: list[tuple[int, int]]) -> None:
    verdict = is_one(k, logarithms)
    assert verdict == by_arkworks(logarithms)
    assert verdict == by_py_ecc(tuple(logarithms))


def test_a_pair_with_infinity_contributes_one(k: Kernels) -> None:
    p, q = multiples(k, [(3, 4), (R - 12, 1)])
    assert k.pairing_product_is_one(p, q)
    nothing_p, nothing_q = np.zeros_like(p), np.zeros_like(q)
    assert k.pairing_product_is_one(p, nothing_q)
    assert k.pairing_product_is_one(nothing_p, q)
    assert k.pairing_product_is_one(
        np.concatenate([nothing_p[:1], p, p[:1]]), np.concatenate([q[:1], q, nothing_q[:1]])
    )
    assert not k.pairing_product_is_one(
        np.concatenate([nothing_p[:1], p[:1]]), np.concatenate([q[:1], q[:1]])
    )


def test_pairs_may_repeat_and_cancel(k: Kernels) -> None:
    p, q = multiples(k, [(3, 4)] * 5)
    assert not k.pairing_product_is_one(p, q)
    assert k.pairing_product_is_one(np.concatenate([p, k.g1.neg(p)]), np.concatenate([q, q]))
    assert k.pairing_product_is_one(np.concatenate([p, p]), np.concatenate([q, k.g2.neg(q)]))


def test_other_shapes_are_refused(k: Kernels) -> None:
    p, q = multiples(k, [(1, 1), (2, 2)])
    pairs: list[tuple[Any, Any]] = [(p, q[:1]), (p[0], q[0]), (q, p), (p.astype(np.int64), q)]
    for left, right in pairs:
        with pytest.raises(ValueError, match=r"must be|pair up"):
            k.pairing_product_is_one(left, right)
