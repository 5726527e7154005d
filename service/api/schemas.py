"""The JSON that goes in and out of the API. Documents that are handed on are ``client.documents``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from client.documents import Challenge, Expected, KeyFile, Opening, ProofDocument
from service.jobs import progress
from service.jobs.lifecycle import now
from service.settings import QueueName
from service.storage.paging import Page, Row
from service.storage.tables import (
    Commitment,
    CommitmentKind,
    Dataset,
    Job,
    Model,
    Privacy,
    Proof,
    Scheme,
    Upload,
    WeightPrivacy,
)

Item = TypeVar("Item")
PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]*$"
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=PRINTABLE)]
ResourceId = Annotated[str, StringConstraints(max_length=64, pattern=PRINTABLE)]
MOST = 1_000_000
MOST_DAYS = 3650
State = Literal["queued", "running", "succeeded", "failed", "canceled"]


class Cause(BaseModel):
    """Why a job, or one attempt at it, failed. ``code`` is stable."""

    code: str = Field(examples=["resource.worker_lost"])
    detail: str
    field: str | None = None


class Failure(Cause):
    """The cause of one attempt that did not end well."""

    attempt: int
    at: datetime


class Listing(BaseModel, Generic[Item]):
    """One page of a list, newest first."""

    items: list[Item]
    next_cursor: str | None = Field(description="Give it as `cursor` for the next page; null on the last.")


def listing(page: Page[Row], view: Callable[[Row], Item]) -> Listing[Item]:
    """A page as it is answered, each of its rows as ``view`` shows it."""
    return Listing(items=[view(row) for row in page.rows], next_cursor=page.next_cursor)


class JobView(BaseModel):
    """How a job is doing."""

    id: str
    tenant_id: str
    state: State
    revision: int = Field(description="Grows with every change.")
    stage: str | None = Field(
        description="What is being done; `shards` while a proof waits for those.", examples=["msm_b_g2"]
    )
    percent: float = Field(description="How much of this stage is done.", examples=[62.5])
    overall_percent: float | None = Field(description="How much of the whole work is done, once it is known.")
    eta_seconds: float | None = Field(description="How long it will still take, once it is known.")
    priority: int = Field(description="Among the jobs of its tenant; more is sooner.")
    queue: QueueName
    deadline_at: datetime | None = Field(description="It fails if it is not over by then.")
    expires_at: datetime | None = Field(description="It is deleted then.")
    attempt: int = Field(description="Grows when a job is taken up again after a worker was lost.")
    cancel_requested: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    timings: dict[str, float] = Field(description="Seconds per stage, for the owner of the job.")
    problem: Cause | None = Field(description="Why the job failed.")
    failures: list[Failure] = Field(description="The cause of every attempt that did not end well.")


class Milestone(BaseModel):
    """A change of a job's state or stage, as it was then."""

    model_config = ConfigDict(from_attributes=True)

    job_id: str
    revision: int
    at: datetime
    state: State
    stage: str | None
    attempt: int


class ModelSummary(JobView):
    """A registered model, as lists show it."""

    name: str
    weight_privacy: WeightPrivacy
    bits: int
    parent_id: str | None = Field(description="The model that this is a new version of.")
    network: str | None = Field(
        description="SHA-256 of the network, or of its architecture where the weights are committed."
    )
    commitment: str | None = Field(description="48 bytes in hex, where the weights are committed.")
    setup: Literal["development"] = Field(
        default="development",
        description="Who made the keys: one party, which could have kept the power to forge proofs.",
    )
    verification_key_id: str | None = Field(description="Of proofs of a private input's label.")


class ModelView(ModelSummary):
    """A registered model."""

    registration_key_id: str | None = Field(description="Of the registration's proof.")
    description: dict[str, Any] | None = Field(
        description="Architecture, quantisation and constraint counts per layer, once it is registered."
    )


class CommitmentRequest(BaseModel):
    """Commit to an input of a model, or to the embedding that it makes of an image."""

    model_config = ConfigDict(extra="forbid")

    model_id: ResourceId
    kind: CommitmentKind
    values: list[Any] = Field(
        description="Numbers, nested to the shape of the model's input: for a reference, an image of it."
    )


class CommitmentView(BaseModel):
    """A commitment. Proofs about what it is to name it by its id."""

    id: str
    model_id: str
    kind: CommitmentKind
    commitment: str = Field(description="48 bytes in hex.")
    created_at: datetime


class ShardView(BaseModel):
    """A part of a dataset. Its opening is public as the dataset is."""

    size: int
    commitment: str
    opening: Opening | None


class DatasetSummary(JobView):
    """Labelled samples, as lists show them."""

    model_id: str
    name: str
    privacy: Privacy
    size: int
    sha256: str | None = Field(description="Of the content; null where it is private.")
    picked_for: str | None = Field(description="The model's commitment, which was there before.")
    shard_size: int | None = Field(description="Samples in one proof.")


class DatasetView(DatasetSummary):
    """Labelled samples, committed in shards."""

    shards: list[ShardView] | None


