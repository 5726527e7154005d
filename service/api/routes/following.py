"""Waiting for jobs: until they are over, or change by change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Annotated, TypeVar

from fastapi import Header, Response
from fastapi.sse import ServerSentEvent
from starlette.concurrency import run_in_threadpool

from zenserve.errors import AccessError, NotFoundError
from zenserve.service.api.problems import NO_DATABASE
from zenserve.service.api.routes.dependencies import Patience
from zenserve.service.api.schemas import JobView, Milestone
from zenserve.service.api.watcher import Seat, StoppingError
from zenserve.service.jobs import events
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.jobs import TERMINAL

COME_BACK = ServerSentEvent(retry=1000)
"""The last event of a stream whose process stops: connect again, to another, after so many milliseconds."""
_DIGITS = 9

View = TypeVar("View", bound=JobView)
LastEventId = Annotated[
    str | None, Header(alias="Last-Event-ID", description="The revision that was seen last.", examples=["7"])
]


async def settled(seen: View, view: Callable[[], View], patience: Patience, response: Response) -> View:
    """Return the view once the job is over, the caller's wait ends, or this process stops.

    ``seen``: the view at first. The response's status and headers tell which it was.
    """
    if patience.seat is not None:
        response.headers["Preference-Applied"] = f"wait={patience.seconds}"
        if seen.state not in TERMINAL:
            try:
                async with asyncio.timeout(patience.seconds):
                    seen = await patience.seat.changed(seen, view, until_over=True)
            except (TimeoutError, StoppingError):
                seen = await run_in_threadpool(view)
    if seen.state in TERMINAL:
        response.status_code = 201
    return seen


async def follow(
    runtime: Runtime, seat: Seat, seen: JobView, view: Callable[[], JobView], last_event_id: str | None
) -> AsyncIterator[ServerSentEvent]:
    """Yield the missed milestones, the present state and every change.

    The events end once the job is over or deleted, the caller's key is no longer valid, or this process
    stops.
    """
    for milestone in await run_in_threadpool(_missed, runtime, seen, last_event_id):
        yield ServerSentEvent(event="milestone", data=milestone, id=str(milestone.revision))
    while seen.state not in TERMINAL:
        yield ServerSentEvent(event="progress", data=seen, id=str(seen.revision))
        try:
            seen = await seat.changed(seen, view)
        except StoppingError:
            yield COME_BACK
            return
        except (NotFoundError, AccessError, *NO_DATABASE):  # whoever follows finds out by asking again
            return
    yield ServerSentEvent(event="end", data=seen, id=str(seen.revision))


def number_of(last_event_id: str | None) -> int | None:
    """None where there is none, or one that was never given."""
    text = last_event_id or ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else None


def _missed(runtime: Runtime, seen: JobView, last_event_id: str | None) -> list[Milestone]:
    last = number_of(last_event_id)
    if last is None:
        return []
    with runtime.database.read() as session:
        return [
            Milestone.model_validate(event)
            for event in events.after(session, seen.id, last)
            if event.revision < seen.revision
        ]
