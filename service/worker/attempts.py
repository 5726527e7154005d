"""Attempts at jobs: from the claim to what is written of their end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy.exc import OperationalError

from zenserve.errors import Cancelled, ConflictError, InputError, ResourceError, ZenError
from zenserve.service import log, telemetry
from zenserve.service.deleted import forget_deleted
from zenserve.service.jobs.claims import Claim, Claims
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.jobs.scheduling import claim_next
from zenserve.service.runtime import Runtime
from zenserve.service.worker.heartbeat import Heartbeat, Hold, end_stopped
from zenserve.service.worker.tasks import TASKS


def run_next(runtime: Runtime, heartbeat: Heartbeat) -> None:
    """Take the next job that this worker can, and run it; nothing where there is none."""
    if heartbeat.shutting_down:
        return
    forget_deleted(runtime)
    abilities, lease = heartbeat.abilities, runtime.settings.lease_seconds
    memory = abilities.free_memory()
    with runtime.database.write() as session:
        claim = claim_next(session, heartbeat.worker, lease, abilities.queues, memory)
    if claim is not None:
        run_claimed(runtime, heartbeat, claim)


def run_claimed(runtime: Runtime, heartbeat: Heartbeat, claim: Claim) -> None:
    """Run a job to its end, or to that of this attempt."""
    with (
        log.context(job_id=claim.id),
        telemetry.job_span(claim.id, claim.kind, claim.attempt, claim.trace) as span,
    ):
        log.event("job.started", attempt=claim.attempt)
        hold = Hold(claim, heartbeat.abilities.backend, span)
        with heartbeat.holding(hold):
            _attempt(runtime, hold)
        with runtime.database.read() as session:
            state, ready = Jobs(session).state(claim.id), Claims(session).ready(claim.id)
        span.end(state)
        log.event("job.left", state=state, attempt=claim.attempt)
    for job_id, queue in ready:
        runtime.queue.send(job_id, queue)
    for task in hold.afterwards:
        if not heartbeat.shutting_down:
            _do(task)


def _do(task: Callable[[], None]) -> None:
    """Nobody waits for it, and whoever needs it does it then."""
    try:
        task()
    except Exception:
        log.event("job.afterwards_broke", level=30, failed=True)


def _attempt(runtime: Runtime, hold: Hold) -> None:
    """One attempt, its end written to the database."""
    claim, max_attempts = hold.claim, runtime.settings.max_attempts
    try:
        TASKS[claim.kind](runtime, hold)
    except Cancelled:
        with runtime.database.write() as session:
            end_stopped(Claims(session), hold)
    except (InputError, ConflictError) as error:  # nothing that another attempt would change
        with runtime.database.write() as session:
            Claims(session).fail(claim, _problem_of(error))
    except Exception as error:
        # Out of memory, a full disk, a bug: it may pass, so another attempt is due.
        log.event("job.broke", level=40, failed=True)
        cause = error if isinstance(error, ResourceError) else _unexpected(error)
        with runtime.database.write() as session:
            Claims(session).give_back(claim, _problem_of(cause), max_attempts)


def _problem_of(error: ZenError) -> dict[str, Any]:
    """Return the fields of an error that a job keeps."""
    return {"code": error.code, "detail": error.message, "field": error.field}


def _unexpected(error: Exception) -> ResourceError:
    """The cause by its class alone: its message could quote an input."""
    if isinstance(error, MemoryError):
        return ResourceError("resource.memory", "the worker ran out of memory")
    if isinstance(error, OperationalError):
        return ResourceError("resource.database", "the database did not answer")
    return ResourceError("resource.internal", f"the worker met an unexpected {type(error).__name__}")
