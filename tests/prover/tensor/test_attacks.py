"""Attacks on sketches of this protocol that were found to fall, each tried on what is built, and on it with
the challenge that refuses it known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from tests.prover.tensor import reference, toy
from tests.prover.tensor.reference import Noise, Proof, Prover, prove
from tests.prover.tensor.toy import FIELDS, RANGE_AGAIN, SHORT
from zenserve.verifier.spartan.code import Code
from zenserve.verifier.spartan.transcript import Transcript
from zenserve.verifier.tensor import protocol
from zenserve.verifier.tensor.protocol import Claim, Functional, RefusedError, counted
from zenserve.verifier.tensor.protocol import ask as protocol_ask
from zenserve.verifier.tensor.statement import Chunk, Lookup, Root, RowClass, Statement, Table, Tensor, View
from zenserve.verifier.tensor.verification import verify

OVER = FIELDS["12289"]
P = OVER.modulus


@contextmanager
def known(label: str | None, *values: int) -> Iterator[None]:
    """The challenges with this label, from the first on, are these; none where a value is negative."""
    real = Transcript.challenges

    def challenges(self: Transcript, which: str, count: int) -> list[int]:
        found = real(self, which, count)
        if which != label:
            return found
        fixed = [*values, *[values[-1]] * count][:count]
        return [drawn if value < 0 else value for drawn, value in zip(found, fixed, strict=True)]

    with patch.object(Transcript, "challenges", challenges):
        yield


def judged(
    statement: Statement, values: Sequence[Sequence[int]], steps: type[Prover] = Prover
) -> tuple[str, Proof]:
    proof = prove(statement, values, Noise(OVER, random=Random(6)), steps=steps)
    return verify(statement, proof.linked, proof.data), proof


# Two chunks of the same shape, two bits each; all in one class.
CODE = Code(OVER, 4, 6, 3)
BITS = Table(((0,), (1,)), 1)


def two_chunks(chunks: int = 2) -> Statement:
    tensors = tuple(Tensor(0, row, 1, offset, 1) for row in range(chunks) for offset in (0, 2))
    made = Statement(
        OVER,
        (RowClass(CODE, 8, (Root(chunks),)),),
        tensors,
        (BITS,),
        tuple(
            Chunk((Lookup((View(((2 * index, 1),)),), 0),), ((0, 2 * index + 1),)) for index in range(chunks)
        ),
        (),
        (),
        CODE,
    )
    return toy.with_pads(made, 3)


class Shifted(Prover):
    """Runs the first chunk's denominators at X + e and the second's at X - e, e chosen behind X so that the
    first sum is zero; what is committed is as it is."""

    def leaves(self, index: int) -> tuple[list[int], list[int]]:
        numerators, denominators = super().leaves(index)
        if not index:
            self.shift = shift_of(numerators, denominators, 0)
        shift = self.shift if not index else -self.shift
        return numerators, [(each + shift) % P for each in denominators]


class NoRootError(Exception):
    """Other pads have one."""


def shift_of(numerators: Sequence[int], denominators: Sequence[int], sign: int) -> int:
    """e with sum (n + sign e) / (d + e) = 0 and no pole."""
    for e in range(1, P):
        moved = [(each + e) % P for each in denominators]
        if all(moved):
            parts = zip(numerators, moved, strict=True)
            if sum((n + sign * e) * pow(d, -1, P) for n, d in parts) % P == 0:
                return e
    raise NoRootError


@pytest.mark.parametrize(("label", "accepted"), [("chunks", True), (None, False)])
def test_chunks_errors_do_not_cancel(label: str | None, accepted: bool) -> None:
    """5 passes as a bit where chunks' claims are added as they are: 1/(x - 5) = 2/(x - 1) has a root."""
    statement = two_chunks()
    values = [[5, 0], [1, 2], [1, 0], [1, 1]]

    # The second chunk's bits are bits at any X.
    with known(label, 1):
        reason, proof = judged(statement, values, Shifted)
    assert (reason == "ok") == accepted
    assert accepted or set(proof.wrong) == {"rows"}


class Merged(Prover):
    """Of one chunk numerators plus e, denominators less e."""

    def leaves(self, index: int) -> tuple[list[int], list[int]]:
        numerators, denominators = super().leaves(index)
        e = -shift_of(numerators, denominators, -1)
        return [(each + e) % P for each in numerators], [(each - e) % P for each in denominators]


@pytest.mark.parametrize("accepted", [True, False])
def test_numerators_and_denominators_are_not_added(accepted: bool) -> None:
    """Weights of a class' claims are independent: with all of them one the errors cancel, where there is a
    root.
    """
    statement, values = two_chunks(1), [[5, 0], [1, 2]]
    for seed in range(8):
        with known("claims" if accepted else None, 1), known("chunks" if accepted else None, 1):
            try:
                proof = prove(statement, values, Noise(OVER, random=Random(seed)), steps=Merged)
            except NoRootError:
                continue
            reason = verify(statement, proof.linked, proof.data)
        assert (reason == "ok") == accepted
        assert accepted or set(proof.wrong) == {"rows"}
        return
    raise AssertionError("no seed has a root")


