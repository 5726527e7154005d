"""Lists of jobs, what was counted of them, and a model's layers."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from tests.service import shown
from tests.service.dashboard.site import Site
from zenserve.service.access.principal import SCOPES
from zenserve.service.dashboard.layers import layers
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.storage.database import now
from zenserve.service.storage.records.jobs import TERMINAL, Job, JobLabel
from zenserve.service.storage.records.resources import Model
from zenserve.service.storage.repositories import overview
from zenserve.service.storage.repositories.overview import RANGES, Overview, Percentiles


def test_pages_of_jobs_show_each_once_and_none_that_was_not_asked_for(busy: Site) -> None:
    client = busy.visitor(*SCOPES)

    def walk(path: str | None) -> list[str]:
        seen: list[str] = []
        while path:
            page = client.get(path).text
            seen += re.findall(r'<tr data-key="(\w+)"', page)
            link = re.search(r'href="([^"]+)" rel="next"', page)
            path = link[1].replace("&amp;", "&") if link else None
        return seen

    with busy.database.read() as session:
        rows = session.scalars(select(Job).order_by(Job.created_at.desc(), Job.id.desc())).all()
        model = session.scalars(select(Model)).first()
    assert model is not None
    assert walk("/admin/jobs") == [job.id for job in rows if job.kind != "shard"]
    assert walk("/admin/jobs?state=succeeded") == [
        j.id for j in rows if j.state == "succeeded" and j.kind != "shard"
    ]
    assert walk("/admin/jobs?kind=shard") == [job.id for job in rows if job.kind == "shard"]
    assert walk("/admin/jobs?tenant=tnt_acme&kind=proof") == [
        job.id for job in rows if job.tenant_id == "tnt_acme" and job.kind == "proof"
    ]
    some = rows[17].id
    assert walk(f"/admin/jobs?text={some[6:20]}") == [some]
    failed = next(job for job in rows if job.state == "failed" and job.kind == "proof")
    assert failed.problem is not None
    assert failed.id in walk(f"/admin/jobs?cause={failed.problem['code']}")
    assert set(walk(f"/admin/jobs?model={model.id}")) > {model.id}
    assert client.get("/admin/jobs?cursor=nonsense").status_code == 422
    with busy.database.read() as session:
        found = session.scalars(select(JobLabel.job_id).where(JobLabel.name == "team")).all()
    assert 0 < len(found) < len(rows)
    assert set(walk("/admin/jobs?label=team%3Dradiology")) == set(found)
    shown = client.get(f"/admin/jobs/{found[0]}").text
    assert '<a href="/admin/jobs?label=team%3Dradiology">team=radiology</a>' in shown
    noted = next(link for link in re.findall(r'href="(/admin/jobs\?label=note[^"]*)"', shown))
    assert set(walk(noted.replace("&amp;", "&"))) == set(found)
    assert walk("/admin/jobs?label=team%3Dother") == []
    assert client.get("/admin/jobs?label=team").status_code == 422


@pytest.mark.parametrize("period", RANGES)
def test_a_range_of_time_counts_what_ended_in_it(busy: Site, period: str) -> None:
    page = busy.visitor(*SCOPES).get(f"/admin?range={period}").text
    slots = RANGES[period].slots(now())
    assert len(slots) == len(re.findall(r"UTC: \d+ succeeded", page))
    with busy.database.read() as session:
        ended = Job.finished_at >= slots[0].start, Job.kind != "shard"
        states = session.scalars(select(Job.state).where(*ended)).all()
    assert [f"{state} {states.count(state)}</li>" in page for state in TERMINAL] == [True] * 3


def test_how_many_waited_is_by_when_they_were_made_and_taken_up(empty: Site) -> None:
    moment = datetime(2026, 11, 22, 12, 30, tzinfo=UTC)
    ago = [moment - timedelta(minutes=minutes) for minutes in range(300)]
    times = [(ago[90], ago[60], ago[50]), (ago[150], None, ago[75]), (ago[15], None, None)]
    with empty.database.write() as session:
        for number, (made, started, finished) in enumerate(times):
            job = Jobs(session).create(f"prf_{number}", "proof")
            job.created_at, job.started_at, job.finished_at = made, started, finished
            job.state = "succeeded" if started else "canceled" if finished else "queued"
    with empty.database.read() as session:
        slots = Overview(session, None).slots(RANGES["day"], moment)
        elsewhere = Overview(session, "tnt_acme").slots(RANGES["day"], moment)
        (pace,) = Overview(session, None).paces(slots[0].start)
    # From 10:00: half an hour of one, all of it; from 11:00 a quarter of one and half of another.
    assert [slot.waiting for slot in slots[-3:]] == pytest.approx([1.0, 0.75, 0.25])
    assert {slot.waiting for slot in elsewhere} == {0.0}
    assert (pace.kind, pace.count, pace.wait.p99, pace.work.p50) == ("proof", 1, 1800.0, 600.0)


def test_percentiles_are_of_what_was_measured() -> None:
    measured = Percentiles.of([float(seconds) for seconds in range(1, 201)])
    assert measured == Percentiles(100.0, 180.0, 198.0)
    assert Percentiles.of([3.0]) == Percentiles(3.0, 3.0, 3.0)


def test_a_busy_month_is_counted_from_its_last_jobs(busy: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "MOST_ENDED", 20)
    monkeypatch.setattr(overview, "MOST_TIMED", 10)
    with busy.database.read() as session:
        slots = Overview(session, None).slots(RANGES["month"], now())
    assert sum(slot.total for slot in slots) <= 20
    assert slots[0].waiting is None, "of what was not looked at, nobody knows whether it waited"


def test_a_model_shows_its_layers_and_what_each_takes(busy: Site) -> None:
    with busy.database.read() as session:
        model = session.scalars(select(Model).where(Model.weight_privacy == "public")).first()
    assert model is not None
    page = busy.visitor(*SCOPES).get(f"/admin/models/{model.id}").text
    for layer in layers(shown.described("label"), None):
        assert f'<th scope="row">{layer.name}</th>' in page
        assert f'<td class="right">{layer.rows or "–"}</td>' in page
    assert "32 × 64" in page
    assert "0 to 16" in page, "the input's range is missing"
    assert busy.visitor("read", tenant="tnt_x").get(f"/admin/models/{model.id}").status_code == 404


@pytest.mark.parametrize("form", shown.FORMS)
def test_the_rows_of_all_layers_are_those_of_the_circuit(form: str) -> None:
    described = shown.described(form)
    found = layers(described, 2.0)
    assert sum(layer.rows for layer in found) == described["constraints"]["total"]
    assert sum(layer.seconds or 0.0 for layer in found) == pytest.approx(2.0)
    assert [layer.name for layer in found][:4] == ["input", "reshape1", "dense1", "dense2"]
