"""What proofs show is random, all of it, and each part of the randomness is needed.

Challenges are fixed, so that what is shown depends on the witness and on randomness alone: a number that is
the same in all proofs shows something.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.prover.tensor import toy
from tests.prover.tensor.reference import Noise, Prover, prove
from tests.prover.tensor.toy import FIELDS, WEIGHTS
from zenserve.verifier.spartan.field import Extension, Field
from zenserve.verifier.spartan.transcript import Transcript
from zenserve.verifier.tensor.protocol import counted
from zenserve.verifier.tensor.statement import Statement

PRIME, SQUARE = FIELDS["12289"], FIELDS["12289^2"]


@contextmanager
def fixed() -> Iterator[None]:
    """Challenges follow from their labels, and from how many there were, alone."""

    def challenges(self: Transcript, label: str, count: int) -> list[int]:
        drawn = self.__dict__.setdefault("drawn", Random(8))
        field = self._field
        return [
            field.from_coefficients([drawn.randrange(field.modulus) for _ in range(field.degree)])
            for _ in range(count)
        ]

    def places(self: Transcript, label: str, count: int, log_size: int) -> list[int]:
        drawn = self.__dict__.setdefault("drawn", Random(8))
        return sorted(drawn.sample(range(1 << log_size), count))

    with patch.object(Transcript, "challenges", challenges), patch.object(Transcript, "places", places):
        yield


def shown(
    statement: Statement,
    noise: Noise,
    values: list[list[int]] | None = None,
    steps: type[Prover] = Prover,
) -> list[tuple[str, int]]:
    """All coefficients over the base field that a proof shows, and what of: without hashes of what is not."""
    over, base = statement.over, statement.over.base
    with fixed():
        proof = prove(statement, values or toy.values(statement), noise, steps=steps)
    found = [("number", c) for value in proof.numbers for c in over.coefficients(value)]
    for value in over.from_bytes(proof.folded.messages[-1])[: used(statement)]:
        found += [("row", c) for c in over.coefficients(value)]
    for opening in proof.openings:
        found += [("salt", int.from_bytes(salt, "little")) for salt in opening.salts]
        found += [("column", value) for column in opening.columns for value in base.from_bytes(column)]
    return found


def used(statement: Statement) -> int:
    """Of the vector that is folded: what is behind is zero."""
    return sum(code.degree for code in statement.codes)


def constant(statement: Statement, zero: str = "", proofs: int = 5, noise: type[Noise] = Noise) -> set[str]:
    """What is the same in all proofs, by its kind."""
    random = Random(4)
    runs = [shown(statement, noise(statement.over, frozenset({zero}), random)) for _ in range(proofs)]
    return {each[0][0] for each in zip(*runs, strict=True) if len({value for _, value in each}) == 1}


@pytest.mark.parametrize("over", [PRIME, SQUARE], ids=["12289", "12289^2"])
def test_nothing_that_is_shown_is_the_same_twice(over: Field) -> None:
    assert constant(toy.statement(over)) == set()


@pytest.mark.parametrize(
    ("zero", "noticed"),
    [
        ("pads", {"number", "column"}),
        ("mask 0", {"row", "column", "number"}),
        ("mask 1", {"row", "column", "number"}),
        ("mask of pads", {"column", "number"}),
        ("tails", {"column"}),
        ("salts", {"salt"}),
    ],
)
def test_each_part_of_the_randomness_is_missed(zero: str, noticed: set[str]) -> None:
    """Masks alone: the rest of a row is the same only where its tail is, which is as random as it."""
    found = constant(toy.statement(PRIME), zero)
    assert found
    assert found <= noticed


class OfTheBaseField(Noise):
    """Pads and masks are of the base field."""

    def element(self, what: str) -> int:
        first, *rest = self.base(what, self.over.degree)
        return self.over.from_coefficients([first, *[0] * len(rest)])


class OneMask(Prover):
    """Both classes have the same."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.masks[1] = list(self.masks[0])


class OneTriple(Prover):
    """Two products have the same x and y."""

    def draw_pads(self) -> list[int]:
        pads = super().draw_pads()
        first, second, *_ = (triple.first for triple in counted(self.statement).triples)
        pads[second : second + 3] = pads[first : first + 3]
        return pads


class OneFactor(Prover):
    """A denominator is told as it is."""

    def draw_pads(self) -> list[int]:
        pads, counting = super().draw_pads(), counted(self.statement)
        for place in counting.nonzero:
            pads[place] = 1
        for (i, j), place in counting.products.items():
            pads[place] = pads[i] * pads[j] % self.over.modulus
        return pads


@pytest.mark.parametrize(
    ("steps", "alike"),
    [
        (Prover, True),
        pytest.param(OneMask, False, marks=pytest.mark.large),
        pytest.param(OneTriple, False, marks=pytest.mark.large),
        pytest.param(OneFactor, False, marks=pytest.mark.large),
    ],
)
def test_two_witnesses_show_the_same_up_to_what_is_random(steps: type[Prover], alike: bool) -> None:
    """All linear combinations of what is shown that are the same in all proofs of one witness, and so no
    matter of chance, are the same for the other one: they follow from the statement."""
    statement, *witnesses = toy.tiny_classes()
    random = Random(2)
    seen = [
        [
            [
                value % toy.P
                for kind, value in shown(statement, Noise(toy.OVER, random=random), values, steps)
                if kind != "salt"
            ]
            for _ in range(300)
        ]
        for values in witnesses
    ]
    first, other = (np.array(each, dtype=np.int64) for each in seen)
    spread = (first[1:] - first[0]) % toy.P
    known = rank_of(spread)
    assert known + 40 < len(spread)  # there were enough
    assert (rank_of(np.vstack([spread, (other - first[0]) % toy.P])) == known) == alike


