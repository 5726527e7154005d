"""The life of a job. Every transition is one conditional UPDATE here and nowhere else.

    queued ──claim──> running ──succeed──> succeeded
      │ ^                │ ├────fail─────> failed
      │ └──give_back─────┤ └──canceled───> canceled
      └─────────────cancel────────────────────^

A worker holds a job by its fence, a number that grows with every claim. Whatever it writes is conditional
on the fence, so a worker that was given up for dead cannot disturb its successor.

A job may wait for others, its children: it then runs without a worker, so no lease of it can expire. The
transaction in which the last child succeeds queues it again; one in which a child fails ends it and all its
children. So a parent and its children agree after every commit, wherever a process dies.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, CursorResult, case, func, or_, select, update
from sqlalchemy.orm import Session

from service.tables import Job, Worker
from zenerrors import ConflictError, NotFoundError

LOST_WORKER = "resource.worker_lost"


@dataclass(frozen=True)
class Claim:
    """A worker's hold on a running job."""

    id: str
    kind: str
    fence: int
    attempt: int


def now() -> datetime:
    return datetime.now(UTC)


def new_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(12)}"


class Jobs:
    """The transitions and queries of jobs within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def state(self, job_id: str) -> str | None:
        return self._session.scalar(select(Job.state).where(Job.id == job_id))

    # What a caller asks for.

    def create(
        self,
        job_id: str,
        kind: str,
        idempotency_key: str | None = None,
        request_mac: bytes = b"",
        *,
        parent_id: str | None = None,
    ) -> Job:
        moment = now()
        job = Job(
            id=job_id,
            kind=kind,
            parent_id=parent_id,
            idempotency_key=idempotency_key,
            request_mac=request_mac if idempotency_key else None,
            created_at=moment,
            enqueued_at=moment,
        )
        self._session.add(job)
        self._session.flush()
        return job

    def earlier(self, idempotency_key: str | None, request_mac: bytes) -> str | None:
        """The id that this ``Idempotency-Key`` made before; ``ConflictError`` if for another request."""
        if idempotency_key is None:
            return None
        job = self._session.scalar(select(Job).where(Job.idempotency_key == idempotency_key))
        if job is not None and job.request_mac != request_mac:
            raise ConflictError(
                "conflict.idempotency_key",
                "this Idempotency-Key was used before with another request; use a fresh key",
                field="Idempotency-Key",
            )
        return job.id if job else None

    def cancel(self, job_id: str) -> None:
        """Cancel what is queued or waits, and its children; ask the worker to stop what runs. Canceling twice
        is no error.
        """
        if self._stop(Job.id == job_id):
            self._stop(Job.parent_id == job_id)
            return
        state = self.state(job_id)
        if state is None:
            raise NotFoundError("not_found", f"there is no job {job_id}")
        if state != "canceled":
            raise ConflictError(
                "conflict.finished", f"{job_id} is over ({state}); there is nothing to cancel"
            )

    # What a worker does.

    def claim(self, job_id: str, worker: str, lease_seconds: float) -> Claim | None:
        """Take a queued job; None where another worker was faster or the job is over."""
        moment = now()
        row = self._session.execute(
            update(Job)
            .where(Job.id == job_id, Job.state == "queued")
            .values(
                state="running",
                revision=Job.revision + 1,
                attempt=Job.attempt + 1,
                fence=Job.fence + 1,
                worker=worker,
                lease_expires_at=moment + timedelta(seconds=lease_seconds),
                stage="starting",
                percent=0.0,
                started_at=func.coalesce(Job.started_at, moment),
            )
            .returning(Job.id, Job.kind, Job.fence, Job.attempt)
        ).one_or_none()
        return Claim(*row) if row else None

    def renew(self, claim: Claim, stage: str, percent: float, lease_seconds: float) -> bool | None:
        """Keep the lease and tell how far the work is. Whether to cancel; None if the job was lost."""
        row = self._session.execute(
            update(Job)
            .where(_held(claim))
            .values(
                lease_expires_at=now() + timedelta(seconds=lease_seconds),
                revision=Job.revision + case((or_(Job.stage != stage, Job.percent != percent), 1), else_=0),
                stage=stage,
                percent=percent,
            )
            .returning(Job.cancel_requested)
        ).one_or_none()
        return row[0] if row else None

    def wait(self, claim: Claim, stage: str, timings: dict[str, float]) -> bool:
        """Let the job go until the children that this transaction makes are over. False if it was lost or is
        to be canceled: the caller must then make none.
        """
        if self._session.scalar(select(Job.cancel_requested).where(_held(claim))):
            self.canceled(claim)
            return False
        return self._change(
            _held(claim),
            **_NO_WORKER,
            fence=Job.fence + 1,
            stage=stage,
            percent=0.0,
            timings=timings,
        )

    def succeed(self, claim: Claim, timings: dict[str, float]) -> bool:
        """End well. False if the job was lost: the caller must then write nothing."""
        ended = self._change(
            _held(claim), **_ended("succeeded"), stage="done", percent=100.0, timings=timings
        )
        if ended and (parent_id := self._parent(claim.id)):
            self._tell_parent(parent_id)
        return ended

    def fail(self, claim: Claim, problem: dict[str, Any]) -> bool:
        """End for good: another attempt would fail the same way. A parent ends with its child."""
        ended = self._change(
            _held(claim), **_ended("failed"), problem=problem, failures=self._with_failure(claim, problem)
        )
        if ended and (parent_id := self._parent(claim.id)):
            self._change((Job.id == parent_id) & _WAITING, **_ended("failed"), problem=problem)
            self._stop(Job.parent_id == parent_id)
        return ended

    def canceled(self, claim: Claim) -> bool:
        """End because the caller asked for it."""
        return self._change(_held(claim), **_ended("canceled"))

    def give_back(self, claim: Claim, problem: dict[str, Any] | None, max_attempts: int) -> bool:
        """End an attempt and queue the job again; fail it if that was the last attempt.

        Without a ``problem`` the worker is merely stopping: the attempt does not count. A job that was to
        be canceled is not queued again.
        """
        if self._session.scalar(select(Job.cancel_requested).where(_held(claim))):
            return self.canceled(claim)
        if problem is None:
            return self._change(_held(claim), **_QUEUED, attempt=Job.attempt - 1, enqueued_at=now())
        if claim.attempt >= max_attempts:
            return self.fail(claim, problem)
        failures = self._with_failure(claim, problem)
        return self._change(_held(claim), **_QUEUED, failures=failures, enqueued_at=now())

    def queued_parent(self, job_id: str) -> str | None:
        """The parent of a job, if it has one that is queued."""
        parent_id = self._parent(job_id)
        return parent_id if parent_id and self.state(parent_id) == "queued" else None

    # What the reaper does.

    def release_lost(self, max_attempts: int) -> list[str]:
        """Give back every running job whose lease has expired. The ids of those queued again."""
        lost = self._session.execute(
            select(Job.id, Job.kind, Job.fence, Job.attempt).where(
                Job.state == "running", Job.lease_expires_at < now()
            )
        ).all()
        for row in lost:
            self.give_back(Claim(*row), _lost_worker(row.attempt), max_attempts)
        return [row.id for row in lost if self.state(row.id) == "queued"]

    def expire(self, worker: str) -> None:
        """End the leases of a worker that is known to be dead."""
        self._session.execute(
            update(Job).where(Job.state == "running", Job.worker == worker).values(lease_expires_at=now())
        )

    def waiting(self, seconds: float) -> Sequence[str]:
        """Ids of jobs that have been queued for longer than ``seconds`` since they were last enqueued."""
        return self._session.scalars(
            select(Job.id)
            .where(Job.state == "queued", Job.enqueued_at < now() - timedelta(seconds=seconds))
            .order_by(Job.created_at)
        ).all()

    def enqueued(self, job_id: str) -> None:
        self._session.execute(update(Job).where(Job.id == job_id).values(enqueued_at=now()))

    def _parent(self, job_id: str) -> str | None:
        return self._session.scalar(select(Job.parent_id).where(Job.id == job_id))

    def _tell_parent(self, parent_id: str) -> None:
        """Queue a waiting parent if all its children have succeeded; else show how many have."""
        # Where transactions run side by side, the last two children would each see the other still running.
        self._session.execute(select(Job.id).where(Job.id == parent_id).with_for_update())
        count, done = self._session.execute(
            select(func.count(), func.sum(case((Job.state == "succeeded", 1), else_=0))).where(
                Job.parent_id == parent_id
            )
        ).one()
        waits = (Job.id == parent_id) & _WAITING
        if done == count:
            # To have waited is no attempt: the parent is taken up in the same one.
            self._change(waits, **_QUEUED, attempt=Job.attempt - 1, enqueued_at=now())
        else:
            self._change(waits, percent=round(100 * done / count, 1))

    def _stop(self, which: ColumnElement[bool]) -> int:
        """Cancel those of the jobs that no worker has, and ask the workers of the others to. How many."""
        idle = self._count(
            which & or_(Job.state == "queued", _WAITING), **_ended("canceled"), cancel_requested=True
        )
        return idle + self._count(which & (Job.state == "running"), cancel_requested=True)

    def _with_failure(self, claim: Claim, problem: dict[str, Any]) -> list[Any]:
        earlier = self._session.scalar(select(Job.failures).where(Job.id == claim.id)) or []
        return [*earlier, {"attempt": claim.attempt, "at": now().isoformat(), **problem}]

    def _change(self, which: ColumnElement[bool], **values: Any) -> bool:
        return self._count(which, **values) == 1

    def _count(self, which: ColumnElement[bool], **values: Any) -> int:
        """Change these jobs. How many there were."""
        result = self._session.execute(update(Job).where(which).values(revision=Job.revision + 1, **values))
        assert isinstance(result, CursorResult)  # noqa: S101  narrows the type: an UPDATE has a row count
        return result.rowcount


class Workers:
    """Signs of life of the worker processes."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def beat(self, worker: str, pid: int) -> None:
        moment = now()
        row = self._session.get(Worker, worker)
        if row is None:
            self._session.add(Worker(id=worker, pid=pid, started_at=moment, heartbeat_at=moment))
        else:
            row.heartbeat_at = moment

    def remove(self, worker: str) -> None:
        if row := self._session.get(Worker, worker):
            self._session.delete(row)

    def last_heartbeat(self) -> datetime | None:
        return self._session.scalar(select(func.max(Worker.heartbeat_at)))


_NO_WORKER: dict[str, Any] = {"worker": None, "lease_expires_at": None}
_QUEUED: dict[str, Any] = {**_NO_WORKER, "state": "queued", "stage": None, "percent": 0.0}
_WAITING = (Job.state == "running") & Job.worker.is_(None)


def _held(claim: Claim) -> ColumnElement[bool]:
    return (Job.id == claim.id) & (Job.state == "running") & (Job.fence == claim.fence)


def _ended(state: str) -> dict[str, Any]:
    return {"state": state, "lease_expires_at": None, "finished_at": now()}


def _lost_worker(attempt: int) -> dict[str, Any]:
    return {
        "code": LOST_WORKER,
        "detail": f"the worker stopped without a word during attempt {attempt}"
        " (killed, out of memory, or its host went down)",
    }
