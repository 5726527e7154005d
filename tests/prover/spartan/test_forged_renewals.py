"""A renewal between commitments to other values for each message that its challenges could forget
(``test_forgeries`` says why there is one)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from tests.prover.spartan.reference import Lie, Noise, matrix, renew, truthful
from tests.prover.spartan.test_folding import once
from tests.prover.spartan.test_forgeries import CODE, OVER, P, forgetting, plus, vanishing
from zenserve.verifier.spartan import folding
from zenserve.verifier.spartan import shape as geometry
from zenserve.verifier.spartan.commitment import Rows
from zenserve.verifier.spartan.renewal import is_renewed
from zenserve.verifier.spartan.transcript import Transcript

ROWS = Rows(CODE, CODE.queries)
WIDTH = CODE.degree - ROWS.tail
VALUES = [5, 6, 7, 8, 9, 10, 11]
"""In two rows."""


class Case:
    """A renewal between ``VALUES`` and others. ``old``, ``new``: the first value of either."""

    def __init__(self, old: int = 5, new: int = 6, lie: Lie = truthful) -> None:
        noise = Noise(OVER, random=Random(3))
        self._old, self._new = (matrix(CODE, [value, *VALUES[1:]], ROWS.tail, noise) for value in (old, new))
        self._lie, self._told = lie, dict[str, list[int]]()

    def holds(self) -> bool:
        return is_renewed(ROWS, len(VALUES), self._old.root, self._new.root, self._proof())

    def lacking(self, drawn: dict[str, list[Any]]) -> int:
        """The combined rows' product less what was told of it."""
        self._proof()
        by_column = OVER.eq(drawn["columns"][-1])[:WIDTH]
        row = self._told["row"]
        ahead, behind = (OVER.dot(by_column, row[start : start + WIDTH]) for start in (0, CODE.degree))
        return (ahead - behind - self._told["product"][0]) % P

    def _proof(self) -> bytes:
        def lie(label: str, truth: list[int]) -> list[int]:
            self._told[label] = self._lie(label, truth)
            return list(self._told[label])

        made, _ = renew(ROWS, len(VALUES), self._old, self._new, Noise(OVER, random=Random(5)), lie)
        return made.to_bytes(OVER)


Drawn = dict[str, list[Any]]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """What was drawn, by label: points and places, one after the other, the last one's first."""
    found = Drawn()

    def noting(name: str) -> None:
        real = getattr(Transcript, name)

        def noted(self: Transcript, label: str, *arguments: int) -> Any:
            made = real(self, label, *arguments)
            found.setdefault(label, []).append(made)
            return made

        monkeypatch.setattr(Transcript, name, noted)

    noting("challenges")
    noting("places")
    return found


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> Callable[[Case], int]:
    """What the folding's last equation lacks."""
    found, real = list[int](), folding._left

    def noted(*arguments: Any) -> int | None:
        found.append(real(*arguments) or 0)
        return found[-1]

    monkeypatch.setattr(folding, "_left", noted)

    def lacking(case: Case) -> int:
        case.holds()
        return found[-1]

    return lacking


def solved(lacking: Callable[[Case], int], attempt: Callable[[int], Case]) -> Case:
    """The attempt at which nothing is lacking, if what is is affine."""
    start, following = lacking(attempt(0)), lacking(attempt(1))
    return attempt(-start * pow(following - start, -1, P) % P)


def masks(more: int) -> Case:
    """Whose product is told before."""

    def lie(label: str, truth: list[int]) -> list[int]:
        return {"masks": [truth[0] + more, *truth[1:]], "product": [7]}.get(label, truth)

    return Case(lie=lie)


ATTACKS: dict[str, Callable[[int], Case]] = {
    "old": lambda value: Case(old=value),
    "new": lambda value: Case(new=value),
    "mask": masks,
    "product": lambda more: Case(lie=once("product", 0, 0, more)),
}


def refused(case: Case) -> bool:
    return not case.holds()


def test_a_renewal_holds_of_the_same_values() -> None:
    assert Case(5, 5).holds()
    assert refused(Case())


@pytest.mark.parametrize("label", ATTACKS)
def test_a_message_could_be_chosen_after_what_tests_it(
    label: str, drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = ATTACKS[label]

    def lacking(case: Case) -> int:
        return case.lacking(drawn)

    assert refused(solved(lacking, attempt))
    forgetting(monkeypatch, label)
    assert refused(attempt(3))
    assert solved(lacking, attempt).holds()


@pytest.mark.parametrize(("index", "place"), [(0, 0), (0, 1), (3, 0)])
def test_a_round_could_be_chosen_after_what_tests_it(
    index: int, place: int, left: Callable[[Case], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def attempt(more: int) -> Case:
        return Case(lie=once("fold", place, index, more))

    assert refused(solved(left, attempt))
    forgetting(monkeypatch, "round")
    assert refused(attempt(1))
    assert solved(left, attempt).holds()


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("levels", [0, 1])
@pytest.mark.parametrize("which", [0, 1])
def test_the_rows_are_fixed_before_their_columns_are_drawn(
    forgets: bool, levels: int, which: int, drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one of them is another that is right in these, and makes the product that was told."""
    if levels:
        monkeypatch.setattr(geometry, "MOST_TOLD", 2)
        monkeypatch.setattr(geometry, "_LEAST_TOLD", 1)
    if forgets:
        forgetting(monkeypatch, "row")
    assert refused(Case())
    zero = vanishing(drawn["places"][0], CODE, CODE.degree)
    change = [*zero, *[0] * CODE.degree] if which == 0 else [*[0] * CODE.degree, *zero]

    def attempt(more: int) -> Case:
        return Case(lie=lambda label, truth: plus(truth, change, more) if label == "row" else truth)

    assert solved(lambda case: case.lacking(drawn), attempt).holds() == forgets
