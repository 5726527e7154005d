"""Proofs of the slow prover over three fields, and what a verifier refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.prover.tensor import toy
from tests.prover.tensor.reference import Noise, Proof, prove
from tests.prover.tensor.toy import CLAMPED, FIELDS, RANGE, RANGE_AGAIN, SHORT, WEIGHTS, X, Y
from zenserve.verifier.spartan.field import Field
from zenserve.verifier.tensor.protocol import counted
from zenserve.verifier.tensor.statement import (
    Chunk,
    Lookup,
    Root,
    Statement,
    StatementError,
    Table,
    View,
    Zeros,
)
from zenserve.verifier.tensor.verification import verify

PRIME = FIELDS["12289"]


def judged(statement: Statement, values: list[list[int]], **more: Any) -> tuple[str, Proof]:
    proof = prove(statement, values, **more)
    return verify(statement, proof.linked, proof.data), proof


@pytest.mark.parametrize("over", FIELDS.values(), ids=FIELDS)
def test_honest_proofs_are_accepted(over: Field) -> None:
    statement = toy.statement(over)
    reason, proof = judged(statement, toy.values(statement))
    assert (reason, proof.wrong) == ("ok", [])


def test_a_row_that_is_folded_is_accepted() -> None:
    """In levels: longer than what is told as it is."""
    statement = toy.statement(PRIME)
    long = replace(statement, pads=replace(statement.pads, log_degree=10, log_length=12))
    assert len(long.folding.levels) == 1
    assert judged(long, toy.values(long))[0] == "ok"


def test_all_made_roots_without_linked_ones() -> None:
    statement = toy.statement(PRIME, linked=False)
    reason, proof = judged(statement, toy.values(statement))
    assert (reason, proof.linked) == ("ok", [])


def change(tensor: int, place: int, value: int) -> Callable[[list[list[int]]], None]:
    def changed(values: list[list[int]]) -> None:
        values[tensor][place] = value

    return changed


FALSE = {
    "a value beyond the range": (change(WEIGHTS, 1, 4), {"layer", "rows"}),
    "a value that is large": (change(WEIGHTS, 0, 5000), {"layer", "rows"}),
    "a row that is in no table": (change(Y, 0, 3), {"layer"}),
    "a multiplicity too large": (change(RANGE, 1, 9), {"layer"}),
    "of the other chunk": (change(RANGE_AGAIN, 0, 7), {"layer"}),
    "of the other table": (change(CLAMPED, 2, 5), {"layer"}),
    "a value in a place without use": (change(SHORT, 3, 1), {"rows"}),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_false_witness_is_refused(name: str) -> None:
    """By the equation that is its own: layers of trees where fractions do not add up, rows where a functional
    is another."""
    statement = toy.statement(PRIME)
    values = toy.values(statement)
    falsify, equations = FALSE[name]
    falsify(values)
    if name in {"a value in a place without use", "a value beyond the range"}:
        values = toy.multiplied(statement, values)  # what can be made right is
    reason, proof = judged(statement, values)
    assert reason == "claims"
    assert set(proof.wrong) == equations


def test_places_without_use_are_free_where_nobody_asks() -> None:
    """What refused the value above is the claim that they are zero."""
    statement = replace(toy.statement(PRIME), zeros=())
    values = toy.values(statement)
    values[SHORT][3] = 1
    assert judged(statement, toy.multiplied(statement, values))[0] == "ok"


@pytest.mark.parametrize("change", [{"outer": (3, 2, 1)}, {"inner": (7, 5)}, {"value": 1}])
def test_another_functional_is_refused(change: dict[str, Any]) -> None:
    """Of another order of axes, or value."""
    statement = toy.statement(PRIME)
    other = replace(statement, products=(replace(statement.products[0], **change),))
    reason, proof = judged(other, toy.values(other))
    assert (reason, set(proof.wrong)) == ("claims", {"rows"})


def test_two_denominators_are_told_times_factors_of_their_own() -> None:
    channel = counted(toy.statement(PRIME))
    assert len(channel.nonzero) == 2
    starts = [{triple.first, triple.first + 1, triple.first + 2} for triple in channel.triples]
    pads = [*starts, set(channel.products.values()), channel.nonzero]
    assert len(set.union(*pads)) == sum(map(len, pads))


def test_a_denominator_of_zero_is_refused() -> None:
    """Told so, whatever it is: by D' alone."""
    statement = toy.statement(PRIME)
    values = toy.values(statement)
    proof = prove(statement, values)
    data = bytearray(proof.data)
    # Behind the roots: D_0, D'_0, D_1, D'_1.
    at = 32 * (len(roots(statement)) - len(proof.linked)) + 2
    data[at : at + 2] = bytes(2)
    assert verify(statement, proof.linked, bytes(data)) == "pole"


def roots(statement: Statement) -> list[object]:
    return [root for of in statement.classes for root in (*of.roots, "mask")] + ["pads"]


def test_every_byte_counts() -> None:
    statement, values = toy.tiny()
    proof = prove(statement, values)
    for place in range(0, len(proof.data), 7):
        data = bytearray(proof.data)
        data[place] ^= 1
        assert verify(statement, [], bytes(data)) != "ok"


