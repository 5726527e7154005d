"""What the dashboard's first page shows: the present, and the last day, from the tables alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median

from sqlalchemy import ColumnElement, case, extract, func, select
from sqlalchemy.orm import Session, aliased

from service.storage.tables import TERMINAL, Delivery, Job, Webhook, Worker

_MOST = 1_000_000
DAY_HOURS = 24
STAGES_OF = 200
"""As many jobs are looked at for what stages take."""


@dataclass(frozen=True)
class QueueDepth:
    """``oldest``: since when the job that has waited longest has waited."""

    name: str
    queued: int
    running: int
    oldest: datetime | None


@dataclass
class Hour:
    """How many jobs ended in the hour that began at ``start``."""

    start: datetime
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TERMINAL, 0))

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True)
class Cause:
    """Why jobs failed; ``job_id`` is the last of them."""

    code: str
    count: int
    job_id: str
    detail: str
    at: datetime


@dataclass(frozen=True)
class StageTimes:
    """What a stage took in those of the last jobs that had it, in seconds."""

    name: str
    count: int
    median: float
    longest: float


@dataclass(frozen=True)
class Outbox:
    """Webhooks' messages that have not arrived."""

    waiting: int
    given_up: int
    oldest: datetime | None


class Overview:
    """The view of one tenant; of all where none is named. Shards count where work is meant, but not where
    results are: those are their proof's.
    """

    def __init__(self, session: Session, tenant_id: str | None) -> None:
        self._session = session
        self._tenant_id = tenant_id

    def queues(self) -> list[QueueDepth]:
        """Both queues, whether or not anything is in them."""
        job, mine = self._mine(Job.state.in_(("queued", "running")))
        rows = self._session.execute(
            select(
                job.queue,
                func.count(case((job.state == "queued", 1))),
                func.count(job.worker),
                func.min(case((job.state == "queued", job.created_at))),
            )
            .where(*mine)
            .group_by(job.queue)
        ).all()
        found = {row[0]: QueueDepth(*row) for row in rows}
        return [found.get(name, QueueDepth(name, 0, 0, None)) for name in ("cpu", "gpu")]

    def hours(self, moment: datetime) -> list[Hour]:
        """The last day by the hour, the present one last."""
        last = moment.replace(minute=0, second=0, microsecond=0)
        hours = {
            (start.day, start.hour): Hour(start)
            for start in (last - timedelta(hours=back) for back in reversed(range(DAY_HOURS)))
        }
        job, mine = self._mine(Job.finished_at >= last - timedelta(hours=DAY_HOURS - 1))
        # Day and hour are the two parts of a time that SQLite and PostgreSQL both tell as numbers.
        day, hour = extract("day", job.finished_at), extract("hour", job.finished_at)
        rows = self._session.execute(
            select(day, hour, job.state, func.count())
            .where(job.kind != "shard", *mine)
            .group_by(day, hour, job.state)
        ).all()
        for in_day, in_hour, state, count in rows:
            if (found := hours.get((int(in_day), int(in_hour)))) and state in found.counts:
                found.counts[state] = count
        return list(hours.values())

    def causes(self, since: datetime) -> list[Cause]:
        """Of the jobs that failed, the most frequent first."""
        job, mine = self._mine(Job.finished_at >= since)
        code = job.problem["code"].as_string().label("code")
        newest = func.row_number().over(partition_by=code, order_by=job.finished_at.desc()).label("place")
        count = func.count().over(partition_by=code).label("jobs")
        failed = (
            select(code, count, job.id, job.problem, job.finished_at, newest)
            .where(job.state == "failed", job.kind != "shard", *mine)
            .subquery()
        )
        rows = self._session.execute(
            select(failed).where(failed.c.place == 1).order_by(failed.c.jobs.desc(), failed.c.code)
        ).all()
        return [
            Cause(row.code, row.jobs, row.id, (row.problem or {}).get("detail", ""), row.finished_at)
            for row in rows
        ]

    def stages(self, since: datetime) -> list[StageTimes]:
        """Of the proofs that succeeded last, in the order in which a job goes through them."""
        job, mine = self._mine(Job.finished_at >= since)
        rows = self._session.scalars(
            select(job.timings)
            .where(job.state == "succeeded", job.kind.in_(("proof", "shard")), *mine)
            .order_by(job.finished_at.desc())
            .limit(STAGES_OF)
        )
        seconds: defaultdict[str, list[float]] = defaultdict(list)
        for timings in rows:
            for stage, taken in timings.items():
                seconds[stage].append(taken)
        return [StageTimes(name, len(taken), median(taken), max(taken)) for name, taken in seconds.items()]

    def outbox(self) -> Outbox:
        waiting = Delivery.state == "waiting"
        query = select(
            func.count(case((waiting, 1))),
            func.count(case((Delivery.state == "given up", 1))),
            func.min(case((waiting, Delivery.created_at))),
        ).where(Delivery.state != "delivered")
        if self._tenant_id is not None:
            query = query.join(Webhook).where(Webhook.tenant_id == self._tenant_id)
        return Outbox(*self._session.execute(query).one())

    def workers(self) -> Sequence[tuple[Worker, Job | None]]:
        """All workers, each with the job that it is at."""
        rows = self._session.execute(
            select(Worker, Job)
            .outerjoin(Job, (Job.worker == Worker.id) & (Job.state == "running"))
            .order_by(Worker.host, Worker.backend.desc(), Worker.id)
        ).all()
        return [(row[0], row[1]) for row in rows]

    def _mine(self, which: ColumnElement[bool]) -> tuple[type[Job], list[ColumnElement[bool]]]:
        """These jobs, and which of them are the viewer's.

        The limit keeps databases from looking at both conditions at once: SQLite would then read all jobs
        that the tenant ever had, and not the few that are at work or have ended of late.
        """
        job = aliased(Job, select(Job).where(which).limit(_MOST).subquery())
        return job, [] if self._tenant_id is None else [job.tenant_id == self._tenant_id]
