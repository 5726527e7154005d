"""Metrics for Prometheus.

Those of jobs, workers and webhooks are read from the database at that moment, so that every process answers
the same. Requests are counted by each process for itself.
"""

from __future__ import annotations

import os
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, UnknownMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import clock, now
from zenserve.service.storage.records.jobs import Worker
from zenserve.service.storage.repositories.counts import Counts
from zenserve.service.storage.repositories.totals import Totals
from zenserve.service.storage.repositories.workers import SILENCE

_QUEUES = ("cpu", "gpu")

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each of them, which nobody asks for


@dataclass(frozen=True)
class RouteCount:
    """The counts of the requests to one route: ``refused`` (4xx) and ``failed`` (5xx) are among ``requests``.

    ``half`` and ``nearly_all``: seconds in which half, and 99 of 100, were answered; infinity: more than any
    bound.
    """

    route: str
    requests: int
    refused: int
    failed: int
    half: float
    nearly_all: float


class Requests:
    """The requests that this process answered."""

    def __init__(self) -> None:
        self.since = now()
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

    def by_route(self) -> list[RouteCount]:
        """Return all routes that were asked for: those that failed most first, then the busiest."""
        statuses: defaultdict[str, Tally[str]] = defaultdict(Tally)
        for sample in self._samples(self._count, "_total"):
            statuses[sample.labels["route"]][sample.labels["status"][0]] += int(sample.value)
        within: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        for sample in self._samples(self._seconds, "_bucket"):
            within[sample.labels["route"]].append((float(sample.labels["le"]), sample.value))
        rows = [
            RouteCount(
                route,
                count.total(),
                count["4"],
                count["5"],
                _bound(within[route], 0.5),
                _bound(within[route], 0.99),
            )
            for route, count in statuses.items()
        ]
        return sorted(rows, key=lambda row: (-row.failed, -row.requests, row.route))

    def _samples(self, metric: Counter | Histogram, ending: str) -> Iterator[Sample]:
        for family in metric.collect():
            yield from (sample for sample in family.samples if sample.name.endswith(ending))


def _bound(within: Sequence[tuple[float, float]], share: float) -> float:
    """The least bound within which this share of requests was answered; ``within``: how many, by bound."""
    counted = max((count for _, count in within), default=0.0)
    return min((bound for bound, count in within if count >= share * counted), default=float("inf"))


def exposition(runtime: Runtime, requests: Requests) -> bytes:
    """All metrics in Prometheus' text format. Raises ``SQLAlchemyError``."""
    registry = CollectorRegistry()
    registry.register(_State(runtime))
    return generate_latest(registry) + generate_latest(requests.registry)


class _State(Collector):
    """A collector of the metrics in the database, read in one snapshot."""

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