@pytest.mark.parametrize("data", [b"", bytes(100), bytes(1 << 16)])
def test_what_is_no_proof_is_malformed(data: bytes) -> None:
    assert verify(toy.tiny()[0], [], data) in {"malformed", "pole"}


def test_what_follows_or_is_missing_is_malformed() -> None:
    statement, values = toy.tiny()
    proof = prove(statement, values)
    assert verify(statement, [], proof.data + b"\0") == "malformed"
    assert verify(statement, [], proof.data[:-1]) == "malformed"
    assert verify(statement, [bytes(32)], proof.data) == "malformed"


def test_numbers_have_one_spelling() -> None:
    """The last entry of a column as itself plus the modulus: 257 elements take two bytes."""
    statement, values = toy.tiny()
    proof = prove(statement, values)
    at = 32 * len(roots(statement))  # the first number
    data = bytearray(proof.data)
    number = int.from_bytes(data[at : at + 2], "little") + toy.P
    data[at : at + 2] = number.to_bytes(2, "little")
    assert verify(statement, [], bytes(data)) == "malformed"


def test_a_proof_is_of_its_statement_and_commitments() -> None:
    statement = toy.statement(PRIME)
    values = toy.values(statement)
    proof, other = (
        prove(statement, values),
        prove(statement, values, noise=Noise(PRIME, frozenset({"tails"}))),
    )
    assert verify(statement, other.linked, proof.data) != "ok"
    renamed = replace(statement, architecture=bytes(31) + b"\1")
    assert verify(renamed, proof.linked, proof.data) != "ok"


def test_a_linked_root_of_another_shape_is_another() -> None:
    statement = toy.statement(PRIME)
    first = prove(statement, toy.values(statement)).linked
    (fresh, weights) = statement.classes
    wider = replace(statement, classes=(fresh, replace(weights, tail=6)))
    proof = prove(wider, toy.values(wider))
    assert verify(wider, proof.linked, proof.data) == "ok"
    assert verify(wider, first, proof.data) != "ok"


UNSOUND: dict[str, Callable[[Statement], dict[str, Any]]] = {
    "tails shorter": lambda s: {"classes": (replace(s.classes[0], tail=1), s.classes[1])},
    "reaches into the tail": lambda s: {
        "tensors": (*s.tensors, replace(s.tensors[0], offset=8, first=5, blocks=1))
    },
    "rows that there are not": lambda s: {"tensors": (*s.tensors, replace(s.tensors[0], first=4))},
    "share places": lambda s: {"tensors": (*s.tensors, replace(s.tensors[0], first=2, blocks=1))},
    "tags of their own": lambda s: {"tables": (s.tables[0], replace(s.tables[1], tag=1))},
    "a power of two": lambda s: {"tables": (Table(((0,), (1,), (2,)), 1), s.tables[1])},
    "of exactly the tables": lambda s: {"chunks": (replace(s.chunks[0], multiplicities=((0, RANGE),)),)},
    "as many as the table": lambda s: {"chunks": (replace(s.chunks[1], multiplicities=((0, CLAMPED),)),)},
    "as many numbers": lambda s: {"chunks": (Chunk((Lookup((View(((X, 1),)),), 1),), ((1, CLAMPED),)),)},
    "one shape": lambda s: {"chunks": (Chunk((Lookup((View(((X, 1), (WEIGHTS, 1))),), 0),), ((0, RANGE),)),)},
    "of another shape": lambda s: {"products": (replace(s.products[0], outer=(1, 2)),)},
    "another field": lambda s: {"pads": replace(s.pads, field=toy.OVER)},
    "no rows": lambda s: {"classes": (replace(s.classes[0], roots=(Root(0), Root(6))), s.classes[1])},
}


@pytest.mark.parametrize("problem", UNSOUND)
def test_statements_that_prove_nothing_are_refused(problem: str) -> None:
    statement = toy.statement(PRIME)
    with pytest.raises(StatementError, match=problem):
        replace(statement, **UNSOUND[problem](statement))


def test_pads_need_room_for_a_tail() -> None:
    statement, values = toy.tiny()
    proof = prove(statement, values)
    with pytest.raises(StatementError, match="no room"):
        verify(replace(statement, pads=replace(statement.pads, query_bits=20)), [], proof.data)


def test_multiplicities_do_not_wrap() -> None:
    """As many lookups as the field has elements: each may say p too much."""
    statement, _ = toy.tiny()
    (row_class,) = statement.classes
    tensors = (replace(statement.tensors[0], first=2, blocks=129), *statement.tensors[1:])
    with pytest.raises(StatementError, match="multiplicities wrap"):
        replace(statement, classes=(replace(row_class, roots=(Root(131),)),), tensors=tensors)


def test_zeros_are_of_a_tensor() -> None:
    statement = toy.statement(PRIME)
    assert (
        judged(replace(statement, zeros=(Zeros(SHORT, 3), Zeros(SHORT, 4))), toy.values(statement))[0] == "ok"
    )
