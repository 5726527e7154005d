"""A worker process: takes job ids from the queue, runs the jobs, one at a time.

Started by the supervisor as ``python -m service.worker NAME``; settings come from the environment.
"""

from __future__ import annotations

import resource
import sys
import warnings

from celery.platforms import SecurityWarning  # type: ignore[import-untyped]
from celery.signals import worker_shutting_down  # type: ignore[import-untyped]

from service import log
from service.heartbeat import Heartbeat, Hold
from service.jobs import Jobs
from service.problems import problem_of
from service.queue import TASK
from service.runtime import Runtime
from service.settings import Settings
from service.tasks import TASKS
from zenerrors import Cancelled, InputError, ResourceError


def run_job(runtime: Runtime, heartbeat: Heartbeat, job_id: str) -> None:
    """Run a job from claim to end. A job that is not queued (any more) is left alone."""
    settings = runtime.settings
    with runtime.database.write() as session:
        claim = Jobs(session).claim(job_id, heartbeat.worker, settings.lease_seconds)
    if claim is None:
        log.event("job.skipped", id=job_id)
        return
    log.event("job.started", id=job_id, attempt=claim.attempt)
    hold = Hold(claim)
    with heartbeat.holding(hold):
        again = _attempt(runtime, hold)
    with runtime.database.read() as session:
        log.event("job.left", id=job_id, state=Jobs(session).state(job_id), attempt=claim.attempt)
        parent_id = Jobs(session).queued_parent(job_id)
    if again and not heartbeat.shutting_down:
        runtime.enqueue(job_id)
    if parent_id:
        runtime.enqueue(parent_id)


def _attempt(runtime: Runtime, hold: Hold) -> bool:
    """One attempt, its end written to the database. Whether the job is queued again."""
    claim, max_attempts = hold.claim, runtime.settings.max_attempts
    try:
        TASKS[claim.kind](runtime, hold)
    except Cancelled:
        with runtime.database.write() as session:
            if hold.stop == "cancel":
                Jobs(session).canceled(claim)
            elif hold.stop == "shutdown":
                return Jobs(session).give_back(claim, None, max_attempts)
    except InputError as error:
        with runtime.database.write() as session:
            Jobs(session).fail(claim, problem_of(error))
    except Exception as error:
        # Out of memory, a full disk, a bug: it may pass, so another attempt is due.
        log.event("job.broke", id=claim.id, level=40, failed=True)
        cause = error if isinstance(error, ResourceError) else _unexpected(error)
        with runtime.database.write() as session:
            Jobs(session).give_back(claim, problem_of(cause), max_attempts)
            return Jobs(session).state(claim.id) == "queued"
    return False


def _unexpected(error: Exception) -> ResourceError:
    """The cause by its class alone: its message could quote an input."""
    if isinstance(error, MemoryError):
        return ResourceError("resource.memory", "the worker ran out of memory")
    return ResourceError("resource.internal", f"the worker met an unexpected {type(error).__name__}")


def main(name: str) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold witnesses and weights
    # Celery warns a superuser, as in most containers, of options that this program does not have.
    warnings.simplefilter("ignore", SecurityWarning)
    settings = Settings()
    log.configure(settings.log_level)
    runtime = Runtime.open(settings)
    heartbeat = Heartbeat(runtime, name)
    log.event("worker.started", worker=name, backend=settings.backend)
    celery = runtime.queue.celery

    @celery.task(name=TASK)  # type: ignore[untyped-decorator]
    def run(job_id: str) -> None:
        run_job(runtime, heartbeat, job_id)

    worker_shutting_down.connect(lambda **_: heartbeat.shut_down(), weak=False)
    heartbeat.start()
    try:
        celery.Worker(
            pool="solo",
            hostname=f"{name}@zenserve",
            loglevel="WARNING",
            quiet=True,
            without_mingle=True,
            without_gossip=True,
            without_heartbeat=True,
        ).start()
    finally:
        heartbeat.finish()
        runtime.close()


if __name__ == "__main__":
    main(sys.argv[1])
