"""What proofs and renewals about one commitment show together: nothing, as often as its tails have room for.

At given challenges all that they show is an affine function of their random numbers. Nothing is to be learnt
if that takes all values but for what a verifier checks, whatever the witness: one equation for each entry of
a mask that is opened. Whether it does is linear algebra.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.prover.spartan.oracle import foreseen
from tests.prover.spartan.reference import Noise
from tests.prover.spartan.shown import Shown, numbers, of_renewal, reduced, together
from tests.prover.spartan.toy import ABOUT, CODE, OVER, ROOTS, P, proof_about, renewal

ROOT, NEW = "tails of root", "tails of new root"
PADS = ABOUT.pads
RANDOM = [
    *(f"pad {place}" for place in (*range(PADS.product), PADS.triple, PADS.triple + 1)),
    *("mask", "pad mask", "tails of segment 1", "tails of private", "tails of pads"),
]
"""All that each proof draws for itself."""
# Of which no two open a column of one commitment both.
SEEDS, RENEWAL_SEEDS = (0, 2, 3), (1, 6)
Seen = tuple[Shown, NDArray[np.int64]]
"""What is shown of one witness, and what the same random numbers show of another."""


def seen(seed: int, show: Callable[[int, Noise], dict[str, int]]) -> Seen:
    with foreseen(seed):
        return Shown.by(OVER, partial(show, 0)), Shown.instead(OVER, partial(show, 1))


@cache
def proof(seed: int, name: str = "root") -> Seen:
    return seen(seed, lambda witness, noise: numbers(OVER, proof_about(witness, noise, name)))


@cache
def link(seed: int, new: str = "new root") -> Seen:
    return seen(seed, lambda witness, noise: of_renewal(OVER, renewal(witness, noise, new=new)))


def all_of(*each: Seen, shared: tuple[str, ...] = (ROOT, NEW)) -> Seen:
    return together([one for one, _ in each], *shared), np.concatenate([other for _, other in each])


def checked(proofs: int, renewals: int = 0) -> int:
    """Entries of masks that are opened: of rows and pads, and of a renewal's two rows."""
    return proofs * (CODE.queries + PADS.code.queries) + renewals * 2 * CODE.queries


@pytest.mark.parametrize("count", [1, 2])
def test_as_many_proofs_as_a_commitment_has_openings_show_nothing(count: int) -> None:
    shown, other = all_of(*map(proof, SEEDS[:count]))
    assert count <= ROOTS.tail // CODE.queries
    assert shown.rank == len(shown.base) - checked(count)
    assert shown.can_be(other)


def test_one_more_tells_witnesses_apart() -> None:
    shown, other = all_of(*map(proof, SEEDS))
    assert shown.rank < len(shown.base) - checked(len(SEEDS))
    assert not shown.can_be(other)


def test_claims_and_rows_alone_show_nothing_of_however_many_proofs() -> None:
    """By the random numbers that each draws for itself."""
    shown, _ = proof(SEEDS[0])
    with foreseen(SEEDS[0]):
        names = [*numbers(OVER, proof_about(0, Noise(OVER)))]
    own = shown.without(ROOT).of(np.array([not name.startswith("column") for name in names]))
    assert own.rank == len(own.base)


@pytest.mark.parametrize("name", [*RANDOM, ROOT])
def test_whatever_is_zero_is_noticed(name: str) -> None:
    """Where the commitment's tails are used up, and hide nothing else."""
    shown, other = all_of(*((one.without(name), other) for one, other in map(proof, SEEDS[:2])))
    assert not shown.can_be(other)


@pytest.mark.parametrize("name", RANDOM)
def test_whatever_two_proofs_have_in_common_is_noticed(name: str) -> None:
    shown, other = all_of(*map(proof, SEEDS[:2]), shared=(ROOT, name))
    assert not shown.can_be(other)


@pytest.mark.large
@pytest.mark.parametrize("name", [*RANDOM, ROOT])
def test_numbers_that_are_zero_move_nothing(name: str) -> None:
    """What ``Shown.without`` leaves is what is shown where they are."""

    def show(witness: int, noise: Noise) -> dict[str, int]:
        noise.zero = frozenset({name})
        return numbers(OVER, proof_about(witness, noise))

    shown, other = all_of(*(seen(seed, show) for seed in SEEDS[:2]))
    assert not shown.can_be(other)
    without, _ = all_of(*((one.without(name), other) for one, other in map(proof, SEEDS[:2])))
    assert shown.rank == without.rank


def test_a_renewal_shows_nothing() -> None:
    shown, other = link(RENEWAL_SEEDS[0])
    assert shown.rank == len(shown.base) - checked(0, 1)
    assert shown.can_be(other)


@pytest.mark.parametrize("name", ["masks", ROOT, NEW])
def test_whatever_is_zero_in_a_renewal_is_noticed(name: str) -> None:
    shown, other = link(RENEWAL_SEEDS[0])
    assert not shown.without(name).can_be(other)


def test_renewals_and_proofs_show_nothing_together() -> None:
    """Both commitments are opened twice: in a proof, and in the renewal."""
    events = proof(SEEDS[0]), link(RENEWAL_SEEDS[0]), proof(SEEDS[1], "new root")
    shown, other = all_of(*events)
    assert shown.rank == len(shown.base) - checked(2, 1)
    assert shown.can_be(other)
    for one_more in (proof(SEEDS[2]), proof(SEEDS[2], "new root")):
        shown, other = all_of(*events, one_more)
        assert not shown.can_be(other)


def test_two_renewals_have_masks_of_their_own() -> None:
    first, second = link(RENEWAL_SEEDS[0]), link(RENEWAL_SEEDS[1], "other root")
    shown, other = all_of(first, second)
    assert shown.rank == len(shown.base) - checked(0, 2)
    assert shown.can_be(other)
    shown, other = all_of(first, second, shared=(ROOT, "masks"))
    assert not shown.can_be(other)


def test_tails_hide_whatever_columns_are_opened() -> None:
    """As many as they are long: at those the entries are uniform by the tail alone, which has full rank."""
    random, width = Random(3), CODE.degree - ROOTS.tail
    for _ in range(100):
        points = [pow(OVER.root_of_unity(5), i, P) for i in random.sample(range(CODE.length), ROOTS.tail)]
        tails = [[pow(x, width + i, P) for x in points] for i in range(ROOTS.tail)]
        assert len(reduced(OVER, np.array(tails))[0]) == ROOTS.tail
