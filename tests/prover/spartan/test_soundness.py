"""What a cheating prover can try: messages that no challenge depends on, lies in each, rows of luck."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple
from unittest.mock import ANY, patch

import pytest

from tests.prover.spartan import reference, toy
from tests.prover.spartan.toy import MATRICES, OVER, SHAPE, P
from tests.prover.statements import cubic_statement
from zenserve.prover.spartan.layout import best_code, sizes_of
from zenserve.verifier.spartan import folding, ledger, verification
from zenserve.verifier.spartan import shape as geometry
from zenserve.verifier.spartan.admission import shape_of
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.field import FR, Field
from zenserve.verifier.spartan.proof import Body, Folded
from zenserve.verifier.spartan.renewal import is_renewed
from zenserve.verifier.spartan.shape import Shape
from zenserve.verifier.spartan.transcript import Transcript
from zenserve.verifier.spartan.verification import verify

Z = [1, 12, 0, 5, 6, 3, 4, 0]


def _complete(z: list[int], challenges: object) -> None:
    z[7] = (z[3] + z[2]) % P


def _prove(shape: Shape = SHAPE, lie: reference.Lie = reference.truthful) -> reference.Proof:
    return reference.prove(shape, MATRICES, list(Z), complete=_complete, lie=lie)


def folded(monkeypatch: pytest.MonkeyPatch) -> Shape:
    """The same with a row of eight numbers that is folded to two."""
    monkeypatch.setattr(geometry, "MOST_TOLD", 2)
    monkeypatch.setattr(geometry, "_LEAST_TOLD", 1)
    return replace(SHAPE)


def _drawn(
    shape: Shape, body: Body, monkeypatch: pytest.MonkeyPatch, public: int = 12
) -> list[tuple[str, bytes]]:
    """The challenges that the verifier draws, in order, and the state that each follows from."""
    drawn: list[tuple[str, bytes]] = []
    real, folded = Transcript.draw, folding.shown

    def noted(self: Transcript, label: str, length: int) -> bytes:
        drawn.append((label, self.state))
        return real(self, label, length)

    def believed(*arguments: Any) -> str:
        folded(*arguments)
        return "ok"

    with monkeypatch.context() as patch:
        patch.setattr(Transcript, "draw", noted)
        # What is opened is another matter: all is drawn whatever it is.
        for module in (verification, folding):
            patch.setattr(module, "roots", lambda _code, _places, openings, _sizes: [ANY] * len(openings))
        patch.setattr(verification, "shown", believed)
        verify(shape, MATRICES, [public], [], body.to_bytes(OVER) + bytes(1 << 14))
    return drawn


def _changed(values: Sequence[int]) -> list[int]:
    return [(values[0] + 1) % P, *values[1:]]


def _rounds(folded: Folded, index: int) -> Folded:
    """With another first round behind the message of this index."""
    rounds = [list(each) for each in folded.rounds]
    rounds[index][0] = _changed(rounds[index][0])
    return replace(folded, rounds=rounds)


def _message(folded: Folded, index: int) -> Folded:
    messages = list(folded.messages)
    messages[index] = _flipped(messages[index])
    return replace(folded, messages=messages)


def _flipped(data: bytes) -> bytes:
    """The first number, of two bytes, is another one, and canonical."""
    return ((int.from_bytes(data[:2], "little") + 1) % P).to_bytes(2, "little") + data[2:]


_LABELS = ["statement", "zero", "round", "matrices", *["round"] * 5, "mask", "triple", "columns"]
_FOLDED = {0: ["weights", *["round"] * 3], 1: ["weights", *["round"] * 2, "places", "weights", "round"]}
_LAST = ["forms", "pad mask", "pad columns"]

# What is changed, and how many challenges do not depend on it, or, negative, how many do.
_SAID: list[tuple[str, Callable[[Body], Body], int]] = [
    ("the segment's root", lambda b: replace(b, roots=[bytes(32), *b.roots[1:]]), 0),
    ("the private root", lambda b: replace(b, roots=[b.roots[0], bytes(32), b.roots[2]]), 1),
    ("the pads' root", lambda b: replace(b, roots=[*b.roots[:2], bytes(32)]), 1),
    (
        "the first round",
        lambda b: replace(b, said=replace(b.said, outer=[_changed(b.said.outer[0]), *b.said.outer[1:]])),
        2,
    ),
    ("the claims", lambda b: replace(b, said=replace(b.said, claims=_changed(b.said.claims))), 3),
    (
        "the last round",
        lambda b: replace(b, said=replace(b.said, inner=[*b.said.inner[:-1], _changed(b.said.inner[-1])])),
        8,
    ),
    ("the mask's product", lambda b: replace(b, said=replace(b.said, mask=(b.said.mask + 1) % P)), 9),
    ("the row's product", lambda b: replace(b, product=(b.product + 1) % P), 10),
    ("the row", lambda b: replace(b, row=_message(b.row, 0)), 10),
    ("the triple", lambda b: replace(b, said=replace(b.said, opened=_changed(b.said.opened))), 11),
    ("the first round of folds", lambda b: replace(b, row=_rounds(b.row, 0)), 13),
    ("the pads' mask", lambda b: replace(b, pad_mask=(b.pad_mask + 1) % P), -2),
    ("the pads' row", lambda b: replace(b, pad_row=_flipped(b.pad_row)), -1),
]
_SAID_BELOW: list[tuple[str, Callable[[Body], Body], int]] = [
    ("the last row", lambda b: replace(b, row=_message(b.row, 1)), 15),
    ("the last round of folds", lambda b: replace(b, row=_rounds(b.row, 1)), 17),
]


@pytest.mark.parametrize("levels", [0, 1])
def test_all_later_challenges_depend_on_what_is_said(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shape = folded(monkeypatch) if levels else SHAPE
    body, labels = _prove(shape).body, [*_LABELS, *_FOLDED[levels], *_LAST]
    honest = _drawn(shape, body, monkeypatch)
    assert [label for label, _ in honest] == labels
    for what, change, before in [*_SAID, *(_SAID_BELOW if levels else [])]:
        changed = _drawn(shape, change(body), monkeypatch)
        alike = [one == other for one, other in zip(honest, changed, strict=True)]
        same = before % len(labels)
        assert alike == [True] * same + [False] * (len(labels) - same), what


def test_all_challenges_depend_on_the_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    body = _prove().body
    honest, other = (_drawn(SHAPE, body, monkeypatch, public) for public in (12, 13))
    assert not any(one == two for one, two in zip(honest, other, strict=True))
    said = [Transcript(OVER, b"one"), Transcript(OVER, b"two"), Transcript(FR, b"one")]
    assert len({each.draw("x", 32) for each in said}) == 3


@pytest.mark.parametrize("levels", [0, 1])
@pytest.mark.parametrize(
    "label", ["round", "claims", "mask", "product", "row", "fold", "folded", "pad mask", "pad row"]
)
def test_a_lie_is_refused(label: str, levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over so small a field now and then one passes: the first, of many."""
    shape = folded(monkeypatch) if levels else SHAPE
    refused = 0
    for _ in range(12):
        told: list[str] = []

        def lie(which: str, values: list[int], told: list[str] = told) -> list[int]:
            told.append(which)
            return _changed(values) if which == label and told.count(label) == 1 else values

        refused += not verify(shape, MATRICES, [12], [], _prove(shape, lie).data).valid
    assert refused >= 9 or (label == "folded" and not levels)


