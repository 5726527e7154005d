"""A file edited by one byte, wherever it is, is no document any more, or is refused."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Literal

import pytest

from tests.client.makers import AccuracyMaker, Maker
from zenserve.errors import FileFormatError
from zenserve.prover.registry import SYSTEMS
from zenserve.verifier.documents import KeyFile, ProofDocument, Receipt, read
from zenserve.verifier.fields import canonical
from zenserve.verifier.judging import judge
from zenserve.verifier.preamble import PREAMBLE_BYTES
from zenserve.verifier.receipts import is_signed

HEX = b"0123456789abcdef"
OTHERS = HEX + b'ABg "\\,:{}[].-+e\n\t\x00\x7f\xc3\xff'


def edits(text: bytes, places: Iterable[int] | None = None) -> Iterator[bytes]:
    """For each place the text with another byte there: mostly a digit of hex for such a digit."""
    rng = random.Random(5)
    for place in range(len(text)) if places is None else places:
        choices = HEX if text[place] in HEX and rng.random() < 0.8 else OTHERS
        other = rng.choice([choice for choice in choices if choice != text[place]])
        yield text[:place] + bytes([other]) + text[place + 1 :]


def outcome(text: bytes, key: KeyFile) -> str:
    try:
        document = read(ProofDocument, text)
    except FileFormatError:
        return "no document"
    verdict = judge(document, key, systems=SYSTEMS)
    assert not verdict.valid
    return verdict.reason


def test_every_position_of_an_inference(inferrer: Maker, inferred: ProofDocument) -> None:
    text, key = canonical(inferred), inferrer.key_file
    assert judge(read(ProofDocument, text), key).valid
    seen = {outcome(edited, key) for edited in edits(text)}
    assert {"no document", "statement_edited"} < seen
    assert seen - {"no document", "statement_edited"} <= {
        f"{part}_{fault}"
        for part in ("a", "b", "c", "segment", "knowledge", "link")
        for fault in ("encoding", "not_canonical", "not_on_curve", "not_in_subgroup", "at_infinity")
    } | {
        "pairing_mismatch",
        "knowledge_mismatch",
        "model_mismatch",
        "input_mismatch",
        "proof_format",
        "proof_length",
    }


def test_every_position_of_an_accuracy(assessor: AccuracyMaker, assessed: ProofDocument) -> None:
    """Its openings too: they are in the statement. Of its proofs, which take longer, three of each point."""
    text, key = canonical(assessed), assessor.maker.key_file
    assert judge(read(ProofDocument, text), key).valid
    proofs = range(text.index(b'"proofs"') + 12, text.index(b'"statement"') - 2)
    places = [place for place in range(len(text)) if place not in proofs or place % 31 == 0]
    assert "statement_edited" in {outcome(edited, key) for edited in edits(text, places)}


@pytest.mark.parametrize("point", ["a", "b", "c", "segment", "knowledge", "link"])
def test_the_sign_of_each_point(
    inferrer: Maker, inferred: ProofDocument, point: Literal["a", "b", "c", "segment", "knowledge", "link"]
) -> None:
    """The one edit of a byte that leaves a point of the group."""
    proof = bytearray.fromhex(inferred.proofs[0])
    segments, links = proof[PREAMBLE_BYTES : PREAMBLE_BYTES + 2]
    a = PREAMBLE_BYTES + 2
    starts = {"a": a, "b": a + 48, "c": a + 144, "segment": a + 192}
    starts |= {"knowledge": a + 192 + 48 * segments, "link": a + 192 + 96 * segments}
    assert len(proof) == a + 192 + 48 * (2 * segments + links)
    proof[starts[point]] ^= 0x20
    verdict = judge(inferred.model_copy(update={"proofs": [proof.hex()]}), inferrer.key_file)
    assert verdict.reason in ("pairing_mismatch", "knowledge_mismatch", "model_mismatch")


def test_every_position_of_a_receipt(receipt: Receipt) -> None:
    text = canonical(receipt)
    assert is_signed(read(Receipt, text))
    for edited in edits(text):
        try:
            assert not is_signed(read(Receipt, edited))
        except FileFormatError:
            continue


def test_a_key_file(inferrer: Maker, inferred: ProofDocument) -> None:
    """Whatever is edited, of the key or of its meaning, the id is another's. Every fifth position."""
    text, key = canonical(inferrer.key_file), inferrer.key_file
    assert judge(inferred, read(KeyFile, text)).valid
    for edited in edits(text, range(0, len(text), 5)):
        try:
            found = read(KeyFile, edited)
            verdict = judge(inferred, found, systems=SYSTEMS)
        except FileFormatError:
            continue
        # The last digit of a scale may be one too many to tell two numbers apart.
        assert found == key or not verdict.valid
