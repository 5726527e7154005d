"""The heartbeat of a worker process, from a thread of its own.

Why a thread: the main thread may be inside a kernel for seconds at a time, and a lease that depended on it
would expire under honest work. It renews the lease, writes the progress that the work last reported, and
brings back whether to stop; the work itself never touches the database while it computes. Work that is to
stop and does not is killed, with its process: its supervisor starts another.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from zenserve.base.memory import FREED
from zenserve.errors import Cancelled
from zenserve.service import log, openings
from zenserve.service.deleted import forget_deleted
from zenserve.service.jobs.claims import Claim, Claims, late
from zenserve.service.runtime import Runtime
from zenserve.service.storage.repositories.workers import Workers
from zenserve.service.telemetry import JobSpan
from zenserve.service.worker.abilities import Abilities

TICK_SECONDS = 0.25
BEAT_SECONDS = 2.0
_REST_SECONDS = 1.0
"""Of an idle worker whose database does not answer."""


class Hold:
    """A claimed job as its work sees it: a progress callback that raises once the work must stop."""

    def __init__(self, claim: Claim, backend: str = "cpu", span: JobSpan | None = None) -> None:
        self.claim = claim
        self._span = span or JobSpan()
        self.backend = backend
        self.stage = "starting"
        self.percent = 0.0
        self.rows = 0
        """Constraints that were proven."""
        self.kernels: dict[str, float] = {}
        """Seconds of a GPU's, by name, of proofs that were measured."""
        self.afterwards: list[Callable[[], None]] = []
        """Functions that are called once the job is over, for later jobs."""
        self._timings: dict[str, float] = {}
        self._since = time.monotonic()
        self._stop: Literal["cancel", "deadline", "lost", "shutdown"] | None = None
        self._stopped_at = 0.0

    @property
    def stop(self) -> Literal["cancel", "deadline", "lost", "shutdown"] | None:
        """Why to stop: the caller asked, it is too late, another has the job, or the worker goes."""
        return self._stop

    @stop.setter
    def stop(self, why: Literal["cancel", "deadline", "lost", "shutdown"]) -> None:
        if self._stop is None:
            self._stop, self._stopped_at = why, time.monotonic()

    @property
    def overdue(self) -> float:
        """Seconds since it was to stop."""
        return time.monotonic() - self._stopped_at if self._stop else 0.0

    def progress(self, stage: str, fraction: float) -> None:
        """Note where the work is. Raises ``Cancelled``."""
        if self._stop:
            raise Cancelled
        if stage != self.stage:
            self._close_stage()
            self._span.stage(stage)
            self.stage = stage
        self.percent = round(100 * min(max(fraction, 0.0), 1.0), 1)

    def timings(self) -> dict[str, float]:
        """Seconds per stage until now."""
        self._close_stage()
        return {stage: round(seconds, 4) for stage, seconds in self._timings.items()}

    def _close_stage(self) -> None:
        moment = time.monotonic()
        self._timings[self.stage] = self._timings.get(self.stage, 0.0) + moment - self._since
        self._since = moment


class Heartbeat(threading.Thread):
    """Beats for the process, and for the job it holds."""

    def __init__(
        self,
        runtime: Runtime,
        worker: str,
        abilities: Abilities | None = None,
        *,
        supervisor: int | None = None,
    ) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self.worker = worker
        self.abilities = abilities or Abilities.of(runtime.settings)
        self.shutting_down = False
        self._runtime = runtime
        self._parent = supervisor or os.getppid()
        self._hold: Hold | None = None
        self._quit = threading.Event()
        self._next_beat = 0.0
        self._drains = False
        self._give_up_at = float("inf")

    @contextmanager
    def holding(self, hold: Hold) -> Iterator[None]:
        """Keep the job's lease alive within the block."""
        self._hold = hold
        try:
            yield
        finally:
            self._hold = None

    def shut_down(self) -> None:
        """Let the running work, if any, end within ``drain_seconds``; then ask it to stop, so that its job
        can be given back.
        """
        if not self.shutting_down:  # a signal that comes again gives no more time
            self._give_up_at = time.monotonic() + self._runtime.settings.drain_seconds
            self.shutting_down = True

    def run(self) -> None:
        while not self._quit.wait(TICK_SECONDS):
            if os.getppid() != self._parent:  # the supervisor died without a word: leave no orphan
                os.kill(os.getpid(), signal.SIGTERM)
            try:
                self.tick()
            except Exception:  # a busy or absent database, no memory: the lease outlasts many ticks
                log.event("heartbeat.missed", level=30, worker=self.worker, failed=True)
                if self._hold is None:
                    self._quit.wait(_REST_SECONDS)
        with self._runtime.database.write() as session:
            Workers(session).remove(self.worker)

    def tick(self) -> None:
        hold, moment = self._hold, time.monotonic()
        if self.shutting_down and not self._drains:
            self._drains = True
            log.event("worker.drains", worker=self.worker, busy=hold is not None)
        if hold is not None and moment >= self._give_up_at:
            hold.stop = "shutdown"
        if hold is None and moment < self._next_beat:
            return
        if hold is None:  # idle: others may need the memory
            forget_deleted(self._runtime)
            FREED.give_back()
            openings.note(self._runtime)
        why = None
        with self._runtime.database.write() as session:
            if beats := moment >= self._next_beat:
                Workers(session).beat(self.worker, os.getpid(), self.abilities.columns())
            if hold is not None:
                lease = self._runtime.settings.lease_seconds
                why = Claims(session).renew(hold.claim, hold.stage, hold.percent, lease)
        if beats:  # once it is committed: one that failed is made up for by the next tick
            self._next_beat = moment + BEAT_SECONDS
        if hold is not None and why is not None:
            hold.stop = why
        if hold is not None and hold.overdue > self._runtime.settings.kill_seconds:
            self._kill(hold)

    def finish(self) -> None:
        self._quit.set()
        self.join()

    def _kill(self, hold: Hold) -> None:
        """End the process with work that does not heed: what becomes of its job is written before."""
        log.event("worker.kills_itself", level=40, worker=self.worker, id=hold.claim.id, why=hold.stop)
        with self._runtime.database.write() as session:
            end_stopped(Claims(session), hold)
        os.kill(os.getpid(), signal.SIGKILL)


def end_stopped(claims: Claims, hold: Hold) -> None:
    """Write what becomes of a job whose work was told to stop."""
    match hold.stop:
        case "cancel":
            claims.canceled(hold.claim)
        case "deadline":
            claims.fail(hold.claim, late())
        case "shutdown":
            claims.give_back(hold.claim, None, 1)
