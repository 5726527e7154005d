"""Jobs, and the workers that do them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, String, text
from sqlalchemy.orm import Mapped, mapped_column

from zenserve.service.settings import QueueName
from zenserve.service.storage.records.base import LOCAL_TENANT, Base

TERMINAL: Final = ("succeeded", "failed", "canceled")
_ALONE: Final[dict[str, Any]] = dict.fromkeys(("sqlite_where", "postgresql_where"), text("parent_id IS NULL"))


class Job(Base):
    """``queued → running → succeeded | failed | canceled``; ``jobs.lifecycle`` has the transitions."""

    __tablename__ = "jobs"
    __table_args__ = (
        Index("jobs_by_state", "state", "lease_expires_at"),
        Index("jobs_by_parent", "parent_id"),
        Index("jobs_by_tenant", "tenant_id", "kind", "created_at", "id"),
        Index("jobs_by_tenant_and_state", "tenant_id", "kind", "state", "created_at", "id"),
        Index("jobs_by_age", "kind", "created_at", "id"),
        # Lists show no frames of streams, of which there may be a million. SQLite reads what is compared in
        # the index only if it is there.
        *(
            Index(f"jobs_by_{name}_alone", *columns, "created_at", "id", "parent_id", **_ALONE)
            for name, columns in {
                "tenant": ("tenant_id", "kind"),
                "tenant_and_state": ("tenant_id", "kind", "state"),
                "age": ("kind",),
            }.items()
        ),
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
    """The labels that the caller gave the job; ``JobLabel`` is their index."""
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
    kernels: Mapped[dict[str, Any] | None]
    """Seconds of a GPU's, by name, where they were measured: of one proof of sixteen."""
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
    """Bytes that a job may take there, once others are over."""
    devices: Mapped[list[Any] | None]
    """Of each GPU: ``name``, ``memory_used`` and ``memory_total`` in bytes, ``busy`` in percent."""
    started_at: Mapped[datetime]
    heartbeat_at: Mapped[datetime]
