"""The JSON of ceremonies and contributions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, Field

from zenserve.service.api.schemas import JobView, job_fields
from zenserve.service.storage.records.ceremonies import Ceremony, CeremonyCircuit, Contribution
from zenserve.service.submissions.ceremonies import Phase, phase_of
from zenserve.verifier.schemes import AnyScheme

_SHA: Final = "5d" * 32


class CircuitView(BaseModel):
    """A circuit of a ceremony, and how far its key is."""

    scheme: AnyScheme = Field(description="What its proofs prove.", examples=["inference"])
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
    setup: Literal["ceremony", "development"] | None = Field(
        description="What its keys will say, null while it opens. `development`: nobody contributed to the"
        " powers of tau, so whoever drew them can forge proofs, however many contribute now.",
        examples=["ceremony"],
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


def _fields(ceremony: Ceremony) -> dict[str, Any]:
    names = ("name", "model_id", "powers", "closes_with", "rounds", "closing_at", "beacon")
    return job_fields(ceremony.job) | {
        **{name: getattr(ceremony, name) for name in names},
        "contributors_to_powers": ceremony.powers_contributions,
        "setup": _setup(ceremony),
        "phase": phase_of(ceremony),
    }


def _setup(ceremony: Ceremony) -> Literal["ceremony", "development"] | None:
    if ceremony.powers_contributions is None:
        return None
    return "ceremony" if ceremony.powers_contributions else "development"


def _circuit_view(circuit: CeremonyCircuit) -> CircuitView:
    names = CircuitView.model_fields.keys() - {"scheme"}
    fields = {name: getattr(circuit, name) for name in names}
    return CircuitView(scheme=circuit.form["scheme"], **fields)
