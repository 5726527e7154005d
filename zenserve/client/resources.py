"""The API's resources as the client shows them. Unknown fields of newer services are ignored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from typing import Any, Literal, TypedDict, TypeVar

from zenserve.verifier.schemes import (
    AnyScheme,
    Compared,
    HeldKind,
    Measure,
    Norm,
    Privacy,
    PublicOrCommitted,
    PublicOrPrivate,
    Reveal,
    Scheme,
)

Resource = TypeVar("Resource")
JobKind = TypeVar("JobKind", bound="Job")

State = Literal["queued", "running", "succeeded", "failed", "canceled"]
Phase = Literal["opening", "open", "closing", "finished"]
Scope = Literal["read", "prove", "register", "reveal", "contribute", "manage", "admin"]
Event = Literal[
    "proof.succeeded",
    "proof.failed",
    "proof.canceled",
    "model.succeeded",
    "model.failed",
    "model.canceled",
    "dataset.succeeded",
    "dataset.failed",
    "dataset.canceled",
    "stream.succeeded",
    "stream.failed",
    "stream.canceled",
]

_FIRST = "groth16-bls12-381"
"""The proof system of services that name none."""
TERMINAL = frozenset({"succeeded", "failed", "canceled"})


@dataclass(frozen=True, kw_only=True)
class Job:
    """The state and progress of a job.

    ``percent`` is of the present ``stage``; ``overall_percent`` and ``eta_seconds`` are of the whole job,
    ``eta_setup_seconds`` of keys that must be made first, None while they are unknown; ``timings`` are
    seconds per stage.
    """

    id: str
    state: State
    revision: int
    stage: str | None
    percent: float
    overall_percent: float | None = None
    eta_seconds: float | None = None
    eta_setup_seconds: float | None = None
    attempt: int
    cancel_requested: bool
    priority: int = 0
    queue: str = "cpu"
    labels: dict[str, str] = field(default_factory=dict)
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    deadline_at: datetime | None = None
    expires_at: datetime | None = None
    timings: dict[str, float]
    problem: dict[str, Any] | None
    failures: list[dict[str, Any]]

    @property
    def is_over(self) -> bool:
        return self.state in TERMINAL


@dataclass(frozen=True, kw_only=True)
class Model(Job):
    """A registered network. ``commitment`` is there where the weights are committed; ``report`` says what
    quantisation did; ``twins`` are those of its network under other proof systems. Lists leave out these, the
    ``report``, the ``description`` and ``registration_key_id``.
    """

    name: str
    version: int = 1
    system: str = _FIRST
    weight_privacy: PublicOrCommitted
    bits: int
    parent_id: str | None
    network: str | None
    commitment: str | None
    setup: str | None
    verification_key_id: str | None
    require_ceremony: bool = False
    saturate: bool = False
    accept_difference: bool = False
    twins: list[dict[str, Any]] | None = None
    registration_key_id: str | None = None
    report: dict[str, Any] | None = None
    table: dict[str, Any] | None = None
    description: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Dataset(Job):
    """Samples with labels, or with what ``compared`` says, of the ``output`` of that name where there are
    several, committed in shards. ``sha256`` is there where they are public. Lists have no ``shards``."""

    model_id: str
    name: str
    privacy: PublicOrPrivate
    size: int
    sha256: str | None
    compared: Compared = "labels"
    output: str | None = None
    picked_for: str | None
    measure: Measure | None = None
    shard_size: int | None
    shards: list[dict[str, Any]] | None = None


@dataclass(frozen=True, kw_only=True)
class Proof(Job):
    """A proof, from the request to the result. ``values``: all that it shows, by name; ``output_ids``: of the
    commitments to outputs that it published; ``claim``: what it says, in words; ``logits``, or ``outputs``:
    what those, or its ``values.values``, stand for, where it shows them; ``difference``: how far its answer
    is from the float network's, which nothing proves; ``class_name``: what the model's table calls the
    ``label``; ``unproven``: the preparation of its columns that nothing proves. Lists leave these six out.
    """

    model_id: str
    system: str = _FIRST
    scheme: Scheme
    dataset_id: str | None
    challenge: str | None
    verification_key_id: str | None
    label: int | None
    class_name: str | None = None
    unproven: str | None = None
    values: dict[str, Any] | None
    output_ids: dict[str, str] | None = None
    claim: str | None = None
    logits: list[float] | None = None
    outputs: list[float] | None = None
    difference: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Stream(Job):
    """A stream of frames over a bank, the ``models``. It takes frames, from ``begun_at`` to ``ended_at``:
    ``frames`` were handed in, of which the first ``frames_over`` are proven or missed. ``batch``: so many
    frames in a row may have one proof, and wait ``batch_seconds`` for each other. ``challenge``: of whoever
    asked for it. ``head``: what its chain begins with, as verdicts have it.
    """

    name: str
    models: list[str]
    classes: int
    input_privacy: PublicOrPrivate
    deadline_seconds: int | None
    backlog: int
    batch: int | None = None
    batch_seconds: int | None = None
    begun_at: datetime | None
    challenge: str | None = None
    head: str | None = None
    ended_at: datetime | None
    frames: int
    frames_over: int


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A frame of a stream. ``missed``: why there is no proof. ``label``: its class; ``seen``: the one that
    its model sees without a prior. ``batch``: the first frame of those that its proof is of, where they are
    several. ``seconds``: what its proof took, of a batch its share.
    """

    number: int
    proof_id: str
    state: State
    missed: str | None
    model_id: str | None
    label: int | None
    seen: int | None
    batch: int | None = None
    created_at: datetime
    finished_at: datetime | None
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Contribution(Job):
    """A contribution to a ceremony: part of it, in its ``place``, once it ``succeeded``. ``hashes``, one for
    each circuit, are what its contributor publishes.
    """

    ceremony_id: str
    place: int | None
    name: str | None
    hashes: list[str] | None
    beacon: str | None


