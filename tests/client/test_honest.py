"""Honest documents of every scheme are valid, and say what they say and what they do not."""

from __future__ import annotations

import numpy as np
import pytest

from tests.client.makers import AccuracyMaker, Maker, recognition, registration, rehashed
from zenserve.circuits import Recognition, input_values
from zenserve.kernels import fr
from zenserve.prover.groth16 import Opening
from zenserve.relations.integers import IntArray
from zenserve.verifier.datasets import LabelledData
from zenserve.verifier.documents import (
    KeyFile,
    OpeningFile,
    OpeningPart,
    ProofDocument,
    Statement,
    checked,
    named,
    read,
)
from zenserve.verifier.expected import Expected
from zenserve.verifier.fields import canonical
from zenserve.verifier.judging import Known, Registration, Verification, judge
from zenserve.verifier.keys import opened
from zenserve.verifier.registry import FIRST, SYSTEMS


def accepted(verdict: Verification) -> Statement:
    assert verdict.valid, (verdict.reason, verdict.detail)
    assert verdict.reason == "ok"
    assert verdict.statement is not None
    assert verdict.verified[0] == verdict.statement.claim
    assert set(verdict.statement.does_not_say) < set(verdict.not_verified)
    return verdict.statement


def said(sentences: list[str], part: str) -> bool:
    return any(part in sentence for sentence in sentences)


def test_a_registration(registrar: Maker, registered: ProofDocument, model: Opening) -> None:
    expected = Expected(model=model.commitment.hex())
    verdict = judge(registered, registrar.key_file, expected=expected)
    statement = accepted(verdict)
    assert (statement.scheme, statement.values) == ("registration", {})
    assert said(verdict.verified, f"{model.commitment.hex()}, as you expected")
    assert not said(verdict.not_verified, "committed model is the one you mean")


def test_a_registration_that_names_a_parent(registrar: Maker, model: Opening, held_input: Opening) -> None:
    parent = held_input.commitment.hex()
    document = registration(registrar, model, parent=parent)
    statement = accepted(judge(document, registrar.key_file))
    assert statement.parent == parent
    assert said(statement.does_not_say, "made from its parent")
    orphan = rehashed(document, parent=None)
    assert judge(orphan, registrar.key_file).reason == "words_mismatch"
    other = rehashed(document, parent=model.commitment.hex())
    assert judge(other, registrar.key_file).reason == "pairing_mismatch"


def test_an_inference_with_its_models_registration(
    inferrer: Maker, inferred: ProofDocument, registrar: Maker, registered: ProofDocument
) -> None:
    alone = judge(inferred, inferrer.key_file)
    assert said(alone.not_verified, "registration is valid: it was not given")
    assert not said(alone.verified, "registration that you gave")
    known = Known(registration=Registration(registered, opened(registrar.key_file)))
    verdict = judge(inferred, inferrer.key_file, known=known)
    assert (verdict.valid, verdict.statement) == (True, inferred.statement)
    assert said(
        verdict.verified,
        f"of their types: the registration that you gave is valid, under the key {registrar.key_file.id}",
    )
    assert said(verdict.not_verified, "registration's key is for its circuit")
    assert not said(verdict.not_verified, "of their types")
    assert not said(verdict.not_verified, "was not given")


def test_an_inference_with_its_input_opened(
    inferrer: Maker, inferred: ProofDocument, inputs: IntArray, held_input: Opening
) -> None:
    values = input_values(inferrer.circuit.qgraph, inputs[0])
    revealed = inferrer.basis.reveal(held_input, fr.from_int64(values))
    part = {"commitment": held_input.commitment.hex(), "opening": revealed.to_json()}
    opening = OpeningFile(**named(SYSTEMS[FIRST]), kind="input", parts=[checked(OpeningPart, part)])
    known = Known(input=inputs[0].ravel().tolist(), openings=opening)
    verdict = judge(inferred, inferrer.key_file, known=known)
    statement = accepted(verdict)
    logits = statement.values["logits"]
    assert isinstance(logits, list)
    assert min(logits) < 0
    assert statement.claim.startswith(f"The label is {statement.values['label']}. The network's outputs are")
    assert said(verdict.verified, "input is the one that you gave")
    assert said(verdict.not_verified, "committed model is the one you mean")
    assert said(verdict.not_verified, "without a challenge of yours")
    answered = judge(inferred, inferrer.key_file, expected=Expected(challenge="What is on image 7?"))
    assert said(answered.verified, "your challenge")
    assert not said(answered.not_verified, "without a challenge of yours")


