"""Vectors that are folded: claims about them that hold, and what whoever lies would have to be able to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.prover.spartan.reference import Folder, Lie, bind, truthful, words_table
from tests.prover.spartan.test_forgeries import forgetting, plus, vanishing
from zenserve.kernels import fr
from zenserve.prover.spartan import folding as kernel
from zenserve.verifier.spartan import shape as geometry
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.field import FR, Field
from zenserve.verifier.spartan.folding import Claim, _left, shown
from zenserve.verifier.spartan.proof import Folded, MalformedError, Opening, Reader
from zenserve.verifier.spartan.renewal import eq_below
from zenserve.verifier.spartan.shape import Folding
from zenserve.verifier.spartan.transcript import Transcript

P = 12289
OVER = Field(P, 11, 12)
CODE = Code(OVER, 5, 7, query_bits=2)
PLACES = [3, 50, 51]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of more than eight numbers are folded: 32 to 16, 16 to 8."""
    monkeypatch.setattr(geometry, "MOST_TOLD", 3)
    monkeypatch.setattr(geometry, "_LEAST_TOLD", 3)
    monkeypatch.setattr(geometry, "_ROW_VARIABLES", 1)


class Case:
    """A claim about a vector of 32 numbers: its product with eq at a point, and three places of its word.

    ``more``: what is claimed above the product; ``last``: what is told above the last vector's first number.
    """

    def __init__(self, lie: Lie = truthful, *, more: int = 0, last: int = 0) -> None:
        random = Random(4)
        self.folding = Folding(CODE, 5)
        self.vector = [random.randrange(P) for _ in range(32)]
        self.point = [random.randrange(P) for _ in range(5)]
        columns = [OVER.encode(self.vector, CODE.log_length)[place] for place in PLACES]

        def at(weights: Sequence[int], point: Sequence[int]) -> int:
            return OVER.eq_at(self.point, point) + OVER.words_at(CODE.log_length, PLACES, weights, point)

        product = OVER.dot(OVER.eq(self.point), self.vector) + more
        self.claim, self._lie, self._last = Claim(product % P, columns, at), lie, last

    def prove(self) -> tuple[Folded, list[Opening]]:
        folder = Folder(self.folding, list(self.vector), self._lie)
        told, openings = folder.fold(self._transcript(folder.message), len(PLACES), self.weigh)
        first, *others = OVER.from_bytes(told.messages[-1])
        last = OVER.to_bytes([(first + self._last) % P, *others])
        return replace(told, messages=[*told.messages[:-1], last]), openings

    def _transcript(self, message: bytes) -> Transcript:
        transcript = _Noted(OVER, b"folding")
        self.drawn = transcript.drawn
        transcript.say("product", [self.claim.product])
        transcript.absorb("row", message)
        return transcript

    def weigh(self, weights: list[int]) -> list[int]:
        return plus(OVER.eq(self.point), words_table(CODE, PLACES, weights))

    def left(self) -> int:
        """What the last equation lacks."""
        told, openings = self.prove()
        reader = Reader(OVER, b"".join(opening.to_bytes() for opening in openings))
        return _left(self.folding, self.claim, told, self._transcript(told.messages[0]), reader) or 0

    def reason(self, told: Folded | None = None, openings: Sequence[Opening] = ()) -> str:
        """Of what was changed, or of what it proves."""
        if told is None:
            told, openings = self.prove()
        reader = Reader(OVER, b"".join(opening.to_bytes() for opening in openings))
        try:
            found = shown(self.folding, self.claim, told, self._transcript(told.messages[0]), reader)
            if found == "ok":
                reader.finish()
        except MalformedError:
            return "malformed"
        return found


class _Noted(Transcript):
    """Knows what was drawn, by kind."""

    def __init__(self, field: Field, statement: bytes) -> None:
        super().__init__(field, statement)
        self.drawn: dict[str, list[Any]] = {"challenge": [], "challenges": [], "places": []}

    def challenge(self, label: str) -> int:
        (value,) = super().challenges(label, 1)
        self.drawn["challenge"].append(value)
        return value

    def challenges(self, label: str, count: int) -> list[int]:
        self.drawn["challenges"].append(super().challenges(label, count))
        return list(self.drawn["challenges"][-1])

    def places(self, label: str, count: int, log_size: int) -> list[int]:
        self.drawn["places"].append(super().places(label, count, log_size))
        return list(self.drawn["places"][-1])


def test_levels_follow_from_the_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    code = Code(FR, 12, 14)
    found = {
        variables: [level.code.log_degree for level in Folding(code, variables).levels]
        for variables in range(8, 19)
    }
    assert found == {
        **{8: [], 9: [], 10: [], 11: [9], 12: [9], 13: [10], 14: [11, 9], 15: [12, 9], 16: [13, 10]},
        **{17: [14, 11, 9], 18: [15, 12, 9]},
    }
    for level in Folding(code, 16).levels:
        assert level.code.log_length == level.code.log_degree + 3
        assert level.code.queries > replace(level.code, query_bits=135).queries


