"""What proofs show of a witness: nothing, over a field so small that a statistician would see it.

Each number of a proof is either uniform, whatever the witness, or follows from the others. Where any one pad,
mask, tail or salt is zero instead, it is noticed.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from blake3 import blake3

from tests.prover.spartan.reference import Lie, Noise, Proof, truthful
from tests.prover.spartan.shown import numbers
from tests.prover.spartan.toy import MATRICES, OVER, PUBLIC, SHAPE, P, proof, proof_about, renewal
from zenserve.verifier.spartan.merkle import LEAF_KEY
from zenserve.verifier.spartan.proof import Opening
from zenserve.verifier.spartan.verification import verify

SALTED: dict[str, Callable[[Noise], Opening]] = {
    "segment 0": lambda noise: proof(0, noise).openings[0],
    "pads": lambda noise: proof(0, noise).openings[2],
    "root": lambda noise: proof_about(0, noise).openings[0],
    "new root": lambda noise: renewal(0, noise)[1][1],
    "masks": lambda noise: renewal(0, noise)[1][2],
}
"""Whose salts, and what is opened of them. Private variables have the segment's."""


def _prove(witness: int, zero: frozenset[str] = frozenset(), lie: Lie = truthful) -> Proof:
    return proof(witness, Noise(OVER, zero), lie)


def _unlike_uniform(zero: frozenset[str], proofs: int) -> list[str]:
    """The numbers whose distribution, over many proofs, is not uniform, by Pearson's test."""
    counts: dict[str, Counter[int]] = {}
    for index in range(proofs):
        for name, value in numbers(OVER, _prove(index % 2, zero)).items():
            counts.setdefault(name, Counter())[value % 16 if value < 256 else 16] += 1
    expected = dict.fromkeys(range(16), proofs * 16 / P) | {16: proofs / P}
    # 16 degrees of freedom: above 90 with probability 2·10^-12 for one number.
    return [
        name
        for name, found in counts.items()
        if sum((found[digit] - mean) ** 2 / mean for digit, mean in expected.items()) > 90
    ]


def test_both_witnesses_are_proven() -> None:
    for witness in range(2):
        assert verify(SHAPE, MATRICES, [PUBLIC], [], _prove(witness).data).valid


def test_every_number_is_uniform() -> None:
    assert _unlike_uniform(frozenset(), 500) == []


@pytest.mark.large
def test_every_number_is_uniform_in_ten_thousand_proofs() -> None:
    assert _unlike_uniform(frozenset(), 10_000) == []


@pytest.mark.parametrize("zero", ["mask", "pad mask", "tails of segment 0"])
def test_a_mask_that_is_zero_is_noticed(zero: str) -> None:
    assert _unlike_uniform(frozenset({zero}), 100)


def _truths(zero: frozenset[str]) -> tuple[list[int], list[int]]:
    """What one proof says in its padded numbers, and what is true."""
    truth: list[int] = []

    def note(label: str, values: list[int]) -> list[int]:
        truth.extend(values if label in ("round", "claims", "mask") else [])
        return values

    proof = _prove(0, zero, note)
    said = proof.body.said
    return [*itertools.chain(*said.outer, said.claims, *said.inner, [said.mask])], truth


@pytest.mark.parametrize("pad", range(SHAPE.pads.product))
def test_each_pad_hides_one_number(pad: int) -> None:
    """Without it that number is told as it is, in every proof; the others only by chance, one in 257."""
    proofs = [_truths(frozenset({f"pad {pad}"})) for _ in range(8)]
    shown = [
        all(said[place] == truth[place] for said, truth in proofs) for place in range(SHAPE.pads.product)
    ]
    assert shown == [place == pad for place in range(SHAPE.pads.product)]


@pytest.mark.parametrize("name", SALTED)
def test_a_salt_that_is_zero_lets_columns_be_guessed(name: str) -> None:
    """A sibling's hash in the path is that of a column of one number, or two: there are 257 each."""

    def guessed(zero: frozenset[str]) -> bool:
        opening = SALTED[name](Noise(OVER, zero, Random(1)))
        each = [OVER.to_bytes([value]) for value in range(P)]
        rows = len(opening.columns[0]) // OVER.element_bytes
        columns = map(b"".join, itertools.product(each, repeat=rows))
        path = {*opening.path}
        return any(blake3(bytes(32) + column, key=LEAF_KEY).digest() in path for column in columns)

    assert guessed(frozenset({f"salts of {name}"}))
    assert not guessed(frozenset())


class _Again(Noise):
    """With the same salts in each proof."""

    def __init__(self) -> None:
        super().__init__(OVER)
        self._salts = Random(1)

    def salts(self, name: str, count: int) -> list[bytes]:
        return [self._salts.randbytes(32) for _ in range(count)]


def test_a_salt_of_two_proofs_lets_columns_be_guessed() -> None:
    """One tells it, the other one hides a column behind it."""

    def guessed(noise: Callable[[], Noise]) -> bool:
        openings = [proof(0, noise()).openings[0] for _ in range(12)]
        salts = {salt for opening in openings for salt in opening.salts}
        values = [OVER.to_bytes([value]) for value in range(P)]
        guesses = {blake3(salt + value, key=LEAF_KEY).digest() for salt in salts for value in values}
        return any(digest in guesses for opening in openings for digest in opening.path)

    assert not guessed(lambda: Noise(OVER))
    assert guessed(_Again)