@pytest.mark.parametrize("levels", [0, 1])
def test_a_false_statement_passes_by_luck_alone(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """v w = 13 of factors of 12: the equations fail at all but few of 257 challenges."""
    shape, z = folded(monkeypatch) if levels else SHAPE, [1, 13, 0, 5, 6, 3, 4, 0]
    assert len(shape.folding.levels) == levels
    proofs = [reference.prove(shape, MATRICES, list(z), complete=_complete) for _ in range(100)]
    accepted = sum(verify(shape, MATRICES, [13], [], proof.data).valid for proof in proofs)
    assert accepted <= 100 * (3 * SHAPE.log_rows + 2 * SHAPE.variables + 8) / P


Seen = dict[str, list[list[int]]]
"""What a prover was told so far, by label."""
Adaptive = Callable[[Seen, str, list[int]], list[int]]
"""What is said in place of the truth, by all that was drawn."""


def _no_lie(seen: Seen, label: str, values: list[int]) -> list[int]:
    return values


def _bent(values: list[int], more: int) -> list[int]:
    """Of a quadratic the coefficients of 1 and X^2, ``more`` (X - 3) (X - 5) above the truth."""
    return [(values[0] + 15 * more) % P, (values[1] + more) % P]


def _outer(seen: Seen, label: str, values: list[int]) -> list[int]:
    """A quadratic of the claim that is asked for, and right at 3 and 5."""
    if label != "round" or "round" in seen:
        return values
    # Of c (X - 3) (X - 5) coefficients of X and X^2 are told: it adds c (15 - 7 w) to (1 - w) t(0) + w t(1).
    # What fails is 12 - 13, at 1 - w.
    ((w,),) = seen["zero"]
    c = (1 - w) * pow(15 - 7 * w, -1, P) % P
    return [(values[0] - 8 * c) % P, (values[1] + c) % P]


def _claims(seen: Seen, label: str, values: list[int]) -> list[int]:
    """The claim c is what the rounds ask for: too little by what fails."""
    if label != "claims":
        return values
    ((w,),) = seen["zero"]
    return [*values[:2], (values[2] - 1 + w) % P]


def _inner(seen: Seen, label: str, values: list[int]) -> list[int]:
    if label != "round" or len(seen.get("round", [])) != SHAPE.log_rows:
        return _claims(seen, label, values)
    ((w,),), ((*_, c),) = seen["zero"], seen["matrices"]
    # (X - 3) (X - 5) is 15 at 0 and 8 at 1.
    return _bent(values, c * (w - 1) * pow(23, -1, P))


def _mask(seen: Seen, label: str, values: list[int]) -> list[int]:
    return [values[0] + 1] if label == "mask" else _claims(seen, label, values)


def _product(seen: Seen, label: str, values: list[int]) -> list[int]:
    """That of the pads is by one too large, as all rows fail by one, and the triple's by five."""
    own = SHAPE.pads
    more = {own.product: 1, own.triple + 2: 5} if label == "pads" else {}
    return [(value + more.get(place, 0)) % P for place, value in enumerate(values)]


def _pad_mask(seen: Seen, label: str, values: list[int]) -> list[int]:
    return [values[0] + 1] if label == "pad mask" else values


def _row(seen: Seen, label: str, values: list[int]) -> list[int]:
    """Another row, and a product that is neither's."""
    more = {"row": [1, *[0] * (len(values) - 1)], "product": [2]}.get(label, [0] * len(values))
    return [(value + other) % P for value, other in zip(values, more, strict=True)]


def _fold(seen: Seen, label: str, values: list[int]) -> list[int]:
    if label == "product":
        return [values[0] + 23]
    first = label == "fold" and len(seen["round"]) == SHAPE.log_rows + SHAPE.variables
    return _bent(values, 1) if first else values


def _renewal_product(seen: Seen, label: str, values: list[int]) -> list[int]:
    return [(values[0] + 1) % P] if label == "product" else values


class Best(NamedTuple):
    """The best lie about what one challenge tests, the number at ``place`` of what is drawn with this
    ``label`` for the ``time``-th time. It passes at so many ``values``, as the ledger says."""

    label: str
    time: int
    place: int
    values: int
    lie: Adaptive
    rows: str = "first"
    """Which rows fail: the first, all alike, or none."""


BEST = {
    "a point at which the constraints vanish": Best("zero", 0, 0, SHAPE.log_rows, _no_lie),
    "rounds of the first sum-check": Best("round", 0, 0, 2, _outer),
    "matrices combined": Best("matrices", 0, 2, 1, _claims),
    "rounds of the second sum-check": Best("round", 1, 0, 2, _inner),
    "the mask's inner product": Best("mask", 0, 0, 1, _mask),
    "the product of two pads": Best("triple", 0, 0, 1, _product, "all"),
    "equations of pads combined": Best("forms", 0, 0, 1, _no_lie),
    "the pads' mask": Best("pad mask", 0, 0, 1, _pad_mask),
    "claims of a row's columns": Best("weights", 0, 0, 1, _row, "none"),
    "rounds of a row's sum-check": Best("round", 1 + SHAPE.variables, 0, 2, _fold, "none"),
}


RENEWED = {
    "a renewal's weights": Best("columns", 0, 0, 1, _no_lie),
    "a renewal's mask": Best("mask", 0, 0, 1, _renewal_product),
}


@contextmanager
def _drawn_as(best: Best, value: int, luck: int) -> Iterator[Seen]:
    """This challenge, and what follows depends on ``luck``, too."""
    seen, real = Seen(), Transcript.challenges

    def drawn(self: Transcript, label: str, count: int) -> list[int]:
        times = self.__dict__.setdefault("times", Counter[str]())
        found = real(self, label, count)
        if (label, times[label]) == best[:2]:
            found[best.place] = value
            self.absorb("luck", bytes([luck]))
        times[label] += 1
        seen.setdefault(label, []).append(found)
        return found

    with patch.object(Transcript, "challenges", drawn):
        yield seen


def _passes(best: Best, value: int, luck: int) -> bool:
    """Where no row fails, all but the pads' equations."""

    def complete(z: list[int], challenges: object) -> None:
        z[7] = (z[3] + z[2] + (best.rows == "all")) % P

    public, noise = 12 if best.rows == "none" else 13, reference.Noise(OVER, random=Random(1))
    with _drawn_as(best, value, luck) as seen:
        lie = partial(best.lie, seen)
        z = [1, public, *Z[2:]]
        proof = reference.prove(SHAPE, MATRICES, z, complete=complete, noise=noise, lie=lie)
        verdict = verify(SHAPE, MATRICES, [public], [], proof.data)
    return verdict.reason == "constraints" if best.rows == "none" else verdict.valid


def _is_renewed(best: Best, value: int, luck: int) -> bool:
    """Between values of which the first is another."""
    noise = reference.Noise(OVER, random=Random(1))
    old, new = (toy.root([first, 6, 7], noise) for first in (5, 6))
    with _drawn_as(best, value, luck) as seen:
        made, _ = reference.renew(toy.ROOTS, toy.SIZE, old, new, noise, partial(best.lie, seen))
        return is_renewed(toy.ROOTS, toy.SIZE, old.root, new.root, made.to_bytes(OVER))


def _passing(best: Best, values: Iterable[int]) -> list[int]:
    """Whatever else is drawn: by luck a proof passes now and then, but not three times."""
    passes = _is_renewed if best in RENEWED.values() else _passes
    return [value for value in values if all(passes(best, value, luck) for luck in range(3))]


def test_the_best_lie_in_a_round_passes_at_two_of_all_challenges() -> None:
    assert _passing(BEST["rounds of the first sum-check"], range(P)) == [3, 5]


def test_the_ledger_s_terms_have_lies() -> None:
    """But for columns, and rows that are no code words: of these below."""
    names = [term.name for term in ledger.terms(SHAPE) if not term.name.startswith(("columns", "proximity"))]
    assert names == [*BEST]


@pytest.mark.parametrize("name", [*BEST, *RENEWED])
def test_the_best_lies_pass_as_often_as_the_ledger_says(name: str) -> None:
    best = (BEST | RENEWED)[name]
    assert len(_passing(best, range(9))) <= best.values


@pytest.mark.large
@pytest.mark.parametrize("name", [*BEST, *RENEWED])
def test_the_best_lies_pass_at_as_many_challenges_as_the_ledger_says(name: str) -> None:
    best = (BEST | RENEWED)[name]
    assert len(_passing(best, range(P))) == best.values
    each = {term.name: term.bits for term in [*ledger.terms(SHAPE), *ledger.of_renewal(toy.CODE, 2)]}
    challenges = {
        "rounds of the second sum-check": SHAPE.variables,
        "rounds of a row's sum-check": SHAPE.folding.variables,
        "a renewal's weights": 1 + toy.CODE.log_degree,
    }
    assert each[name] == pytest.approx(math.log2(P / (best.values * challenges.get(name, 1))))


@pytest.mark.parametrize("coordinate", [0, 1])
@pytest.mark.parametrize("row", [0, 1])
def test_a_point_of_zeros_and_ones_is_a_row(
    coordinate: int, row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There a factor of eq vanishes: what is told of that row is held against it, of the other one nothing
    (that is the ledger's first term), and nobody divides."""
    real = Transcript.challenges

    def drawn(self: Transcript, label: str, count: int) -> list[int]:
        found = real(self, label, count)
        return [coordinate] * count if label == "zero" else found

    monkeypatch.setattr(Transcript, "challenges", drawn)
    z = list(Z)
    z[5 if row == 0 else 3] += 1  # of u v = y the first, or s of s + c = w

    def complete(values: list[int], challenges: object) -> None:
        values[7] = (Z[3] + values[2]) % P

    def accepted(z: list[int]) -> int:
        proofs = [reference.prove(SHAPE, MATRICES, list(z), complete=complete) for _ in range(8)]
        return sum(verify(SHAPE, MATRICES, [12], [], proof.data).valid for proof in proofs)

    assert accepted(Z) == 8
    assert accepted(z) == 8 if row != coordinate else accepted(z) <= 2


def test_rows_that_are_guessed_pass_as_often_as_the_ledger_says() -> None:
    """A row plus a polynomial with as many zeros as it can have passes where all columns drawn are zeros."""
    code = Code(OVER, 3, 5, query_bits=2)
    zeros = [pow(OVER.root_of_unity(5), i, P) for i in range(code.degree - 1)]
    lie = [1]
    for zero in zeros:
        lie = [(low - zero * high) % P for low, high in zip([0, *lie], [*lie, 0], strict=True)]
    encoded = OVER.encode(lie, code.log_length)
    right = sum(value == 0 for value in encoded)
    assert right == code.degree - 1 <= code.length - code.radius - 1
    random = Random(7)
    passed = sum(
        all(encoded[place] == 0 for place in random.sample(range(code.length), code.queries))
        for _ in range(20_000)
    )
    expected = math.comb(right, code.queries) / math.comb(code.length, code.queries)
    assert abs(passed / 20_000 - expected) < 5 * math.sqrt(expected / 20_000)
    assert expected <= 2.0**-2


@pytest.mark.parametrize("log_degree", [8, 10, 14, 18])
@pytest.mark.parametrize("blowup", [1, 2, 3, 4])
def test_queries_are_the_fewest_that_suffice(log_degree: int, blowup: int) -> None:
    code = Code(FR, log_degree, log_degree + blowup)
    right = code.length - code.radius - 1

    def missed(queries: int) -> float:
        return -sum(math.log2((right - i) / (code.length - i)) for i in range(queries))

    assert missed(code.queries) >= 135 > missed(code.queries - 1)


def test_statements_have_128_bits() -> None:
    system = cubic_statement()
    shape = shape_of(sizes_of(system), best_code(system), [])
    assert ledger.bits(ledger.terms(shape)) > ledger.LEAST_BITS
    assert min(term.bits for term in ledger.terms(shape)) >= 130
    largest = replace(shape, code=Code(FR, 20, 22), private=1 << 28, log_rows=28)
    assert ledger.bits(ledger.terms(largest)) > ledger.LEAST_BITS
    assert len({term.name for term in ledger.terms(shape)}) == len(ledger.terms(shape))
    weak = replace(shape, code=Code(Field(P, 3, 8), 3, 5, query_bits=2))
    assert ledger.bits(ledger.terms(weak)) < 8


def test_places_are_different_and_of_all_the_domain() -> None:
    transcript = Transcript(FR, b"places")
    for count, log_size in ((3, 2), (190, 12), (1, 1)):
        places = transcript.places("columns", count, log_size)
        assert len(places) == count
        assert all(one < other for one, other in pairwise(places))
        assert all(0 <= place < 1 << log_size for place in places)
    seen = {place for _ in range(40) for place in transcript.places("columns", 3, 4)}
    assert seen == set(range(16))