@dataclass(frozen=True, kw_only=True)
class Ceremony(Job):
    """A ceremony; its job is the one that opens it. ``phase`` is ``opening``, ``open``, ``closing`` or
    ``finished``. Lists leave out the ``circuits``, the ``contributions`` and what is ``pending``.
    """

    name: str
    model_id: str | None
    phase: Phase
    powers: str
    contributors_to_powers: int | None
    setup: Literal["ceremony", "development"] | None = None
    closes_with: str | None
    rounds: int | None
    closing_at: datetime | None
    beacon: str | None
    circuits: list[dict[str, Any]] | None = None
    contributions: list[dict[str, Any]] | None = None
    pending: str | None = None


class CircuitFields(TypedDict, total=False):
    """A circuit of a ceremony: by its scheme and what it takes, or by a key that it has."""

    scheme: AnyScheme
    input_privacy: Privacy | Mapping[str, Privacy]
    reveal: Reveal
    outputs: Mapping[str, Reveal]
    top: int
    bounds: int
    batch: int
    fold_inputs: bool
    reference_privacy: PublicOrCommitted
    shard_size: int
    measure: Measure
    verification_key_id: str


class InputFields(TypedDict, total=False):
    """One of several inputs: its values, or the id of a commitment to it."""

    values: Any
    privacy: PublicOrPrivate
    id: str


class ProofFields(TypedDict, total=False):
    """The fields of a request for a proof, beside the model and the input (``Client.create_proof``)."""

    scheme: Scheme
    system: str | None
    input_id: str | None
    input_privacy: PublicOrPrivate | None
    inputs: Mapping[str, InputFields] | None
    reveal: Reveal | None
    outputs: Mapping[str, Reveal] | None
    top: int | None
    at_least: float | Mapping[str, float] | None
    at_most: float | Mapping[str, float] | None
    bounds: Sequence[float] | Mapping[str, Sequence[float]] | None
    reference: Any
    reference_id: str | None
    threshold: int | None
    radius: int | None
    norm: Norm | None
    dataset_id: str | None
    measure: Measure | None
    challenge: str | None
    accept_difference: bool | None
    fold_inputs: bool | None
    labels: Mapping[str, str] | None


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """The result of a dry run: what a proof would show and cost; its constraints hold.
    ``verification_key_id`` is None if setup must be made first."""

    model_id: str
    scheme: Scheme
    label: int | None
    values: dict[str, Any]
    constraints: int
    proofs: int
    verification_key_id: str | None
    setup_seconds: float
    proof_seconds: float
    memory_bytes: int
    key_bytes: int
    proof_bytes: int
    queue: str


