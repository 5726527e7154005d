"""Searches for radii: the part that is certified before one that is not, in fewer rounds than by halving."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from zenserve.bounds.search import searched
from zenserve.circuits.graphs.types import FloatArray

STEPS = 1024


@pytest.mark.parametrize("places", [(1,), (8, 25)])
@pytest.mark.parametrize("alike", [False, True])
def test_radii_are_those_of_halving(places: tuple[int, ...], *, alike: bool) -> None:
    """Of margins that fall as lines do, then as exponentials, and end in no numbers; in half as many rounds
    where samples are alike."""
    rng, rounds = np.random.default_rng(1), 0
    steep = rng.uniform(20, 22 if alike else 60, 25)
    own = rng.uniform(1, 1.1, 25) if alike else rng.uniform(-0.5, 4, 25)

    def margins(radii: FloatArray, some: NDArray[np.int64]) -> FloatArray:
        nonlocal rounds
        rounds += 1
        found = own[some] - radii - np.expm1(steep[some] * radii) / 50
        return np.where(found < -1e6, np.nan, found)

    parts = np.array([margins(np.arange(STEPS + 1) / STEPS, np.full(STEPS + 1, at)) for at in range(25)])
    rounds = 0
    found = searched(margins, own, 1.0, STEPS, places)
    expected = np.where(own > 0, (parts[:, 1:] > 0).sum(axis=1), 0)
    np.testing.assert_array_equal(found * STEPS, expected)
    assert rounds <= (5 if alike else 11)


def test_what_is_not_monotone_is_certified_where_it_ends() -> None:
    rng = np.random.default_rng(2)
    held = np.concatenate([np.ones((40, 1)), rng.uniform(-1, 1, (40, STEPS))], axis=1)

    def margins(radii: FloatArray, some: NDArray[np.int64]) -> FloatArray:
        found: FloatArray = held[some, np.rint(radii * STEPS).astype(int)]
        return found

    for places in ((1,), (8, 100)):
        ends = np.rint(searched(margins, held[:, 0], 1.0, STEPS, places) * STEPS).astype(int)
        own = np.arange(40)
        assert (held[own, ends] > 0).all()
        assert (held[own, np.minimum(ends + 1, STEPS)] <= 0)[ends < STEPS].all()


def test_all_of_it_or_nothing() -> None:
    own = np.array([1.0, 1.0, np.nan])
    ends = np.array([1.0, -1.0, 1.0])
    found = searched(lambda radii, some: ends[some] + 0 * radii, own, 2.0, 8)
    np.testing.assert_array_equal(found, [2.0, 0.0, 0.0])
