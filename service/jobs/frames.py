"""The frames of a stream, whose jobs it waits for: they take turns, in order, and whatever becomes of one,
the next has its turn. So a stream is where its rows say, wherever a worker dies.

Where frames are proven in batches, the first takes the turn of all, and waits a while until they are there.
"""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from zenserve.service.jobs import lifecycle
from zenserve.service.jobs.lifecycle import WAITING
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.jobs import TERMINAL, Job
from zenserve.service.storage.records.streams import Frame, Stream


def are_of(session: Session, parent_id: str) -> bool:
    """Return whether this parent is a stream."""
    return session.scalar(select(Stream.id).where(Stream.id == parent_id)) is not None


def advance(session: Session, stream_id: str) -> None:
    """See whose turn it is, and end a stream that is to take no more once there is nobody's. The stream's job
    is locked: of frames that end at once none overlooks the other.
    """
    stream = session.execute(
        select(
            Stream.over,
            Stream.count,
            Stream.ended_at,
            Stream.deadline_seconds,
            Stream.batch_seconds,
            Stream.rules,
        ).where(Stream.id == stream_id)
    ).one()
    unfinished = Frame.stream_id == stream_id, Frame.number >= stream.over, Job.state.not_in(TERMINAL)
    first = session.execute(
        select(Frame.id, Frame.number, Job.created_at)
        .join(Job, Job.id == Frame.id)
        .where(*unfinished)
        .order_by(Frame.number)
        .limit(1)
    ).one_or_none()
    over = stream.count if first is None else first.number
    session.execute(update(Stream).where(Stream.id == stream_id).values(over=over))
    size = stream.rules.get("batch")
    if first is not None and (size or over > stream.over):
        # As if it were asked for now: else a long backlog would keep its tenant's other jobs waiting.
        due = clock(session)
        if size and stream.ended_at is None and _may_be_full(session, stream_id, first.number, size):
            due = max(due, first.created_at + _patience(stream.batch_seconds, stream.deadline_seconds))
        untried = (Job.id == first.id) & (Job.attempt == 0)
        session.execute(update(Job).where(untried).values(available_at=due))
    waits = (Job.id == stream_id) & WAITING
    if first is None and stream.ended_at is not None:
        lifecycle.end(session, waits, "succeeded", stage="done", percent=100.0)
    else:
        session.execute(update(Job).where(waits).values(revision=Job.revision + 1))


def _may_be_full(session: Session, stream_id: str, first: int, size: int) -> bool:
    """Return whether a batch that begins with this frame can still fill up.

    It lacks frames, and none of those that exist was missed.
    """
    these = Frame.stream_id == stream_id, Frame.number >= first, Frame.number < first + size
    over = func.count().filter(Job.state.in_(TERMINAL))
    rows = select(func.count(), over).select_from(Frame).join(Job, Job.id == Frame.id).where(*these)
    found, missed = session.execute(rows).one()
    return bool(found < size and missed == 0)


def _patience(batch_seconds: int, deadline_seconds: int | None) -> timedelta:
    """Return the time that a frame waits for the rest of its batch: half of its deadline is for the proof."""
    return timedelta(seconds=min(batch_seconds, (deadline_seconds or 2 * batch_seconds) / 2))
