"""The JSON of ceremonies and contributions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from service.api.schemas import MOST, JobView, Name, ResourceId, job_fields
from service.storage.tables import Ceremony, CeremonyCircuit, Contribution
from verifier.beacon import MOST_ROUNDS, VALUE_BYTES

MOST_CIRCUITS: Final = 16
CircuitPrivacy = Literal["public", "private", "committed"]
CircuitScheme = Literal["registration", "inference", "recognition", "accuracy"]
Phase = Literal["opening", "open", "closing", "finished"]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_SHA: Final = "5d" * 32


class CircuitRequest(BaseModel):
    """A circuit of a model: by its scheme and what tells it from others, or by a key that it has."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"scheme": "inference", "reveal": "label"}]}
    )

    scheme: CircuitScheme | None = Field(default=None, description="What its proofs prove.")
    input_privacy: CircuitPrivacy | None = Field(
        default=None, description="Inference, recognition: whether proofs show their input. private"
    )
    reveal: Literal["label", "logits", "top"] | None = Field(
        default=None, description="Inference: what proofs show of the output. label"
    )
    top: int | None = Field(default=None, ge=1, description="Inference: how many labels, with reveal top.")
    reference_privacy: Literal["public", "committed"] | None = Field(
        default=None, description="Recognition: whether proofs show the reference. public"
    )
    shard_size: int | None = Field(
        default=None, ge=1, le=MOST, description="Accuracy: samples in one proof, as the dataset has it."
    )
    verification_key_id: ResourceId | None = Field(
        default=None, description="A key of the circuit, in the place of all that."
    )


class CeremonyRequest(BaseModel):
    """Open a ceremony for the keys of circuits of one model."""

    model_config = ConfigDict(extra="forbid")

    model_id: ResourceId = Field(description="The registered model.", examples=["mdl_5d1f0c"])
    name: Name = Field(description="What to call it.", examples=["digits, for production"])
    circuits: list[CircuitRequest] = Field(
        min_length=1,
        max_length=MOST_CIRCUITS,
        description="Whose keys are to be made; contributors share in all of them at once.",
    )


class CloseRequest(BaseModel):
    """Announce the public randomness that will close a ceremony."""

    model_config = ConfigDict(extra="forbid")

    beacon: Name = Field(
        description="Which value it will be, of a source that anybody can look up later.",
        examples=["drand quicknet, round 12345678"],
    )
    rounds: int = Field(
        default=10, ge=0, le=MOST_ROUNDS, description="The value is hashed 2^rounds times.", examples=[10]
    )


class FinishRequest(BaseModel):
    """The value that was announced, now that everybody knows it."""

    model_config = ConfigDict(extra="forbid")

    value: Sha256 = Field(description=f"{VALUE_BYTES} bytes in hex.", examples=["5a" * VALUE_BYTES])


class HandedStateRequest(BaseModel):
    """The state of a circuit after one's contribution, and the one that it extends."""

    model_config = ConfigDict(extra="forbid")

    extends: Sha256 = Field(description="SHA-256 of the state that was contributed to.", examples=[_SHA])
    sha256: Sha256 = Field(description="Of the upload with the new state.", examples=["6e" * 32])


class ContributionRequest(BaseModel):
    """Hand in a contribution to all circuits of a ceremony."""

    model_config = ConfigDict(extra="forbid")

    states: list[HandedStateRequest] = Field(
        min_length=1, max_length=MOST_CIRCUITS, description="One for each circuit, in their order."
    )


class CircuitView(BaseModel):
    """A circuit of a ceremony, and how far its key is."""

    scheme: CircuitScheme = Field(description="What its proofs prove.", examples=["inference"])
    form: dict[str, Any] = Field(
        description="What tells it from other circuits of the network.",
        examples=[{"scheme": "inference", "privacy": {"input": "private"}, "reveal": "label", "top": 1}],
    )
    constraints: int = Field(description="How large it is.", examples=[1500])
    statement: str = Field(
        description="SHA-256 of the file with what its proofs prove: `…/files/{sha256}`.", examples=[_SHA]
    )
    start: str = Field(description="Hash of where the key began.", examples=["7f" * 32])
    state: str = Field(
        description="SHA-256 of the file with the key so far: `…/files/{sha256}`.", examples=["6e" * 32]
    )
    size: int = Field(description="Bytes of that file.", examples=[812345])
    next_size: int = Field(description="Bytes of the file after one more contribution.", examples=[813000])
    verification_key_id: str | None = Field(
        description="The key that was made, once it is finished.", examples=["5d" * 32]
    )


