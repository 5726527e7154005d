"""The end of a process of the API: what it does between SIGTERM and its exit.

First ``/readyz`` fails, so that a balancer sends callers elsewhere, and the process goes on taking requests.
Whoever waits for a job is answered at once, with the job as it is; streams end with a hint when to come back.
Then uvicorn closes the door, and answers the requests that are under way. What is still under way when the
time is up is cancelled, and answered with 503.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Final

from zenserve.errors import ResourceError
from zenserve.service import log
from zenserve.service.api.watcher import Watcher
from zenserve.service.submissions import sandbox

_LAST_SECONDS: Final = 2.0
"""In which whoever still waits for a file to be read is answered."""


class Drain:
    """The shutdown of this process of the API: whether it has begun, and the signals that begin it."""

    def __init__(self, watcher: Watcher, seconds: float) -> None:
        self.has_begun = False
        self._seconds = seconds
        self.notice_seconds = 0.0
        """The seconds for which the process still takes requests after SIGTERM."""
        self._watcher = watcher

    def begin(self) -> None:
        """Say that this process is not ready, and let nobody wait. In the loop's thread."""
        if not self.has_begun:
            self.has_begun = True
            log.event("api.drains")
            self._watcher.stop()
            # Threads are not cancelled: those that wait for a child would outlive the time.
            asyncio.get_running_loop().call_later(max(0.5, self._seconds - _LAST_SECONDS), sandbox.stop)

    def listen(self) -> None:
        """Begin when a signal comes, and hand it on once the notice is over. In the loop's thread, once the
        server has its own handlers."""
        if threading.current_thread() is not threading.main_thread():
            return  # signals are another's
        for number, notice in ((signal.SIGTERM, self.notice_seconds), (signal.SIGINT, 0.0)):
            server = signal.getsignal(number)
            if callable(server):
                signal.signal(number, partial(self._told, asyncio.get_running_loop(), server, notice))

    def _told(
        self,
        loop: asyncio.AbstractEventLoop,
        server: Callable[[int, FrameType | None], object],
        notice: float,
        number: int,
        _frame: FrameType | None,
    ) -> None:
        loop.call_soon_threadsafe(self.begin)
        loop.call_soon_threadsafe(loop.call_later, notice, server, number, None)


def stopping() -> ResourceError:
    """Return the error for a request that came after this process began to stop."""
    return ResourceError("resource.busy", "this process of the service stops: send the request again")
