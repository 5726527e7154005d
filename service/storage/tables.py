"""The tables. A job is the truth about a piece of work; models, datasets and proofs are what jobs make.

Each shares its id with the job that makes it: one id travels through the API, the queue and the logs.
Digests name blobs in the store; what is secret is sealed there, and in the columns that say so.
Everything that a tenant made carries its ``tenant_id``, on the job or on the row itself.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Text,
    TypeDecorator,
    false,
    select,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, column_property, mapped_column, relationship

from service.settings import QueueName
from verifier.registry import FIRST

Privacy = Literal["public", "private"]
WeightPrivacy = Literal["public", "committed"]
Scheme = Literal["inference", "recognition", "accuracy"]
CommitmentKind = Literal["input", "reference"]

TERMINAL = ("succeeded", "failed", "canceled")
LOCAL_TENANT = "tnt_local"
"""Owns what was made before there were tenants, and what is made where nobody is asked for a key."""


class Utc(TypeDecorator[datetime]):
    """An aware UTC datetime; SQLite keeps it without its zone."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value and value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value and value.replace(tzinfo=UTC)


_JSON = JSON(none_as_null=True)


def _where(condition: str) -> dict[str, Any]:
    """An index of a few rows among many: the reaper asks for them twice a second."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


class Base(DeclarativeBase):
    type_annotation_map = {datetime: Utc, dict[str, Any]: _JSON, list[Any]: _JSON}  # noqa: RUF012


class Tenant(Base):
    """Whose things are whose, and how much of the service they may have. None: no limit of their own.

    SQLite adds no column that refers to another table and has a default: hence ``tenant_id`` is a foreign key
    in new tables only.
    """

    __tablename__ = "tenants"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    max_queued: Mapped[int | None]
    """Jobs that wait or run, shards not counted: more are refused at the door."""
    max_running: Mapped[int | None]
    """Jobs that run, shards counted: more wait."""
    retention_days: Mapped[int | None]
    """Proofs that are over are deleted after as many days."""
    served_at: Mapped[datetime | None]
    """When a worker last took a job of its."""
    suspended_at: Mapped[datetime | None]
    """Since when its keys are refused and its jobs not taken."""
    deleted_at: Mapped[datetime | None]
    """When its end was asked for: the beat deletes what it has, and then this row."""
    created_at: Mapped[datetime]


class ApiKey(Base):
    """What a caller shows. Only a digest of it is kept."""

    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    tenant_id: Mapped[str] = mapped_column(ForeignKey("tenants.id"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    digest: Mapped[bytes] = mapped_column(LargeBinary(32))
    """SHA-256 of the secret half, which is random: no salt, nothing to guess."""
    scopes: Mapped[list[Any]]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    tenant: Mapped[Tenant] = relationship(lazy="joined")


class Login(Base):
    """A browser that showed a key at the dashboard's door."""

    __tablename__ = "logins"

    digest: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    """SHA-256 of the cookie."""
    key_id: Mapped[str] = mapped_column(ForeignKey("api_keys.id", ondelete="CASCADE"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    key: Mapped[ApiKey] = relationship(lazy="joined")


class Job(Base):
    """``queued → running → succeeded | failed | canceled``; ``jobs.lifecycle`` has the transitions."""

    __tablename__ = "jobs"
    __table_args__ = (
        Index("jobs_by_state", "state", "lease_expires_at"),
        Index("jobs_by_parent", "parent_id"),
        Index("jobs_by_tenant", "tenant_id", "kind", "created_at", "id"),
        Index("jobs_by_tenant_and_state", "tenant_id", "kind", "state", "created_at", "id"),
        Index("jobs_by_age", "kind", "created_at", "id"),
        Index("jobs_by_expiry", "expires_at"),
        Index("jobs_by_end", "finished_at"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(40), server_default=LOCAL_TENANT)
    kind: Mapped[str] = mapped_column(String(16))
    queue: Mapped[QueueName] = mapped_column(String(8), server_default="cpu")
    priority: Mapped[int] = mapped_column(server_default=text("0"))
    """Among the jobs of its tenant; more is sooner."""
    memory: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    """Bytes that it is estimated to take: workers with less leave it to others."""
    cost: Mapped[float] = mapped_column(server_default=text("0"))
    """Seconds that it is estimated to take on one processor."""
    available_at: Mapped[datetime | None]
    """Not to be claimed before: after an accident, a job waits a little."""
    deadline_at: Mapped[datetime | None]
    expected: Mapped[dict[str, Any] | None]
    """Seconds per stage that this circuit took before, once a worker knows them."""
    trace: Mapped[str | None] = mapped_column(String(55))
    """W3C traceparent of the request that made it."""
    expires_at: Mapped[datetime | None]
    """To be deleted then, once it is over."""
    labels: Mapped[dict[str, Any] | None]
    """What its caller calls it by; ``JobLabel`` is their index."""
    size: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    """Bytes that were stored for it when it was asked for, sealed."""
    parent_id: Mapped[str | None] = mapped_column(ForeignKey("jobs.id"))
    """The job that waits for this one."""
    state: Mapped[str] = mapped_column(String(16), default="queued")
    revision: Mapped[int] = mapped_column(default=0)
    """Grows with every change a reader can see."""
    attempt: Mapped[int] = mapped_column(default=0)
    fence: Mapped[int] = mapped_column(default=0)
    """Grows with every claim; a worker's writes hold only while its claim is the newest."""
    worker: Mapped[str | None] = mapped_column(String(40))
    lease_expires_at: Mapped[datetime | None]
    stage: Mapped[str | None] = mapped_column(String(64))
    percent: Mapped[float] = mapped_column(default=0.0)
    """Of the present stage."""
    cancel_requested: Mapped[bool] = mapped_column(default=False)
    timings: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Seconds per stage of the attempt that succeeded."""
    problem: Mapped[dict[str, Any] | None]
    """Why the job failed."""
    failures: Mapped[list[Any]] = mapped_column(default=list)
    """The cause of every attempt that did not end well."""
    idempotency_key: Mapped[str | None] = mapped_column(String(255), unique=True)
    """Digest of the tenant's id and the key that it gave."""
    request_mac: Mapped[bytes | None] = mapped_column(LargeBinary(32))
    created_at: Mapped[datetime]
    enqueued_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class JobLabel(Base):
    """A label of a job, where lists can look for it: in the order in which they show its tenant's jobs."""

    __tablename__ = "job_labels"
    __table_args__ = (Index("job_labels_by_value", "tenant_id", "name", "value", "created_at", "job_id"),)

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String(63), primary_key=True)
    value: Mapped[str] = mapped_column(String(100))
    tenant_id: Mapped[str] = mapped_column(String(40))
    created_at: Mapped[datetime]
    """The job's."""


class JobEvent(Base):
    """A change of a job's state or stage, at the revision that it made."""

    __tablename__ = "job_events"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime]
    state: Mapped[str] = mapped_column(String(16))
    stage: Mapped[str | None] = mapped_column(String(64))
    attempt: Mapped[int]


class VerificationKey(Base):
    """A verification key; its id is the SHA-256 of the key and of what it means (``verifier.documents``)."""

    __tablename__ = "verification_keys"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    document: Mapped[dict[str, Any]]
    """The key in its JSON form."""
    circuit: Mapped[dict[str, Any]]
    """What the key proves: the description that the compiler gives of its circuit."""
    transcript: Mapped[dict[str, Any] | None]
    """How the key's ceremony came to its secrets."""
    system: Mapped[str] = mapped_column(String(40), server_default=FIRST)
    """The proof system that it is of."""
    created_at: Mapped[datetime]


class Circuit(Base):
    """The keys of a circuit. Models whose circuits are equal, to the last constraint, share them."""

    __tablename__ = "circuits"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    """SHA-256 of the statement, its description and the basis (``engine.circuit_digest``)."""
    proving_key: Mapped[str] = mapped_column(String(64))
    proving_key_bytes: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    constraints: Mapped[int] = mapped_column(server_default=text("0"))
    uses: Mapped[int] = mapped_column(server_default=text("0"))
    """Proofs made with it."""
    seconds: Mapped[dict[str, Any] | None]
    """Per backend and stage, what proofs took of late."""
    verification_key_id: Mapped[str] = mapped_column(ForeignKey("verification_keys.id"))
    verification_key: Mapped[VerificationKey] = relationship(lazy="joined")
    created_at: Mapped[datetime]


class Model(Base):
    """A registered network."""

    __tablename__ = "models"

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    system: Mapped[str] = mapped_column(String(40), server_default=FIRST)
    """The proof system that commits to it and proves what it computes."""
    weight_privacy: Mapped[WeightPrivacy] = mapped_column(String(16))
    bits: Mapped[int]
    parent_id: Mapped[str | None] = mapped_column(ForeignKey("models.id"))
    """The registered model that this is a new version of."""
    quantised: Mapped[str] = mapped_column(String(64))
    """Sealed quantised network. The ONNX file and the calibration are not kept."""
    network: Mapped[str | None] = mapped_column(String(64))
    """Hex digest: of the network, or of its architecture where the weights are committed."""
    commitment: Mapped[str | None] = mapped_column(String(96))
    """Hex, where the weights are committed."""
    blinding: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Sealed blinding factor of the commitment."""
    registration: Mapped[dict[str, Any] | None]
    """The proof file of the registration, where the weights are committed."""
    receipt: Mapped[dict[str, Any] | None]
    require_ceremony: Mapped[bool] = mapped_column(server_default=false())
    """Only keys of a ceremony make proofs of it."""
    report: Mapped[dict[str, Any] | None]
    """What quantisation did, as ``circuits.quantisation.Report`` has it."""
    estimate: Mapped[dict[str, Any] | None]
    """Of the default proof: ``constraints``, ``memory`` in bytes, ``cost`` in seconds."""
    verification_key_id: Mapped[str | None] = mapped_column(ForeignKey("verification_keys.id"))
    """Of the label for a private input, the default of proofs."""
    verification_key: Mapped[VerificationKey | None] = relationship(lazy="joined")
    setup: Mapped[str | None] = column_property(
        select(VerificationKey.document["setup"].as_string())
        .where(VerificationKey.id == verification_key_id)
        .scalar_subquery()
    )
    """Who made that key."""
    job: Mapped[Job] = relationship(lazy="joined")


class Commitment(Base):
    """A commitment to an input or a reference of a model."""

    __tablename__ = "commitments"
    __table_args__ = (
        Index("commitments_by_tenant", "tenant_id", "created_at", "id"),
        Index("commitments_by_key", "idempotency_key", unique=True),
        Index("commitments_by_model", "model_id"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(40), server_default=LOCAL_TENANT)
    model_id: Mapped[str] = mapped_column(ForeignKey("models.id"))
    kind: Mapped[CommitmentKind] = mapped_column(String(16))
    commitment: Mapped[str] = mapped_column(String(96))
    """Hex."""
    opening: Mapped[str] = mapped_column(String(64))
    """Sealed values and blinding factor."""
    idempotency_key: Mapped[str | None] = mapped_column(String(64))
    """As a job's."""
    request_mac: Mapped[bytes | None] = mapped_column(LargeBinary(32))
    created_at: Mapped[datetime]


class Dataset(Base):
    """Labelled samples of a model's inputs, committed in shards."""

    __tablename__ = "datasets"
    __table_args__ = (Index("datasets_by_model", "model_id"),)

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("models.id"))
    name: Mapped[str] = mapped_column(String(200))
    privacy: Mapped[Privacy] = mapped_column(String(16))
    size: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))
    """Of the samples and labels as they were given (``verifier.datasets``); not shown where they are
    private.
    """
    picked_for: Mapped[str | None] = mapped_column(String(96))
    """The model's commitment, in hex: it was there before the samples were picked."""
    shard_size: Mapped[int | None]
    """Samples in one proof; where the caller does not say, the job does."""
    samples: Mapped[str] = mapped_column(String(64))
    """Sealed samples, quantised, and labels."""
    shards: Mapped[list[Any] | None]
    """Each shard's size and commitment."""
    openings: Mapped[str | None] = mapped_column(String(64))
    """Sealed openings of the shards' commitments."""
    job: Mapped[Job] = relationship(lazy="joined")
    model: Mapped[Model] = relationship(lazy="joined")


