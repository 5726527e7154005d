"""A worker process: hears from the queue that there is work, takes the next job, one at a time.

Started by the supervisor as ``python -m service.worker NAME PID``, the last its own; settings come from the
environment.
"""

from __future__ import annotations

import os
import resource
import sys
import warnings
from typing import Any, Final

from celery.platforms import SecurityWarning  # type: ignore[import-untyped]
from celery.signals import worker_shutting_down  # type: ignore[import-untyped]
from sqlalchemy.exc import OperationalError

from service import log, telemetry
from service.heartbeat import Heartbeat, Hold, end_stopped
from service.jobs import Claim, Jobs
from service.queue import TASK, names
from service.runtime import Runtime
from service.scheduling import claim_next
from service.settings import Settings
from service.tasks import TASKS
from zenerrors import Cancelled, InputError, ResourceError, ZenError

_NICE: Final = 10


def run_next(runtime: Runtime, heartbeat: Heartbeat) -> None:
    """Take the next job that this worker can, and run it; nothing where there is none."""
    if heartbeat.shutting_down:
        return
    abilities, lease = heartbeat.abilities, runtime.settings.lease_seconds
    memory = abilities.free_memory()
    with runtime.database.write() as session:
        claim = claim_next(session, heartbeat.worker, lease, abilities.queues, memory)
    if claim is not None:
        run_claimed(runtime, heartbeat, claim)


def run_job(runtime: Runtime, heartbeat: Heartbeat, job_id: str) -> None:
    """Run this job from claim to end. One that is not queued (any more) is left alone."""
    with runtime.database.write() as session:
        claim = Jobs(session).claim(job_id, heartbeat.worker, runtime.settings.lease_seconds)
    if claim is None:
        log.event("job.skipped", id=job_id)
    else:
        run_claimed(runtime, heartbeat, claim)


def run_claimed(runtime: Runtime, heartbeat: Heartbeat, claim: Claim) -> None:
    """Run a job to its end, or to that of this attempt."""
    with log.context(job_id=claim.id), telemetry.job_span(claim) as span:
        log.event("job.started", attempt=claim.attempt)
        hold = Hold(claim, heartbeat.abilities.backend, span)
        with heartbeat.holding(hold):
            _attempt(runtime, hold)
        with runtime.database.read() as session:
            state, ready = Jobs(session).state(claim.id), Jobs(session).ready(claim.id)
        span.end(state)
        log.event("job.left", state=state, attempt=claim.attempt)
    for job_id, queue in ready:
        runtime.queue.send(job_id, queue)


def _attempt(runtime: Runtime, hold: Hold) -> None:
    """One attempt, its end written to the database."""
    claim, max_attempts = hold.claim, runtime.settings.max_attempts
    try:
        TASKS[claim.kind](runtime, hold)
    except Cancelled:
        with runtime.database.write() as session:
            end_stopped(Jobs(session), hold)
    except InputError as error:
        with runtime.database.write() as session:
            Jobs(session).fail(claim, _problem_of(error))
    except Exception as error:
        # Out of memory, a full disk, a bug: it may pass, so another attempt is due.
        log.event("job.broke", level=40, failed=True)
        cause = error if isinstance(error, ResourceError) else _unexpected(error)
        with runtime.database.write() as session:
            Jobs(session).give_back(claim, _problem_of(cause), max_attempts)


def _problem_of(error: ZenError) -> dict[str, Any]:
    """What a job keeps of an error."""
    return {"code": error.code, "detail": error.message, "field": error.field}


def _unexpected(error: Exception) -> ResourceError:
    """The cause by its class alone: its message could quote an input."""
    if isinstance(error, MemoryError):
        return ResourceError("resource.memory", "the worker ran out of memory")
    if isinstance(error, OperationalError):
        return ResourceError("resource.database", "the database did not answer")
    return ResourceError("resource.internal", f"the worker met an unexpected {type(error).__name__}")


def main(name: str, supervisor: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold witnesses and weights
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
