"""A worker process: hears from the queue that there is work, takes the next job, one at a time.

Started by the supervisor as ``python -m zenserve.service.worker NAME PID``, the last its own; settings come
from the environment.
"""

from __future__ import annotations

import os
import resource
import sys
import warnings
from typing import Final

from celery.platforms import SecurityWarning  # type: ignore[import-untyped]
from celery.signals import worker_shutting_down  # type: ignore[import-untyped]

from zenserve.base.memory import FREED
from zenserve.service import log, telemetry
from zenserve.service.jobs.queue import TASK, names
from zenserve.service.runtime import Runtime
from zenserve.service.settings import Settings
from zenserve.service.storage import private
from zenserve.service.worker.attempts import run_next
from zenserve.service.worker.heartbeat import Heartbeat

_NICE: Final = 10


def main(name: str, supervisor: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold witnesses and weights
    private.close_to_others()
    FREED.hold()
    os.nice(_NICE)  # proofs take what is left: an API on this host answers while they run
    # Celery warns a superuser, as in most containers, of options that this program does not have.
    warnings.simplefilter("ignore", SecurityWarning)
    settings = Settings.read()
    log.configure(settings.log_level, settings.log_format)
    telemetry.configure("worker")
    runtime = Runtime.open(settings)
    # Not its parent of now: the supervisor may have died while this process started.
    heartbeat = Heartbeat(runtime, name, supervisor=supervisor)
    abilities = heartbeat.abilities
    log.event("worker.started", worker=name, backend=abilities.backend, queues=",".join(abilities.queues))
    celery = runtime.queue.celery

    @celery.task(name=TASK)  # type: ignore[untyped-decorator]
    def run(job_id: str) -> None:
        run_next(runtime, heartbeat)

    worker_shutting_down.connect(lambda **_: heartbeat.shut_down(), weak=False)
    heartbeat.start()
    try:
        celery.Worker(
            pool="solo",
            hostname=f"{name}@zenserve",
            loglevel="WARNING",
            quiet=True,
            queues=names(abilities.queues),
            without_mingle=True,
            without_gossip=True,
            without_heartbeat=True,
        ).start()
    finally:
        heartbeat.finish()
        runtime.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
