"""Every page, of services that have done nothing and much, and names that are markup."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select

from tests.service.busy import HOSTILE, fill
from tests.service.dashboard.site import ROOMS, Site, send
from tests.service.support import serving
from zenserve.service.access.principal import SCOPES
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.runtime import Runtime
from zenserve.service.settings import Settings
from zenserve.service.storage import schema
from zenserve.service.storage.database import now
from zenserve.service.storage.records.jobs import Job, Worker
from zenserve.service.storage.repositories.overview import RANGES

FILTERS = (
    "state=failed",
    "cause=deadline",
    "model=mdl_1",
    "text=prf",
    "kind=shard&model=mdl_1",
    "kind=dataset&model=m",
)


@pytest.mark.parametrize("path", ROOMS)
def test_every_page_of_a_service_that_has_done_nothing_says_what_to_do(quiet: Site, path: str) -> None:
    answer = quiet.visitor(*SCOPES).get(path)
    assert answer.status_code == 200
    assert "<h1" in answer.text


@pytest.mark.parametrize("path", ROOMS)
def test_every_page_of_a_busy_service(busy: Site, path: str) -> None:
    answer = busy.visitor(*SCOPES).get(path)
    assert answer.status_code == 200
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "style=" not in answer.text
    assert not re.search(r"<script(?! src=)|<style|\son\w+=\"", answer.text)


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        *(("proof", state) for state in ("queued", "running", "succeeded", "failed", "canceled")),
        ("model", "succeeded"),
        ("model", "failed"),
        ("accuracy", "running"),
        ("accuracy", "succeeded"),
        ("shard", "queued"),
        ("dataset", "succeeded"),
    ],
)
def test_every_kind_of_job_has_its_page(busy: Site, kind: str, state: str) -> None:
    with busy.database.read() as session:
        job_id = session.scalars(select(Job.id).where(Job.kind == kind, Job.state == state)).first()
    answer = busy.visitor(*SCOPES).get(f"/admin/jobs/{job_id}")
    assert answer.status_code == 200
    assert state in answer.text


def test_a_failed_job_shows_the_cause_of_every_attempt(busy: Site) -> None:
    with busy.database.read() as session:
        job = session.scalars(select(Job).where(Job.state == "failed", Job.attempt == 3)).first()
    assert job is not None
    assert job.problem is not None
    page = busy.visitor(*SCOPES).get(f"/admin/jobs/{job.id}").text
    assert page.count(job.problem["code"]) == 4
    assert all(f"Attempt {number}" in page for number in (1, 2, 3))


def test_names_that_are_markup_stay_names(busy: Site) -> None:
    client = busy.visitor(*SCOPES)
    for path in ("/admin/jobs", "/admin/models", "/admin/tenants"):
        page = client.get(path).text
        assert HOSTILE not in page
        assert "&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt;" in page
        assert "{{ 7 * 7 }}" in page
    assert '"><script>' not in client.get('/admin/jobs?text="><script>').text


def test_the_overview_counts_what_is_there(busy: Site) -> None:
    page = busy.visitor(*SCOPES).get("/admin").text
    with busy.database.read() as session:
        yesterday = now() - timedelta(days=1)
        failed = session.scalars(select(Job).where(Job.state == "failed", Job.finished_at > yesterday)).all()
    causes = [job.problem["code"] for job in failed if job.problem]
    for code in set(causes):
        row = re.search(rf'cause={re.escape(code)}"><span class="count">(\d+)</span>', page)
        assert row is not None
        assert int(row[1]) == causes.count(code)
    assert "NVIDIA H200" in page
    assert re.search(r'class="state gone">.*gone for \d+ min', page), "it had no job: nothing is lost"


def test_both_databases_show_the_same(each_runtime: Runtime) -> None:
    fill(each_runtime, jobs=40)
    with serving(each_runtime) as url, httpx.Client(base_url=url) as client:
        for path in (*ROOMS, *(f"/admin/jobs?{name}" for name in FILTERS)):
            assert client.get(path).status_code == 200, path
        page = client.get("/admin").text
        with each_runtime.database.read() as session:
            ended = session.scalars(select(Job).where(Job.finished_at > now() - timedelta(hours=23))).all()
        failed = sum(job.state == "failed" and job.kind != "shard" for job in ended)
        assert f">{failed} failed</a>" in page
        assert len(set(re.findall(r"<title>(\d\d:00) UTC", page))) == 24
        for period in RANGES:
            assert client.get(f"/admin?range={period}").status_code == 200


def test_a_service_that_asks_for_no_keys_lets_its_host_in(tmp_path: Path) -> None:
    runtime = Runtime.open(Settings(data_dir=tmp_path / "data", auth="off"))
    schema.migrate(runtime.database)
    with serving(runtime) as url, httpx.Client(base_url=url) as client:
        assert client.get("/admin").status_code == 200
        assert "Log out" not in client.get("/admin").text
        assert send(client, "/admin/tenants", name="Acme").status_code == 303
        answer = client.post("/admin/tenants", data={"name": "x"}, headers={"Origin": "https://evil.example"})
        assert answer.status_code == 403
    runtime.close()


def test_a_worker_that_is_silent_with_a_job_is_told_apart_from_one_that_left(empty: Site) -> None:
    with empty.database.write() as session:
        session.add(Worker(id="worker_1", pid=1, started_at=now(), heartbeat_at=now() - timedelta(minutes=3)))
        job = Jobs(session).create("prf_1", "proof")
        session.flush()
        job.state, job.worker = "running", "worker_1"
    assert "silent for 3 min" in empty.visitor(*SCOPES).get("/admin").text


def test_the_report_of_a_model_is_linked_from_its_page(busy: Site) -> None:
    visitor = busy.visitor(*SCOPES)
    models = re.findall(r'href="(/admin/models/mdl_[^"/]+)"', visitor.get("/admin/models").text)
    linked = [path for path in models if f'href="{path}/report"' in visitor.get(path).text]
    for path in dict.fromkeys(models):
        assert (visitor.get(f"{path}/report").status_code == 200) == (path in linked)
