"""Workers' operations on jobs: claim them, hold them by their fence, and end them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal

from sqlalchemy import ColumnElement, Row, case, func, or_, select, update
from sqlalchemy.orm import Session

from zenserve.service.jobs import children, events, lifecycle
from zenserve.service.jobs.lifecycle import NO_WORKER, QUEUED
from zenserve.service.settings import QueueName
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.streams import Frame, Stream
from zenserve.service.storage.repositories.totals import Totals

Stop = Literal["cancel", "deadline", "lost"]
_PAUSES: Final = (0.5, 5.0, 30.0)
"""Seconds that a job waits after an accident, by attempt: it may have been the host's and pass."""


@dataclass(frozen=True)
class Claim:
    """A worker's hold on a running job."""

    id: str
    kind: str
    fence: int
    attempt: int
    trace: str | None = None


class Claims:
    """Jobs within one transaction, as workers hold them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def claim(self, job_id: str, worker: str, lease_seconds: float) -> Claim | None:
        """Take a queued job; None where another worker was faster or the job is over."""
        moment = clock(self._session)
        changed = lifecycle.change(
            self._session,
            (Job.id == job_id) & (Job.state == "queued"),
            state="running",
            attempt=Job.attempt + 1,
            fence=Job.fence + 1,
            worker=worker,
            lease_expires_at=moment + timedelta(seconds=lease_seconds),
            stage="starting",
            percent=0.0,
            started_at=func.coalesce(Job.started_at, moment),
        )
        if not changed:
            return None
        row = select(Job.id, Job.kind, Job.fence, Job.attempt, Job.trace).where(Job.id == job_id)
        return Claim(*self._session.execute(row).one())

    def renew(self, claim: Claim, stage: str, percent: float, lease_seconds: float) -> Stop | None:
        """Keep the lease and tell how far the work is. Why to stop, if it is to."""
        moment = clock(self._session)
        held = self._session.execute(
            select(Job.stage, Job.percent, Job.cancel_requested, Job.deadline_at)
            .where(is_held(claim))
            .with_for_update()
        ).one_or_none()
        if held is None:
            return "lost"
        self._session.execute(
            update(Job)
            .where(is_held(claim))
            .values(
                lease_expires_at=moment + timedelta(seconds=lease_seconds),
                revision=Job.revision + case((or_(Job.stage != stage, Job.percent != percent), 1), else_=0),
                stage=stage,
                percent=percent,
            )
        )
        if held.stage != stage:
            events.record(self._session, [claim.id])
        if held.cancel_requested:
            return "cancel"
        return "deadline" if held.deadline_at and held.deadline_at < moment else None

    def expect(self, claim: Claim, seconds: dict[str, float]) -> None:
        """Note how long each stage took before."""
        self._session.execute(update(Job).where(is_held(claim)).values(expected=seconds))

    def took(self, claim: Claim, kernels: dict[str, float]) -> None:
        """Note how long a GPU's kernels took of a job that this worker has ended well."""
        self._session.execute(update(Job).where(Job.id == claim.id).values(kernels=kernels))
        Totals(self._session).add_seconds("kernel", kernels)

    def wait(self, claim: Claim, stage: str, timings: dict[str, float]) -> bool:
        """Let the job go until the children that this transaction makes are over. False if it was lost or is
        to be canceled: the caller must then make none.
        """
        if self._to_be_canceled(claim):
            self.canceled(claim)
            return False
        shown = {"stage": stage, "percent": 0.0, "timings": timings, "expected": None}
        let_go = {**NO_WORKER, "fence": Job.fence + 1, **shown}
        return bool(lifecycle.change(self._session, is_held(claim), **let_go))

    def succeed(
        self, claim: Claim, timings: dict[str, float], rows: int = 0, along: Sequence[str] = ()
    ) -> bool:
        """End well, with so many constraints proven; with it the jobs ``along``, which are queued and have
        the same parent: each shows its share of the time. False if the job was lost, its deadline has passed,
        with which it fails, or it is queued again as one of those is no more: the caller must then write
        nothing.
        """
        parent_id = children.locked_parent(self._session, claim.id)
        if self._is_late(claim):
            self.fail(claim, late())
            return False
        others = Job.id.in_(along) & (Job.state == "queued")
        if along and self._count(others) < len(along):
            self.give_back(claim, None, claim.attempt)
            return False
        shares = {stage: round(seconds / (1 + len(along)), 4) for stage, seconds in timings.items()}
        shown: Any = {"stage": "done", "percent": 100.0, "timings": shares}
        spent: Any = {"seconds": sum(timings.values()), "rows": rows}
        ended = lifecycle.end(self._session, is_held(claim), "succeeded", **shown, **spent)
        if ended and along:
            started = select(Job.started_at).where(Job.id == claim.id).scalar_subquery()
            lifecycle.end(self._session, others, "succeeded", **shown, started_at=started)
        if ended and parent_id:
            children.ended(self._session, parent_id, "succeeded")
        if ended:
            Totals(self._session).add_seconds("stage", timings)
        return bool(ended)

    def fail(self, claim: Claim, problem: dict[str, Any]) -> bool:
        """End for good: another attempt would fail the same way. A parent ends with its child, but for a
        stream.
        """
        parent_id = children.locked_parent(self._session, claim.id)
        failures = self._with_failure(claim, problem)
        ended = lifecycle.end(self._session, is_held(claim), "failed", problem=problem, failures=failures)
        if ended and parent_id:
            children.ended(self._session, parent_id, "failed", problem)
        return bool(ended)

    def canceled(self, claim: Claim) -> bool:
        """End because the caller asked for it."""
        parent_id = children.locked_parent(self._session, claim.id)
        ended = lifecycle.end(self._session, is_held(claim), "canceled")
        if ended and parent_id:
            children.ended(self._session, parent_id, "canceled")
        return bool(ended)

    def give_back(self, claim: Claim, problem: dict[str, Any] | None, max_attempts: int) -> bool:
        """End an attempt and queue the job again; fail it if that was the last attempt.

        Without a ``problem`` the worker is merely stopping: the attempt does not count. A job that was to
        be canceled is not queued again.
        """
        children.locked_parent(self._session, claim.id)
        if self._to_be_canceled(claim):
            return self.canceled(claim)
        moment = clock(self._session)
        again = {**QUEUED, "enqueued_at": moment}
        if problem is None:
            stopped = lifecycle.change(self._session, is_held(claim), **again, attempt=Job.attempt - 1)
            return bool(stopped)
        if claim.attempt >= max_attempts:
            return self.fail(claim, problem)
        pause = _PAUSES[min(claim.attempt, len(_PAUSES)) - 1]
        queued = lifecycle.change(
            self._session,
            is_held(claim),
            **again,
            failures=self._with_failure(claim, problem),
            available_at=moment + timedelta(seconds=pause),
        )
        if queued:
            Totals(self._session).add("requeues", str(problem["code"]))
        return bool(queued)

    def ready(self, job_id: str) -> Sequence[Row[str, QueueName]]:
        """The id and queue of this job, of its parent and of the frame whose turn it is after this one, as
        far as they are queued and need not pause.
        """
        parent = select(Job.parent_id).where(Job.id == job_id).scalar_subquery()
        of_stream = Frame.stream_id == Stream.id, Frame.number == Stream.over, Stream.id == parent
        after = select(Frame.id).where(*of_stream).scalar_subquery()
        queued = select(Job.id, Job.queue).where(
            or_(Job.id == job_id, Job.id == parent, Job.id == after),
            Job.state == "queued",
            lifecycle.rested(self._session),
        )
        return self._session.execute(queued).all()

    def _count(self, which: ColumnElement[bool]) -> int:
        return self._session.scalar(select(func.count()).select_from(Job).where(which)) or 0

    def _to_be_canceled(self, claim: Claim) -> bool:
        asked = select(Job.cancel_requested).where(is_held(claim)).with_for_update()
        return bool(self._session.scalar(asked))

    def _is_late(self, claim: Claim) -> bool:
        """By the moment at which its end is written: heartbeats may notice later."""
        passed = is_held(claim) & (Job.deadline_at < clock(self._session))
        return self._session.scalar(select(Job.id).where(passed).with_for_update()) is not None

    def _with_failure(self, claim: Claim, problem: dict[str, Any]) -> list[Any]:
        earlier = self._session.scalar(select(Job.failures).where(Job.id == claim.id)) or []
        at = clock(self._session).isoformat()
        return [*earlier, {"attempt": claim.attempt, "at": at, **problem}]


def is_held(claim: Claim) -> ColumnElement[bool]:
    """The job, as long as this claim on it is the newest."""
    return (Job.id == claim.id) & (Job.state == "running") & (Job.fence == claim.fence)


def late() -> dict[str, Any]:
    return {"code": "resource.deadline", "detail": "the deadline passed before the job was done"}


def too_large(memory: int, largest: int, constraints: int | None = None) -> str:
    """Return the message for a job that takes more memory than the largest worker has."""
    counted = f" ({constraints:,} constraints)" if constraints is not None else ""
    return (
        f"its keys or a proof take about {memory / 1e9:.1f} GB of memory{counted}, and the largest worker has"
        f" {largest / 1e9:.1f} GB: start a larger one, or ask `zenserve compile` what a smaller network,"
        " fewer bits or public weights would take; of a dataset, give a smaller shard_size"
    )
