"""What befalls a worker at a stage of its job: ``die@witness``, ``starve@columns``, ``hold@store=FILE``.

python -m tests.faults.accident ACCIDENT...

lets workers take the next job one after the other, without a supervisor: each with its own accident, or
``none``. ``reap`` and ``sweep`` are what a beat does. Workers that are started with ``held_at`` in their
environment wait for a file to go.
"""

from __future__ import annotations

import os
import resource
import secrets
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from zenserve.service import log
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.reaper import reap, sweep
from zenserve.service.settings import Settings
from zenserve.service.worker.attempts import run_next
from zenserve.service.worker.heartbeat import Heartbeat, Hold

DEAF = "deaf"
"""What a file says that holds work for as long as it is there, whatever its worker is told."""
_SMALLEST_FILE = 1 << 12
_LITTLE, _MUCH = 32 << 20, 256 << 20
_HERE = Path(__file__).parent


def held_at(stage: str, file: Path) -> dict[str, str]:
    """The environment in which workers stay at a stage of their jobs while the file is there."""
    path = f"{_HERE / 'hooks'}{os.pathsep}{_HERE.parents[1]}"
    return {"PYTHONPATH": path, "ACCIDENT": f"hold@{stage}={file}"}


def die(_: str, __: Hold) -> None:
    """As by the kernel, when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)


def starve(_: str, __: Hold) -> None:
    """The stage takes more than there is, as that of a larger network would."""
    limit = psutil.Process().memory_info().vms + _LITTLE
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    bytearray(_MUCH)


def fill(_: str, __: Hold) -> None:
    """No room for any file of size."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (_SMALLEST_FILE, resource.RLIM_INFINITY))


def hold(file: str, job: Hold) -> None:
    """Stay there as long as the file does, or until the work is to stop, unless the file says deaf."""
    with suppress(FileNotFoundError):
        while job.stop is None or Path(file).read_text() == DEAF:
            Path(file).stat()
            threading.Event().wait(0.01)  # libfaketime breaks time.sleep


ACCIDENTS: dict[str, Callable[[str, Hold], None]] = {"die": die, "starve": starve, "fill": fill, "hold": hold}


def prepare(what: str, before: Callable[[], None] = lambda: None) -> None:
    """Let ``accident@stage=argument`` happen to this process's jobs."""
    name, _, place = what.partition("@")
    where, _, argument = place.partition("=")
    report = Hold.progress

    def progress(self: Hold, stage: str, fraction: float) -> None:
        report(self, stage, fraction)
        if stage == where:
            before()
            ACCIDENTS[name](argument, self)

    Hold.progress = progress  # type: ignore[method-assign]


def work(what: str) -> None:
    """One job, or one round of what a beat does."""
    settings = Settings.read()
    log.configure(settings.log_level)
    runtime = Runtime.open(settings)
    if what in ("reap", "sweep"):
        {"reap": reap, "sweep": sweep}[what](runtime)
        return
    heartbeat = Heartbeat(runtime, f"worker_{secrets.token_hex(6)}")
    prepare(what, heartbeat.tick)  # what the database says of the stage is true when it happens
    heartbeat.tick()  # its row is there: the thread and the accident's own beat do not both make it
    heartbeat.start()
    try:
        run_next(runtime, heartbeat)
    finally:
        heartbeat.finish()
        runtime.close()


if __name__ == "__main__":
    for accident in sys.argv[1:]:
        # Forked, so that one import serves them all.
        if child := os.fork():
            os.waitpid(child, 0)
        else:
            work(accident)
            os._exit(0)
