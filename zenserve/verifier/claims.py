"""The claims about a bank's models: proofs of their accuracies over the same datasets, and the verdict on
them.

The frames of a stream name their models by commitment, and so do these proofs: the models whose accuracy is
proven here are the models that answer there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Literal, Self

from pydantic import Field, model_validator

from zenserve.verifier.bank import SEEN
from zenserve.verifier.documents import ProofDocument
from zenserve.verifier.expected import Expected
from zenserve.verifier.fields import Commitment, Digest, Document
from zenserve.verifier.judging import Case, Known, LabelledData, judge_each
from zenserve.verifier.keys import OpenedKey
from zenserve.verifier.stream import (
    MOST_CLASSES,
    MOST_MODELS,
    Bank,
    BankModel,
    StreamFile,
    StreamVerification,
)
from zenserve.verifier.streams.skew import filtered
from zenserve.verifier.verdict import OK

REASONS: Final[dict[str, str]] = {
    "no_key": "The key of one of the proofs was not given.",
    "model_mismatch": "The proof is about another model than the one that it stands beside.",
    "network_mismatch": "The proof is of another network than others of this model.",
    "words_mismatch": "The proof is not of how many labels are those that a bank's model sees.",
    "dataset_mismatch": "The proof is not over the samples of this class.",
    "profile_mismatch": "The head's profile has another number of labels right than is proven.",
}
"""Beside those of ``zenserve.verifier.judging``, which are of the proof that is named."""
NOT_VERIFIED: Final = (
    "That a model is as accurate with a prior: these are accuracies of what it sees.",
    "What each statement does not say, beside.",
)
_UNHELD: Final = "That a stream is by these models: give it with --claims."
_PROFILE_SEEN: Final = "By the head's profile, too, each model labels as many samples of each class rightly."
_UNSEEN: Final = (
    "That the samples are those of the datasets that are named, and of one class each: give --dataset."
)


class ClaimedModel(Document):
    """A model of a bank: the proofs are of its accuracy on the samples of each class in turn."""

    commitment: Commitment = Field(description="To its weights, as a stream's head names it.")
    accuracies: list[ProofDocument] = Field(
        min_length=2, max_length=MOST_CLASSES, fail_fast=True, description="Of each class one."
    )


class ClaimsFile(Document):
    """The claims about a bank's models: with the proofs' keys, all that a verifier needs."""

    format: Literal["zenserve bank claims"] = Field(
        default="zenserve bank claims", description="What this document is."
    )
    version: int = Field(default=1, ge=1, le=1, description="Of its format.")
    models: list[ClaimedModel] = Field(
        min_length=1, max_length=MOST_MODELS, fail_fast=True, description="As the bank has them."
    )

    @model_validator(mode="after")
    def _of_the_same_classes(self) -> Self:
        if len({len(model.accuracies) for model in self.models}) > 1:
            raise ValueError("models: each has as many accuracies as the others")
        return self


class ModelClaim(Document):
    """The proven accuracy of a model: for each class, how many of ``size`` samples it labels correctly."""

    commitment: Commitment
    network: Digest
    correct: list[int]


class ClaimsVerification(Document):
    """The verdict on a bank's claims. ``model``, ``place``: of the first proof that is wrong."""

    valid: bool
    reason: str
    detail: str
    model: int | None = None
    place: int | None = None
    sizes: list[int] = Field(default=[], description="How many samples each class has.")
    datasets: list[Digest] = Field(default=[], description="The hashes of their contents.")
    models: list[ModelClaim] = Field(default=[], description="As the file has them.")
    verified: list[str] = Field(default=[], description="In sentences, what a reader may rely on.")
    not_verified: list[str] = Field(default=[], description="In sentences, what a reader may not rely on.")


def judge_claims(
    file: ClaimsFile,
    keys: Mapping[str, OpenedKey],
    data: Sequence[LabelledData] | None = None,
    expected: Expected | None = None,
) -> ClaimsVerification:
    """Judge whether each accuracy is proven, for the model that it is listed with, and over the same samples
    for all models. ``keys``: by their ids; ``data``: the dataset of each class, to compare the proofs with;
    ``expected``: compared with each proof."""
    wanted = _datasets(file) if data is None else [(each.sha256.hex(), each.size) for each in data]
    known = [Known()] * len(wanted) if data is None else [Known(dataset=each) for each in data]
    cases: dict[tuple[int, int], Case] = {}
    for index, model in enumerate(file.models):
        for place, document in enumerate(model.accuracies):
            said = document.statement
            key = keys.get(said.verification_key.id)
            if key is None:
                return _refused(
                    "no_key", f"{REASONS['no_key']} It is {said.verification_key.id}.", index, place
                )
            if not _counts_seen(key):
                return _refused("words_mismatch", REASONS["words_mismatch"], index, place)
            if said.commitments.get("model") != model.commitment:
                return _refused("model_mismatch", REASONS["model_mismatch"], index, place)
            if said.network != _network(model):
                return _refused("network_mismatch", REASONS["network_mismatch"], index, place)
            if place >= len(wanted) or (found := _dataset(document)) != wanted[place] or not found[0]:
                return _refused("dataset_mismatch", REASONS["dataset_mismatch"], index, place)
            cases[index, place] = Case(document, key, expected or Expected(), known[place])
        if len(model.accuracies) < len(wanted):
            detail = f"There are proofs of {len(model.accuracies)} classes, and samples of {len(wanted)}."
            return _refused("dataset_mismatch", detail, index, len(model.accuracies))
    for (index, place), answer in zip(cases, judge_each([*cases.values()]), strict=True):
        if not answer.valid:
            return _refused(answer.reason, answer.detail, index, place)
    return _verified(file, wanted, compared=data is not None)


