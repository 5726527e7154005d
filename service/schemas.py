"""The JSON that goes in and out of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from service.tables import Job, Model, Privacy, Proof

State = Literal["queued", "running", "succeeded", "failed", "canceled"]
Decimal = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]*)$", max_length=80)]


class Cause(BaseModel):
    """Why a job, or one attempt at it, failed. ``code`` is stable."""

    code: str = Field(examples=["resource.worker_lost"])
    detail: str
    field: str | None = None


class Failure(Cause):
    """The cause of one attempt that did not end well."""

    attempt: int
    at: datetime


class JobView(BaseModel):
    """How a job is doing."""

    id: str
    state: State
    revision: int = Field(description="Grows with every change.")
    stage: str | None = Field(description="What the worker is doing.", examples=["msm b_g2"])
    percent: float = Field(description="How much of this stage is done.", examples=[62.5])
    attempt: int = Field(description="Grows when a job is taken up again after a worker was lost.")
    cancel_requested: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    timings: dict[str, float] = Field(description="Seconds per stage, for the owner of the job.")
    problem: Cause | None = Field(description="Why the job failed.")
    failures: list[Failure] = Field(description="The cause of every attempt that did not end well.")


class ModelView(JobView):
    """A registered model."""

    name: str
    input_privacy: Privacy
    weight_privacy: Privacy
    bits: int
    setup: Literal["development"] = Field(
        default="development",
        description="Who made the keys: one party, which could have kept the power to forge proofs.",
    )
    verification_key_id: str | None
    description: dict[str, Any] | None = Field(
        description="Architecture, quantisation and constraint counts per layer, once it is prepared."
    )


class ProofRequest(BaseModel):
    """Prove what a model makes of an input."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"model_id": "mdl_5d1f…", "input": [[0.0, 0.5, 1.0]]}]},
    )

    model_id: str = Field(max_length=40)
    input: list[Any] = Field(description="Numbers, nested to the shape of the model's input.")


class ProofView(JobView):
    """A proof, from the request to the result."""

    model_id: str
    verification_key_id: str | None
    label: int | None = Field(description="The class that the network chose.", examples=[7])


class KeyReference(BaseModel):
    """Which verification key a proof is for."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(description="SHA-256 of the key's bytes, in hex.", pattern="^[0-9a-f]{64}$")
    setup: str = Field(examples=["development"])


class Statement(BaseModel):
    """What a proof says, in words and in fields, and what it does not say."""

    model_config = ConfigDict(extra="forbid")

    claim: str
    fields: list[dict[str, Any]] = Field(description="The meaning of the public inputs, by name.")
    circuit: dict[str, Any] = Field(description="What is fixed by the verification key.")
    does_not_say: list[str]


class ProofDocument(BaseModel):
    """A proof to hand on. With the verification key it names, it is all that a verifier needs."""

    model_config = ConfigDict(extra="forbid")

    format: Literal["zenserve proof"]
    version: Literal[1]
    proof: str = Field(
        description="A | B | C, compressed points of BLS12-381 in hex.",
        pattern="^([0-9a-f]{2})*$",
        max_length=4096,
    )
    public_inputs: list[Decimal] = Field(description="Decimal integers below the group order.")
    verification_key: KeyReference
    statement: Statement


class VerifyRequest(BaseModel):
    """A proof to verify, and the key to verify it with: by id, inline, or by the document's own word."""

    model_config = ConfigDict(extra="forbid")

    proof: ProofDocument
    verification_key_id: str | None = Field(default=None, max_length=64)
    verification_key: dict[str, Any] | None = None


class Verification(BaseModel):
    """The answer of the verifier: ``valid`` is the verdict, ``reason`` its stable name."""

    valid: bool
    reason: str = Field(examples=["ok", "pairing_mismatch"])
    detail: str
    verification_key: KeyReference
    statement: Statement | None = Field(
        description="What the proof says, by this service's own record of the key; null where it has none."
    )


class KeyView(BaseModel):
    """A verification key and what it proves."""

    id: str
    setup: str
    key: dict[str, Any]
    circuit: dict[str, Any]


def job_fields(job: Job) -> dict[str, Any]:
    names = JobView.model_fields
    return {name: getattr(job, name) for name in names}


def model_view(model: Model) -> ModelView:
    names = ("name", "input_privacy", "weight_privacy", "bits", "verification_key_id")
    return ModelView(
        **job_fields(model.job),
        **{name: getattr(model, name) for name in names},
        description=model.verification_key.circuit if model.verification_key else None,
    )


def proof_view(proof: Proof) -> ProofView:
    return ProofView(
        **job_fields(proof.job),
        model_id=proof.model_id,
        verification_key_id=proof.model.verification_key_id,
        label=proof.label,
    )
