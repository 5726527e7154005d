"""The life of a job. Every transition is one conditional UPDATE here and nowhere else.

    queued ──claim──> running ──succeed──> succeeded
      │ ^ ^              │ ├────fail─────> failed ──retry──> queued
      │ │ └──give_back───┘ └──canceled───> canceled
      └─┴───────────cancel────────────────────^

A worker holds a job by its fence, a number that grows with every claim. Whatever it writes is conditional
on the fence, so a worker that was given up for dead cannot disturb its successor.

A job may wait for others, its children: it then runs without a worker, so no lease of it can expire. The
transaction in which the last child succeeds queues it again; one in which a child fails ends it and all its
children. So a parent and its children agree after every commit, wherever a process dies.

Where transactions run side by side (PostgreSQL), those that touch a parent and its child lock the parent
first. All times that decide anything are the database's: hosts' clocks may differ.

With the transition itself, in the same transaction, go the event that readers replay, the messages to
webhooks and the totals.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Double,
    Row,
    and_,
    case,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Session

from service import telemetry
from service.settings import QueueName
from service.storage.database import clock
from service.storage.records.accounts import Usage
from service.storage.records.base import LOCAL_TENANT, Utc
from service.storage.records.jobs import Job, JobEvent, JobLabel
from service.storage.records.resources import Dataset, Proof, Shard
from service.storage.repositories.totals import Totals
from service.storage.repositories.webhooks import Deliveries
from zenerrors import ConflictError, NotFoundError

LOST_WORKER = "resource.worker_lost"
Stop = Literal["cancel", "deadline", "lost"]
_AT_ONCE: Final = 1000
"""So many the reaper changes in one round; the next is soon."""
_HINTS: Final = 100
"""Messages at once. Each only says that there is work; of jobs whose tenant may run no more, in vain."""
_PAUSES: Final = (0.5, 5.0, 30.0)
"""Seconds that a job waits after an accident, by attempt: it may have been the host's and pass."""


@dataclass(frozen=True)
class Claim:
    """A worker's hold on a running job."""

    id: str
    kind: str
    fence: int
    attempt: int
    trace: str | None = None


@dataclass(frozen=True)
class Terms:
    """What a submission says about its job. ``memory`` in bytes, ``cost`` in seconds: estimates."""

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
    trace: str | None = field(default_factory=telemetry.current_trace)
    idempotency_key: str | None = None
    """As the caller gave it."""
    request_macs: tuple[bytes, ...] = (b"",)
    """By the present secret, which is kept, and by previous ones."""


def now() -> datetime:
    """This host's time, for what is only shown."""
    return datetime.now(UTC)


def new_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(12)}"


def scoped(tenant_id: str, idempotency_key: str) -> str:
    """What is kept of an idempotency key: two tenants may choose the same one."""
    return hashlib.sha256(f"{tenant_id}/{idempotency_key}".encode()).hexdigest()


