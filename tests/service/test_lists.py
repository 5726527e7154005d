"""Lists: pages that stay put, filters, and what a page of a long list takes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import event, insert, update

from tests.service.accounts import calling
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import Database
from zenserve.service.storage.paging import Place, Window
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Model, Proof, VerificationKey
from zenserve.service.storage.repositories.lists import Filters, Lists

START = datetime(2026, 1, 1, tzinfo=UTC)
MANY = 3000


def add(database: Database, start: int, stop: int, tenant_id: str = LOCAL_TENANT) -> None:
    """Proofs, one a second; each tenth of accuracy, each thousandth failed; two at each second moment."""
    jobs, proofs = [], []
    for number in range(start, stop):
        job_id = f"prf_{number:024d}"
        kind = "accuracy" if number % 10 == 0 else "proof"
        state = "failed" if number % 1000 == 7 else "succeeded"
        moment = START + timedelta(seconds=number // 2 * 2)
        jobs.append(
            {
                "id": job_id,
                "tenant_id": tenant_id,
                "kind": kind,
                "state": state,
                "created_at": moment,
                "enqueued_at": moment,
            }
        )
        scheme = "accuracy" if kind == "accuracy" else "inference"
        proofs.append(
            {
                "id": job_id,
                "model_id": "mdl_2" if number % 5 == 0 else "mdl_1",
                "scheme": scheme,
                "request": {"challenge": "c"},
                "document": {
                    "statement": {"values": {"label": number % 10}, "claim": "So it is."},
                    "proofs": ["00" * 500],
                },
                "verification_key_id": "key",
            }
        )
    with database.write() as session:
        session.execute(insert(Job), jobs)
        session.execute(insert(Proof), proofs)


def add_models(database: Database) -> None:
    with database.write() as session:
        session.add(
            VerificationKey(
                id="key", document={"ic": ["00" * 48] * 200}, circuit={"public_inputs": []}, created_at=START
            )
        )
        session.flush()
        for name in ("mdl_1", "mdl_2"):
            session.add(Job(id=name, kind="model", state="succeeded", created_at=START, enqueued_at=START))
            session.flush()
            session.add(
                Model(
                    id=name,
                    name=name,
                    weight_privacy="public",
                    bits=8,
                    quantised="0",
                    verification_key_id="key",
                )
            )


@pytest.fixture
def http(each_runtime: Runtime) -> Iterator[httpx.Client]:
    add_models(each_runtime.database)
    with calling(each_runtime) as http:
        yield http


def ids(page: dict[str, Any]) -> list[int]:
    return [int(item["id"].removeprefix("prf_")) for item in page["items"]]


def pages(http: httpx.Client, path: str, **filters: Any) -> Iterator[dict[str, Any]]:
    cursor = None
    while True:
        page = (
            http.get(path, params=filters | ({"cursor": cursor} if cursor else {})).raise_for_status().json()
        )
        yield page
        if (cursor := page["next_cursor"]) is None:
            return


def test_pages_hold_all_rows_once_newest_first(http: httpx.Client, each_runtime: Runtime) -> None:
    add(each_runtime.database, 0, 95)
    seen = [ids(page) for page in pages(http, "/v1/proofs", limit=20)]
    assert [len(page) for page in seen] == [20, 20, 20, 20, 15]
    assert [number for page in seen for number in page] == list(reversed(range(95)))


def test_what_comes_and_goes_moves_no_page(http: httpx.Client, each_runtime: Runtime) -> None:
    add(each_runtime.database, 0, 40)
    seen: list[int] = []
    for number, page in enumerate(pages(http, "/v1/proofs", limit=10)):
        seen += ids(page)
        add(each_runtime.database, 100 + 10 * number, 110 + 10 * number)  # newer ones
        last = f"prf_{seen[-1]:024d}"  # the very row that the cursor is after
        http.delete(f"/v1/proofs/{last}").raise_for_status()
    assert seen == list(reversed(range(40)))


def test_filters(http: httpx.Client, each_runtime: Runtime) -> None:
    add(each_runtime.database, 0, 50)

    def got(**filters: Any) -> list[int]:
        return sorted(
            number for page in pages(http, "/v1/proofs", limit=7, **filters) for number in ids(page)
        )

    assert got(state="failed") == [7]
    assert got(state="queued") == []
    assert got(scheme="accuracy") == [0, 10, 20, 30, 40]
    assert got(scheme="recognition") == []
    assert got(model_id="mdl_2") == list(range(0, 50, 5))
    assert got(model_id="mdl_2", scheme="inference") == [5, 15, 25, 35, 45]
    after, before = ((START + timedelta(seconds=s)).isoformat() for s in (9, 15))
    assert got(created_after=after, created_before=before) == [10, 11, 12, 13, 14, 15]


def test_frames_are_listed_if_they_are_asked_for(http: httpx.Client, each_runtime: Runtime) -> None:
    add(each_runtime.database, 0, 5)
    with each_runtime.database.write() as session:
        session.add(Job(id="str_1", kind="stream", created_at=START, enqueued_at=START))
        session.flush()
        frames = [f"prf_{number:024d}" for number in (1, 3)]
        session.execute(update(Job).where(Job.id.in_(frames)).values(parent_id="str_1"))
    assert ids(http.get("/v1/proofs").json()) == [4, 2, 0]
    assert ids(http.get("/v1/proofs", params={"frames": True}).json()) == [4, 3, 2, 1, 0]


def test_items_are_views_without_what_is_large(http: httpx.Client, each_runtime: Runtime) -> None:
    add(each_runtime.database, 7, 9)
    succeeded, failed = http.get("/v1/proofs").json()["items"]
    assert (succeeded["label"], succeeded["values"], failed["label"]) == (8, {"label": 8}, None)
    alone = http.get(f"/v1/proofs/{succeeded['id']}").json()
    assert alone["claim"] == "So it is."
    assert succeeded == alone | {"claim": None}
    model = http.get("/v1/models").json()["items"][0]
    assert "description" not in model
    assert http.get("/v1/datasets").json() == {"items": [], "next_cursor": None}
    assert http.get("/v1/commitments").json() == {"items": [], "next_cursor": None}


@pytest.mark.parametrize(
    "query",
    [
        {"cursor": "rubbish"},
        {"cursor": "////"},
        {"cursor": str(Place(START.replace(tzinfo=None), "prf_1"))},
        {"cursor": str(Place(START, "prf_\x00"))},
        {"limit": 0},
        {"limit": 201},
        {"limit": "all"},
        {"state": "done"},
        {"scheme": "magic"},
        {"created_after": "yesterday"},
        {"created_after": "2026-01-01T00:00:00"},
        {"created_after": "0001-01-01T00:00:00+14:00"},
        {"created_before": "9999-12-31T23:59:59-14:00"},
        {"model_id": "\x00"},
    ],
)
def test_a_bad_query_is_refused(shared_url: str, query: dict[str, Any]) -> None:
    answer = httpx.get(f"{shared_url}/v1/proofs", params=query)
    assert (answer.status_code, answer.json()["code"]) == (422, "request.invalid")
    assert answer.json()["field"] == next(iter(query))


def test_a_page_of_a_long_list_reads_no_more_than_a_page(runtime: Runtime) -> None:
    """Whichever way: no row but those on the page is sorted or read whole."""
    add_models(runtime.database)
    add(runtime.database, 0, MANY)
    statements: list[tuple[str, Any]] = []
    event.listen(
        runtime.database.engine,
        "before_cursor_execute",
        lambda _c, _u, sql, given, *_: statements.append((sql, given)),
    )
    middle = Place(START + timedelta(seconds=MANY // 2), "prf_")
    for owner, filters in (
        (LOCAL_TENANT, Filters()),
        (LOCAL_TENANT, Filters(state="failed")),
        (LOCAL_TENANT, Filters(scheme="accuracy")),
        (LOCAL_TENANT, Filters(frames=True)),
        (None, Filters()),
    ):
        with runtime.database.read() as session:
            page = Lists(session, owner).proofs(filters, Window(50, middle))
        assert page.rows
        sql, given = statements[-1]
        assert "verification_keys" not in sql
        with runtime.database.engine.connect() as connection:
            plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", given)]
        assert any("COVERING INDEX jobs_by_" in step and "(created_at,id)<" in step for step in plan), plan
        assert not [step for step in plan if step in ("SCAN jobs", "SCAN proofs")]
