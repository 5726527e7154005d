"""A proof of something false for each message that challenges could forget.

Challenges that do not depend on a message are known before it is chosen. What is left to satisfy is one
equation, and every number of every message stands in it, not squared: so any number will do, chosen last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tests.prover.spartan import reference
from tests.prover.spartan.reference import Dense, Lie, Noise, Proof, matrix, prove, shape_of, truthful
from zenserve.verifier.spartan import claims, verification
from zenserve.verifier.spartan import shape as geometry
from zenserve.verifier.spartan.claims import Form
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.field import Field
from zenserve.verifier.spartan.shape import Segment
from zenserve.verifier.spartan.transcript import Transcript
from zenserve.verifier.spartan.verification import verify

P = 12289
OVER = Field(P, 11, 12)
CODE = Code(OVER, 3, 5, query_bits=2)  # three queries
# 1 | x, y | c | s, t | u, v, w: u v = x, c t = w, s + w = 0, t = y. For a random c, s and t are zero: y, too.
ROWS = [
    ({6: 1}, {7: 1}, {1: 1}),
    ({3: 1}, {5: 1}, {8: 1}),
    ({4: 1, 8: 1}, {0: 1}, {}),
    ({5: 1}, {0: 1}, {2: 1}),
]
TRUE = {1: 12, 2: 0, 4: 0, 5: 0, 6: 3, 7: 4}
FALSE = TRUE | {1: 13}


class Case:
    """What is proven, and to whom. ``values``: by variable; ``linked``: whether the segment is."""

    z: list[int]

    def __init__(self, values: dict[int, int], lie: Lie = truthful, *, linked: bool = False) -> None:
        self._values, self._lie, noise = values, lie, Noise(OVER, random=Random(3))
        self.shape = shape_of(CODE, len(ROWS), 2, [Segment(2, CODE.queries if linked else None)], 3, 1)
        self.matrices = Dense(OVER, ROWS)
        part = [values[4], values[5]]
        self.linked = [matrix(CODE, part, CODE.queries, noise)] if linked else []

    def prove(self) -> Proof:
        def complete(z: list[int], challenges: Any) -> None:
            z[8] = self._values.get(8, z[3] * z[5] % P)
            self.z = z

        z = [1, 0, 0, 0, 0, 0, 0, 0, 0]
        for variable, value in self._values.items():
            z[variable] = value
        noise = Noise(OVER, random=Random(5))
        return prove(
            self.shape, self.matrices, z, linked=self.linked, complete=complete, noise=noise, lie=self._lie
        )

    def accepts(self, proof: Proof) -> bool:
        public, roots = [self._values[1], self._values[2]], [each.root for each in self.linked]
        return bool(verify(self.shape, self.matrices, public, roots, proof.data))


Left = Callable[[Case], int]


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> Left:
    """What the pads' equation lacks: zero, and the proof is accepted."""
    seen: dict[str, Any] = {}
    combined, challenge = claims.combined, Transcript.challenge

    def noted(forms: Any, weights: Any, count: int) -> tuple[list[int], int]:
        found = seen["equation"] = combined(forms, weights, count)
        return found

    def drawn(self: Transcript, label: str) -> int:
        found = seen[label] = challenge(self, label)
        return found

    monkeypatch.setattr(verification, "combined", noted)
    monkeypatch.setattr(Transcript, "challenge", drawn)

    def found(case: Case) -> int:
        proof = case.prove()
        case.accepts(proof)
        functional, value = seen["equation"]
        row = OVER.from_bytes(proof.body.pad_row)[: case.shape.pads.count]
        lacking = OVER.dot(functional, row) - proof.body.pad_mask - seen["pad mask"] * value
        return int(lacking * pow(seen["pad mask"], -1, P) % P)

    return found


@pytest.fixture
def first(monkeypatch: pytest.MonkeyPatch) -> Left:
    """What the first equation of the pads lacks."""
    seen: dict[str, Any] = {}
    real = claims.combined

    def noted(forms: Any, weights: Any, count: int) -> tuple[list[int], int]:
        seen["form"] = forms[0]
        return real(forms, weights, count)

    monkeypatch.setattr(reference, "combined", noted)

    def found(case: Case) -> int:
        case.prove()
        form, pads = seen["form"], Noise(OVER, random=Random(5)).pads(case.shape)
        return int(form.constant + sum(factor * pads[place] for place, factor in form.pads.items())) % P

    return found


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Left:
    """What the rows that fail add up to at the point where they are to vanish."""
    seen: dict[str, list[int]] = {}
    challenges = Transcript.challenges

    def drawn(self: Transcript, label: str, count: int) -> list[int]:
        found = seen[label] = challenges(self, label, count)
        return found

    monkeypatch.setattr(Transcript, "challenges", drawn)

    def found(case: Case) -> int:
        case.prove()

        def value(row: dict[int, int]) -> int:
            return sum(coefficient * case.z[variable] for variable, coefficient in row.items())

        wrong = [value(a) * value(b) - value(c) for a, b, c in ROWS]
        return OVER.dot(OVER.eq(seen["zero"]), wrong)

    return found