class Proof(Base):
    """A proof, from the request to the result."""

    __tablename__ = "proofs"
    __table_args__ = (
        Index("proofs_by_model", "model_id"),
        Index("proofs_with_input", "id", **_where("input IS NOT NULL")),
    )

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("models.id"))
    scheme: Mapped[Scheme] = mapped_column(String(16))
    request: Mapped[dict[str, Any]]
    """What was asked for, without what is secret."""
    input: Mapped[str | None] = mapped_column(String(64))
    """Sealed input and reference with their openings, until the job has ended."""
    dataset_id: Mapped[str | None] = mapped_column(ForeignKey("datasets.id", ondelete="SET NULL"))
    verification_key_id: Mapped[str | None] = mapped_column(ForeignKey("verification_keys.id"))
    document: Mapped[dict[str, Any] | None]
    """The proof file; without its proofs while the shards are at work."""
    verification_key: Mapped[VerificationKey | None] = relationship(lazy="select")
    job: Mapped[Job] = relationship(lazy="joined")
    model: Mapped[Model] = relationship(lazy="joined")


class Shard(Base):
    """One shard of a proof of accuracy."""

    __tablename__ = "shards"
    __table_args__ = (Index("shards_with_opening", "proof_id", **_where("opening IS NOT NULL")),)

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    proof_id: Mapped[str] = mapped_column(ForeignKey("proofs.id"), index=True)
    position: Mapped[int]
    opening: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Sealed count and blinding factor of its commitment ``correct``, until the proof is over."""
    proof: Mapped[bytes | None] = mapped_column(LargeBinary)


class Ceremony(Base):
    """Keys of several circuits that several parties make; its own job is the one that opens it."""

    __tablename__ = "ceremonies"
    __table_args__ = (Index("ceremonies_by_model", "model_id"),)

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    model_id: Mapped[str | None] = mapped_column(ForeignKey("models.id", ondelete="SET NULL"))
    name: Mapped[str] = mapped_column(String(200))
    asked: Mapped[list[Any]]
    """The circuits, as the request for it says."""
    powers: Mapped[str] = mapped_column(String(64))
    """The powers of tau, in the store."""
    powers_contributions: Mapped[int | None]
    """How many shared in making them."""
    closes_with: Mapped[str | None] = mapped_column(String(200))
    """Where the value of its beacon will come from, from the announcement on."""
    rounds: Mapped[int | None]
    closing_at: Mapped[datetime | None]
    beacon: Mapped[str | None] = mapped_column(String(64))
    """The value in hex, once it has made the keys."""
    job: Mapped[Job] = relationship(lazy="joined")


class CeremonyCircuit(Base):
    """One of a ceremony's circuits, and how far its key is."""

    __tablename__ = "ceremony_circuits"

    ceremony_id: Mapped[str] = mapped_column(
        ForeignKey("ceremonies.id", ondelete="CASCADE"), primary_key=True
    )
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    circuit: Mapped[str] = mapped_column(String(64))
    """Its digest, by which the service has its keys."""
    form: Mapped[dict[str, Any]]
    """What of its description tells it from others: scheme, privacy, what is revealed."""
    constraints: Mapped[int]
    statement: Mapped[str] = mapped_column(String(64))
    """With its description, in the store."""
    start: Mapped[str] = mapped_column(String(64))
    """Hash of where its key began."""
    state: Mapped[str] = mapped_column(String(64))
    """Its key so far, in the store."""
    size: Mapped[int] = mapped_column(BigInteger)
    next_size: Mapped[int] = mapped_column(BigInteger)
    """Bytes of the state that one more contribution makes of it."""
    verification_key_id: Mapped[str | None] = mapped_column(ForeignKey("verification_keys.id"))