def test_a_public_input_and_the_likeliest_labels(
    shower: Maker, shown: ProofDocument, inputs: IntArray
) -> None:
    verdict = judge(shown, shower.key_file, known=Known(input=inputs[1].ravel().tolist()))
    statement = accepted(verdict)
    assert "likeliest first" in statement.claim
    assert statement.commitments == {}
    assert said(verdict.not_verified, "the network is the one you mean")


@pytest.mark.parametrize("match", [0, 1])
def test_a_recognition_against_a_committed_reference(recogniser: Maker, inputs: IntArray, match: int) -> None:
    circuit = recogniser.circuit
    assert isinstance(circuit, Recognition)
    reference = circuit.embed(inputs[0])
    distance = int(((circuit.embed(inputs[3]) - reference) ** 2).sum())
    assert distance > 0
    held = recogniser.commit(reference)
    document = recognition(recogniser, inputs[3], reference, distance - 1 + match, {"reference": held})
    verdict = judge(document, recogniser.key_file, expected=Expected(reference=held.commitment.hex()))
    statement = accepted(verdict)
    assert ("is not within" in statement.claim) == (match == 0)
    assert said(verdict.verified, "commitment to the reference")


def test_an_accuracy_on_a_public_dataset(
    assessor: AccuracyMaker, assessed: ProofDocument, data: LabelledData
) -> None:
    verdict = judge(assessed, assessor.maker.key_file, known=Known(dataset=data))
    statement = accepted(verdict)
    assert statement.values == {"correct": 7, "size": 8}
    assert len(assessed.proofs) == 3
    assert said(verdict.verified, "dataset that you gave")
    unseen = judge(assessed, assessor.maker.key_file)
    assert said(unseen.not_verified, "give the dataset")
    assert not said(unseen.verified, "dataset that you gave")


def test_an_accuracy_on_a_private_dataset(assessor: AccuracyMaker, data: LabelledData) -> None:
    parts = assessor.parts(data, hiding=True)
    dataset = assessor.dataset(parts, None)
    document = assessor.prove(assessor.state(dataset, 7), parts)
    key = assessor.maker.key_file
    verdict = judge(document, key)
    statement = accepted(verdict)
    assert said(statement.does_not_say, "only who knows the dataset")
    known = Known(dataset=data, openings=assessor.opening_file(parts))
    assert said(judge(document, key, known=known).verified, "dataset that you gave")


def test_documents_survive_their_files(inferrer: Maker, inferred: ProofDocument) -> None:
    document = read(ProofDocument, canonical(inferred))
    key = read(KeyFile, canonical(inferrer.key_file))
    assert (document, key) == (inferred, inferrer.key_file)
    assert judge(document, key).valid
    spaced = ProofDocument.model_validate_json(inferred.model_dump_json(indent=2))
    assert spaced.statement.sha256 == inferred.statement.sha256


def test_the_native_curve_judges_alike(assessor: AccuracyMaker, assessed: ProofDocument) -> None:
    from zenserve.prover.registry import SYSTEMS

    key = assessor.maker.key_file
    assert judge(assessed, key, systems=SYSTEMS) == judge(assessed, key)
    swapped = assessed.model_copy(update={"proofs": list(np.roll(assessed.proofs, 1))})
    assert judge(swapped, key, systems=SYSTEMS) == judge(swapped, key)