class Jobs:
    """The transitions and queries of jobs within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def now(self) -> datetime:
        """The database's time, the same throughout the transaction."""
        return clock(self._session)

    def state(self, job_id: str) -> str | None:
        return self._session.scalar(select(Job.state).where(Job.id == job_id))

    def revisions(self, job_ids: Collection[str]) -> dict[str, tuple[int, str]]:
        """Revision and state of those that there are."""
        found = select(Job.id, Job.revision, Job.state).where(Job.id.in_(job_ids))
        return {row.id: (row.revision, row.state) for row in self._session.execute(found)}

    def events(self, job_id: str, after: int = -1) -> Sequence[JobEvent]:
        """Changes of state or stage, of later revisions than this one, in order."""
        return self._session.scalars(
            select(JobEvent)
            .where(JobEvent.job_id == job_id, JobEvent.revision > after)
            .order_by(JobEvent.revision)
        ).all()

    # What a caller asks for.

    def create(
        self, job_id: str, kind: str, terms: Terms | None = None, *, parent_id: str | None = None
    ) -> Job:
        """A queued job. Raises ``IntegrityError`` where its idempotency key was faster elsewhere."""
        terms = terms or Terms()
        key = terms.idempotency_key
        job = Job(
            id=job_id,
            kind=kind,
            parent_id=parent_id,
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
            created_at=self.now(),
            enqueued_at=self.now(),
        )
        self._session.add(job)
        self._session.flush()
        self._index_labels(job)
        self._record([job_id])
        return job

    def create_children(self, parent_id: str, kind: str, job_ids: Sequence[str]) -> None:
        """Queued jobs on their parent's terms, without its labels: no list has them."""
        parent = self._session.get_one(Job, parent_id)
        names = ("tenant_id", "queue", "priority", "memory", "cost", "deadline_at", "trace")
        terms = Terms(**{name: getattr(parent, name) for name in names})
        for job_id in job_ids:
            self.create(job_id, kind, terms, parent_id=parent_id)

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

    def retry(self, job_id: str) -> list[str]:
        """Queue a failed job once more, or those of its children that did not succeed. The ids to enqueue.

        Raises ``ConflictError``: ``conflict.not_failed``, and ``conflict.input_deleted`` where too much time
        has passed.
        """
        job = self._locked(job_id)
        if job is None or job.state != "failed":
            raise ConflictError(
                "conflict.not_failed",
                f"{job_id} is {job.state if job else 'gone'}: only what has failed can be retried",
            )
        self._require_input(job_id)
        again = {**_QUEUED, "attempt": 0, "problem": None, "finished_at": None, "cancel_requested": False}
        again |= {"enqueued_at": self.now(), "available_at": None, "deadline_at": None}
        missing = self._change((Job.parent_id == job_id) & (Job.state != "succeeded"), **again)
        waits = {"state": "running", "stage": "shards"} if missing else {}
        self._change(Job.id == job_id, **(again | waits))
        return missing or [job_id]

    # What a worker does.

    def claim(self, job_id: str, worker: str, lease_seconds: float) -> Claim | None:
        """Take a queued job; None where another worker was faster or the job is over."""
        changed = self._change(
            (Job.id == job_id) & (Job.state == "queued"),
            state="running",
            attempt=Job.attempt + 1,
            fence=Job.fence + 1,
            worker=worker,
            lease_expires_at=self.now() + timedelta(seconds=lease_seconds),
            stage="starting",
            percent=0.0,
            started_at=func.coalesce(Job.started_at, self.now()),
        )
        if not changed:
            return None
        row = select(Job.id, Job.kind, Job.fence, Job.attempt, Job.trace).where(Job.id == job_id)
        return Claim(*self._session.execute(row).one())

    def renew(self, claim: Claim, stage: str, percent: float, lease_seconds: float) -> Stop | None:
        """Keep the lease and tell how far the work is. Why to stop, if it is to."""
        held = self._session.execute(
            select(Job.stage, Job.percent, Job.cancel_requested, Job.deadline_at)
            .where(_held(claim))
            .with_for_update()
        ).one_or_none()
        if held is None:
            return "lost"
        self._session.execute(
            update(Job)
            .where(_held(claim))
            .values(
                lease_expires_at=self.now() + timedelta(seconds=lease_seconds),
                revision=Job.revision + case((or_(Job.stage != stage, Job.percent != percent), 1), else_=0),
                stage=stage,
                percent=percent,
            )
        )
        if held.stage != stage:
            self._record([claim.id])
        if held.cancel_requested:
            return "cancel"
        return "deadline" if held.deadline_at and held.deadline_at < self.now() else None

    def expect(self, claim: Claim, seconds: dict[str, float]) -> None:
        """Note how long each stage took before."""
        self._session.execute(update(Job).where(_held(claim)).values(expected=seconds))

    def wait(self, claim: Claim, stage: str, timings: dict[str, float]) -> bool:
        """Let the job go until the children that this transaction makes are over. False if it was lost or is
        to be canceled: the caller must then make none.
        """
        if self._to_be_canceled(claim):
            self.canceled(claim)
            return False
        return bool(
            self._change(
                _held(claim),
                **_NO_WORKER,
                fence=Job.fence + 1,
                stage=stage,
                percent=0.0,
                timings=timings,
                expected=None,
            )
        )

    def succeed(self, claim: Claim, timings: dict[str, float], rows: int = 0) -> bool:
        """End well, with so many constraints proven. False if the job was lost: the caller must then write
        nothing.
        """
        parent_id = self._locked_parent(claim.id)
        spent: Any = {"seconds": sum(timings.values()), "rows": rows}
        ended = self._end(_held(claim), "succeeded", stage="done", percent=100.0, timings=timings, **spent)
        if ended and parent_id:
            self._tell_parent(parent_id)
        if ended:
            for stage in sorted(timings):  # in one order, that no two wait for each other
                Totals(self._session).add("stage", stage, 1, timings[stage])
        return bool(ended)

    def fail(self, claim: Claim, problem: dict[str, Any]) -> bool:
        """End for good: another attempt would fail the same way. A parent ends with its child."""
        parent_id = self._locked_parent(claim.id)
        ended = self._end(
            _held(claim), "failed", problem=problem, failures=self._with_failure(claim, problem)
        )
        if ended and parent_id:
            self._end((Job.id == parent_id) & _WAITING, "failed", problem=problem)
            self._stop(Job.parent_id == parent_id)
        return bool(ended)

    def canceled(self, claim: Claim) -> bool:
        """End because the caller asked for it."""
        return bool(self._end(_held(claim), "canceled"))

    def give_back(self, claim: Claim, problem: dict[str, Any] | None, max_attempts: int) -> bool:
        """End an attempt and queue the job again; fail it if that was the last attempt.

        Without a ``problem`` the worker is merely stopping: the attempt does not count. A job that was to
        be canceled is not queued again.
        """
        self._locked_parent(claim.id)
        if self._to_be_canceled(claim):
            return self.canceled(claim)
        if problem is None:
            return bool(
                self._change(_held(claim), **_QUEUED, attempt=Job.attempt - 1, enqueued_at=self.now())
            )
        if claim.attempt >= max_attempts:
            return self.fail(claim, problem)
        pause = _PAUSES[min(claim.attempt, len(_PAUSES)) - 1]
        queued = self._change(
            _held(claim),
            **_QUEUED,
            failures=self._with_failure(claim, problem),
            enqueued_at=self.now(),
            available_at=self.now() + timedelta(seconds=pause),
        )
        if queued:
            Totals(self._session).add("requeues", str(problem["code"]), 1, 0.0)
        return bool(queued)

    def ready(self, job_id: str) -> Sequence[Row[str, QueueName]]:
        """The id and queue of this job and of its parent, as far as they are queued and need not pause."""
        parent = select(Job.parent_id).where(Job.id == job_id).scalar_subquery()
        return self._session.execute(
            select(Job.id, Job.queue).where(
                or_(Job.id == job_id, Job.id == parent), Job.state == "queued", self._rested()
            )
        ).all()

    # What the reaper does.

    def lost(self) -> Sequence[Claim]:
        """Running jobs whose lease has expired."""
        rows = self._session.execute(
            select(Job.id, Job.kind, Job.fence, Job.attempt).where(
                Job.state == "running", Job.lease_expires_at < self.now()
            )
        )
        return [Claim(*row) for row in rows]

    def release(self, lost: Claim, max_attempts: int) -> bool:
        """Give a lost job back for its worker, unless that has come back to life. Whether it is queued."""
        expired = select(Job.id).where(_held(lost), Job.lease_expires_at < self.now()).with_for_update()
        self._locked_parent(lost.id)
        if self._session.scalar(expired) is None:
            return False
        self.give_back(lost, lost_worker(lost.attempt), max_attempts)
        return self.state(lost.id) == "queued"

    def expire(self, worker: str) -> None:
        """End the leases of a worker that is known to be dead."""
        # In its past: what reads the clock next, in the same moment, must see them over.
        ended = self.now() - timedelta(milliseconds=1)
        self._session.execute(
            update(Job).where(Job.state == "running", Job.worker == worker).values(lease_expires_at=ended)
        )

    def waiting(self, seconds: float) -> Sequence[Row[str, QueueName]]:
        """Id and queue of jobs whose message has gone unheard for longer than ``seconds``, and of those whose
        pause is over.
        """
        moment = self.now()
        unheard = Job.enqueued_at < moment - timedelta(seconds=seconds)
        pause_over = and_(Job.available_at <= moment, Job.enqueued_at < Job.available_at)
        return self._session.execute(
            select(Job.id, Job.queue)
            .where(Job.state == "queued", self._rested(), or_(unheard, pause_over))
            .order_by(Job.created_at)
            .limit(_HINTS)
        ).all()

    def enqueued(self, job_ids: Sequence[str]) -> None:
        self._session.execute(update(Job).where(Job.id.in_(job_ids)).values(enqueued_at=self.now()))

    def end_late(self) -> None:
        """Fail what is queued or waits past its deadline; what runs hears of it from its heartbeat."""
        # By state first, of which there is an index with few rows; shards end with their proof.
        unfinished = Job.state.in_(("queued", "running")) & (Job.kind != "shard")
        overdue = unfinished & (Job.deadline_at < self.now()) & or_(Job.state == "queued", _WAITING)
        for job_id in self._end(self._free(overdue), "failed", problem=late()):
            self._stop(Job.parent_id == job_id)

    def leave_queue(self, queue: QueueName, other: QueueName, seconds: float) -> None:
        """Move what has waited for longer: there is no worker for its queue."""
        old = Job.created_at < self.now() - timedelta(seconds=seconds)
        self._change(self._free((Job.queue == queue) & (Job.state == "queued") & old), queue=other)

    # How.

    def _index_labels(self, job: Job) -> None:
        of_job = {"job_id": job.id, "tenant_id": job.tenant_id, "created_at": job.created_at}
        if rows := [of_job | {"name": name, "value": value} for name, value in (job.labels or {}).items()]:
            self._session.execute(insert(JobLabel), rows)

    def _require_input(self, job_id: str) -> None:
        # Columns, not rows: a row that this session has may be of before the lock.
        proof = self._session.execute(
            select(Proof.scheme, Proof.input, Proof.dataset_id).where(Proof.id == job_id)
        ).one_or_none()
        if proof is None:
            return
        if proof.scheme == "accuracy":
            dataset = select(Dataset.id).where(Dataset.id == proof.dataset_id).with_for_update(read=True)
            needed = [self._session.scalar(dataset)]  # locked: from now on nobody deletes it
            needed += self._session.scalars(select(Shard.opening).where(Shard.proof_id == job_id))
        else:
            needed = [proof.input]
        if None in needed:
            raise ConflictError(
                "conflict.input_deleted",
                f"the input of {job_id} has been deleted by now: ask for a new proof",
            )

    def _rested(self) -> ColumnElement[bool]:
        return or_(Job.available_at.is_(None), Job.available_at <= self.now())

    def _locked(self, job_id: str) -> Job | None:
        return self._session.get(Job, job_id, with_for_update=True, populate_existing=True)

    def _parent(self, job_id: str) -> str | None:
        return self._session.scalar(select(Job.parent_id).where(Job.id == job_id))

    def _locked_parent(self, job_id: str) -> str | None:
        parent_id = self._parent(job_id)
        if parent_id is not None:
            self._session.execute(select(Job.id).where(Job.id == parent_id).with_for_update())
        return parent_id

    def _to_be_canceled(self, claim: Claim) -> bool:
        asked = select(Job.cancel_requested).where(_held(claim)).with_for_update()
        return bool(self._session.scalar(asked))

    def _tell_parent(self, parent_id: str) -> None:
        """Queue a waiting parent if all its children have succeeded; else show how many have."""
        count, done = self._session.execute(
            select(func.count(), func.sum(case((Job.state == "succeeded", 1), else_=0))).where(
                Job.parent_id == parent_id
            )
        ).one()
        waits = (Job.id == parent_id) & _WAITING
        if done == count:
            # To have waited is no attempt: the parent is taken up in the same one.
            self._change(waits, **_QUEUED, attempt=Job.attempt - 1, enqueued_at=self.now())
        else:
            shown = {"revision": Job.revision + 1, "percent": round(100 * done / count, 1)}
            self._session.execute(update(Job).where(waits).values(**shown))

    def _free(self, which: ColumnElement[bool]) -> ColumnElement[bool]:
        """Those of the jobs that no other transaction is at, locked. Whoever takes many waits for none: two
        such could wait for each other. The others' turn is in the next round.
        """
        free = select(Job.id).where(which).limit(_AT_ONCE).with_for_update(skip_locked=True)
        return Job.id.in_(self._session.scalars(free).all())

    def _stop(self, which: ColumnElement[bool]) -> int:
        """Cancel those of the jobs that no worker has, and ask the workers of the others to. How many."""
        # One lock for both changes: none of them may slip from one state to the other in between.
        self._session.execute(select(Job.id).where(which).order_by(Job.id).with_for_update())
        idle = self._end(which & or_(Job.state == "queued", _WAITING), "canceled", cancel_requested=True)
        return len(idle) + len(self._change(which & (Job.state == "running"), cancel_requested=True))

    def _with_failure(self, claim: Claim, problem: dict[str, Any]) -> list[Any]:
        earlier = self._session.scalar(select(Job.failures).where(Job.id == claim.id)) or []
        return [*earlier, {"attempt": claim.attempt, "at": self.now().isoformat(), **problem}]

    def _end(
        self, which: ColumnElement[bool], state: str, *, seconds: float = 0.0, rows: int = 0, **values: Any
    ) -> list[str]:
        """End these jobs. Which there were. ``seconds`` of a worker and ``rows`` that they took."""
        ended = self._change(which, state=state, lease_expires_at=None, finished_at=self.now(), **values)
        if ended:
            self._book(ended, seconds, rows)
            Deliveries(self._session).add_for(ended)
            counts = select(Job.kind, func.count()).where(Job.id.in_(ended)).group_by(Job.kind)
            for kind, count in self._session.execute(counts.order_by(Job.kind)).all():
                Totals(self._session).add("jobs ended", f"{kind}/{state}", count, 0.0)
        return ended

    def _book(self, ended: Sequence[str], seconds: float, rows: int) -> None:
        """What each of them took, for its tenant's bill."""
        at = literal(self.now(), Utc())
        spent: ColumnElement[float] = literal(seconds, Double())
        proven = literal(rows, BigInteger())
        taken = select(Job.tenant_id, Job.kind, at, spent, proven, Job.size).where(Job.id.in_(ended))
        names = ["tenant_id", "kind", "ended_at", "seconds", "rows", "bytes"]
        self._session.execute(insert(Usage).from_select(names, taken))

    def _change(self, which: ColumnElement[bool], **values: Any) -> list[str]:
        """Change these jobs. Which there were."""
        changed = self._session.scalars(
            update(Job)
            .where(which)
            .values(revision=Job.revision + 1, **values)
            .returning(Job.id)
            .execution_options(synchronize_session=False)
        ).all()
        self._record(changed)
        return list(changed)

    def _record(self, job_ids: Sequence[str]) -> None:
        """Note the jobs' present states and stages as events."""
        if job_ids:
            present = select(
                Job.id, Job.revision, literal(self.now(), Utc()), Job.state, Job.stage, Job.attempt
            ).where(Job.id.in_(job_ids))
            names = ["job_id", "revision", "at", "state", "stage", "attempt"]
            self._session.execute(insert(JobEvent).from_select(names, present))


def used_otherwise() -> ConflictError:
    return ConflictError(
        "conflict.idempotency_key",
        "this Idempotency-Key was used before with another request; use a fresh key",
        field="Idempotency-Key",
    )


def late() -> dict[str, Any]:
    return {"code": "resource.deadline", "detail": "the deadline passed before the job was done"}


def lost_worker(attempt: int) -> dict[str, Any]:
    return {
        "code": LOST_WORKER,
        "detail": f"the worker stopped without a word during attempt {attempt}"
        " (killed, out of memory, or its host went down)",
    }


_NO_WORKER: dict[str, Any] = {"worker": None, "lease_expires_at": None}
_QUEUED: dict[str, Any] = {**_NO_WORKER, "state": "queued", "stage": None, "percent": 0.0, "expected": None}
_WAITING = (Job.state == "running") & Job.worker.is_(None)


def _held(claim: Claim) -> ColumnElement[bool]:
    return (Job.id == claim.id) & (Job.state == "running") & (Job.fence == claim.fence)