def solved(left: Left, attempt: Callable[[int], Case]) -> Case:
    """The attempt at which nothing is left, if what is left is affine."""
    start, following = left(attempt(0)), left(attempt(1))
    return attempt(-start * pow(following - start, -1, P) % P)


def said(label: str, place: int, index: int = 0, values: dict[int, int] = FALSE) -> Callable[[int], Case]:
    """Whoever says something false, and in the message ``index`` of those of this label one number more."""

    def attempt(more: int) -> Case:
        told: list[str] = []

        def lie(which: str, truth: list[int]) -> list[int]:
            told.append(which)
            if which != label or told.count(label) != index + 1:
                return truth
            return [(value + (at == place) * more) % P for at, value in enumerate(truth)]

        return Case(values, lie)

    return attempt


def chosen(variable: int, values: dict[int, int], *, linked: bool = False) -> Callable[[int], Case]:
    return lambda value: Case(values | {variable: value}, linked=linked)


VALUES = {
    "public": chosen(2, FALSE),
    "segment": chosen(4, TRUE | {2: 5, 5: 5}),
    "commitment": chosen(4, TRUE | {2: 5, 5: 5}, linked=True),
    "private": chosen(8, FALSE),
}
MESSAGES = {
    "pads": [said("pads", 3), said("pads", 7)],
    "round": [said("round", 0), said("round", 1), said("round", 1, 2), said("round", 0, 6)],
    "claims": [said("claims", 0), said("claims", 1), said("claims", 2)],
    "mask": [said("mask", 0)],
    "opened": [said("opened", 0), said("opened", 1)],
    "pad mask": [said("pad mask", 0)],
}
ATTACKS = [(label, index) for label, attacks in MESSAGES.items() for index in range(len(attacks))]


def forgetting(monkeypatch: pytest.MonkeyPatch, label: str) -> None:
    absorb = Transcript.absorb

    def deaf(self: Transcript, said: str, data: bytes) -> None:
        if said != label:
            absorb(self, said, data)

    monkeypatch.setattr(Transcript, "absorb", deaf)


def refused(case: Case) -> bool:
    return not case.accepts(case.prove())


