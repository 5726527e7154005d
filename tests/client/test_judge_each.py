"""Judged together, each document gets the verdict that it gets alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.client.makers import AccuracyMaker, Maker
from zenserve.prover.registry import SYSTEMS
from zenserve.verifier.documents import ProofDocument
from zenserve.verifier.expected import Expected
from zenserve.verifier.judging import Case, judge, judge_each
from zenserve.verifier.keys import opened

Change = Callable[[ProofDocument], ProofDocument]


def flipped(document: ProofDocument, place: int) -> ProofDocument:
    """The document with one bit of its first proof's byte ``place`` changed."""
    proof = bytearray.fromhex(document.proofs[0])
    proof[place] ^= 1
    return document.model_copy(update={"proofs": [proof.hex(), *document.proofs[1:]]})


def other_time(document: ProofDocument) -> ProofDocument:
    statement = document.statement.model_copy(update={"made_at": "2026-01-01T00:00:00Z"})
    return ProofDocument.of(statement, [bytes.fromhex(proof) for proof in document.proofs])


WRONG: dict[str, Change] = {
    "before its proofs are looked at": lambda d: d.model_copy(update={"statement_sha256": "0" * 64}),
    "a point that is none": lambda d: flipped(d, -1),
    "well-formed, of another statement": other_time,
    "another's proof of knowledge": lambda d: d.model_copy(update={"proofs": [d.proofs[0][:-2]]}),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("place", range(4))
def test_a_wrong_document_changes_no_other_verdict(
    inferrer: Maker,
    inferred: ProofDocument,
    registrar: Maker,
    registered: ProofDocument,
    wrong: str,
    place: int,
) -> None:
    cases = [
        (inferred, inferrer.key_file),
        (registered, registrar.key_file),
        (inferred, inferrer.key_file),
        (other_time(registered), inferrer.key_file),
    ]
    document, key_file = cases[place]
    cases[place] = (WRONG[wrong](document), key_file)
    together = judge_each([Case(document, opened(key_file, SYSTEMS)) for document, key_file in cases])
    assert together == [judge(document, key_file, systems=SYSTEMS) for document, key_file in cases]
    assert [verdict.valid for verdict in together] == [index not in (place, 3) for index in range(len(cases))]


def test_shards_are_not_taken_for_the_neighbours(
    assessor: AccuracyMaker, assessed: ProofDocument, inferrer: Maker, inferred: ProofDocument
) -> None:
    key = opened(assessor.maker.key_file, SYSTEMS)
    swapped = assessed.model_copy(update={"proofs": [*assessed.proofs[1:], assessed.proofs[0]]})
    asked = Expected(challenge="another")
    first, wrong, alone, unanswered = judge_each(
        [
            Case(assessed, key),
            Case(swapped, key),
            Case(inferred, opened(inferrer.key_file, SYSTEMS)),
            Case(inferred, opened(inferrer.key_file, SYSTEMS), asked),
        ]
    )
    assert (first.valid, alone.valid) == (True, True)
    assert wrong == judge(swapped, assessor.maker.key_file, systems=SYSTEMS)
    assert wrong.detail.startswith("Shard 0: ")
    assert unanswered.reason == "challenge_mismatch"


def test_nothing_to_judge_needs_no_verdict() -> None:
    assert judge_each([]) == []
