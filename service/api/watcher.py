"""Waiting for jobs: one look at the database for all who wait, and a wake for each whose job changed."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar, cast

from starlette.concurrency import run_in_threadpool

from zenserve.errors import AccessError, NotFoundError, ResourceError
from zenserve.service.access.keys import is_still_good
from zenserve.service.access.principal import Principal
from zenserve.service.api.schemas import JobView
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.jobs import TERMINAL

POLL_SECONDS = 0.1
CHECK_SECONDS = 5.0
"""Whoever's key is revoked waits no longer than so much more."""
_REST = 9
"""Between looks it rests for so many times what the last one took: many who wait are told a little later."""
TENANT_SHARE = 4
"""The keys of one tenant together may wait for so many times what one key may."""


class StoppingError(Exception):
    """This process is to stop: nobody waits here any more."""


View = TypeVar("View", bound=JobView)
Outcome = JobView | Exception


@dataclass(eq=False)
class _Wait:
    """Somebody who waits for a job to change from this revision, or to be over."""

    principal: Principal
    seen: JobView
    view: Callable[[], JobView]
    until_over: bool
    outcome: asyncio.Future[JobView] = field(default_factory=asyncio.Future)

    def is_met(self, revision: int, state: str) -> bool:
        return state in TERMINAL if self.until_over else revision != self.seen.revision


@dataclass(frozen=True)
class Seat:
    """The right of a caller to wait."""

    watcher: Watcher
    principal: Principal

    async def changed(self, seen: View, view: Callable[[], View], *, until_over: bool = False) -> View:
        """``view`` once it is not as ``seen``, or once the job is over.

        Raises ``NotFoundError`` where the job is deleted, ``AccessError`` where the caller's key is no longer
        good, ``StoppingError``, and what asking the database raises.
        """
        wait = _Wait(self.principal, seen, view, until_over)
        return cast(View, await self.watcher.outcome(wait))


class Watcher:
    """All who wait in one process. It looks while there are any, and in one thread at a time."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._most = runtime.settings.max_streams
        self._seats: Counter[tuple[str, str]] = Counter()
        self._waits: set[_Wait] = set()
        self._looking: asyncio.Task[None] | None = None
        self._stopped = False

    def stop(self) -> None:
        """Let nobody wait any more, in the loop's thread."""
        self._stopped = True
        for wait in list(self._waits):
            _tell(wait, StoppingError())

    @contextmanager
    def seat(self, principal: Principal) -> Iterator[Seat]:
        """Raises ``ResourceError`` (``quota.streams``) where the caller's key or tenant has too many."""
        taken = {
            ("key", principal.actor): self._most,
            ("tenant", principal.tenant_id): TENANT_SHARE * self._most,
        }
        for who, most in taken.items():
            if self._seats[who] >= most:
                raise ResourceError(
                    "quota.streams", f"your {who[0]} follows or waits for {most} jobs at once: end some first"
                )
        self._seats.update(taken.keys())
        try:
            yield Seat(self, principal)
        finally:
            self._seats.subtract(taken.keys())
            self._seats += Counter()  # forgets who has none

    async def outcome(self, wait: _Wait) -> JobView:
        if self._stopped:
            raise StoppingError
        self._waits.add(wait)
        if self._looking is None:
            # In a context of its own: it is nobody's request.
            self._looking = asyncio.create_task(self._look_on(), context=contextvars.Context())
        try:
            return await wait.outcome
        finally:
            self._waits.discard(wait)

    async def _look_on(self) -> None:
        checked = time.monotonic()
        pause = POLL_SECONDS
        try:
            while self._waits:
                await asyncio.sleep(pause)
                started = time.monotonic()
                is_due = started - checked > CHECK_SECONDS
                checked = started if is_due else checked
                waits = list(self._waits)
                for wait, outcome in await run_in_threadpool(self._look, waits, check=is_due):
                    _tell(wait, outcome)
                pause = max(POLL_SECONDS, _REST * (time.monotonic() - started))
        finally:
            self._looking = None

    def _look(self, waits: list[_Wait], *, check: bool) -> list[tuple[_Wait, Outcome]]:
        try:
            with self._runtime.database.read() as session:
                found = Jobs(session).revisions({wait.seen.id for wait in waits})
                callers = {wait.principal for wait in waits} if check else set()
                lost = {caller for caller in callers if not is_still_good(session, caller)}
        except Exception as error:  # whoever waits is told, and asks again if it likes
            return [(wait, error) for wait in waits]
        told: list[tuple[_Wait, Outcome]] = []
        views: dict[str, Outcome] = {}
        for wait in waits:
            job_id = wait.seen.id
            if wait.principal in lost:
                told.append((wait, AccessError("auth.invalid", "this key or token expired or was revoked")))
            elif job_id not in found:
                told.append((wait, NotFoundError("not_found", f"{job_id} was deleted")))
            elif wait.is_met(*found[job_id]):
                if job_id not in views:
                    views[job_id] = _viewed(wait.view)
                told.append((wait, views[job_id]))
        return told


def _viewed(view: Callable[[], JobView]) -> Outcome:
    try:
        return view()
    except Exception as error:
        return error


def _tell(wait: _Wait, outcome: Outcome) -> None:
    if wait.outcome.done():  # it has gone
        return
    if isinstance(outcome, Exception):
        wait.outcome.set_exception(outcome)
    else:
        wait.outcome.set_result(outcome)
