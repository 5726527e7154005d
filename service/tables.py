"""The tables. A job is the truth about a piece of work; models, datasets and proofs are what jobs make.

Each shares its id with the job that makes it: one id travels through the API, the queue and the logs.
Digests name blobs in the store; what is secret is sealed there, and in the columns that say so.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import JSON, DateTime, Dialect, ForeignKey, Index, LargeBinary, String, TypeDecorator
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

Privacy = Literal["public", "private"]
WeightPrivacy = Literal["public", "committed"]
Scheme = Literal["inference", "recognition", "accuracy"]
CommitmentKind = Literal["input", "reference"]

TERMINAL = ("succeeded", "failed", "canceled")


class Utc(TypeDecorator[datetime]):
    """An aware UTC datetime; SQLite keeps it without its zone."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value and value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value and value.replace(tzinfo=UTC)


class Base(DeclarativeBase):
    type_annotation_map = {datetime: Utc, dict[str, Any]: JSON, list[Any]: JSON}  # noqa: RUF012


class Job(Base):
    """``queued → running → succeeded | failed | canceled``; see ``service.jobs`` for the transitions."""

    __tablename__ = "jobs"
    __table_args__ = (
        Index("jobs_by_state", "state", "lease_expires_at"),
        Index("jobs_by_parent", "parent_id"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
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
    request_mac: Mapped[bytes | None] = mapped_column(LargeBinary(32))
    created_at: Mapped[datetime]
    enqueued_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class VerificationKey(Base):
    """A verification key; its id is the SHA-256 of the key and of what it means (``client.documents``)."""

    __tablename__ = "verification_keys"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    document: Mapped[dict[str, Any]]
    """The key in its JSON form."""
    circuit: Mapped[dict[str, Any]]
    """What the key proves: the description that the compiler gives of its circuit."""
    created_at: Mapped[datetime]


class Circuit(Base):
    """The keys of a circuit. Models whose circuits are equal, to the last constraint, share them."""

    __tablename__ = "circuits"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    """SHA-256 of the statement, its description and the basis (``engine.circuit_digest``)."""
    proving_key: Mapped[str] = mapped_column(String(64))
    verification_key_id: Mapped[str] = mapped_column(ForeignKey("verification_keys.id"))
    verification_key: Mapped[VerificationKey] = relationship(lazy="joined")
    created_at: Mapped[datetime]


class Model(Base):
    """A registered network."""

    __tablename__ = "models"

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
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
    verification_key_id: Mapped[str | None] = mapped_column(ForeignKey("verification_keys.id"))
    """Of the label for a private input, the default of proofs."""
    verification_key: Mapped[VerificationKey | None] = relationship(lazy="joined")
    job: Mapped[Job] = relationship(lazy="joined")


class Commitment(Base):
    """A commitment to an input or a reference of a model."""

    __tablename__ = "commitments"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("models.id"))
    kind: Mapped[CommitmentKind] = mapped_column(String(16))
    commitment: Mapped[str] = mapped_column(String(96))
    """Hex."""
    opening: Mapped[str] = mapped_column(String(64))
    """Sealed values and blinding factor."""
    created_at: Mapped[datetime]


class Dataset(Base):
    """Labelled samples of a model's inputs, committed in shards."""

    __tablename__ = "datasets"

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("models.id"))
    name: Mapped[str] = mapped_column(String(200))
    privacy: Mapped[Privacy] = mapped_column(String(16))
    size: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))
    """Of the samples and labels as they were given (``client.datasets``); not shown where they are
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
    job: Mapped[Job] = relationship(lazy="joined")
    model: Mapped[Model] = relationship(lazy="joined")


class Shard(Base):
    """One shard of a proof of accuracy."""

    __tablename__ = "shards"

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    proof_id: Mapped[str] = mapped_column(ForeignKey("proofs.id"), index=True)
    position: Mapped[int]
    opening: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Sealed count and blinding factor of its commitment ``correct``, until the proof is over."""
    proof: Mapped[bytes | None] = mapped_column(LargeBinary)


class Worker(Base):
    """A worker process and its last sign of life."""

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    pid: Mapped[int]
    started_at: Mapped[datetime]
    heartbeat_at: Mapped[datetime]