def held_against(
    file: StreamFile, verdict: StreamVerification, claims: ClaimsVerification
) -> StreamVerification:
    """The verdict on a stream whose models are to be those of these claims, in their order. Where classes
    have as many samples in the head as in the claims, they are the same: then the head's profile has to label
    as many rightly."""
    if not verdict.valid:
        return verdict
    if not claims.valid:
        return StreamVerification(valid=False, reason=claims.reason, detail=f"Of the claims: {claims.detail}")
    bank = file.head.bank
    own = [model.commitment for model in bank.models]
    if own != [model.commitment for model in claims.models]:
        detail = "The claims are about other models than the stream's."
        return StreamVerification(valid=False, reason="model_mismatch", detail=detail)
    frames = (frame.statement.network for frame in file.frames if isinstance(frame, ProofDocument))
    proofs = sorted({first for first in verdict.proofs if first is not None})
    for first, network in zip(proofs, frames, strict=True):
        if network != claims.models[verdict.models[first] or 0].network:
            detail = f"Frame {first}: The claims are about another network than its model's."
            return StreamVerification(valid=False, reason="network_mismatch", detail=detail, frame=first)
    if len(claims.sizes) != bank.classes:
        detail = f"The claims are of {len(claims.sizes)} classes, and the stream's of {bank.classes}."
        return StreamVerification(valid=False, reason="dataset_mismatch", detail=detail)
    compared = {*claims.sizes} == {len(bank.labels) // bank.classes}
    for place, (model, claim) in enumerate(zip(bank.models, claims.models, strict=True)):
        if compared and (said := _profiled(bank, model)) != claim.correct:
            shown, proven = (", ".join(map(str, each)) for each in (said, claim.correct))
            detail = f"Model {place}: by the head's profile {shown} labels are right: {proven} are proven."
            return StreamVerification(valid=False, reason="profile_mismatch", detail=detail)
    return verdict.model_copy(
        update={
            "verified": [*verdict.verified, *claims.verified, *([_PROFILE_SEEN] if compared else [])],
            "not_verified": [
                *verdict.not_verified,
                *(each for each in claims.not_verified if each != _UNHELD),
            ],
        }
    )


def _profiled(bank: Bank, model: BankModel) -> list[int]:
    """Return the number of samples of each class that the model labels correctly, by the head's outputs."""
    none, right = [0] * bank.classes, Counter[int]()
    for label, outputs in zip(bank.labels, model.outputs, strict=True):
        right[label] += filtered(outputs, none) == label
    return [right[label] for label in range(bank.classes)]


def _counts_seen(key: OpenedKey) -> bool:
    """Return whether the key is for an accuracy, by labels, of the ``seen`` output of a bank's model."""
    circuit = key.circuit
    return (
        circuit.scheme == "accuracy"
        and circuit.measurement.measure == "accuracy"
        and key.described.get("output") == SEEN
    )


def _network(model: ClaimedModel) -> str:
    """The first proof's."""
    return model.accuracies[0].statement.network


def _datasets(file: ClaimsFile) -> list[tuple[str, int]]:
    """Return the datasets that the first model's proofs name, one for each class."""
    return [_dataset(document) for document in file.models[0].accuracies]


def _dataset(document: ProofDocument) -> tuple[str, int]:
    """Its hash, "" of a private one, and how many samples it has."""
    dataset = document.statement.dataset
    return ((dataset.sha256 or "") if dataset else ""), (dataset.size if dataset else 0)


def _verified(file: ClaimsFile, datasets: Sequence[tuple[str, int]], *, compared: bool) -> ClaimsVerification:
    values = [[document.statement.values for document in model.accuracies] for model in file.models]
    sizes = [size for _, size in datasets]
    models = [
        ModelClaim(
            commitment=model.commitment,
            network=_network(model),
            correct=[_number(each["correct"]) for each in own],
        )
        for model, own in zip(file.models, values, strict=True)
    ]
    over = "are over the given samples" if compared else "name the same datasets, one for each class"
    return ClaimsVerification(
        valid=True,
        reason=OK,
        detail="Every accuracy is proven, of the model that it stands beside.",
        sizes=sizes,
        datasets=[sha256 for sha256, _ in datasets],
        models=models,
        verified=[
            f"All {over}: {sum(sizes)} samples in all.",
            *(
                f"Model {place}, {model.commitment}, labels {', '.join(map(str, model.correct))} of"
                f" {', '.join(map(str, sizes))} rightly."
                for place, model in enumerate(models)
            ),
            "Whatever shares classes have, a model's accuracy without a prior is the mean of these by them.",
        ],
        not_verified=[*NOT_VERIFIED, _UNHELD, *([] if compared else [_UNSEEN])],
    )


def _number(value: int | list[int]) -> int:
    return value if isinstance(value, int) else value[0]


def _refused(reason: str, detail: str, model: int, place: int) -> ClaimsVerification:
    where = f"Model {model}, class {place}: {detail}"
    return ClaimsVerification(valid=False, reason=reason, detail=where, model=model, place=place)