class ContributionView(JobView):
    """A contribution, and how far its verification is."""

    ceremony_id: str = Field(description="What it is to.", examples=["cer_5d1f0c"])
    place: int | None = Field(description="In the chain, from 1, once it is part of it.", examples=[1])
    name: str | None = Field(description="Whose it is, as it says.", examples=["Ada"])
    hashes: list[str] | None = Field(
        description="What its contributor publishes: one for each circuit.", examples=[["7f" * 32]]
    )
    beacon: str | None = Field(
        description="The value, of the contribution of public randomness.", examples=[None]
    )


class CeremonySummary(JobView):
    """A ceremony, as lists show it. Its job is the one that opens it."""

    name: str = Field(description="What it is called.", examples=["digits, for production"])
    model_id: str | None = Field(
        description="The model whose circuits they are; null: it was deleted.", examples=["mdl_5d1f0c"]
    )
    phase: Phase = Field(
        description="`opening`; `open` to contributions; `closing`, waiting for its beacon; `finished`.",
        examples=["open"],
    )
    powers: str = Field(
        description="SHA-256 of the file with the powers of tau: `…/files/{sha256}`.", examples=["4c" * 32]
    )
    contributors_to_powers: int | None = Field(
        description="How many shared in making them, beacons not counted: with none, its keys are for"
        " development.",
        examples=[54],
    )
    closes_with: str | None = Field(
        description="Where the value of its beacon comes from, once that is announced.",
        examples=["drand quicknet, round 12345678"],
    )
    rounds: int | None = Field(description="The value is hashed 2^rounds times.", examples=[10])
    closing_at: datetime | None = Field(
        description="When that was announced.", examples=["2026-11-22T10:00:00Z"]
    )
    beacon: str | None = Field(description="The value, once it has made the keys.", examples=[None])


class CeremonyView(CeremonySummary):
    """A ceremony: its circuits, and who contributed."""

    circuits: list[CircuitView] = Field(description="In the order of contributions; none while it opens.")
    contributions: list[ContributionView] = Field(description="Those that are part of it, in order.")
    pending: str | None = Field(
        description="The contribution that is being verified: no other is taken meanwhile.",
        examples=["ctb_5d1f0c"],
    )


def ceremony_summary(ceremony: Ceremony) -> CeremonySummary:
    return CeremonySummary(**_fields(ceremony))


def ceremony_view(
    ceremony: Ceremony,
    circuits: Sequence[CeremonyCircuit],
    contributions: Sequence[Contribution],
    pending: str | None,
) -> CeremonyView:
    return CeremonyView(
        **_fields(ceremony),
        circuits=[_circuit_view(circuit) for circuit in circuits],
        contributions=[contribution_view(contribution) for contribution in contributions],
        pending=pending,
    )


def contribution_view(contribution: Contribution) -> ContributionView:
    names = ("ceremony_id", "place", "name", "hashes", "beacon")
    fields = job_fields(contribution.job) | {name: getattr(contribution, name) for name in names}
    return ContributionView(**fields)


def phase_of(ceremony: Ceremony) -> Phase:
    """How far it is, once it is there."""
    if ceremony.beacon is not None:
        return "finished"
    if ceremony.closing_at is not None:
        return "closing"
    return "open" if ceremony.job.state == "succeeded" else "opening"


def _fields(ceremony: Ceremony) -> dict[str, Any]:
    names = ("name", "model_id", "powers", "closes_with", "rounds", "closing_at", "beacon")
    return job_fields(ceremony.job) | {
        **{name: getattr(ceremony, name) for name in names},
        "contributors_to_powers": ceremony.powers_contributions,
        "phase": phase_of(ceremony),
    }


def _circuit_view(circuit: CeremonyCircuit) -> CircuitView:
    names = CircuitView.model_fields.keys() - {"scheme"}
    fields = {name: getattr(circuit, name) for name in names}
    return CircuitView(scheme=circuit.form["scheme"], **fields)
