"""The tables. A job is the truth about a piece of work; models and proofs are what jobs make.

A model or proof shares its id with the job that makes it: one id travels through the API, the queue and
the logs.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import JSON, DateTime, Dialect, ForeignKey, Index, LargeBinary, String, TypeDecorator
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

Privacy = Literal["public", "private"]

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
    __table_args__ = (Index("jobs_by_state", "state", "lease_expires_at"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
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
    """A verification key; its id is the SHA-256 of its bytes, in hex."""

    __tablename__ = "verification_keys"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    document: Mapped[dict[str, Any]]
    """The key in its JSON form."""
    circuit: Mapped[dict[str, Any]]
    """What the key proves: the description that the compiler gives of its circuit."""
    created_at: Mapped[datetime]


class Model(Base):
    """A registered network. Digests name blobs in the store."""

    __tablename__ = "models"

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    input_privacy: Mapped[Privacy] = mapped_column(String(16))
    weight_privacy: Mapped[Privacy] = mapped_column(String(16))
    bits: Mapped[int]
    quantised: Mapped[str] = mapped_column(String(64))
    """Sealed quantised network. The ONNX file and the calibration are not kept."""
    proving_key: Mapped[str | None] = mapped_column(String(64))
    verification_key_id: Mapped[str | None] = mapped_column(ForeignKey("verification_keys.id"))
    verification_key: Mapped[VerificationKey | None] = relationship(lazy="joined")
    job: Mapped[Job] = relationship(lazy="joined")


class Proof(Base):
    """A proof, from the request to the result."""

    __tablename__ = "proofs"

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("models.id"))
    input: Mapped[str | None] = mapped_column(String(64))
    """Sealed input, until the job has ended."""
    proof: Mapped[bytes | None] = mapped_column(LargeBinary(192))
    public_inputs: Mapped[list[Any] | None]
    """Decimal strings."""
    label: Mapped[int | None]
    job: Mapped[Job] = relationship(lazy="joined")
    model: Mapped[Model] = relationship(lazy="joined")


class Worker(Base):
    """A worker process and its last sign of life."""

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    pid: Mapped[int]
    started_at: Mapped[datetime]
    heartbeat_at: Mapped[datetime]
