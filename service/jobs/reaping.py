"""The reaper's operations on jobs: it recovers those that workers, messages and deadlines left behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, and_, func, or_, select, update
from sqlalchemy.orm import Session

from zenserve.service.jobs import children, frames, lifecycle
from zenserve.service.jobs.claims import Claim, Claims, is_held, late, too_large
from zenserve.service.jobs.lifecycle import WAITING
from zenserve.service.settings import QueueName
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.jobs import Job

LOST_WORKER: Final = "resource.worker_lost"
# By state first, of which there is an index with few rows; shards end with their parent.
_WAITS: Final = (
    Job.state.in_(("queued", "running")) & (Job.kind != "shard") & or_(Job.state == "queued", WAITING)
)
_HINTS: Final = 100
"""Messages at once. Each only says that there is work; of jobs whose tenant may run no more, in vain."""


class Reaping:
    """Jobs within one transaction, as the reaper finds them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def lost(self) -> Sequence[Claim]:
        """Running jobs whose lease has expired."""
        expired = Job.lease_expires_at < clock(self._session)
        rows = select(Job.id, Job.kind, Job.fence, Job.attempt).where(Job.state == "running", expired)
        return [Claim(*row) for row in self._session.execute(rows)]

    def release(self, lost: Claim, max_attempts: int) -> bool:
        """Give a lost job back for its worker, unless that has come back to life. Whether it is queued."""
        expired = Job.lease_expires_at < clock(self._session)
        children.locked_parent(self._session, lost.id)
        if self._session.scalar(select(Job.id).where(is_held(lost), expired).with_for_update()) is None:
            return False
        Claims(self._session).give_back(lost, lost_worker(lost.attempt), max_attempts)
        return self._session.scalar(select(Job.state).where(Job.id == lost.id)) == "queued"

    def expire(self, worker: str) -> None:
        """End the leases of a worker that is known to be dead."""
        # In its past: what reads the clock next, in the same moment, must see them over.
        ended = clock(self._session) - timedelta(milliseconds=1)
        self._session.execute(
            update(Job).where(Job.state == "running", Job.worker == worker).values(lease_expires_at=ended)
        )

    def waiting(self, seconds: float) -> Sequence[Row[str, QueueName]]:
        """Id and queue of jobs whose message has gone unheard for longer than ``seconds``, and of those whose
        pause is over.
        """
        moment = clock(self._session)
        unheard = Job.enqueued_at < moment - timedelta(seconds=seconds)
        pause_over = and_(Job.available_at <= moment, Job.enqueued_at < Job.available_at)
        return self._session.execute(
            select(Job.id, Job.queue)
            .where(Job.state == "queued", lifecycle.rested(self._session), or_(unheard, pause_over))
            .order_by(Job.created_at)
            .limit(_HINTS)
        ).all()

    def enqueued(self, job_ids: Sequence[str]) -> None:
        moment = clock(self._session)
        self._session.execute(update(Job).where(Job.id.in_(job_ids)).values(enqueued_at=moment))

    def end_late(self) -> None:
        """Fail what is queued or waits past its deadline; what runs hears of it from its heartbeat."""
        self._fail(_WAITS & (Job.deadline_at < clock(self._session)), late())

    def end_too_large(self, largest: Mapping[QueueName, int]) -> None:
        """Fail what is queued or waits and takes more memory than any worker of its queue ever had:
        ``largest``."""
        for queue, most in largest.items():
            waits = _WAITS & (Job.queue == queue) & (Job.memory > most)
            for memory in self._session.scalars(select(Job.memory).where(waits).distinct()).all():
                problem = {"code": "resource.capacity", "detail": too_large(memory, most)}
                self._fail(waits & (Job.memory == memory), problem)

    def _fail(self, which: ColumnElement[bool], problem: dict[str, Any]) -> None:
        eldest = func.coalesce(Job.parent_id, Job.id)
        found = self._session.scalars(select(eldest).where(which).distinct()).all()
        if not found:
            return
        free = lifecycle.free(self._session, Job.id.in_(found))
        for job_id in lifecycle.end(self._session, which & eldest.in_(free), "failed", problem=problem):
            lifecycle.stop(self._session, Job.parent_id == job_id)
        for job_id in free:
            if frames.are_of(self._session, job_id):
                frames.advance(self._session, job_id)

    def leave_queue(self, queue: QueueName, other: QueueName, seconds: float) -> None:
        """Move what has waited for longer: there is no worker for its queue."""
        old = Job.created_at < clock(self._session) - timedelta(seconds=seconds)
        waits = (Job.queue == queue) & (Job.state == "queued") & old
        lifecycle.change(self._session, Job.id.in_(lifecycle.free(self._session, waits)), queue=other)


def lost_worker(attempt: int) -> dict[str, Any]:
    return {
        "code": LOST_WORKER,
        "detail": f"worker lost during attempt {attempt}: its heartbeat stopped"
        " (killed, out of memory, or its host or its connection to the database went down)",
    }
