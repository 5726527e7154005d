"""What Prometheus reads. Of jobs, workers and webhooks it is what the database says at that moment: the
truth, whichever process is asked. Requests are counted by each process for itself.
"""

from __future__ import annotations

import os
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, UnknownMetricFamily
from prometheus_client.registry import Collector

from service.runtime import Runtime
from service.storage.database import clock
from service.storage.records.jobs import Worker
from service.storage.repositories.counts import Counts
from service.storage.repositories.totals import Totals
from service.storage.repositories.workers import SILENCE

_QUEUES = ("cpu", "gpu")

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each of them, which nobody asks for


class Requests:
    """The requests that this process answered."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._process = str(os.getpid())
        self._count = Counter(
            "zenserve_http_requests",
            "Requests that one API process answered.",
            ("process", "method", "route", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "zenserve_http_request_seconds",
            "Seconds until the answer began.",
            ("process", "route"),
            buckets=(0.005, 0.02, 0.06, 0.2, 1.0, 5.0, 60.0),
            registry=self.registry,
        )

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        self._count.labels(self._process, method, route, status).inc()
        self._seconds.labels(self._process, route).observe(seconds)


def exposition(runtime: Runtime, requests: Requests) -> bytes:
    """All metrics in Prometheus' text format. Raises ``SQLAlchemyError``."""
    registry = CollectorRegistry()
    registry.register(_State(runtime))
    return generate_latest(registry) + generate_latest(requests.registry)


class _State(Collector):
    """What the database says, read in one snapshot."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def describe(self) -> Iterator[Metric]:
        """Nothing: else the registry would read the database to learn the names."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        with self._runtime.database.read() as session:
            counts, moment = Counts(session), clock(session)
            yield from _jobs(counts, moment)
            yield from _workers(counts.workers(), moment)
            yield from _totals(Totals(session))
            yield _deliveries(counts)


def _jobs(counts: Counts, moment: datetime) -> Iterator[Metric]:
    jobs = GaugeMetricFamily("zenserve_jobs", "Jobs that wait or run.", labels=("queue", "kind", "state"))
    for *labels, number in counts.jobs():
        jobs.add_metric(labels, number)
    yield jobs
    oldest = GaugeMetricFamily(
        "zenserve_oldest_queued_seconds", "How long the oldest queued job has waited.", labels=("queue",)
    )
    since = counts.oldest()
    for queue in _QUEUES:
        oldest.add_metric((queue,), _age(since.get(queue), moment))
    yield oldest


def _workers(workers: Sequence[Worker], moment: datetime) -> Iterator[Metric]:
    age = GaugeMetricFamily(
        "zenserve_worker_heartbeat_age_seconds", "Since a worker's last sign of life.", labels=("worker",)
    )
    alive: Tally[tuple[str, str]] = Tally()
    for worker in workers:
        seconds = _age(worker.heartbeat_at, moment)
        age.add_metric((worker.id,), seconds)
        if moment - worker.heartbeat_at <= SILENCE:
            alive.update((queue, worker.backend) for queue in worker.queues or _QUEUES)
    count = GaugeMetricFamily(
        "zenserve_workers", "Workers that show life, by what they take from.", labels=("queue", "backend")
    )
    for labels, number in sorted(alive.items()):
        count.add_metric(labels, number)
    yield count
    yield age


def _totals(totals: Totals) -> Iterator[Metric]:
    ended = CounterMetricFamily("zenserve_jobs_ended", "Jobs that are over.", labels=("kind", "state"))
    seconds = CounterMetricFamily("zenserve_stage_seconds", "Seconds spent in a stage.", labels=("stage",))
    count = UnknownMetricFamily(
        "zenserve_stage_seconds_count", "How often a stage was gone through.", labels=("stage",)
    )
    kernels = CounterMetricFamily(
        "zenserve_kernel_seconds", "Seconds of a GPU's kernels, of one proof of sixteen.", labels=("kernel",)
    )
    proofs = UnknownMetricFamily(
        "zenserve_kernel_seconds_count", "How many proofs launched a kernel, of these.", labels=("kernel",)
    )
    requeues = CounterMetricFamily("zenserve_requeues", "Jobs that were queued again.", labels=("cause",))
    for row in totals.all():
        if row.name == "jobs ended":
            kind, _, state = row.label.partition("/")
            ended.add_metric((kind, state), row.count)
        elif row.name == "stage":
            seconds.add_metric((row.label,), row.seconds)
            count.add_metric((row.label,), row.count)
        elif row.name == "kernel":
            kernels.add_metric((row.label,), row.seconds)
            proofs.add_metric((row.label,), row.count)
        elif row.name == "requeues":
            requeues.add_metric((row.label,), row.count)
    yield from (ended, seconds, count, kernels, proofs, requeues)


def _deliveries(counts: Counts) -> Metric:
    deliveries = GaugeMetricFamily(
        "zenserve_webhook_deliveries", "Messages to webhooks of the last thirty days.", labels=("state",)
    )
    for state, number in counts.deliveries():
        deliveries.add_metric((state,), number)
    return deliveries


def _age(since: datetime | None, moment: datetime) -> float:
    return max((moment - since).total_seconds(), 0.0) if since else 0.0