def packed(values: Sequence[int], challenge: int) -> tuple[Statement, list[list[int]]]:
    """t = (T - r) / 2 with r a bit, T = 9; (t, y), y = min(t, 3), in a table of eight."""
    half = pow(2, -1, P)
    t, r, y = View(((0, half), (1, -half % P))), View(((1, 1),)), View(((2, 1),))
    tensors = (
        Tensor(0, 0, 1, 0, 0),
        Tensor(0, 0, 1, 1, 0),
        Tensor(0, 0, 1, 2, 0),
        Tensor(0, 1, 1, 0, 1),
        Tensor(0, 2, 1, 0, 3),
    )
    pairs = Table(tuple((value, min(value, 3)) for value in range(8)), 2)
    chunk = Chunk((Lookup((t, y), 1), Lookup((r,), 0)), ((0, 3), (1, 4)))
    made = Statement(OVER, (RowClass(CODE, 8, (Root(3),)),), tensors, (BITS, pairs), (chunk,), (), (), CODE)
    statement = toy.with_pads(made, 3)
    found = [[values[0]], [values[1]], [values[2]], [0, 0], [0] * 8]
    found[3][values[1]] = 1
    key = ((values[0] - values[1]) * half + challenge * values[2]) % P
    rows = [index for index, row in enumerate(pairs.rows) if (row[0] + challenge * row[1]) % P == key]
    found[4][rows[0] if rows else 0] = 1
    return statement, found


@pytest.mark.parametrize(("label", "accepted"), [("keys", True), (None, False)])
def test_pairs_are_not_packed_into_one_number(label: str | None, accepted: bool) -> None:
    """With t + 16 y known a remainder too large by one is made up for by y too large by a fraction."""
    statement, values = packed([9, 1, 3], 16)
    assert judged(statement, values)[0] == "ok"
    # r = 0, so t is too large by 1/2; y is less by 1/32.
    forged = packed([9, 0, (3 - pow(32, -1, P)) % P], 16)
    assert sum(forged[1][4]) == 1
    with known(label, -1, -1, 16):
        reason, _ = judged(statement, forged[1])
    assert (reason == "ok") == accepted


@pytest.mark.parametrize(("label", "accepted"), [("keys", True), (None, False)])
def test_tags_are_not_added_to_values(label: str | None, accepted: bool) -> None:
    """With tags times 100 known, 105 passes as a bit: it is 5 of the other table."""
    other = Table(tuple((value,) for value in range(8)), 2)
    tensors = tuple(Tensor(0, row, 1, 0, log) for row, log in enumerate((1, 1, 3, 1)))
    bits, large = (View(((index, 1),)) for index in (0, 3))
    chunk = Chunk((Lookup((bits,), 0), Lookup((large,), 1)), ((0, 1), (1, 2)))
    made = Statement(OVER, (RowClass(CODE, 8, (Root(4),)),), tensors, (BITS, other), (chunk,), (), (), CODE)
    values = [[105, 0], [1, 0], [0, 0, 1, 0, 0, 2, 0, 0], [5, 2]]
    with known(label, -1, 100):
        reason, _ = judged(toy.with_pads(made, 3), values)
    assert (reason == "ok") == accepted


class Padded(Prover):
    """A numerator on a leaf that there is not makes up for what is wrong."""

    def leaves(self, index: int) -> tuple[list[int], list[int]]:
        numerators, denominators = super().leaves(index)
        rest = -sum(n * pow(d, -1, P) for n, d in zip(numerators, denominators, strict=True))
        assert (numerators[-1], denominators[-1]) == (0, 1)
        return [*numerators[:-1], rest % P], denominators


def test_absent_leaves_have_no_numerator() -> None:
    statement = toy.statement(OVER)
    values = toy.values(statement)
    values[RANGE_AGAIN][0] += 1
    assert (
        statement.leaves(statement.chunks[1])[-1].start < (1 << statement.log_leaves(statement.chunks[1])) - 2
    )
    reason, proof = judged(statement, values, Padded)
    assert (reason, set(proof.wrong)) == ("claims", {"rows"})


class OtherChallenge(Prover):
    """A chunk that is run at another pole."""

    def leaves(self, index: int) -> tuple[list[int], list[int]]:
        numerators, denominators = super().leaves(index)
        if index:
            return numerators, denominators
        e = shift_of(numerators, denominators, 0)
        return numerators, [(each + e) % P for each in denominators]


def test_a_chunk_is_not_run_at_another_pole() -> None:
    statement = two_chunks()
    reason, proof = judged(statement, [[5, 0], [1, 2], [1, 0], [1, 1]], OtherChallenge)
    assert (reason, set(proof.wrong)) == ("claims", {"rows"})


