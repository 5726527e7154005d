from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.prover import verifiers
from tests.prover.vectors import generate
from tests.refusals import refuses
from tests.vectors import plain_verifier
from zenserve.kernels import fr, g1, g2
from zenserve.prover.groth16 import (
    REASONS,
    CommitmentKey,
    Proof,
    Revealed,
    VerifyingKey,
    check_opening,
    check_sum,
    commitment,
    reference,
)
from zenserve.prover.groth16.commitment import blinding_point
from zenserve.verifier.curve import ARKWORKS
from zenserve.verifier.groth16 import transcript

VECTORS = Path(__file__).parent / "vectors"
DOCUMENTS: dict[str, dict[str, Any]] = {
    name: json.loads((VECTORS / name).read_text())
    for name in ("groth16.json", "segments.json", "folded.json")
}
OPENINGS = json.loads((VECTORS / "openings.json").read_text())
CASES = [
    pytest.param(name, case, id=f"{name}: {case['name']}")
    for name, document in DOCUMENTS.items()
    for case in document["cases"]
]
KEYS = {name: VerifyingKey.from_json(document["verifying_key"]) for name, document in DOCUMENTS.items()}


@pytest.mark.parametrize(("name", "case"), CASES)
def test_verdict(name: str, case: dict[str, Any]) -> None:
    inputs, proof = [int(text) for text in case["public_inputs"]], bytes.fromhex(case["proof"])
    commitments = [bytes.fromhex(text) for text in case.get("commitments", [])]
    assert verifiers.verify(KEYS[name], inputs, proof, commitments).reason == case["reason"]
    assert reference.verify(KEYS[name], inputs, proof, commitments).reason == case["reason"]


def test_every_reason_occurs() -> None:
    """All but those that no JSON of bytes and integers can bring about."""
    cases = [*OPENINGS["openings"], *OPENINGS["sums"]]
    seen = {case["reason"] for document in DOCUMENTS.values() for case in document["cases"]}
    seen |= {case["reason"] for case in cases}
    types = {"proof_type", "public_input_type", "commitment_type", "opening_type", "opening_values"}
    assert seen == set(REASONS) - types


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in OPENINGS["openings"]])
def test_verdict_on_an_opening(case: dict[str, Any]) -> None:
    identity, commitment = bytes.fromhex(case["identity"]), bytes.fromhex(case["commitment"])
    values, revealed = [int(text) for text in case["values"]], Revealed.from_json(case["opening"])
    assert check_opening(identity, commitment, values, revealed).reason == case["reason"]


def test_the_point_of_evaluation_is_that_of_the_honest_opening() -> None:
    honest = OPENINGS["openings"][0]
    identity, commitment, blinding = (
        bytes.fromhex(text)
        for text in (honest["identity"], honest["commitment"], honest["opening"]["blinding"])
    )
    values = [int(text) % fr.modulus for text in honest["values"]]
    assert transcript.opening_point(identity, commitment, blinding, values) == int(OPENINGS["point"])


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in OPENINGS["sums"]])
def test_verdict_on_a_sum(case: dict[str, Any]) -> None:
    commitments = [bytes.fromhex(text) for text in case["commitments"]]
    verdict = check_sum(commitments, int(case["total"]), bytes.fromhex(case["blinding"]))
    assert verdict.reason == case["reason"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_key_in_bytes_is_the_key_in_json(name: str) -> None:
    assert KEYS[name].to_bytes().hex() == DOCUMENTS[name]["verifying_key_bytes"]


SEGMENTS = DOCUMENTS["segments.json"]


REFUSED_KEYS = [case for document in DOCUMENTS.values() for case in document.get("keys", ())]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in REFUSED_KEYS])
def test_keys_that_are_refused(case: dict[str, str]) -> None:
    with refuses(case["code"]):
        VerifyingKey.from_bytes(bytes.fromhex(case["key"]))


def test_the_commitment_is_what_it_opens_to() -> None:
    recorded = SEGMENTS["commitment"]
    basis = CommitmentKey(
        g1.decompress(bytes.fromhex("".join(recorded["basis"]))),
        g2.decompress(bytes.fromhex(recorded["tau_g2"])),
    )
    assert basis.identity == KEYS["segments.json"].basis
    assert g1.compress(blinding_point()).hex() == recorded["h"]
    values = fr.from_ints(int(text) for text in recorded["values"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commitment, "random_elements", lambda _: fr.from_ints([int(recorded["blinding"])]))
        assert basis.commit(values).commitment.hex() == recorded["commitment"]


def test_the_challenge_is_that_of_the_honest_proof() -> None:
    honest = SEGMENTS["cases"][0]
    proof = Proof.from_json(SEGMENTS["proof_json"])
    assert proof.to_bytes().hex() == honest["proof"]
    drawn = transcript.challenges(
        KEYS["segments.json"],
        ARKWORKS,
        [int(text) for text in honest["public_inputs"]],
        [ARKWORKS.decode_g1(segment) for segment in proof.segments],
        [ARKWORKS.decode_g1(bytes.fromhex(text)) for text in honest["commitments"]],
    )
    assert drawn == [int(SEGMENTS["challenge"])]


@pytest.mark.large
def test_the_committed_vectors_are_what_the_generator_writes() -> None:
    for name, text in generate.texts().items():
        assert (VECTORS / name).read_text() == text


@pytest.mark.parametrize("case", DOCUMENTS["folded.json"]["changes"], ids=lambda case: case["name"])
def test_keys_in_json_that_are_refused(case: dict[str, Any]) -> None:
    """By our reader, and by the verifier of another make."""
    key = {**DOCUMENTS["folded.json"]["verifying_key"], **case["fields"]}
    with refuses(case["code"], "folded"):
        VerifyingKey.from_json(key)
    with pytest.raises(plain_verifier.Refused, match=r"no segment begins|too many inputs|has fields"):
        plain_verifier.check_key(key)
