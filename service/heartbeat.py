"""The heartbeat of a worker process, from a thread of its own.

Why a thread: the main thread may be inside a kernel for seconds at a time, and a lease that depended on it
would expire under honest work. It renews the lease, writes the progress that the work last reported, and
brings back whether to stop; the work itself never touches the database while it computes.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import OperationalError

from service import log
from service.jobs import Claim, Jobs, Workers
from service.runtime import Runtime
from zenerrors import Cancelled

TICK_SECONDS = 0.25
BEAT_SECONDS = 2.0


class Hold:
    """A claimed job as its work sees it: a progress callback that raises once the work must stop."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.stage = "starting"
        self.percent = 0.0
        self.stop: str | None = None
        """Why to stop: ``cancel`` (the caller asked), ``lost`` (another has the job), ``shutdown``."""
        self._timings: dict[str, float] = {}
        self._since = time.monotonic()

    def progress(self, stage: str, fraction: float) -> None:
        """Note where the work is. Raises ``Cancelled``."""
        if self.stop:
            raise Cancelled
        if stage != self.stage:
            self._close_stage()
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

    def __init__(self, runtime: Runtime, worker: str) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self.worker = worker
        self.shutting_down = False
        self._runtime = runtime
        self._parent = os.getppid()
        self._hold: Hold | None = None
        self._quit = threading.Event()
        self._next_beat = 0.0

    @contextmanager
    def holding(self, hold: Hold) -> Iterator[None]:
        """Keep the job's lease alive within the block."""
        self._hold = hold
        try:
            yield
        finally:
            self._hold = None

    def shut_down(self) -> None:
        """Ask the running work, if any, to stop so that its job can be given back."""
        self.shutting_down = True
        if hold := self._hold:
            hold.stop = "shutdown"

    def run(self) -> None:
        while not self._quit.wait(TICK_SECONDS):
            if os.getppid() != self._parent:  # the supervisor died without a word: leave no orphan
                os.kill(os.getpid(), signal.SIGTERM)
            try:
                self.tick()
            except OperationalError:  # a busy or briefly absent database; the lease outlasts many ticks
                log.event("heartbeat.missed", level=30, worker=self.worker, failed=True)
        with self._runtime.database.write() as session:
            Workers(session).remove(self.worker)

    def tick(self) -> None:
        hold, moment = self._hold, time.monotonic()
        if hold is None and moment < self._next_beat:
            return
        with self._runtime.database.write() as session:
            if moment >= self._next_beat:
                Workers(session).beat(self.worker, os.getpid())
                self._next_beat = moment + BEAT_SECONDS
            if hold is not None:
                cancel = Jobs(session).renew(
                    hold.claim, hold.stage, hold.percent, self._runtime.settings.lease_seconds
                )
        if hold is not None and hold.stop is None and cancel is not False:
            hold.stop = "lost" if cancel is None else "cancel"

    def finish(self) -> None:
        self._quit.set()
        self.join()