class Contribution(Base):
    """What one party, or a beacon, added to a ceremony: its job is the one that verifies it."""

    __tablename__ = "contributions"
    __table_args__ = (Index("contributions_by_ceremony", "ceremony_id"),)

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    ceremony_id: Mapped[str] = mapped_column(ForeignKey("ceremonies.id", ondelete="CASCADE"))
    beacon: Mapped[str | None] = mapped_column(String(64))
    """The value in hex, of a beacon's."""
    place: Mapped[int | None]
    """In the chain, from 1, once it is verified."""
    name: Mapped[str | None] = mapped_column(String(80))
    hashes: Mapped[list[Any] | None]
    """What its contributor publishes: one for each circuit."""
    job: Mapped[Job] = relationship(lazy="joined")
    handed: Mapped[list[HandedState]] = relationship(lazy="raise", passive_deletes="all")


class HandedState(Base):
    """A state that a contributor handed in, until it is verified."""

    __tablename__ = "handed_states"

    contribution_id: Mapped[str] = mapped_column(
        ForeignKey("contributions.id", ondelete="CASCADE"), primary_key=True
    )
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    sha256: Mapped[str] = mapped_column(String(64))
    content: Mapped[str] = mapped_column(String(64))
    """The upload that it was, sealed, in the store."""


