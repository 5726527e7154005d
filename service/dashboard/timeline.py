"""The timeline of a job: one bar for each stretch of waiting and for each stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from zenserve.service.storage.records.jobs import TERMINAL, Job, JobEvent

_SHOWN_SECONDS = 0.001


@dataclass(frozen=True)
class Stretch:
    """``start`` and ``seconds`` are counted from when the job was made; ``open``: it goes on."""

    name: str
    attempt: int
    start: float
    seconds: float
    open: bool = False

    @property
    def waits(self) -> bool:
        return self.name == "waiting"


@dataclass(frozen=True)
class Timeline:
    stretches: list[Stretch]
    seconds: float
    attempts: int

    def place(self, seconds: float) -> float:
        """Of a moment, on a scale of a thousand."""
        return round(1000 * seconds / self.seconds, 1) if self.seconds else 0.0


@dataclass(frozen=True)
class Spent:
    """``share``: of all seconds that were spent."""

    name: str
    seconds: float
    share: float


def ranked(parts: Iterable[Mapping[str, float]]) -> list[Spent]:
    """Seconds by stages, or by kernels, of several jobs together, the longest first."""
    seconds: Counter[str] = Counter()
    for each in parts:
        seconds.update(each)
    total = seconds.total()
    return [Spent(name, taken, taken / total) for name, taken in seconds.most_common() if taken > 0]


def timeline(job: Job, events: Sequence[JobEvent], moment: datetime) -> Timeline:
    """Events tell when something changed. The worker's own clock is finer, for the attempt that succeeded:
    heartbeats pass over stages that are short. It stands still while shards or frames are proven.
    """
    end = job.finished_at or moment
    stretches = list(_seen(job, events, end))
    if job.state == "succeeded" and job.timings and job.kind not in ("accuracy", "stream"):
        stretches = [stretch for stretch in stretches if stretch.waits or stretch.attempt < job.attempt]
        if not events and job.started_at:
            stretches = [Stretch("waiting", 0, 0.0, (job.started_at - job.created_at).total_seconds())]
        stretches += _measured(job, end)
    shown = [stretch for stretch in stretches if stretch.open or stretch.seconds >= _SHOWN_SECONDS]
    return Timeline(shown, (end - job.created_at).total_seconds(), job.attempt)


def _seen(job: Job, events: Sequence[JobEvent], end: datetime) -> Iterator[Stretch]:
    changes = [(event.at, _name(event), event.attempt) for event in events if event.state not in TERMINAL]
    if not changes or changes[0][0] > job.created_at:
        changes.insert(0, (job.created_at, "waiting", 0))
    for (at, name, attempt), (until, _, _) in pairwise([*changes, (end, "", 0)]):
        yield Stretch(
            name,
            attempt,
            (at - job.created_at).total_seconds(),
            max((until - at).total_seconds(), 0.0),
            open=until == end and job.state not in TERMINAL,
        )


def _measured(job: Job, end: datetime) -> Iterator[Stretch]:
    start = end - timedelta(seconds=sum(job.timings.values()))
    at = max((start - job.created_at).total_seconds(), 0.0)
    for stage, seconds in job.timings.items():
        yield Stretch(stage, job.attempt, at, seconds)
        at += seconds


def _name(event: JobEvent) -> str:
    return "waiting" if event.state == "queued" else event.stage or "starting"
