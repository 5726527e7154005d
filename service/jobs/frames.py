"""The frames of a stream, whose jobs it waits for: they take turns, in order, and whatever becomes of one,
the next has its turn. So a stream is where its rows say, wherever a worker dies.
"""

from __future__ import annotations

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from service.jobs import lifecycle
from service.jobs.lifecycle import WAITING
from service.storage.database import clock
from service.storage.records.jobs import TERMINAL, Job
from service.storage.records.streams import Frame, Stream


def are_of(session: Session, parent_id: str) -> bool:
    """Whether this parent is a stream."""
    return session.scalar(select(Stream.id).where(Stream.id == parent_id)) is not None


def advance(session: Session, stream_id: str) -> None:
    """See whose turn it is, and end a stream that is to take no more once there is nobody's. The stream's job
    is locked: of frames that end at once none overlooks the other.
    """
    stream = session.execute(
        select(Stream.over, Stream.count, Stream.ended_at).where(Stream.id == stream_id)
    ).one()
    unfinished = Frame.stream_id == stream_id, Frame.number >= stream.over, Job.state.not_in(TERMINAL)
    first = session.execute(
        select(Frame.id, Frame.number)
        .join(Job, Job.id == Frame.id)
        .where(*unfinished)
        .order_by(Frame.number)
        .limit(1)
    ).one_or_none()
    over = stream.count if first is None else first.number
    session.execute(update(Stream).where(Stream.id == stream_id).values(over=over))
    if first is not None and over > stream.over:
        # As if it were asked for now: else a long backlog would keep its tenant's other jobs waiting.
        session.execute(update(Job).where(Job.id == first.id).values(available_at=clock(session)))
    waits = (Job.id == stream_id) & WAITING
    if first is None and stream.ended_at is not None:
        lifecycle.end(session, waits, "succeeded", stage="done", percent=100.0)
    else:
        session.execute(update(Job).where(waits).values(revision=Job.revision + 1))
