"""Each message that challenges depend on, left out of the transcript: then there is a forgery, which is
made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from tests.prover.tensor import toy
from tests.prover.tensor.reference import Lie, Noise, Proof, Prover, prove, truthful
from tests.prover.tensor.toy import FIELDS, RANGE_AGAIN, WEIGHTS
from zenserve.verifier.spartan.transcript import Transcript
from zenserve.verifier.tensor.protocol import Keys
from zenserve.verifier.tensor.statement import Statement
from zenserve.verifier.tensor.verification import verify

OVER = FIELDS["12289"]
P = OVER.modulus
STATEMENT = toy.statement(OVER)
VALUES = toy.values(STATEMENT)
WRONG = replace(STATEMENT, products=(replace(STATEMENT.products[0], value=STATEMENT.products[0].value + 1),))


@contextmanager
def forgotten(label: str) -> Iterator[None]:
    """Messages with this label are not absorbed, by either end."""
    real = Transcript.absorb

    def absorb(self: Transcript, which: str, data: bytes) -> None:
        if which != label:
            real(self, which, data)

    with patch.object(Transcript, "absorb", absorb):
        yield


@contextmanager
def remembered(label: str) -> Iterator[None]:
    yield


Context = Callable[[str], Any]


def made(statement: Statement, values: list[list[int]], lie: Lie = truthful, **more: Any) -> Proof:
    return prove(statement, values, Noise(OVER, random=Random(6)), lie, **more)


def is_accepted(statement: Statement, proof: Proof) -> bool:
    return verify(statement, proof.linked, proof.data) == "ok"


def solved(attempt: Callable[[int], Proof]) -> Proof:
    """The attempt at which nothing is lacking, which is affine where no challenge depends on what it
    changes.
    """
    start, following = attempt(0).lacking, attempt(1).lacking
    if start == following:
        return attempt(0)
    return attempt(-start * pow(following - start, -1, P) % P)


def told(label: str) -> Callable[[int], Proof]:
    """The first message with this label, its first number changed, and all others as they were."""
    recorded = dict[tuple[str, int], list[int]]()

    def attempt(more: int) -> Proof:
        times = Counter[str]()

        def lie(which: str, values: list[int]) -> list[int]:
            if which in {"row", "fold", "folded"}:  # behind all that is tried here
                return values
            times[which] += 1
            first, *rest = said = recorded.setdefault((which, times[which]), values)
            return [(first + more) % P, *rest] if (which, times[which]) == (label, 1) else said

        return made(WRONG, VALUES, lie)

    return attempt


TOLD = [
    "denominator",
    "scaled",
    "tree",
    "halves",
    "parts",
    "low",
    "high",
    "masks",
    "rows",
    "opened",
    "pads' mask",
]


@pytest.mark.parametrize("context", [forgotten, remembered])
@pytest.mark.parametrize("label", TOLD)
def test_a_number_that_no_challenge_depends_on_makes_a_false_statement_pass(
    label: str, context: Context
) -> None:
    with context(label):
        assert is_accepted(WRONG, solved(told(label))) == (context is forgotten)


def test_all_numbers_are_tried() -> None:
    labels = set[str]()

    def noted(label: str, values: list[int]) -> list[int]:
        labels.add(label)
        return values

    made(STATEMENT, VALUES, noted)
    assert labels - {"pads", "row", "fold", "folded"} == set(TOLD)


@pytest.mark.parametrize("is_forgotten", [True, False])
def test_a_proof_names_its_statement(is_forgotten: bool) -> None:
    """Else it is one for a public product that is chosen last."""

    def attempt(more: int) -> Proof:
        return made(wrong(more), VALUES)

    def wrong(more: int) -> Statement:
        # Another tensor's values than those that are claimed: by 4 times the first weight.
        (product,) = STATEMENT.products
        changed = replace(product, inner=(9, 7), value=(product.value + more) % P)
        return replace(STATEMENT, products=(changed,))

    with patch.object(Statement, "digest", bytes(32)) if is_forgotten else remembered(""):
        start, following = (attempt(more).lacking for more in (0, 1))
        more = -start * pow(following - start, -1, P) % P
        assert is_accepted(wrong(more), attempt(more)) == is_forgotten


def fractions(statement: Statement, values: list[list[int]], keys: Keys, chunk: int) -> int:
    """The sum of a chunk's."""
    prover = Prover(statement, values, Noise(OVER))
    prover.keys = keys
    pairs = zip(*prover.leaves(chunk), strict=True)
    return sum(n * pow(d, -1, P) for n, d in pairs) % P


