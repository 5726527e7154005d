"""The reaper puts right what a crash left behind. It runs in the serving process, about once a second.

- A running job whose lease has expired is given back, or fails after its last attempt.
- A queued job that no worker picked up, because its message was lost, is enqueued again.
- The sealed input of a proof that is over is deleted, and so are its shards' counts. It is done here, and not
  where jobs end, because then no crash between an end and a deletion can leave an input behind.

A job that waits for its shards has no lease and needs none: those have theirs.
"""

from __future__ import annotations

import threading

from service import log
from service.jobs import Jobs
from service.repositories import Proofs, Shards, stored
from service.runtime import Runtime

PERIOD_SECONDS = 0.5
PICK_UP_SECONDS = 5.0
ORPHAN_SECONDS = 3600.0


class Reaper(threading.Thread):
    def __init__(self, runtime: Runtime) -> None:
        super().__init__(name="reaper", daemon=True)
        self._runtime = runtime
        self._quit = threading.Event()

    def run(self) -> None:
        while not self._quit.wait(PERIOD_SECONDS):
            try:
                reap(self._runtime)
            except Exception:  # the next round tries again; a dead reaper would try nothing
                log.event("reaper.failed", level=40, failed=True)

    def finish(self) -> None:
        self._quit.set()
        self.join()


def reap(runtime: Runtime, pick_up_seconds: float = PICK_UP_SECONDS) -> None:
    """One round."""
    with runtime.database.write() as session:
        lost = Jobs(session).release_lost(runtime.settings.max_attempts)
    for job_id in lost:
        log.event("job.taken_back", level=30, id=job_id)
        _enqueue(runtime, job_id)
    with runtime.database.read() as session:
        waiting = Jobs(session).waiting(pick_up_seconds)
    # While messages wait, workers are busy, not deaf: sending more would only pile up duplicates.
    if waiting and runtime.queue.is_empty():
        for job_id in waiting:
            _enqueue(runtime, job_id)
    _delete_old_inputs(runtime)


def sweep(runtime: Runtime) -> None:
    """Delete artifacts that no row refers to: a crash came between storing and committing.

    For a start of the service. Young files stay: a worker that has outlived its service for a moment may be
    about to commit them.
    """
    with runtime.database.read() as session:
        kept = stored(session)
    if count := runtime.store.delete_others(kept, ORPHAN_SECONDS):
        log.event("store.swept", files=count)


def _enqueue(runtime: Runtime, job_id: str) -> None:
    with runtime.database.write() as session:
        Jobs(session).enqueued(job_id)
    runtime.enqueue(job_id)


def _delete_old_inputs(runtime: Runtime) -> None:
    with runtime.database.read() as session:
        old = [(proof.id, proof.input) for proof in Proofs(session).with_old_input()]
    for proof_id, digest in old:
        assert digest is not None  # noqa: S101  the query says so
        runtime.store.delete(digest)
        with runtime.database.write() as session:
            Proofs(session).get(proof_id).input = None
    with runtime.database.write() as session:
        for shard in Shards(session).with_old_opening():
            shard.opening = None
