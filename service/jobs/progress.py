"""How far a whole job is, and how long it will take: only where its circuit was proven before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from service.storage.tables import Job


@dataclass(frozen=True)
class Overall:
    """``percent`` of the whole job and ``eta_seconds`` to its end; None where nobody can tell."""

    percent: float | None = None
    eta_seconds: float | None = None


def overall(job: Job, moment: datetime) -> Overall:
    """By what each stage took before; of a proof that waits for its shards, by their number."""
    if job.state == "succeeded":
        return Overall(100.0, 0.0)
    if job.state != "running":
        return Overall()
    if job.worker is None:
        return _by_children(job, moment)
    if not job.expected or job.stage not in job.expected:
        return Overall()
    stages = list(job.expected)
    before = sum(job.expected[stage] for stage in stages[: stages.index(job.stage)])
    total = sum(job.expected.values())
    done = before + job.expected[job.stage] * job.percent / 100
    return Overall(round(100 * done / total, 1) if total else 0.0, round(max(total - done, 0.0), 1))


def _by_children(job: Job, moment: datetime) -> Overall:
    if job.started_at is None or job.percent <= 0:
        return Overall(job.percent)
    elapsed = (moment - job.started_at).total_seconds()
    return Overall(job.percent, round(elapsed * (100 - job.percent) / job.percent, 1))