@contextmanager
def keys_noted() -> Iterator[list[list[int]]]:
    noted, real = list[list[int]](), Transcript.challenges

    def challenges(self: Transcript, label: str, count: int) -> list[int]:
        found = real(self, label, count)
        if label == "keys":
            noted.append(found)
        return found

    with patch.object(Transcript, "challenges", challenges):
        yield noted


@pytest.mark.parametrize("context", [forgotten, remembered])
def test_roots_are_fixed_before_the_keys(context: Context) -> None:
    """Else a multiplicity is chosen last that makes up for a value beyond the range."""
    statement = replace(STATEMENT, products=(), zeros=())
    values = [list(each) for each in VALUES]
    values[WEIGHTS][0] = 5000
    with context("root"), keys_noted() as noted:
        # What a linked root says is absorbed: it is the same in both.
        made(statement, values)
        pole, tag, *further = noted[-1]
        keys = Keys(pole, tag, further)
        lacking = fractions(statement, values, keys, 1)
        table = statement.tables[0]
        values[RANGE_AGAIN][0] += lacking * keys.denominator(table, table.rows[0])
        values[RANGE_AGAIN][0] %= P
        assert fractions(statement, values, keys, 1) == 0
        assert is_accepted(statement, made(statement, values)) == (context is forgotten)


@pytest.mark.parametrize("context", [forgotten, remembered])
def test_linked_roots_are_fixed_before_the_keys(context: Context) -> None:
    """Else two values beyond the range are chosen last that are as good as two within."""
    statement = replace(STATEMENT, products=(), zeros=())
    values = [list(each) for each in VALUES]
    with context("linked"), keys_noted() as noted:
        made(statement, values)
        pole, tag, *_ = noted[-1]
        constant = Keys(pole, tag, []).constant(statement.tables[0])
        first, second, *_ = values[WEIGHTS]
        both = sum(pow(constant - each, -1, P) for each in (first, second))
        values[WEIGHTS][0] = 5000
        rest = both - pow(constant - 5000, -1, P)
        values[WEIGHTS][1] = (constant - pow(rest, -1, P)) % P
        assert is_accepted(statement, made(statement, values)) == (context is forgotten)


@pytest.mark.parametrize("context", [forgotten, remembered])
def test_combined_rows_are_fixed_before_their_columns_are_drawn(context: Context) -> None:
    """Else there is one that is right in these, and has whatever inner product is asked for."""
    index, code = 0, STATEMENT.classes[0].code

    def attempt(change: int, factor: int) -> tuple[Proof, int]:
        """The first class' product changed; its row by so many times a word that is zero where it is seen."""
        product = list[int]()

        def lie(label: str, values: list[int]) -> list[int]:
            if label == "rows":
                product.extend(values)
                return [(values[0] + change) % P, *values[1:]]
            if label == "row" and factor:
                offset = STATEMENT.offsets[index]
                part = values[offset : offset + code.degree]
                moved = [(x + factor * y) % P for x, y in zip(part, zero, strict=True)]
                return [*values[:offset], *moved, *values[offset + code.degree :]]
            return values

        proof = made(WRONG, VALUES, lie)
        return proof, proof.lacking

    with context("row"):
        # The equation of the first class' rows is not touched by what is wrong, that of the second is.
        proof, _ = attempt(1, 0)
        zero = vanishing(proof.places[index], code.degree)
        forged = _solved_twice(attempt)
        assert is_accepted(WRONG, forged) == (context is forgotten)


def _solved_twice(attempt: Callable[[int, int], tuple[Proof, int]]) -> Proof:
    """A change of the product, and a factor at which nothing is lacking: the places depend on the first
    alone.
    """
    start, following = (attempt(1, factor)[1] for factor in (0, 1))
    return attempt(1, -start * pow(following - start, -1, P) % P)[0]


def vanishing(places: list[int], length: int) -> list[int]:
    """Coefficients of the polynomial whose code word is zero there."""
    zero = [1]
    for place in places:
        root = pow(OVER.root_of_unity(STATEMENT.classes[0].code.log_length), place, P)
        zero = [(low - root * high) % P for low, high in zip([0, *zero], [*zero, 0], strict=True)]
    assert len(zero) <= length
    return zero + [0] * (length - len(zero))
