"""Records that go with a transition, in the same transaction.

They are the event that readers replay, messages to webhooks, totals, and the usage of the job.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import BigInteger, ColumnElement, Double, func, insert, literal, select
from sqlalchemy.orm import Session

from zenserve.service.storage.database import clock
from zenserve.service.storage.records.accounts import Usage
from zenserve.service.storage.records.base import Utc
from zenserve.service.storage.records.jobs import Job, JobEvent
from zenserve.service.storage.repositories.totals import Totals
from zenserve.service.storage.repositories.webhooks import Deliveries


def record(session: Session, job_ids: Sequence[str]) -> None:
    """Note the jobs' present states and stages."""
    if job_ids:
        at = literal(clock(session), Utc())
        present = select(Job.id, Job.revision, at, Job.state, Job.stage, Job.attempt).where(
            Job.id.in_(job_ids)
        )
        names = ["job_id", "revision", "at", "state", "stage", "attempt"]
        session.execute(insert(JobEvent).from_select(names, present))


def record_end(session: Session, ended: Sequence[str], state: str, seconds: float, rows: int) -> None:
    """Tell of the end of these jobs. ``seconds`` of a worker and ``rows`` that each of them took."""
    _book(session, ended, seconds, rows)
    Deliveries(session).add_for(ended)
    counts = select(Job.kind, func.count()).where(Job.id.in_(ended)).group_by(Job.kind)
    for kind, count in session.execute(counts.order_by(Job.kind)).all():
        Totals(session).add("jobs ended", f"{kind}/{state}", count)


def after(session: Session, job_id: str, revision: int = -1) -> Sequence[JobEvent]:
    """Changes of state or stage, of later revisions than this one, in order."""
    later = select(JobEvent).where(JobEvent.job_id == job_id, JobEvent.revision > revision)
    return session.scalars(later.order_by(JobEvent.revision)).all()


def _book(session: Session, ended: Sequence[str], seconds: float, rows: int) -> None:
    """Record the usage of each job, for its tenant's bill."""
    at = literal(clock(session), Utc())
    spent: ColumnElement[float] = literal(seconds, Double())
    proven = literal(rows, BigInteger())
    taken = select(Job.tenant_id, Job.kind, at, spent, proven, Job.size).where(Job.id.in_(ended))
    names = ["tenant_id", "kind", "ended_at", "seconds", "rows", "bytes"]
    session.execute(insert(Usage).from_select(names, taken))
