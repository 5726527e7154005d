"""Callers' operations on jobs: create, show, cancel and retry them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from zenserve.errors import ConflictError, NotFoundError
from zenserve.service import telemetry
from zenserve.service.jobs import children, events, frames, lifecycle
from zenserve.service.jobs.lifecycle import QUEUED
from zenserve.service.settings import QueueName
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.records.jobs import Job, JobLabel


@dataclass(frozen=True)
class Terms:
    """The terms of a submission for its job. ``memory`` in bytes, ``cost`` in seconds: estimates."""

    tenant_id: str = LOCAL_TENANT
    queue: QueueName = "cpu"
    priority: int = 0
    memory: int = 0
    cost: float = 0.0
    size: int = 0
    """Bytes that were stored for it."""
    labels: dict[str, str] | None = None
    deadline_at: datetime | None = None
    expires_at: datetime | None = None
    parent_id: str | None = None
    trace: str | None = field(default_factory=telemetry.current_trace)
    idempotency_key: str | None = None
    """As the caller gave it."""
    request_macs: tuple[bytes, ...] = (b"",)
    """By the present secret, which is kept, and by previous ones."""


class Jobs:
    """Jobs within one transaction, as callers see them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def state(self, job_id: str) -> str | None:
        return self._session.scalar(select(Job.state).where(Job.id == job_id))

    def revisions(self, job_ids: Collection[str]) -> dict[str, tuple[int, str]]:
        """Revision and state of those that there are."""
        found = select(Job.id, Job.revision, Job.state).where(Job.id.in_(job_ids))
        return {row.id: (row.revision, row.state) for row in self._session.execute(found)}

    def create(self, job_id: str, kind: str, terms: Terms | None = None) -> Job:
        """A queued job. Raises ``IntegrityError`` where its idempotency key was faster elsewhere."""
        terms = terms or Terms()
        key, moment = terms.idempotency_key, clock(self._session)
        job = Job(
            id=job_id,
            kind=kind,
            parent_id=terms.parent_id,
            tenant_id=terms.tenant_id,
            queue=terms.queue,
            priority=terms.priority,
            memory=terms.memory,
            cost=terms.cost,
            size=terms.size,
            labels=terms.labels or None,
            deadline_at=terms.deadline_at,
            expires_at=terms.expires_at,
            trace=terms.trace,
            idempotency_key=key and scoped(terms.tenant_id, key),
            request_mac=terms.request_macs[0] if key else None,
            created_at=moment,
            enqueued_at=moment,
        )
        self._session.add(job)
        self._session.flush()
        self._index_labels(job)
        events.record(self._session, [job_id])
        return job

    def create_children(self, parent_id: str, kind: str, job_ids: Sequence[str]) -> None:
        """Queued jobs on their parent's terms, without its labels: no list has them."""
        parent = self._session.get_one(Job, parent_id)
        names = ("tenant_id", "queue", "priority", "memory", "cost", "deadline_at", "trace")
        terms = Terms(parent_id=parent_id, **{name: getattr(parent, name) for name in names})
        for job_id in job_ids:
            self.create(job_id, kind, terms)

    def earlier(self, terms: Terms) -> str | None:
        """The id that this ``Idempotency-Key`` made before; ``ConflictError`` if for another request."""
        if terms.idempotency_key is None:
            return None
        key = scoped(terms.tenant_id, terms.idempotency_key)
        found = self._session.execute(
            select(Job.id, Job.request_mac).where(Job.idempotency_key == key)
        ).one_or_none()
        if found is not None and found.request_mac not in terms.request_macs:
            raise used_otherwise()
        return found.id if found else None

    def cancel(self, job_id: str) -> None:
        """Cancel what is queued or waits, and its children; ask the worker to stop what runs. Canceling twice
        is no error.
        """
        parent_id = children.locked_parent(self._session, job_id)
        if lifecycle.stop(self._session, Job.id == job_id):
            lifecycle.stop(self._session, Job.parent_id == job_id)
            for stream_id in (parent_id, job_id):
                if stream_id and frames.are_of(self._session, stream_id):
                    frames.advance(self._session, stream_id)
            return
        state = self.state(job_id)
        if state is None:
            raise NotFoundError("not_found", f"there is no job {job_id}")
        if state != "canceled":
            raise ConflictError(
                "conflict.finished", f"{job_id} is over ({state}); there is nothing to cancel"
            )

    def retry(self, job_id: str, check: Callable[[], None] = lambda: None) -> list[str]:
        """Queue a failed job once more, or those of its children that did not succeed. The ids to enqueue.

        Raises ``ConflictError`` (``conflict.not_failed``), and what ``check`` does, of the locked job.
        """
        job = self._session.get(Job, job_id, with_for_update=True, populate_existing=True)
        if job is None or job.state != "failed":
            raise ConflictError(
                "conflict.not_failed",
                f"{job_id} is {job.state if job else 'gone'}: only what has failed can be retried",
            )
        check()
        again = {**QUEUED, "attempt": 0, "problem": None, "finished_at": None, "cancel_requested": False}
        again |= {"enqueued_at": clock(self._session), "available_at": None, "deadline_at": None}
        unfinished = (Job.parent_id == job_id) & (Job.state != "succeeded")
        missing = lifecycle.change(self._session, unfinished, **again)
        waits = {"state": "running", "stage": job.stage} if missing else {}
        lifecycle.change(self._session, Job.id == job_id, **(again | waits))
        return missing or [job_id]

    def _index_labels(self, job: Job) -> None:
        of_job = {"job_id": job.id, "tenant_id": job.tenant_id, "created_at": job.created_at}
        if rows := [of_job | {"name": name, "value": value} for name, value in (job.labels or {}).items()]:
            self._session.execute(insert(JobLabel), rows)


def scoped(tenant_id: str, idempotency_key: str) -> str:
    """Return the stored form of an idempotency key.

    It is a digest with the tenant's id: two tenants may choose the same key.
    """
    return hashlib.sha256(f"{tenant_id}/{idempotency_key}".encode()).hexdigest()


def used_otherwise() -> ConflictError:
    return ConflictError(
        "conflict.idempotency_key",
        "this Idempotency-Key was used before with another request; use a fresh key",
        field="Idempotency-Key",
    )