class Worker(Base):
    """A worker process, what it can take, and its last sign of life."""

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    pid: Mapped[int]
    host: Mapped[str] = mapped_column(String(255), server_default="")
    queues: Mapped[list[Any] | None]
    backend: Mapped[str] = mapped_column(String(8), server_default="cpu")
    threads: Mapped[int] = mapped_column(server_default=text("1"))
    memory: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    """Bytes that a job may take there."""
    devices: Mapped[list[Any] | None]
    """Of each GPU: ``name``, ``memory_used`` and ``memory_total`` in bytes, ``busy`` in percent."""
    started_at: Mapped[datetime]
    heartbeat_at: Mapped[datetime]


class Artifact(Base):
    """An artifact of the whole service that goes by a name: the commitment basis."""

    __tablename__ = "artifacts"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64))


class Upload(Base):
    """A file that was brought ahead of the request that names it by its hash."""

    __tablename__ = "uploads"

    tenant_id: Mapped[str] = mapped_column(ForeignKey("tenants.id"), primary_key=True)
    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger)
    content: Mapped[str] = mapped_column(String(64))
    """Sealed, in the store."""
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class Webhook(Base):
    """An address that is told when jobs are over."""

    __tablename__ = "webhooks"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    tenant_id: Mapped[str] = mapped_column(ForeignKey("tenants.id"), index=True)
    url: Mapped[str] = mapped_column(String(2000))
    events: Mapped[list[Any]]
    secret: Mapped[bytes] = mapped_column(LargeBinary)
    """Sealed."""
    previous_secret: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Sealed: messages are signed with it too, until then."""
    previous_until: Mapped[datetime | None]
    created_at: Mapped[datetime]
    disabled_at: Mapped[datetime | None]


class Delivery(Base):
    """A message to a webhook, until it arrives or is given up; then its log."""

    __tablename__ = "deliveries"
    __table_args__ = (
        Index("deliveries_by_webhook", "webhook_id", "created_at", "id"),
        Index("deliveries_by_time", "state", "next_at"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    webhook_id: Mapped[str] = mapped_column(ForeignKey("webhooks.id", ondelete="CASCADE"))
    job_id: Mapped[str] = mapped_column(String(40))
    event: Mapped[str] = mapped_column(String(40))
    body: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(16), default="waiting")
    """``waiting``, ``delivered`` or ``given up``."""
    attempts: Mapped[list[Any]] = mapped_column(default=list)
    """Of each: ``at``, ``status`` or ``error``, ``seconds``."""
    next_at: Mapped[datetime]
    created_at: Mapped[datetime]
    webhook: Mapped[Webhook] = relationship(lazy="joined")


class AuditEntry(Base):
    """Who did what, and to what. Never changed."""

    __tablename__ = "audit_log"
    __table_args__ = (Index("audit_by_tenant", "tenant_id", "id"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    at: Mapped[datetime]
    tenant_id: Mapped[str] = mapped_column(String(40))
    actor: Mapped[str] = mapped_column(String(60))
    """A key's id, ``local`` or ``command line``."""
    action: Mapped[str] = mapped_column(String(60))
    target: Mapped[str | None] = mapped_column(String(80))
    request_id: Mapped[str | None] = mapped_column(String(40))
    address: Mapped[str | None] = mapped_column(String(64))


class Total(Base):
    """A sum that only grows, whichever process adds to it."""

    __tablename__ = "totals"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    label: Mapped[str] = mapped_column(String(120), primary_key=True)
    count: Mapped[int] = mapped_column(BigInteger)
    seconds: Mapped[float]


class Usage(Base):
    """What a job took, written when it ended, and kept when it is deleted. Never changed."""

    __tablename__ = "usage"
    __table_args__ = (Index("usage_by_tenant", "tenant_id", "ended_at"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    tenant_id: Mapped[str] = mapped_column(String(40))
    kind: Mapped[str] = mapped_column(String(16))
    ended_at: Mapped[datetime]
    seconds: Mapped[float]
    """Of a worker, for what succeeded."""
    rows: Mapped[int] = mapped_column(BigInteger)
    """Constraints that were proven."""
    bytes: Mapped[int] = mapped_column(BigInteger)
    """Stored for it when it was asked for."""


class Issuer(Base):
    """A key that this service has signed receipts with."""

    __tablename__ = "issuers"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    """The Ed25519 public key, in hex."""
    since: Mapped[datetime]
