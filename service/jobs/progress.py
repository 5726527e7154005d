"""The progress of a whole job, and the time it will take: only where its circuit was proven before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from zenserve.service.storage.records.jobs import Job

_SETUP: Final = frozenset({"lagrange", "columns", "key_g2", "key_g1", "key_links", "store"})
"""The stages in which keys are made."""


@dataclass(frozen=True)
class Overall:
    """``percent`` of the whole job, ``eta_seconds`` to its end, and how many of those, ``setup_seconds``, are
    for keys that are not there yet; None where nobody can tell.
    """

    percent: float | None = None
    eta_seconds: float | None = None
    setup_seconds: float | None = None


def overall(job: Job, moment: datetime) -> Overall:
    """By what each stage took before, or by estimate; of a proof that waits for its shards, by their
    number. Nobody knows how long a stream goes on.
    """
    if job.state == "succeeded":
        return Overall(100.0, 0.0, 0.0)
    if job.state != "running" or job.stage == "frames":
        return Overall()
    if job.worker is None:
        return _by_children(job, moment)
    if not job.expected or job.stage not in job.expected:
        return Overall()
    stages = list(job.expected)
    left = {stage: job.expected[stage] for stage in stages[stages.index(job.stage) :]}
    left[job.stage] *= 1 - job.percent / 100
    total, eta = sum(job.expected.values()), sum(left.values())
    setup = sum(seconds for stage, seconds in left.items() if stage in _SETUP)
    return Overall(round(100 * (1 - eta / total), 1) if total else 0.0, round(eta, 1), round(setup, 1))


def _by_children(job: Job, moment: datetime) -> Overall:
    if job.started_at is None or job.percent <= 0:
        return Overall(job.percent)
    elapsed = (moment - job.started_at).total_seconds()
    return Overall(job.percent, round(elapsed * (100 - job.percent) / job.percent, 1))
