"""Metrics that agree with the database, and the version."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from datetime import timedelta
from itertools import count

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import update

from tests.patience import until
from tests.service.support import add_job, serving, work_on
from zenserve.client import Client, Model
from zenserve.prover.backends.cpu import CPU
from zenserve.service.access.keys import make_key
from zenserve.service.access.principal import Scope
from zenserve.service.app import create_app
from zenserve.service.jobs.claims import Claims
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import now
from zenserve.service.storage.records.jobs import Job, Worker
from zenserve.service.storage.repositories.accounts import Keys
from zenserve.service.storage.repositories.totals import Totals
from zenserve.service.storage.repositories.workers import Workers
from zenserve.service.worker.tasks import steps

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(url: str) -> Samples:
    answer = httpx.get(f"{url}/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float | None:
    return samples.get((name, frozenset(labels.items())))


def test_jobs_and_workers_are_counted_from_the_database(runtime: Runtime) -> None:
    for number in range(3):
        add_job(runtime, f"prf_{number}", "proof")
    with runtime.database.write() as session:
        Claims(session).claim("prf_0", "worker_1", 60.0)
        session.execute(update(Job).values(created_at=now() - timedelta(seconds=100)))
        session.execute(update(Job).where(Job.id == "prf_2").values(queue="gpu"))
        Workers(session).beat("worker_1", 1, {"queues": ["cpu"], "backend": "cpu"})
        Workers(session).beat("worker_2", 2, {"queues": ["cpu"], "backend": "cpu"})
        session.execute(
            update(Worker).where(Worker.id == "worker_2").values(heartbeat_at=now() - timedelta(minutes=5))
        )
    with serving(runtime) as url:
        samples = scrape(url)
    assert value(samples, "zenserve_jobs", queue="cpu", kind="proof", state="queued") == 1
    assert value(samples, "zenserve_jobs", queue="cpu", kind="proof", state="running") == 1
    assert value(samples, "zenserve_jobs", queue="gpu", kind="proof", state="queued") == 1
    assert value(samples, "zenserve_oldest_queued_seconds", queue="cpu") == pytest.approx(100, abs=10)
    assert value(samples, "zenserve_workers", queue="cpu", backend="cpu") == 1
    assert value(samples, "zenserve_worker_heartbeat_age_seconds", worker="worker_2") == pytest.approx(
        300, abs=10
    )


def test_totals_are_sums_whoever_added_to_them(runtime: Runtime) -> None:
    for seconds in (0.5, 2.0):
        with runtime.database.write() as session:
            Totals(session).add("jobs ended", "proof/succeeded")
            Totals(session).add("requeues", "resource.worker_lost")
            Totals(session).add_seconds("stage", {"msm_a": seconds})
            Totals(session).add_seconds("kernel", {"add_pairs": seconds, "recorded": 0.25})
    with serving(runtime) as url:
        samples = scrape(url)
    assert value(samples, "zenserve_jobs_ended_total", kind="proof", state="succeeded") == 2
    assert value(samples, "zenserve_requeues_total", cause="resource.worker_lost") == 2
    assert value(samples, "zenserve_stage_seconds_total", stage="msm_a") == 2.5
    assert value(samples, "zenserve_stage_seconds_count", stage="msm_a") == 2
    assert value(samples, "zenserve_kernel_seconds_total", kernel="add_pairs") == 2.5
    assert value(samples, "zenserve_kernel_seconds_count", kernel="recorded") == 2


def test_what_kernels_took_is_kept_with_the_job_and_added_up(
    api: Client, with_model: Runtime, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one proof of sixteen: the first is, the second is not."""
    monkeypatch.setattr(CPU, "kernels", lambda: nullcontext({"add_pairs": 0.5}), raising=False)
    monkeypatch.setattr(steps, "_PROOFS", count())
    kept = []
    for _ in range(2):
        proof = api.create_proof(model.id, [0.0] * 4)
        work_on(with_model, proof.id)
        with with_model.database.read() as session:
            kept.append(session.get_one(Job, proof.id).kernels)
    assert kept == [{"add_pairs": 0.5}, None]
    with serving(with_model) as url:
        samples = scrape(url)
    assert value(samples, "zenserve_kernel_seconds_total", kernel="add_pairs") == 0.5
    assert value(samples, "zenserve_kernel_seconds_count", kernel="add_pairs") == 1


def requests(samples: Samples) -> dict[tuple[str, str, str], float]:
    return {
        (labels["method"], labels["route"], labels["status"]): count
        for (name, pairs), count in samples.items()
        if name == "zenserve_http_requests_total" and (labels := dict(pairs))
    }


def test_requests_are_counted_by_the_templates_of_their_routes(runtime: Runtime) -> None:
    with serving(runtime) as url:
        for number in range(3):
            httpx.get(f"{url}/v1/proofs/prf_{number}")
            httpx.get(f"{url}/somewhere/{number}")
        # They are counted just after the answers.
        until(lambda: ("GET", "/metrics", "200") in requests(scrape(url)))
        samples = scrape(url)
    counts = requests(samples)
    assert counts.pop(("GET", "/metrics", "200")) >= 1
    assert counts == {("GET", "/v1/proofs/{proof_id}", "404"): 3, ("GET", "none", "404"): 3}
    begun = {
        dict(labels)["route"]: n for (name, labels), n in samples.items() if name.endswith("seconds_count")
    }
    assert begun["/v1/proofs/{proof_id}"] == begun["none"] == 3


def asked(
    runtime: Runtime,
    address: str,
    scope: Scope | None = None,
    *,
    forwarded: str | None = None,
    host: str = "localhost:8000",
) -> int:
    """The status of an answer to somebody at this address, perhaps with a key, or for somebody else."""
    headers = {"Host": host} | ({"X-Forwarded-For": forwarded} if forwarded else {})
    if scope is not None:
        row, key = make_key("tnt_local", "prometheus", [scope])
        with runtime.database.write() as session:
            Keys(session).add(row)
        headers["Authorization"] = f"Bearer {key}"

    async def ask() -> int:
        transport = httpx.ASGITransport(create_app(runtime), client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://zenserve.example") as client:
            return (await client.get("/metrics", headers=headers)).status_code

    return asyncio.run(ask())


def test_metrics_are_for_this_host_and_for_admins(runtime: Runtime) -> None:
    runtime.settings.auth = "keys"
    assert asked(runtime, "127.0.0.1") == 200
    assert asked(runtime, "::1") == 200
    assert asked(runtime, "127.0.0.1", host="evil.example:8000") == 401  # a page under a name bent to here
    assert asked(runtime, "203.0.113.9") == 401
    assert asked(runtime, "127.0.0.1", forwarded="127.0.0.1") == 401  # who knows who asked the proxy
    assert asked(runtime, "203.0.113.9", "manage") == 403
    assert asked(runtime, "203.0.113.9", "admin") == 200


def test_metrics_without_a_database_are_a_problem(runtime: Runtime) -> None:
    with serving(runtime) as url:
        runtime.database.close()
        for file in runtime.settings.data_dir.glob("zenserve.sqlite*"):
            file.unlink()
        runtime.settings.data_dir.joinpath("zenserve.sqlite").mkdir()
        answer = httpx.get(f"{url}/metrics")
    assert (answer.status_code, answer.json()["code"]) == (503, "resource.database")
