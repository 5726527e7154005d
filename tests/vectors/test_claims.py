"""What is claimed of a bank's models, from proofs that each are valid: over other samples than they say, over
fewer, or of fewer classes."""

from __future__ import annotations

import pytest

from tests.vectors.cases import FOLDER
from zenserve.prover.registry import SYSTEMS
from zenserve.verifier import claims
from zenserve.verifier.claims import ClaimedModel, ClaimsFile, ClaimsVerification, held_against, judge_claims
from zenserve.verifier.datasets import LabelledData, load
from zenserve.verifier.documents import KeyFile, ProofDocument, read
from zenserve.verifier.expected import Expected
from zenserve.verifier.keys import opened
from zenserve.verifier.stream import Bank, BankModel, Head, Missed, Rules, StreamFile, StreamVerification

DOCUMENTS = FOLDER / "accuracy"
KEY = opened(read(KeyFile, (DOCUMENTS / "valid-key.json").read_bytes()), SYSTEMS)
DATA = load(DOCUMENTS / "seen-dataset.json", DOCUMENTS / "seen-labels.json")


@pytest.fixture(autouse=True)
def _of_any_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """The vectors' network has one output, and is in no bank."""
    monkeypatch.setattr(claims, "_counts_seen", lambda _: True)


def document(name: str) -> ProofDocument:
    return read(ProofDocument, (DOCUMENTS / f"{name}.json").read_bytes())


def claimed(*models: list[str]) -> ClaimsFile:
    """Of each model the documents of its accuracies, class by class."""
    accuracies = [[document(name) for name in names] for names in models]
    (commitment,) = {each.statement.commitments["model"] for own in accuracies for each in own}
    return ClaimsFile(models=[ClaimedModel(commitment=commitment, accuracies=own) for own in accuracies])


def judged(file: ClaimsFile, data: list[LabelledData] | None = None) -> ClaimsVerification:
    return judge_claims(file, {KEY.reference.id: KEY}, data)


def test_samples_are_those_that_are_committed_to_and_no_word_is_taken_for_it() -> None:
    assert judged(claimed(["valid", "valid"]), [DATA, DATA]).valid
    # Other labels, under the hash of these.
    lie = claimed(["valid", "right-hash"])
    verdict = judged(lie, [DATA, DATA])
    assert (verdict.valid, verdict.reason, verdict.place) == (False, "dataset_mismatch", 1)
    # Who has no samples is told that nobody looked.
    unseen = judged(lie)
    assert unseen.valid
    assert not any("are over" in sentence for sentence in unseen.verified)
    assert any("that are named" in sentence for sentence in unseen.not_verified)


def test_no_class_is_left_out() -> None:
    verdict = judged(claimed(["valid", "valid"]), [DATA, DATA, DATA])
    assert (verdict.valid, verdict.reason) == (False, "dataset_mismatch")


def test_all_models_have_as_many_samples() -> None:
    """Whatever hash they give."""
    verdict = judged(claimed(["valid", "valid"], ["valid", "rest"]))
    assert (verdict.valid, verdict.reason, verdict.model) == (False, "dataset_mismatch", 1)


def of_another_network(document: ProofDocument) -> ProofDocument:
    statement = document.statement.model_copy(update={"network": "00" * 32})
    return document.model_copy(update={"statement": statement})


def test_a_model_has_one_network() -> None:
    """Over the same weights another architecture may see what it is to see of one class alone."""
    (model,) = claimed(["valid", "valid"]).models
    first, second = model.accuracies
    lie = model.model_copy(update={"accuracies": [first, of_another_network(second)]})
    verdict = judged(ClaimsFile(models=[lie]))
    assert (verdict.valid, verdict.reason, verdict.place) == (False, "network_mismatch", 1)


def test_a_stream_is_held_against_claims_of_all_its_classes() -> None:
    file = claimed(["valid", "valid"])
    model = BankModel(
        commitment=file.models[0].commitment,
        verification_key=KEY.reference.id,
        cost=1,
        bit=1,
        margin=1,
        outputs=[[1, 0, 0]] * 3,
    )
    head = Head(
        bank=Bank(classes=3, labels=[0, 1, 2], models=[model]), rules=Rules(), begun_at="2026-11-23T12:00:00Z"
    )
    verdict = StreamVerification(valid=True, reason="ok", detail="")
    held = held_against(StreamFile(head=head, frames=[]), verdict, judged(file))
    assert (held.valid, held.reason) == (False, "dataset_mismatch")
    third = claimed(["valid", "valid", "valid"])
    assert held_against(StreamFile(head=head, frames=[]), verdict, judged(third)).valid
    proven = verdict.model_copy(update={"models": [None, 0, 0], "proofs": [None, 1, 1]})
    for frame, right in (document("valid"), True), (of_another_network(document("valid")), False):
        frames: list[ProofDocument | Missed] = [Missed(missed="dark"), frame]
        held = held_against(StreamFile(head=head, frames=frames), proven, judged(third))
        assert (held.valid, held.frame) == (right, None if right else 1)


def test_a_profile_is_no_better_than_what_is_proven() -> None:
    """A table that flatters a model has it answer frames that it is not good enough for."""
    file = claimed(["valid", "valid"], ["valid", "valid"])
    proven = judged(file)
    (size,), (correct, _) = {*proven.sizes}, proven.models[0].correct
    assert 0 < correct < size

    def judged_with(*right: int) -> StreamVerification:
        """By a head that says that so many samples of each class are labelled rightly by the second."""
        models = [
            BankModel(
                commitment=model.commitment,
                verification_key=KEY.reference.id,
                cost=2 - place,
                bit=1,
                margin=1,
                outputs=[
                    [int((own == label) == (sample < many)) for label in range(2)]
                    for own, many in enumerate(right if place else (correct, correct))
                    for sample in range(size)
                ],
            )
            for place, model in enumerate(file.models)
        ]
        bank = Bank(classes=2, labels=[0] * size + [1] * size, models=models)
        head = Head(bank=bank, rules=Rules(), begun_at="2026-11-23T12:00:00Z")
        verdict = StreamVerification(valid=True, reason="ok", detail="")
        return held_against(StreamFile(head=head, frames=[]), verdict, proven)

    honest = judged_with(correct, correct)
    assert honest.valid
    assert any("head's profile" in sentence for sentence in honest.verified)
    for flattered in (size, correct), (correct, size), (correct + 1, correct - 1):
        verdict = judged_with(*flattered)
        assert (verdict.valid, verdict.reason) == (False, "profile_mismatch")
        assert "Model 1" in verdict.detail


def test_a_ceremony_that_is_required_is_of_these_keys_too() -> None:
    verdict = judge_claims(
        claimed(["valid", "valid"]), {KEY.reference.id: KEY}, None, Expected(require="ceremony")
    )
    assert (verdict.valid, verdict.reason) == (False, "setup_mismatch")
