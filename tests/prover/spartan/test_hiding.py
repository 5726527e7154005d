"""What proofs show of a witness: nothing, over a field so small that a statistician would see it.

Each number of a proof is either uniform, whatever the witness, or follows from the others. Where any one pad,
mask, tail or salt is zero instead, it is noticed.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

import pytest
from blake3 import blake3

from tests.prover.spartan.reference import Dense, Lie, Noise, Proof, prove, shape_of, truthful
from verifier.spartan.code import Code
from verifier.spartan.field import Field
from verifier.spartan.merkle import LEAF_KEY
from verifier.spartan.shape import Segment
from verifier.spartan.transcript import Transcript
from verifier.spartan.verification import verify

P = 257
OVER = Field(P, 3, 8)
CODE = Code(OVER, 3, 5, query_bits=2)  # three queries
# 1 | y | c | s, t | u, v, w: u v = y and s + c = w.
ROWS = [({5: 1}, {6: 1}, {1: 1}), ({3: 1, 2: 1}, {0: 1}, {7: 1})]
SHAPE = shape_of(CODE, 2, 1, [Segment(2)], 3, 1)
MATRICES = Dense(OVER, ROWS)
# y = 12 of two different pairs of factors, and two segments.
WITNESSES = ([5, 6, 3, 4], [200, 0, 251, 255])


def _prove(
    witness: int, zero: frozenset[str] = frozenset(), lie: Lie = truthful, noise: Noise | None = None
) -> Proof:
    def complete(z: list[int], challenges: object) -> None:
        z[7] = (z[3] + z[2]) % P

    z = [1, 12, 0, *WITNESSES[witness], 0]
    return prove(SHAPE, MATRICES, z, complete=complete, noise=noise or Noise(OVER, zero), lie=lie)


def _numbers(proof: Proof) -> Iterator[tuple[str, int]]:
    """All of a proof, by their places, but for the sum-check about the row, which follows from that."""
    said, body = proof.body.said, proof.body
    flat = itertools.chain(*said.outer, said.claims, *said.inner, [said.mask], said.opened)
    yield from ((f"said {i}", value) for i, value in enumerate(flat))
    yield from ((f"row {i}", value) for i, value in enumerate(OVER.from_bytes(body.row.messages[-1])))
    yield from ((f"pad row {i}", value) for i, value in enumerate(OVER.from_bytes(body.pad_row)))
    for matrix, opening in enumerate(proof.openings):
        for place, column in enumerate(opening.columns):
            values = OVER.from_bytes(column)
            yield from ((f"column {matrix}.{place}.{row}", value) for row, value in enumerate(values))


def _unlike_uniform(zero: frozenset[str], proofs: int) -> list[str]:
    """The numbers whose distribution, over many proofs, is not uniform, by Pearson's test."""
    counts: dict[str, Counter[int]] = {}
    for index in range(proofs):
        for name, value in _numbers(_prove(index % 2, zero)):
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
        assert verify(SHAPE, MATRICES, [12], [], _prove(witness).data).valid


def test_every_number_is_uniform() -> None:
    assert _unlike_uniform(frozenset(), 1500) == []


@pytest.mark.large
def test_every_number_is_uniform_in_ten_thousand_proofs() -> None:
    assert _unlike_uniform(frozenset(), 10_000) == []


@pytest.mark.parametrize("zero", ["mask", "tails", "pad mask"])
def test_a_mask_that_is_zero_is_noticed(zero: str) -> None:
    assert _unlike_uniform(frozenset({zero}), 200)


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


def test_a_salt_that_is_zero_lets_columns_be_guessed() -> None:
    """A sibling's hash in the path is that of a column of one row: there are 257."""

    def guessed(zero: frozenset[str]) -> bool:
        proof = _prove(0, zero)
        opening = proof.openings[0]
        guesses = {blake3(bytes(32) + OVER.to_bytes([value]), key=LEAF_KEY).digest() for value in range(P)}
        return any(digest in guesses for digest in opening.path)

    assert not guessed(frozenset())
    assert guessed(frozenset({"salts"}))


class _Again(Noise):
    """With the same salts in each proof."""

    def __init__(self) -> None:
        super().__init__(OVER)
        self._salts = Random(1)

    def salt(self) -> bytes:
        return self._salts.randbytes(32)


def test_a_salt_of_two_proofs_lets_columns_be_guessed() -> None:
    """One tells it, the other one hides a column behind it."""

    def guessed(noise: Callable[[], Noise]) -> bool:
        openings = [_prove(0, noise=noise()).openings[0] for _ in range(12)]
        salts = {salt for opening in openings for salt in opening.salts}
        values = [OVER.to_bytes([value]) for value in range(P)]
        guesses = {blake3(salt + value, key=LEAF_KEY).digest() for salt in salts for value in values}
        return any(digest in guesses for opening in openings for digest in opening.path)

    assert not guessed(lambda: Noise(OVER))
    assert guessed(_Again)


def _rank(rows: list[list[int]]) -> int:
    """Of a matrix over the field, by elimination."""
    rows, rank = [list(row) for row in rows], 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        inverse = pow(rows[rank][column], -1, P)
        for i in range(rank + 1, len(rows)):
            factor = rows[i][column] * inverse % P
            if factor:
                rows[i] = [(x - factor * y) % P for x, y in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


class _Tape(Random):
    """Numbers that were drawn before, one of them moved."""

    def __init__(self, seed: int, moved: int | None = None) -> None:
        super().__init__(seed)
        self.drawn, self._moved = 0, moved

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        value = super().randrange(start) + (self.drawn == self._moved)
        self.drawn += 1
        return value % P


def test_all_numbers_together_are_those_of_another_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its challenges given, what a proof shows is an affine function of its random numbers. It takes all
    values but for what the verifier checks: one equation for each column that is opened.
    """
    absorb = Transcript.absorb

    def deaf(self: Transcript, label: str, data: bytes) -> None:
        if label == "challenge":
            absorb(self, label, data)

    def shown(witness: int, moved: int | None = None) -> list[int]:
        tape = _Tape(7, moved)
        proof = _prove(witness, noise=Noise(OVER, random=tape))
        lengths.append(tape.drawn)
        return [value for _, value in _numbers(proof)]

    lengths: list[int] = []
    monkeypatch.setattr(Transcript, "absorb", deaf)
    base = shown(0)
    moves = [
        [(one - other) % P for one, other in zip(shown(0, i), base, strict=True)] for i in range(lengths[0])
    ]
    rank = _rank(moves)
    assert rank == len(base) - CODE.queries - SHAPE.pads.code.queries
    other = [(one - two) % P for one, two in zip(shown(1), base, strict=True)]
    assert _rank([*moves, other]) == rank
