"""What operators alone see: findings, room, requests, what tenants used."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from tests.service.dashboard.site import Site
from zenserve.errors import ResourceError
from zenserve.service.access.principal import SCOPES
from zenserve.service.api.metrics import Requests, RouteCount
from zenserve.service.doctor import Finding
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import now
from zenserve.service.storage.records.accounts import Usage
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.repositories.deployment import Deployment
from zenserve.service.storage.store import Store


def test_findings_stand_by_how_bad_they_are_with_what_to_do(
    quiet: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        Finding("clock", "ok", "0.0 s from the database's"),
        Finding("basis", "warn", "there is none yet", "import one: `zenserve basis import POWERS`"),
        Finding("store", "fail", "<b>gone</b>", "see that it runs"),
    ]
    monkeypatch.setattr("zenserve.service.doctor.examine_beside_work", lambda runtime: iter(found))
    page = quiet.visitor(*SCOPES).get("/admin/health").text
    assert [page.index(f">{name}</th>") for name in ("store", "basis", "clock")] == sorted(
        page.index(f">{name}</th>") for name in ("store", "basis", "clock")
    )
    assert "&lt;b&gt;gone&lt;/b&gt;" in page
    assert "import one: <code>zenserve basis import POWERS</code>" in page


def test_the_doctor_is_asked_and_room_is_measured(empty: Site) -> None:
    for size in (1000, 24):
        empty.runtime.store.put(b"x" * size)
    page = empty.visitor(*SCOPES).get("/admin/health").text
    for name in ("database", "schema", "store", "artifacts", "openings", "workers", "disk"):
        assert f">{name}</th>" in page
    assert ">backend</th>" not in page, "a process of the API opened the GPU"
    tile = page.partition('aria-label="Store"')[2].partition("</section>")[0]
    assert "1.0 KiB" in tile
    assert "2 artifacts, files on this disk" in tile


def test_the_page_is_there_when_the_store_is_not(empty: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_store: Store) -> list[int]:
        raise ResourceError("resource.storage", "it is away")

    monkeypatch.setattr(Store, "sizes", away)
    answer = empty.visitor(*SCOPES).get("/admin/health")
    assert (answer.status_code, "does not answer" in answer.text) == (200, True)


def test_a_remote_store_counts_artifacts_and_no_claims(tmp_path: Path) -> None:
    store = Store(tmp_path, "memory://sizes")
    digest = store.put(b"x" * 10)
    store.claim("cd" * 32, 4)
    assert store.sizes() == [10]
    store.delete(digest)


def test_each_database_says_how_large_it_is(each_runtime: Runtime) -> None:
    with each_runtime.database.read() as session:
        assert 50_000 < Deployment(session).database_bytes() < 1 << 30


def test_routes_are_counted_by_what_became_of_requests() -> None:
    requests = Requests()
    for status in (200, 201, 404, 422, 503):
        requests.count("GET", "/v1/proofs", status, 0.01)
    for _ in range(99):
        requests.count("GET", "/v1/models", 200, 0.001)
    requests.count("POST", "/v1/models", 200, 70.0)
    assert requests.by_route() == [
        RouteCount("/v1/proofs", 5, 2, 1, 0.02, 0.02),
        RouteCount("/v1/models", 100, 0, 0, 0.005, 0.005),
    ]
    requests.count("POST", "/v1/models", 200, 70.0)
    assert requests.by_route()[1].nearly_all == float("inf")


def test_what_each_tenant_used_is_summed_over_a_range(empty: Site) -> None:
    with empty.database.write() as session:
        for tenant, hours in ((LOCAL_TENANT, 1), (LOCAL_TENANT, 100), ("tnt_gone", 1)):
            ended = now() - timedelta(hours=hours)
            session.add(
                Usage(tenant_id=tenant, kind="proof", ended_at=ended, seconds=60, rows=7000, bytes=1 << 20)
            )
    client = empty.visitor(*SCOPES)
    for period, local in (("day", "1 min 00 s"), ("month", "2 min 00 s")):
        page = client.get(f"/admin/tenants?range={period}").text
        row = re.search(r'title="tnt_local">local</span>.*?</tr>', page, re.DOTALL)
        assert row is not None
        assert f">{local}</td>" in row[0]
        assert "tnt_gone, deleted" in page
    assert client.get("/admin/tenants?range=hour").text.count("No job ended in the last hour.") == 1
    assert client.get("/admin/tenants?range=year").status_code == 422


@pytest.mark.parametrize("path", ["/admin/health", "/admin/tenants", "/admin/circuits"])
def test_others_see_none_of_it(quiet: Site, path: str) -> None:
    client = quiet.visitor("read", "prove", "register", "manage")
    assert client.get(path).status_code == 403
    assert f'href="{path}"' not in client.get("/admin").text