def test_a_claim_that_holds_is_shown() -> None:
    case = Case()
    assert len(case.folding.levels) == 2
    assert case.reason() == "ok"


def test_kernels_fold_as_numbers_do() -> None:
    random, code = Random(6), Code(FR, 5, 7, query_bits=8)
    folding, vector = Folding(code, 5), [random.randrange(FR.modulus) for _ in range(32)]
    slow = Folder(folding, vector)
    fast = kernel.Folder(folding, kernel.CpuVector(fr.from_ints(vector), fr.from_ints([0] * 32), 2))
    assert slow.message == fast.message
    told, openings = slow.fold(Transcript(FR, b""), 2, lambda weights: words_table(code, [1, 9], weights))
    same = fast.fold(Transcript(FR, b""), code, np.array([1, 9], np.uint32))
    assert told.to_bytes(FR) == same.body.to_bytes(FR)
    assert [each.to_bytes() for each in openings] == same.openings


def test_forms_are_what_their_tables_say() -> None:
    random = Random(5)
    point, other = ([random.randrange(P) for _ in range(5)] for _ in range(2))
    weights = [random.randrange(P) for _ in PLACES]
    table = words_table(CODE, PLACES, weights)
    assert OVER.words_at(CODE.log_length, PLACES, weights, point) == OVER.dot(table, OVER.eq(point))
    assert OVER.powers_at(7, point) == OVER.dot([pow(7, i, P) for i in range(32)], OVER.eq(point))
    for end in (0, 1, 6, 17, 31):
        below = OVER.dot(OVER.eq(point)[:end], OVER.eq(other)[:end])
        assert eq_below(OVER, end, point, other) == below


def once(label: str, place: int, index: int, more: int) -> Lie:
    """In the message ``index`` of this label one number more."""
    told: list[str] = []

    def lie(which: str, truth: list[int]) -> list[int]:
        told.append(which)
        if which != label or told.count(label) != index + 1:
            return truth
        return plus(truth, [int(at == place) for at in range(len(truth))], more)

    return lie


# Of a product that is not the vector's: the message that is chosen last, and what is wrong of it.
ATTACKS: dict[str, tuple[str, Callable[[int], Case]]] = {
    "product": ("product", lambda more: Case(once("fold", 0, 0, 1), more=more)),
    "a round": ("round", lambda more: Case(once("fold", 0, 0, more), more=1)),
    "a later round": ("round", lambda more: Case(once("fold", 1, 3, more), more=1)),
    "the last vector": ("row", lambda more: Case(more=1, last=more)),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_message_could_be_chosen_after_what_tests_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    label, attempt = ATTACKS[name]

    with monkeypatch.context() as patch:
        forgetting(patch, label)
        assert attempt(2).reason() == "proximity"
        start, following = (attempt(more).left() for more in range(2))
        forged = attempt(-start * pow(following - start, -1, P) % P)
        assert forged.reason() == "ok"
    assert forged.reason() != "ok"


@pytest.mark.parametrize("forgets", [False, True])
def test_a_root_is_said_before_the_columns_above_are_drawn(
    forgets: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it is that of a vector that is right in these, and has the product that was claimed."""
    if forgets:
        forgetting(monkeypatch, "row")
    seen = Case(more=1)
    seen.prove()
    (r, *_), (weights, *_), (places, *_) = (
        seen.drawn[kind] for kind in ("challenge", "challenges", "places")
    )
    tables = [seen.weigh(weights)]
    bind(tables, r, OVER)
    zero = vanishing(places, seen.folding.levels[0].code, 16)
    factor = r * pow(OVER.dot(zero, tables[0]), -1, P)  # what is left of the product's one more
    told: list[int] = []

    def lie(which: str, truth: list[int]) -> list[int]:
        told.append(which == "folded")
        return plus(truth, zero, factor) if which == "folded" and sum(told) == 1 else truth

    assert (Case(lie, more=1).reason() == "ok") == forgets


@pytest.mark.parametrize("index", range(2))
def test_roots_rows_and_columns_are_no_others(index: int) -> None:
    case = Case()
    told, openings = case.prove()
    messages, (one, *others) = list(told.messages), list(openings)
    messages[index] = bytes(32)
    assert case.reason(replace(told, messages=messages), openings) == "opening"
    swapped = [told.messages[1], told.messages[0], told.messages[2]]
    assert case.reason(replace(told, messages=swapped), openings) == "opening"
    assert case.reason(told, [*others, one]) == "opening"
    assert case.reason(told, [one]) == case.reason(told, [one, *others, one]) == "malformed"
    columns = list(openings[index].columns)
    columns[1] = OVER.to_bytes([(OVER.from_bytes(columns[1])[0] + 1) % P]) + columns[1][2:]
    changed = [replace(each, columns=columns) if each is openings[index] else each for each in openings]
    assert case.reason(told, changed) == "opening"
