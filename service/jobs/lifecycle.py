"""The life of a job. Every transition is one conditional UPDATE here and nowhere else.

    queued ──claim──> running ──succeed──> succeeded
      │ ^ ^              │ ├────fail─────> failed ──retry──> queued
      │ │ └──give_back───┘ └──canceled───> canceled
      └─┴───────────cancel────────────────────^

Callers ask for them in ``jobs``, workers in ``claims``, the reaper in ``reaping``.

A worker holds a job by its fence, a number that grows with every claim. Whatever it writes is conditional
on the fence, so a worker that was given up for dead cannot disturb its successor.

A job may wait for others, its ``children``, and a stream for its ``frames``: it then runs without a worker,
so no lease of it can expire.

All times that decide anything are the database's: hosts' clocks may differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, exists, or_, select, update
from sqlalchemy.orm import Session

from zenserve.service.jobs import events
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.streams import Frame, Stream

_AT_ONCE: Final = 1000
"""So many are changed in one round; the next is soon."""

NO_WORKER: Final[dict[str, Any]] = {"worker": None, "lease_expires_at": None}
QUEUED: Final[dict[str, Any]] = {
    **NO_WORKER,
    "state": "queued",
    "stage": None,
    "percent": 0.0,
    "expected": None,
}
WAITING: Final = (Job.state == "running") & Job.worker.is_(None)
"""For children."""


def rested(session: Session) -> ColumnElement[bool]:
    """Jobs that need not pause any more, of the frames of a stream the one whose turn it is."""
    later = exists().where(Frame.id == Job.id, Stream.id == Frame.stream_id, Frame.number > Stream.over)
    return or_(Job.available_at.is_(None), Job.available_at <= clock(session)) & ~later


def change(session: Session, which: ColumnElement[bool], **values: Any) -> list[str]:
    """Change these jobs. Which there were."""
    changed = session.scalars(
        update(Job)
        .where(which)
        .values(revision=Job.revision + 1, **values)
        .returning(Job.id)
        .execution_options(synchronize_session=False)
    ).all()
    events.record(session, changed)
    return list(changed)


def end(
    session: Session,
    which: ColumnElement[bool],
    state: str,
    *,
    seconds: float = 0.0,
    rows: int = 0,
    **values: Any,
) -> list[str]:
    """End these jobs. Which there were. ``seconds`` of a worker and ``rows`` that they took."""
    over = {"state": state, "lease_expires_at": None, "finished_at": clock(session)}
    ended = change(session, which, **over, **values)
    if ended:
        events.record_end(session, ended, state, seconds, rows)
    return ended


def stop(session: Session, which: ColumnElement[bool]) -> int:
    """Cancel those of the jobs that no worker has, and ask the workers of the others to. How many."""
    # One lock for both changes: none of them may slip from one state to the other in between.
    session.execute(select(Job.id).where(which).order_by(Job.id).with_for_update())
    idle = end(session, which & or_(Job.state == "queued", WAITING), "canceled", cancel_requested=True)
    return len(idle) + len(change(session, which & (Job.state == "running"), cancel_requested=True))


def free(session: Session, which: ColumnElement[bool]) -> Sequence[str]:
    """The ids of those of the jobs that no other transaction is at, locked. Whoever takes many waits for
    none: two such could wait for each other. The others' turn is in the next round.
    """
    unlocked = select(Job.id).where(which).limit(_AT_ONCE).with_for_update(skip_locked=True)
    return session.scalars(unlocked).all()