def rank_of(matrix: NDArray[np.int64]) -> int:
    """Modulo 257."""
    left, found = matrix.copy(), 0
    for column in range(left.shape[1]):
        pivots = np.flatnonzero(left[found:, column])
        if not len(pivots):
            continue
        pivot = found + pivots[0]
        left[[found, pivot]] = left[[pivot, found]]
        left[found] = left[found] * pow(int(left[found, column]), -1, toy.P) % toy.P
        left[found + 1 :] = (left[found + 1 :] - np.outer(left[found + 1 :, column], left[found])) % toy.P
        found += 1
        if found == len(left):
            break
    return found


def test_pads_are_of_the_whole_extension() -> None:
    """Else half of each number is the truth."""
    assert isinstance(SQUARE, Extension)
    assert {"number", "column"} <= constant(toy.statement(SQUARE), noise=OfTheBaseField)


def test_a_pads_tail_hides_its_columns() -> None:
    """Pads that are known, and the tail zero: columns are the pads' word. With the tail they are not."""
    statement = toy.statement(PRIME)
    shorter = constant(statement, "tail of pads")
    assert shorter == set()  # the pads themselves are random: what the tail hides is told below

    class Known(Noise):
        def element(self, what: str) -> int:
            return 7 if what in {"pads", "factors"} else super().element(what)

    assert "column" in constant(statement, "tail of pads", noise=Known)
    assert "column" not in constant(statement, noise=Known)


@pytest.mark.large
def test_denominators_are_told_times_factors_that_are_uniform() -> None:
    """D' of one witness takes each of many values, none of them zero."""
    statement, values = toy.tiny()
    with fixed():
        told = [prove(statement, values, Noise(toy.OVER, random=Random(i))).numbers[1] for i in range(400)]
    assert 0 not in told
    assert len(set(told)) > 180  # of 256, of which 400 draws leave out 54 on average


def test_as_many_proofs_as_a_tail_has_room_for_determine_nothing_and_one_more_does() -> None:
    """A linked root of which each proof shows four columns, with a tail of five and three values a row: eight
    columns, of two proofs, are all that there is to a row."""
    statement = toy.statement(PRIME)
    code, tail = statement.classes[1].code, statement.classes[1].tail
    budget = tail // code.queries
    entries = dict[int, int]()
    for proofs in range(1, 8):
        about = replace(statement, architecture=bytes([proofs] * 32))
        proof = prove(about, toy.values(about), Noise(PRIME, random=Random(11)))
        opening = proof.openings[len(statement.classes[0].roots) + 1]
        for place, column in zip(proof.places[1], opening.columns, strict=True):
            entries[place] = PRIME.from_bytes(column)[0]
        if proofs <= budget:
            assert len(entries) <= tail
            assert all_values_fit(statement, entries)
    assert len(entries) >= code.degree
    row = interpolated(statement, entries)
    offset = statement.tensors[WEIGHTS].offset
    assert row[offset : offset + 2] == list(toy.WEIGHT_VALUES[:2])


def all_values_fit(statement: Statement, entries: dict[int, int]) -> bool:
    """Whatever the values are, there is a tail that makes the word these entries: the tail's columns of the
    system are independent in the opened places."""
    code, tail, p = statement.classes[1].code, statement.classes[1].tail, PRIME.modulus
    root = PRIME.root_of_unity(code.log_length)
    rows = [[pow(root, place * i, p) for i in range(code.degree - tail, code.degree)] for place in entries]
    return rank(rows) == len(rows)


def interpolated(statement: Statement, entries: dict[int, int]) -> list[int]:
    """The coefficients, by elimination, of the polynomial with these values."""
    code, p = statement.classes[1].code, PRIME.modulus
    root = PRIME.root_of_unity(code.log_length)
    chosen = sorted(entries)[: code.degree]
    rows = [[*(pow(root, place * i, p) for i in range(code.degree)), entries[place]] for place in chosen]
    for column in range(code.degree):
        pivot = next(i for i in range(column, len(rows)) if rows[i][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        scale = pow(rows[column][column], -1, p)
        rows[column] = [value * scale % p for value in rows[column]]
        for i in range(len(rows)):
            if i != column:
                factor = rows[i][column]
                rows[i] = [(x - factor * y) % p for x, y in zip(rows[i], rows[column], strict=True)]
    return [row[-1] for row in rows]


def rank(rows: list[list[int]]) -> int:
    p, found, left = PRIME.modulus, 0, [list(row) for row in rows]
    for column in range(len(rows[0])):
        pivot = next((row for row in left if row[column]), None)
        if pivot is not None:
            found += 1
            left.remove(pivot)
            scale = pow(pivot[column], -1, p)
            left = [
                [(x - row[column] * scale * y) % p for x, y in zip(row, pivot, strict=True)] for row in left
            ]
    return found
