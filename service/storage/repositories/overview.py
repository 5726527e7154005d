"""Queries of the dashboard's first page: the present and some time before it, from the tables alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any, Literal, Self

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import Session, aliased

from zenserve.service.storage.records.jobs import TERMINAL, Job, Worker
from zenserve.service.storage.records.webhooks import Delivery, Webhook

_MOST = 1_000_000
MOST_ENDED = 3_000
"""Jobs that are counted by when they ended: the page of a busy month is as fast as that of a quiet one."""
MOST_TIMED = 1_000
"""Jobs that are looked at one by one, for how long they waited and took."""
STAGES_OF = 200
"""As many proofs are looked at for what stages take."""


@dataclass(frozen=True)
class Range:
    """Of time until now, in as many slots of one length."""

    name: str
    slot: timedelta
    count: int

    def slots(self, moment: datetime) -> list[Slot]:
        """They begin where days and hours do; the present moment is in the last."""
        last = datetime.fromtimestamp(moment.timestamp() // self.seconds * self.seconds, UTC)
        return [Slot(last - back * self.slot) for back in reversed(range(self.count))]

    @property
    def seconds(self) -> float:
        return self.slot.total_seconds()


RangeName = Literal["hour", "day", "week", "month"]
RANGES = {
    each.name: each
    for each in (
        Range("hour", timedelta(minutes=2), 30),
        Range("day", timedelta(hours=1), 24),
        Range("week", timedelta(hours=6), 28),
        Range("month", timedelta(days=1), 30),
    )
}


@dataclass(frozen=True)
class QueueDepth:
    """``oldest``: since when the job that has waited longest has waited."""

    name: str
    queued: int
    running: int
    oldest: datetime | None


@dataclass
class Slot:
    """From ``start`` on: how many jobs ended, and how many waited on average; None where nobody knows."""

    start: datetime
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TERMINAL, 0))
    waiting: float | None = 0.0

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True)
class Percentiles:
    """Half, 90 and 99 of a hundred took no longer, in seconds."""

    p50: float
    p90: float
    p99: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Self:
        ordered = sorted(seconds)
        return cls(*(ordered[max(-(-len(ordered) * share // 100) - 1, 0)] for share in (50, 90, 99)))


@dataclass(frozen=True)
class Pace:
    """Of the last jobs of a kind that succeeded: how long they waited, and then took."""

    kind: str
    count: int
    wait: Percentiles
    work: Percentiles


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
    """The times of a stage, in seconds, in those of the last jobs that had it."""

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

    def slots(self, period: Range, moment: datetime) -> list[Slot]:
        """Return the jobs that ended, and those that waited, in each slot of time.

        Of the jobs that ended, the last ``MOST_ENDED`` are counted.
        """
        slots = period.slots(moment)
        job, mine = self._ended(slots[0].start)
        index = case(*((job.finished_at >= slot.start, at) for at, slot in reversed([*enumerate(slots)])))
        counts = (
            select(index.label("at"), job.state, func.count())
            .where(job.kind != "shard", *mine)
            .group_by("at", job.state)
        )
        for at, state, count in self._session.execute(counts):
            slots[at].counts[state] = count
        self._fill_waiting(slots, period.seconds, moment)
        return slots

    def paces(self, since: datetime) -> list[Pace]:
        """By kind."""
        taken: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        for kind, state, made, started, ended in self._timed(since):
            if state == "succeeded" and started:
                taken[kind].append(((started - made).total_seconds(), (ended - started).total_seconds()))
        return [
            Pace(kind, len(seconds), *map(Percentiles.of, zip(*seconds, strict=True)))
            for kind, seconds in sorted(taken.items())
        ]

    def causes(self, since: datetime) -> list[Cause]:
        """Of the jobs that failed, the most frequent first."""
        job, mine = self._ended(since)
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
        job, mine = self._ended(since)
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
        return [
            StageTimes(name, len(taken), median(taken), max(taken))
            for name, taken in seconds.items()
            if any(taken)
        ]

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

    def _fill_waiting(self, slots: list[Slot], seconds: float, moment: datetime) -> None:
        """Each job waits from when it is made to when it is first taken up, and adds to the slots between."""
        origin = slots[0].start
        timed = self._timed(origin)
        job, mine = self._mine(Job.state.in_(("queued", "running")))
        unfinished = self._session.execute(select(job.created_at, job.started_at).where(*mine)).all()
        spans = [(made, started or ended) for _, _, made, started, ended in timed]
        spans += [(made, started or moment) for made, started in unfinished]
        known = min(ended for *_, ended in timed) if len(timed) == MOST_TIMED else origin
        for slot in slots:
            slot.waiting = None if slot.start < known else 0.0
        for begin, end in spans:
            first, last = ((at - origin).total_seconds() / seconds for at in (begin, end))
            for at in range(max(int(first), 0), min(int(last), len(slots) - 1) + 1):
                if (waiting := slots[at].waiting) is not None:
                    slots[at].waiting = waiting + max(min(last, at + 1) - max(first, at), 0)

    def _timed(self, since: datetime) -> Sequence[Any]:
        """Kind, state, and when they were made, first taken up and over, of the jobs that ended last."""
        job, mine = self._ended(since)
        columns = (job.kind, job.state, job.created_at, job.started_at, job.finished_at)
        query = select(*columns).where(*mine).order_by(job.finished_at.desc()).limit(MOST_TIMED)
        return self._session.execute(query).all()

    def _ended(self, since: datetime) -> tuple[type[Job], list[ColumnElement[bool]]]:
        """The last of the jobs that ended since then, and which of them are the viewer's."""
        ended = select(Job).where(Job.finished_at >= since).order_by(Job.finished_at.desc())
        job = aliased(Job, ended.limit(MOST_ENDED).subquery())
        return job, self._sight(job)

    def _mine(self, which: ColumnElement[bool]) -> tuple[type[Job], list[ColumnElement[bool]]]:
        """These jobs, and which of them are the viewer's.

        The limit keeps databases from looking at both conditions at once: SQLite would then read all jobs
        that the tenant ever had, and not the few that are at work or have ended of late.
        """
        job = aliased(Job, select(Job).where(which).limit(_MOST).subquery())
        return job, self._sight(job)

    def _sight(self, job: type[Job]) -> list[ColumnElement[bool]]:
        return [] if self._tenant_id is None else [job.tenant_id == self._tenant_id]
