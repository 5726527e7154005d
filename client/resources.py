"""The API's resources as the client shows them. Unknown fields of newer services are ignored."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeVar

Resource = TypeVar("Resource")

TERMINAL = frozenset({"succeeded", "failed", "canceled"})


@dataclass(frozen=True, kw_only=True)
class Job:
    """How a job is doing. ``percent`` is of the present ``stage``; ``timings`` are seconds per stage."""

    id: str
    state: str
    stage: str | None
    percent: float
    attempt: int
    cancel_requested: bool
    timings: dict[str, float]
    problem: dict[str, Any] | None
    failures: list[dict[str, Any]]

    @property
    def is_over(self) -> bool:
        return self.state in TERMINAL


@dataclass(frozen=True, kw_only=True)
class Model(Job):
    """A registered network. ``commitment`` is there where the weights are committed."""

    name: str
    weight_privacy: str
    bits: int
    parent_id: str | None
    network: str | None
    commitment: str | None
    setup: str
    verification_key_id: str | None
    registration_key_id: str | None
    description: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Dataset(Job):
    """Labelled samples, committed in shards. ``sha256`` is there where they are public."""

    model_id: str
    name: str
    privacy: str
    size: int
    sha256: str | None
    picked_for: str | None
    shard_size: int | None
    shards: list[dict[str, Any]] | None


@dataclass(frozen=True, kw_only=True)
class Proof(Job):
    """A proof, from the request to the result. ``values``: all that it shows, by name."""

    model_id: str
    scheme: str
    dataset_id: str | None
    challenge: str | None
    verification_key_id: str | None
    label: int | None
    values: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Commitment:
    """A commitment to an input or a reference of a model."""

    id: str
    model_id: str
    kind: str
    commitment: str


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The verdict on a proof document: ``reason`` is its stable name; what is verified by it, and what is
    not.
    """

    valid: bool
    reason: str
    detail: str
    verified: list[str]
    not_verified: list[str]
    verification_key: dict[str, Any]
    statement: dict[str, Any] | None


def read(kind: type[Resource], document: dict[str, Any]) -> Resource:
    """A resource from the JSON of an answer."""
    return kind(**{field.name: document[field.name] for field in fields(kind)})  # type: ignore[arg-type]