@pytest.mark.parametrize("label", VALUES)
def test_a_witness_could_be_chosen_after_what_tests_it(
    label: str, failing: Left, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refused(solved(failing, VALUES[label]))
    forgetting(monkeypatch, label)
    assert refused(VALUES[label](1))
    forged = solved(failing, VALUES[label])
    assert forged.accepts(forged.prove())


@pytest.mark.parametrize(("label", "index"), ATTACKS)
def test_a_message_could_be_chosen_after_what_tests_it(
    label: str, index: int, left: Left, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = MESSAGES[label][index]
    assert refused(solved(left, attempt))
    forgetting(monkeypatch, label)
    assert refused(attempt(1))
    forged = solved(left, attempt)
    assert forged.accepts(forged.prove())


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """The places that were drawn last, by label."""
    places: dict[str, list[int]] = {}
    real = Transcript.places

    def noted(self: Transcript, which: str, count: int, log_size: int) -> list[int]:
        places[which] = real(self, which, count, log_size)
        return places[which]

    monkeypatch.setattr(Transcript, "places", noted)
    return places


def vanishing(places: list[int], code: Code, length: int) -> list[int]:
    """Of the polynomial whose code word is zero there."""
    zero = [1]
    for place in places:
        root = pow(OVER.root_of_unity(code.log_length), place, P)
        zero = [(low - root * high) % P for low, high in zip([0, *zero], [*zero, 0], strict=True)]
    assert len(zero) <= length
    return zero + [0] * (length - len(zero))


def plus(values: Sequence[int], others: Sequence[int], factor: int = 1) -> list[int]:
    return [(value + factor * other) % P for value, other in zip(values, others, strict=True)]


@pytest.mark.parametrize("forgets", [False, True])
def test_the_pads_row_is_said_before_its_columns_are_drawn(
    forgets: bool, left: Left, drawn: dict[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it is another one that is right in these."""
    code = Case(TRUE).shape.pads.code

    def attempt(more: int) -> Case:
        def lie(which: str, truth: list[int]) -> list[int]:
            if which != "pad row":
                return truth
            return plus(truth, vanishing(drawn["pad columns"], code, len(truth)), more)

        return Case(FALSE, lie)

    if forgets:
        forgetting(monkeypatch, "pad row")
    Case(FALSE).accepts(Case(FALSE).prove())  # draws the places, which lies do not change any more
    forged = solved(left, attempt)
    assert forged.accepts(forged.prove()) == forgets


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("levels", [0, 1])
def test_the_row_is_fixed_before_its_columns_are_drawn(
    forgets: bool, levels: int, drawn: dict[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it is another one that is right in these, and has whatever inner product claims ask for that are
    not those of the witness."""
    if levels:
        monkeypatch.setattr(geometry, "MOST_TOLD", 2)
        monkeypatch.setattr(geometry, "_LEAST_TOLD", 1)
    if forgets:
        forgetting(monkeypatch, "row")
    asked: dict[str, list[Any]] = {}
    real = claims.combined

    def noted(forms: Any, weights: Any, count: int) -> tuple[list[int], int]:
        asked["forms"], asked["weights"] = forms, weights
        return real(forms, weights, count)

    monkeypatch.setattr(reference, "combined", noted)

    def attempt(product: int | None, change: Callable[[list[int]], list[int]]) -> Case:
        def lie(which: str, truth: list[int]) -> list[int]:
            if which == "claims":
                a, b, c = truth
                return [a, (b + 1) % P, (c + a) % P]  # a b - c is what it was
            if which == "product":
                asked["truth"] = truth
                return truth if product is None else [product]
            return change(truth) if which == "row" else truth

        return Case(TRUE, lie)

    def lacking(product: int) -> int:
        case = attempt(product, lambda row: row)
        case.prove()
        second, pads = asked["forms"][1], Noise(OVER, random=Random(5)).pads(case.shape)
        return int(second.constant + sum(factor * pads[place] for place, factor in second.pads.items())) % P

    start, following = lacking(0), lacking(1)
    product = -start * pow(following - start, -1, P) % P
    assert not lacking(product)
    honest = asked["truth"][0]
    zero = vanishing(drawn["columns"], CODE, CODE.degree)
    attempt(product, lambda row: plus(row, zero)).prove()
    factor = (product - honest) * pow(asked["truth"][0] - honest, -1, P) % P
    forged = attempt(product, lambda row: plus(row, zero, factor))
    assert forged.accepts(forged.prove()) == forgets


def test_a_proof_names_its_circuit(left: Left) -> None:
    """Else it is one for a circuit that is chosen last: here, of digests that are alike."""

    def attempt(more: int) -> Case:
        case = Case(TRUE)
        honest = case.matrices
        case.prove = lambda: prove_with(case, honest)  # type: ignore[method-assign]
        case.matrices = replace(honest, rows=[({6: 2}, {7: 1}, {1: 1, 0: more}), *ROWS[1:]])
        return case

    def prove_with(case: Case, matrices: Dense) -> Proof:
        other = Case(TRUE)
        other.matrices = matrices
        return other.prove()

    forged = solved(left, attempt)
    assert forged.accepts(forged.prove())
    forged.matrices = replace(forged.matrices, digest=bytes(31) + b"\1")
    assert refused(forged)


WRONG = 7


def product(changed: int | None = None) -> Case:
    """All rows fail by as much as a product of two pads is wrong. ``changed``: which number that is opened of
    the triple has it come out."""
    own, pads = Case(TRUE).shape.pads, Noise(OVER, random=Random(5)).pads(Case(TRUE).shape)
    a, b, x = (pads[place] for place in (own.claims, own.claims + 1, own.triple))

    def lie(label: str, truth: list[int]) -> list[int]:
        if label == "pads":
            return [value + WRONG * (place == own.product) for place, value in enumerate(truth)]
        if label == "opened" and changed is not None:
            challenge = (truth[0] - x) * pow(a, -1, P)
            more = (challenge * WRONG * pow(b, -1, P), WRONG * pow(a, -1, P))[changed]
            return [(value + more * (place == changed)) % P for place, value in enumerate(truth)]
        return truth

    # t is 0 whatever c is, and y is to be t.
    u = (12 - WRONG) * pow(4, -1, P) % P
    return Case({1: 12, 2: WRONG, 4: -2 * WRONG % P, 5: 0, 6: u, 7: 4, 8: WRONG}, lie)


DROPPED: list[Callable[[Left], Case]] = [
    lambda _: Case(FALSE),
    lambda first: solved(first, said("claims", 2)),  # the claim c that the rounds ask for
    lambda _: product(changed=0),
    lambda _: product(changed=1),
    lambda _: product(),
]
"""For each equation of the pads what it alone refuses."""


@pytest.mark.parametrize("index", range(len(DROPPED)))
def test_no_equation_of_the_pads_could_be_dropped(
    index: int, first: Left, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = claims.forms
    assert refused(DROPPED[index](first))
    for dropped in range(len(DROPPED)):
        forged = DROPPED[index](first)

        def without(*arguments: Any, dropped: int = dropped) -> list[Form]:
            forms = real(*arguments)
            forms[dropped] = Form(OVER)
            return forms

        with monkeypatch.context() as patch:
            for module in (verification, reference):
                patch.setattr(module, "forms", without)
            assert refused(forged) == (dropped != index)
