"""The reaper puts right what a crash left behind, and deletes what is old. It runs in ``zenserve serve`` and
``zenserve beat``, about once a second; several at once do no harm.

- A running job whose lease has expired is given back, or fails after its last attempt.
- A queued job that no worker picked up, because its message was lost, is enqueued again; one for a GPU goes
  to the other queue when there is no such worker any more.
- A job past its deadline fails, and so does one that takes more memory than any worker ever had, once there
  are workers.
- The sealed input of a proof that is over is deleted, and so are its shards' counts; of one that failed, when
  it can no longer be retried. It is done here, and not where jobs end, because then no crash between an end
  and a deletion can leave an input behind.
- How many openings there were is noted on this host (``zenserve.service.openings``).
- Proofs past their time, uploads that nobody used, logins that ran out and tenants that are to be gone are
  deleted.

A job that waits for its shards has no lease and needs none: those have theirs.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final

from zenserve.service import log, openings
from zenserve.service.jobs.queue import SCHEDULER_SECONDS
from zenserve.service.jobs.reaping import Reaping
from zenserve.service.openings import NOTE_SECONDS
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.removal import remove_tenants
from zenserve.service.scheduler.retention import forget
from zenserve.service.settings import QueueName
from zenserve.service.storage.repositories import Proofs, Shards, stored
from zenserve.service.storage.repositories.workers import Workers

PERIOD_SECONDS: Final = 0.5
PICK_UP_SECONDS: Final = 5.0
NO_GPU_SECONDS: Final = 30.0
FORGOTTEN_SECONDS: Final = 600.0
ORPHAN_SECONDS: Final = 3600.0


class Reaper(threading.Thread):
    def __init__(self, runtime: Runtime) -> None:
        super().__init__(name="reaper", daemon=True)
        self._runtime = runtime
        self._quit = threading.Event()

    def run(self) -> None:
        due = dict.fromkeys(_DUTIES, 0.0)
        while not self._quit.wait(PERIOD_SECONDS):
            for duty, period in _DUTIES.items():
                if time.monotonic() < due[duty]:
                    continue
                due[duty] = time.monotonic() + period
                try:
                    duty(self._runtime)
                except Exception:  # the next round tries again; a dead reaper would try nothing
                    log.event("reaper.failed", level=40, failed=True)

    def finish(self) -> None:
        self._quit.set()
        self.join()


def reap(runtime: Runtime, pick_up_seconds: float = PICK_UP_SECONDS) -> None:
    """One round."""
    _release_lost(runtime)
    with runtime.database.write() as session:
        reaping, workers = Reaping(session), Workers(session)
        reaping.end_late()
        if "gpu" not in workers.memory():
            reaping.leave_queue("gpu", "cpu", NO_GPU_SECONDS)
        if workers.live():
            reaping.end_too_large(workers.largest_ever())
        workers.forget(FORGOTTEN_SECONDS)
    _delete_old(runtime)
    _send_again(runtime, pick_up_seconds)  # last: it may have to wait for the broker


def sweep(runtime: Runtime) -> None:
    """Delete artifacts that no row refers to: a crash came between storing and committing.

    Young files stay: a worker may be about to commit them.
    """
    with runtime.database.read() as session:
        kept = stored(session)
    if count := runtime.store.delete_others(kept, ORPHAN_SECONDS):
        log.event("store.swept", files=count)


def _show_life(runtime: Runtime) -> None:
    runtime.queue.scheduler_lives()


_DUTIES: Final[Mapping[Callable[[Runtime], None], float]] = {
    reap: 0.0,
    remove_tenants: 1.0,
    openings.note: NOTE_SECONDS,
    _show_life: SCHEDULER_SECONDS / 4,
    forget: 60.0,
    sweep: ORPHAN_SECONDS,
}
"""And how many seconds apart."""


def _release_lost(runtime: Runtime) -> None:
    with runtime.database.read() as session:
        lost = Reaping(session).lost()
    for claim in lost:  # each by itself: no two transactions then wait for each other's jobs
        with runtime.database.write() as session:
            if Reaping(session).release(claim, runtime.settings.max_attempts):
                log.event("job.taken_back", level=30, id=claim.id)


def _send_again(runtime: Runtime, pick_up_seconds: float) -> None:
    with runtime.database.read() as session:
        waiting = Reaping(session).waiting(pick_up_seconds)
    queues: dict[QueueName, list[str]] = defaultdict(list)
    for row in waiting:
        queues[row.queue].append(row.id)
    for queue, job_ids in queues.items():
        # While messages wait, workers are busy, not deaf: sending more would only pile up duplicates.
        if runtime.queue.is_empty(queue):
            with runtime.database.write() as session:
                Reaping(session).enqueued(job_ids)
            for job_id in job_ids:
                runtime.queue.send(job_id, queue)


def _delete_old(runtime: Runtime) -> None:
    seconds = runtime.settings.retry_seconds
    with runtime.database.read() as session:
        inputs = Proofs(session).with_old_input(seconds)
        openings = Shards(session).with_old_openings(seconds)
    for proof_id in inputs:
        # A retry waits for this transaction, until there is nothing to retry.
        with runtime.database.write() as session:
            proof = Proofs(session).old_input(proof_id, seconds)
            if proof is not None and proof.input is not None:
                runtime.store.delete(proof.input)
                proof.input = None
    if openings:
        with runtime.database.write() as session:
            Shards(session).forget_openings(openings, seconds)
