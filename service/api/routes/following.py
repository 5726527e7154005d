"""Waiting for jobs: until they are over, or change by change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, TypeVar

import anyio
from fastapi import Header, Response
from fastapi.sse import ServerSentEvent
from starlette.concurrency import run_in_threadpool

from service.api.access import Principal, is_still_good
from service.api.problems import NO_DATABASE
from service.api.schemas import JobView, Milestone
from service.jobs.lifecycle import Jobs
from service.runtime import Runtime
from service.storage.tables import TERMINAL
from zenerrors import NotFoundError

POLL_SECONDS = 0.1
CHECK_SECONDS = 5.0
_DIGITS = 9
_POLLS_PER_SECOND = 200
"""Of all who wait or follow, in one process: where there are many, each is told a little later."""
_followers = 0

View = TypeVar("View", bound=JobView)
LastEventId = Annotated[
    str | None, Header(alias="Last-Event-ID", description="The revision that was seen last.")
]


@contextmanager
def _following() -> Iterator[None]:
    global _followers
    _followers += 1
    try:
        yield
    finally:
        _followers -= 1


def _pause() -> float:
    return max(POLL_SECONDS, _followers / _POLLS_PER_SECOND)


async def settled(seen: View, view: Callable[[], View], seconds: int, response: Response) -> View:
    """What ``view`` shows once the job is over, or after ``seconds``; the answer says which. At first it is
    as ``seen``.
    """
    if seconds:
        response.headers["Preference-Applied"] = f"wait={seconds}"
    deadline = asyncio.get_running_loop().time() + seconds
    with _following():
        while seen.state not in TERMINAL:
            if asyncio.get_running_loop().time() >= deadline:
                return seen
            await asyncio.sleep(_pause())
            seen = await run_in_threadpool(view)
        response.status_code = 201
        return seen


async def follow(
    runtime: Runtime,
    principal: Principal,
    seen: JobView,
    view: Callable[[], JobView],
    last_event_id: str | None,
) -> AsyncIterator[ServerSentEvent]:
    """What was missed, the present state, and whatever comes, until the job is over or deleted, or the
    caller's key is no longer good.
    """
    for milestone in await run_in_threadpool(_missed, runtime, seen, last_event_id):
        yield ServerSentEvent(event="milestone", data=milestone, id=str(milestone.revision))
    with _following():
        checked = anyio.current_time()
        while seen.state not in TERMINAL:
            yield ServerSentEvent(event="progress", data=seen, id=str(seen.revision))
            try:
                while (changed := await run_in_threadpool(view)).revision == seen.revision:
                    await anyio.sleep(_pause())
                    if anyio.current_time() - checked > CHECK_SECONDS:
                        checked = anyio.current_time()
                        if not await run_in_threadpool(is_still_good, runtime, principal):
                            return
            except (NotFoundError, *NO_DATABASE):  # whoever follows finds out by asking again
                return
            seen = changed
    yield ServerSentEvent(event="end", data=seen, id=str(seen.revision))


def _missed(runtime: Runtime, seen: JobView, last_event_id: str | None) -> list[Milestone]:
    text = last_event_id or ""
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        return []
    with runtime.database.read() as session:
        return [
            Milestone.model_validate(event)
            for event in Jobs(session).events(seen.id, int(text))
            if event.revision < seen.revision
        ]