class ProofRequest(BaseModel):
    """Prove what a model makes of an input or of a dataset. Each scheme takes its own fields, and no
    others.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"model_id": "mdl_5d1f…", "input": [[0.0, 0.5, 1.0]]},
                {"model_id": "mdl_5d1f…", "scheme": "accuracy", "dataset_id": "dst_9a0c…"},
            ]
        },
    )

    model_id: ResourceId
    scheme: Scheme = "inference"
    challenge: Challenge | None = Field(
        default=None, description="A text of whoever asks for the proof: it ends up in the statement."
    )
    input: list[Any] | None = Field(
        default=None, description="Numbers, nested to the shape of the model's input."
    )
    input_privacy: Privacy | None = Field(default=None, description="Whether the proof shows it. private")
    input_id: ResourceId | None = Field(default=None, description="A commitment to the input.")
    reveal: Literal["label", "logits", "top"] | None = Field(
        default=None, description="Inference: what the proof shows of the output. label"
    )
    top: int | None = Field(
        default=None, ge=1, description="Inference: how many labels, with reveal top; at most ten."
    )
    reference: list[Any] | None = Field(
        default=None, description="Recognition: an image; the proof shows its embedding."
    )
    reference_id: ResourceId | None = Field(
        default=None, description="Recognition: a commitment to a reference."
    )
    threshold: int | None = Field(
        default=None, ge=0, description="Recognition: the largest squared distance of a match."
    )
    dataset_id: ResourceId | None = Field(default=None, description="Accuracy: what it is about.")
    priority: int = Field(default=0, ge=-10, le=10, description="Among your own jobs; more is sooner.")
    deadline_seconds: int | None = Field(
        default=None, ge=1, le=MOST, description="The proof fails if it is not done by then."
    )
    expires_in_days: int | None = Field(
        default=None,
        ge=1,
        le=MOST_DAYS,
        description="When it is to be deleted; else the tenant's rule.",
    )


class ProofView(JobView):
    """A proof, from the request to the result."""

    model_id: str
    scheme: Scheme
    dataset_id: str | None
    challenge: str | None
    verification_key_id: str | None
    label: int | None = Field(description="The class that the network chose.", examples=[7])
    values: dict[str, int | list[int]] | None = Field(description="All that the proof shows, by name.")


class VerifyRequest(BaseModel):
    """A proof to verify, and the key to verify it with: by id, inline, or by the document's own word."""

    model_config = ConfigDict(extra="forbid")

    proof: ProofDocument
    verification_key_id: ResourceId | None = None
    verification_key: KeyFile | None = Field(default=None, description="A key file, as it is handed on.")
    expected: Expected = Field(
        default=Expected(), description="What you know from elsewhere, to be found in the statement."
    )


class UploadView(BaseModel):
    """A file that was brought ahead of the request that names it."""

    sha256: str
    size: int
    expires_at: datetime


def job_fields(job: Job) -> dict[str, Any]:
    seen = progress.overall(job, now())
    names = JobView.model_fields.keys() - {"overall_percent", "eta_seconds"}
    return {name: getattr(job, name) for name in names} | {
        "overall_percent": seen.percent,
        "eta_seconds": seen.eta_seconds,
    }


def model_summary(model: Model) -> ModelSummary:
    return ModelSummary(**_model_fields(model))


def model_view(model: Model) -> ModelView:
    key = model.registration["statement"]["verification_key"]["id"] if model.registration else None
    return ModelView(
        **_model_fields(model),
        registration_key_id=key,
        description=model.verification_key.circuit if model.verification_key else None,
    )


def commitment_view(commitment: Commitment) -> CommitmentView:
    return CommitmentView(**{name: getattr(commitment, name) for name in CommitmentView.model_fields})


def dataset_summary(dataset: Dataset) -> DatasetSummary:
    return DatasetSummary(**_dataset_fields(dataset))


def dataset_view(dataset: Dataset, openings: list[Opening] | None) -> DatasetView:
    """``openings``: one for each shard, where they are for all to see."""
    shown = [
        ShardView(**shard, opening=openings[index] if openings else None)
        for index, shard in enumerate(dataset.shards or [])
    ]
    return DatasetView(**_dataset_fields(dataset), shards=shown if dataset.shards else None)


def proof_view(proof: Proof) -> ProofView:
    document = proof.document or {}
    return proof_summary(proof, document.get("statement", {}).get("values"))


def proof_summary(proof: Proof, values: dict[str, Any] | None) -> ProofView:
    """``values``: what its document shows, if there is one."""
    # While the shards are at work, what they are to show is nobody's to see: they may still fail.
    shown = values if proof.job.state == "succeeded" else None
    return ProofView(
        **job_fields(proof.job),
        model_id=proof.model_id,
        scheme=proof.scheme,
        dataset_id=proof.dataset_id,
        challenge=proof.request.get("challenge"),
        verification_key_id=proof.verification_key_id,
        label=shown.get("label") if shown else None,
        values=shown,
    )


def upload_view(upload: Upload) -> UploadView:
    return UploadView(sha256=upload.sha256, size=upload.size, expires_at=upload.expires_at)


def _model_fields(model: Model) -> dict[str, Any]:
    names = ("name", "weight_privacy", "bits", "parent_id", "network", "commitment", "verification_key_id")
    return job_fields(model.job) | {name: getattr(model, name) for name in names}


def _dataset_fields(dataset: Dataset) -> dict[str, Any]:
    names = ("model_id", "name", "privacy", "size", "picked_for", "shard_size")
    fields = job_fields(dataset.job) | {name: getattr(dataset, name) for name in names}
    return fields | {"sha256": dataset.sha256 if dataset.privacy == "public" else None}
