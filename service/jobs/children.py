"""Jobs that another one waits for.

The transaction in which the last child succeeds queues its parent again; one in which a child fails ends the
parent and all its children; of a stream, the next frame has its turn. So they agree after every commit,
wherever a process dies. Where transactions run side by side (PostgreSQL), those that touch a parent and its
child lock the parent first.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import case, func, select, update
from sqlalchemy.orm import Session

from zenserve.service.jobs import frames, lifecycle
from zenserve.service.jobs.lifecycle import QUEUED, WAITING
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.jobs import Job


def locked_parent(session: Session, job_id: str) -> str | None:
    """The id of the job's parent, if it has one."""
    parent_id = session.scalar(select(Job.parent_id).where(Job.id == job_id))
    if parent_id is not None:
        session.execute(select(Job.id).where(Job.id == parent_id).with_for_update())
    return parent_id


def ended(session: Session, parent_id: str, state: str, problem: dict[str, Any] | None = None) -> None:
    """Update the parent, which is locked, for the end of a child with this ``state``."""
    if frames.are_of(session, parent_id):
        frames.advance(session, parent_id)
    elif state == "succeeded":
        _one_succeeded(session, parent_id)
    elif state == "failed":
        _one_failed(session, parent_id, problem)


def _one_succeeded(session: Session, parent_id: str) -> None:
    """Queue a waiting parent if all its children have; else show how many."""
    succeeded = func.sum(case((Job.state == "succeeded", 1), else_=0))
    of_parent = select(func.count(), succeeded).where(Job.parent_id == parent_id)
    count, done = session.execute(of_parent).one()
    waits = (Job.id == parent_id) & WAITING
    if done == count:
        # To have waited is no attempt: the parent is taken up in the same one.
        again = {**QUEUED, "attempt": Job.attempt - 1, "enqueued_at": clock(session)}
        lifecycle.change(session, waits, **again)
    else:
        shown = {"revision": Job.revision + 1, "percent": round(100 * done / count, 1)}
        session.execute(update(Job).where(waits).values(**shown))


def _one_failed(session: Session, parent_id: str, problem: dict[str, Any] | None) -> None:
    """End a waiting parent for the same reason, and stop the other children."""
    lifecycle.end(session, (Job.id == parent_id) & WAITING, "failed", problem=problem)
    lifecycle.stop(session, Job.parent_id == parent_id)