@dataclass(frozen=True, kw_only=True)
class Commitment:
    """A commitment to an input or a reference of a model."""

    id: str
    model_id: str
    kind: HeldKind
    commitment: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The verdict on a proof document: ``reason`` is its stable name; what is verified by it, and what is
    not. ``remedy`` says what to do about another key or challenge.
    """

    valid: bool
    reason: str
    detail: str
    verified: list[str]
    not_verified: list[str]
    verification_key: dict[str, Any]
    statement: dict[str, Any] | None
    remedy: str | None = None


@dataclass(frozen=True, kw_only=True)
class ContractCall:
    """A call to a contract: ``proof`` and ``calldata`` in hex after 0x, ``inputs`` in decimal.

    With web3.py: ``contract.functions.verify(call.proof, [int(text) for text in call.inputs]).call()``.
    ``gas``: the approximate cost of a transaction, in all.
    """

    proof: str
    inputs: list[str]
    calldata: str
    gas: int


@dataclass(frozen=True, kw_only=True)
class Issuer:
    """A key that the service signs receipts with, or did: ``issuer`` is in them."""

    issuer: str
    is_present: bool
    since: datetime | None


@dataclass(frozen=True, kw_only=True)
class Principal:
    """The caller: ``actor`` is the id of the key, or ``local``."""

    tenant_id: str
    actor: str
    scopes: list[Scope]


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """An owner of resources, with its limits on the use of the service. None: the service's own limit.

    While a tenant is suspended, its keys are refused. A deleted tenant is removed once all its resources are
    gone.
    """

    id: str
    name: str
    max_queued: int | None
    max_running: int | None
    retention_days: int | None
    suspended_at: datetime | None = None
    deleted_at: datetime | None = None
    created_at: datetime


class TenantChange(TypedDict, total=False):
    """The fields of a tenant to change. None: no limit of its own."""

    name: str
    max_queued: int | None
    max_running: int | None
    retention_days: int | None


@dataclass(frozen=True, kw_only=True)
class Key:
    """An API key, without what its holder shows."""

    id: str
    tenant_id: str
    name: str
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class NewKey(Key):
    """A key that was made just now. ``key`` is what its holder shows: keep it, it cannot be shown again."""

    key: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """An address that is told when jobs are over."""

    id: str
    url: str
    events: list[Event]
    created_at: datetime
    disabled_at: datetime | None
    previous_until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class NewWebhook(Webhook):
    """A webhook that was made just now, or has a new secret. ``secret`` signs its messages
    (``zenserve.client.webhooks``): keep it.
    """

    secret: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """A message to a webhook. ``state`` is ``waiting``, ``delivered`` or ``given up``; ``attempts`` has of
    each ``at``, ``status`` or ``error``, and ``seconds``.
    """

    id: str
    event: str
    job_id: str
    body: str
    state: str
    attempts: list[dict[str, Any]]
    next_at: datetime
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Usage:
    """The resources used by a tenant's jobs that ended in a range of time: ``seconds`` of workers, proven
    ``rows``, and stored ``bytes``. ``name`` is None if the tenant is gone."""

    tenant_id: str
    name: str | None
    jobs: int
    seconds: float
    rows: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class AuditEntry:
    """An entry of the audit log: an actor, an action and its target."""

    id: int
    at: datetime
    tenant_id: str
    actor: str
    action: str
    target: str | None
    request_id: str | None
    address: str | None


def read(kind: type[Resource], document: dict[str, Any]) -> Resource:
    """A resource from the JSON of an answer. Raises ``KeyError``, ``TypeError``, ``ValueError``."""
    return kind(
        **{
            each.name: _value(each.name, document[each.name])
            for each in fields(kind)  # type: ignore[arg-type]
            if each.name in document
            or (each.default is MISSING and each.default_factory is MISSING)  # older services do not say it
        }
    )


def _value(name: str, value: Any) -> Any:
    is_time = name in ("at", "since", "previous_until") or name.endswith("_at")
    return datetime.fromisoformat(value) if is_time and value is not None else value