def test_a_pole_is_noticed_by_the_prover() -> None:
    """X is one of the keys: it begins anew, with other pads."""
    statement = two_chunks(1)
    with known("keys", 1, 1), pytest.raises(RefusedError):
        judged(statement, [[1, 0], [1, 1]])


class Misplaced(Prover):
    """The rows stand in the folded vector where others are asked for."""

    def _stacked(self, vectors: Sequence[Sequence[int]]) -> list[int]:
        first, second, *rest = vectors
        return super()._stacked([first[::-1], second, *rest])


def test_a_row_in_another_place_is_refused() -> None:
    statement = toy.statement(OVER)
    assert judged(statement, toy.values(statement), Misplaced)[0] == "claims"


class PartsSwapped(Prover):
    """What one class lacks of the leaves is said to be another's."""

    def parts(self, weights: Sequence[int]) -> dict[int, int]:
        return {of: (part + 1) % P for of, part in super().parts(weights).items()}


def test_a_part_of_another_class_is_refused() -> None:
    statement = toy.statement(OVER)
    reason, proof = judged(statement, toy.values(statement), PartsSwapped)
    assert (reason, proof.wrong) == ("claims", ["rows", "rows"])


class TailRead(Prover):
    """A functional's weights reach into the tail."""

    def low(self, functional: Functional) -> list[int]:
        found = super().low(functional)
        return [*found[:-1], 1]


def test_tails_are_nobody_s() -> None:
    statement = toy.statement(OVER)
    assert judged(statement, toy.values(statement), TailRead)[0] == "claims"


def dropped(index: int) -> Callable[..., list[Claim]]:
    """All that is asked of tensors but for one claim."""

    def ask(*arguments: Any) -> list[Claim]:
        claims = protocol_ask(*arguments)
        return claims[:index] + claims[index + 1 :]

    return ask


def unused(values: list[list[int]]) -> None:
    values[SHORT][3] = 1


def miscounted(values: list[list[int]]) -> None:
    values[RANGE_AGAIN][0] += 1


CLAIMS: dict[str, tuple[int, type[Prover], Callable[[list[list[int]]], None]]] = {
    "the product": (0, Prover, lambda values: None),
    "the places without use": (1, Prover, unused),
    "the numerators": (3, Padded, miscounted),
}
"""Of each kind its place among the claims, and what it alone refuses."""


@pytest.mark.parametrize("name", CLAIMS)
def test_no_claim_could_be_dropped(name: str) -> None:
    statement = toy.statement(OVER)
    index, steps, falsify = CLAIMS[name]
    values = toy.values(statement)
    falsify(values)
    if name == "the product":
        (product,) = statement.products
        statement = replace(statement, products=(replace(product, value=product.value + 1),))
    elif name == "the places without use":
        values = toy.multiplied(statement, values)
    assert judged(statement, values, steps)[0] == "claims"
    for other in range(6):
        with patch.object(protocol, "ask", dropped(other)), patch.object(reference, "ask", dropped(other)):
            assert (judged(statement, values, steps)[0] == "ok") == (other == index)


DROPPED = ["root", "layer", "rows", "left", "right", "product"]
"""Equations of the pads by name."""


@pytest.mark.parametrize("name", DROPPED)
def test_every_equation_is_asked(name: str) -> None:
    """Each name stands for at least one, and a proof that breaks it alone is refused."""
    statement = toy.statement(OVER)
    values = toy.values(statement)
    first = dict[str, bool]()

    def once(
        label: str, values: list[int], wanted: str, change: Callable[[list[int]], list[int]]
    ) -> list[int]:
        if label == wanted and not first.get(label):
            first[label] = True
            return change(values)
        return values

    def opened(place: int) -> Callable[[str, list[int]], list[int]]:
        def lie(label: str, values: list[int]) -> list[int]:
            if label != "opened":
                return values
            return [(value + (i == place)) % P for i, value in enumerate(values)]

        return lie

    lies: dict[str, Callable[[str, list[int]], list[int]]] = {
        "root": lambda label, v: once(label, v, "scaled", lambda x: [(x[0] + 1) % P]),
        "layer": lambda label, v: once(label, v, "tree", lambda x: [(x[0] + 1) % P, x[1]]),
        "rows": lambda label, v: once(label, v, "masks", lambda x: [(x[0] + 1) % P, *x[1:]]),
        "left": opened(0),
        "right": opened(1),
        "product": lambda label, v: once(label, v, "pads", product_changed),
    }

    def product_changed(pads: list[int]) -> list[int]:
        place = counted(statement).triples[0].first + 2
        return [(value + (i == place)) % P for i, value in enumerate(pads)]

    proof = prove(statement, values, Noise(OVER, random=Random(6)), lies[name])
    assert verify(statement, proof.linked, proof.data) == "claims"
    assert name in proof.wrong
    assert set(proof.wrong) <= {name, "product"}
