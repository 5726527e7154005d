"""Labels: what jobs are found by, on each database; what is refused, and what a page of a rare one takes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import event, func, insert, select, update

from tests.service.accounts import calling
from tests.service.support import labelled as samples
from tests.service.support import tiny_calibration, tiny_onnx
from zenserve.errors import RequestError
from zenserve.service.jobs.jobs import Jobs, Terms
from zenserve.service.jobs.queue import Queue
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.retention import forget
from zenserve.service.storage.paging import Place, Window
from zenserve.service.storage.records.accounts import Tenant
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.records.jobs import Job, JobLabel
from zenserve.service.storage.records.resources import Model, Proof
from zenserve.service.storage.repositories import labelled
from zenserve.service.storage.repositories.browsing import Browsing, Wanted
from zenserve.service.storage.repositories.lists import Filters, Lists
from zenserve.service.submissions import labels

INPUT = [0.1, 0.2, 0.3, 0.4]
FILES = {"model": tiny_onnx(), "calibration": tiny_calibration()}
START = datetime(2026, 1, 1, tzinfo=UTC)
MANY = 3000


@pytest.fixture
def http(each_runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    monkeypatch.setattr(Queue, "send", lambda *_: None)  # there is no broker
    with calling(each_runtime) as http:
        yield http


def asked(answer: httpx.Response) -> dict[str, Any]:
    return dict(answer.raise_for_status().json())


def add_model(http: httpx.Client, runtime: Runtime, *label: str) -> str:
    """One that says it is registered, without the work."""
    model_id = str(asked(http.post("/v1/models", files=FILES, data={"label": list(label)}))["id"])
    with runtime.database.write() as session:
        session.execute(update(Job).where(Job.id == model_id).values(state="succeeded"))
        session.execute(update(Model).where(Model.id == model_id).values(commitment="00" * 48))
    return model_id


def add_proofs(runtime: Runtime, count: int, kinds: int = 1, tenant_id: str = LOCAL_TENANT) -> None:
    """Each with its ``half`` and ``third``, the newest last; each ``kinds``-th of accuracy."""
    with runtime.database.write() as session:
        if session.get(Model, "mdl_1") is None:
            Jobs(session).create("mdl_1", "model", Terms(labels={"half": "0"}))
            row = Model(id="mdl_1", name="m", weight_privacy="public", bits=8, quantised="0")
            session.add(row)
            session.flush()
        for number in range(count):
            job_id = f"prf_{tenant_id[-1]}{number:05d}"
            given = {"half": str(number % 2), "third": str(number % 3)}
            kind = "proof" if number % kinds or kinds == 1 else "accuracy"
            Jobs(session).create(job_id, kind, Terms(tenant_id=tenant_id, labels=given))
            scheme = "accuracy" if kind == "accuracy" else "inference"
            session.add(Proof(id=job_id, model_id="mdl_1", scheme=scheme, request={}))


def rows(runtime: Runtime) -> int:
    with runtime.database.read() as session:
        return session.scalar(select(func.count()).select_from(JobLabel)) or 0


def test_what_is_asked_for_with_labels_shows_them_and_is_found_by_them(
    http: httpx.Client, each_runtime: Runtime
) -> None:
    model_id = add_model(http, each_runtime, "run=17", "team=a=b c")
    files = dict(zip(("samples", "labels"), samples(3), strict=True))
    form = {"model_id": model_id, "privacy": "public", "label": ["run=17", "team=a=b c"]}
    dataset = asked(http.post("/v1/datasets", files=files, data=form))
    given = {"run": "17", "team": "a=b c"}
    body = {"model_id": model_id, "input": INPUT}
    proof = asked(http.post("/v1/proofs", json=body | {"labels": given}))
    for kind, job_id in (("models", model_id), ("datasets", dataset["id"]), ("proofs", proof["id"])):
        assert asked(http.get(f"/v1/{kind}/{job_id}"))["labels"] == given
        for wanted in (["run=17"], ["team=a=b c", "run=17"]):
            (item,) = asked(http.get(f"/v1/{kind}", params={"label": wanted}))["items"]
            assert (item["id"], item["labels"]) == (job_id, given)
        for other in (["run=1"], ["run=17", "team=a"], ["other=17"]):
            assert asked(http.get(f"/v1/{kind}", params={"label": other}))["items"] == []
    assert asked(http.post("/v1/proofs", json=body))["labels"] == {}
    assert asked(http.post("/v1/proofs", json=body | {"labels": {}}))["labels"] == {}
    assert rows(each_runtime) == 6


def test_labels_are_part_of_what_an_idempotency_key_is_for(http: httpx.Client, each_runtime: Runtime) -> None:
    model_id = add_model(http, each_runtime)

    def prove(**given: Any) -> httpx.Response:
        body = {"model_id": model_id, "input": INPUT, **given}
        return http.post("/v1/proofs", json=body, headers={"Idempotency-Key": "p"})

    def register(*label: str) -> httpx.Response:
        return http.post(
            "/v1/models", files=FILES, data={"label": list(label)}, headers={"Idempotency-Key": "m"}
        )

    made = asked(prove(labels={"a": "1", "b": "2"}))
    assert asked(prove(labels={"b": "2", "a": "1"}))["id"] == made["id"]
    assert prove(labels={"a": "1"}).json()["code"] == "conflict.idempotency_key"
    assert prove().json()["code"] == "conflict.idempotency_key"
    made = asked(register("a=1", "b=2"))
    assert asked(register("b=2", "a=1"))["id"] == made["id"]
    assert register("a=1", "b=3").json()["code"] == "conflict.idempotency_key"
    assert register().json()["code"] == "conflict.idempotency_key"


@pytest.mark.parametrize("few", [0, 1000], ids=["as of common ones", "as of rare ones"])
def test_pages_have_all_that_match_once_and_nothing_else(
    each_runtime: Runtime, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """Whichever index they are read from."""
    monkeypatch.setattr(labelled, "_FEW", few)
    with each_runtime.database.write() as session:
        session.add(Tenant(id="tnt_b", name="b", created_at=START))
    add_proofs(each_runtime, 40, kinds=5)
    add_proofs(each_runtime, 5, tenant_id="tnt_b")

    def found(owner: str | None, browse: bool = False, **filters: Any) -> list[str]:
        seen: list[str] = []
        place: Place | None = None
        while True:
            with each_runtime.database.read() as session:
                if browse:
                    listed = Browsing(session, owner).jobs(Wanted(**filters), Window(4, place))
                    ids, cursor = [row.job.id for row in listed.rows], listed.next_cursor
                else:
                    page = Lists(session, owner).proofs(Filters(**filters), Window(4, place))
                    ids, cursor = [proof.id for proof, _ in page.rows], page.next_cursor
            seen += ids
            if cursor is None:
                return seen
            place = Place.read(cursor)

    def expected(numbers: Any, tenant: str = "l") -> list[str]:
        return [f"prf_{tenant}{number:05d}" for number in reversed(numbers)]

    both, half = {"half": "1", "third": "2"}, {"half": "1"}
    assert found(LOCAL_TENANT, labels=both) == expected(range(5, 40, 6))
    assert found(LOCAL_TENANT, labels=half) == expected(range(1, 40, 2))
    assert found(LOCAL_TENANT, labels=half, scheme="accuracy") == expected(range(5, 40, 10))
    assert found(LOCAL_TENANT, labels=half, model_id="mdl_1", state="queued") == expected(range(1, 40, 2))
    assert found(LOCAL_TENANT, labels=half, state="failed") == []
    assert found(LOCAL_TENANT, labels={"half": "2"}) == []
    assert found("tnt_b", labels=half) == expected(range(1, 5, 2), "b")
    assert found(None, labels=both) == expected(range(5, 40, 6))
    assert found(None, labels=half) == expected(range(1, 5, 2), "b") + expected(range(1, 40, 2))
    assert found(LOCAL_TENANT, browse=True, labels=both) == expected(range(5, 40, 6))
    assert found(LOCAL_TENANT, browse=True, labels={"half": "0"}) == [*expected(range(0, 40, 2)), "mdl_1"]
    assert found(None, browse=True, labels={"half": "0"}, kind="model") == ["mdl_1"]


REFUSED: dict[str, Any] = {
    "no object": ["a=1"],
    "no text": {"a": 1},
    "no name": {"": "1"},
    "capitals": {"Run": "1"},
    "a mark first": {"-run": "1"},
    "a line break after": {"run\n": "1"},
    "a long name": {"r" * 64: "1"},
    "no value": {"run": ""},
    "a long value": {"run": "1" * 101},
    "a control character": {"run": "1\x00"},
    "too many": {f"n{number}": "1" for number in range(17)},
}


@pytest.mark.parametrize("case", REFUSED)
def test_labels_that_no_job_may_have(shared_url: str, case: str) -> None:
    given = REFUSED[case]
    body = {"model_id": "mdl_1", "input": INPUT, "labels": given}
    for headers in ({}, {"Prefer": "dry-run"}):
        answer = httpx.post(f"{shared_url}/v1/proofs", json=body, headers=headers)
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (422, "request.invalid")
        assert problem["field"] in ("labels", "labels.a")
    if case not in ("no object", "no text", "no value"):  # a form with an empty one is refused as such
        pairs = [f"{name}={value}" for name, value in given.items()]
        for answer in (
            httpx.get(f"{shared_url}/v1/models", params={"label": pairs}),
            httpx.post(f"{shared_url}/v1/models", files=FILES, data={"label": pairs}),
        ):
            assert (answer.status_code, answer.json()["field"]) == (422, "label")


def test_what_fits() -> None:
    most = {f"{number:x}" + 62 * "z": "é=" * 50 for number in range(16)}
    assert labels.checked(most) == most == labels.read(f"{name}={value}" for name, value in most.items())
    assert labels.read(None) == {}


@pytest.mark.parametrize("pairs", [["run"], [""], ["run=1", "run=2"], ["run=1", "run=1"]])
def test_pairs_that_are_none(pairs: list[str]) -> None:
    with pytest.raises(RequestError, match="label: ") as refused:
        labels.read(pairs)
    assert refused.value.field == "label"


def test_labels_go_with_their_job(http: httpx.Client, each_runtime: Runtime) -> None:
    """However it goes; and its shards have none."""
    model_id = add_model(http, each_runtime, "run=17")
    body = {"model_id": model_id, "input": INPUT, "labels": {"run": "17"}}
    proof, old = (asked(http.post("/v1/proofs", json=body))["id"] for _ in range(2))
    with each_runtime.database.write() as session:
        Jobs(session).create_children(proof, "shard", ["shd_1"])
        assert session.get_one(Job, "shd_1").labels is None
    assert rows(each_runtime) == 3
    asked(http.post(f"/v1/proofs/{old}/cancel"))
    with each_runtime.database.write() as session:
        session.execute(update(Job).where(Job.id == old).values(expires_at=START))
    forget(each_runtime)
    assert rows(each_runtime) == 2
    with each_runtime.database.write() as session:
        session.delete(session.get_one(Job, "shd_1"))
    for path in (f"/v1/proofs/{proof}", f"/v1/models/{model_id}"):
        http.post(f"{path}/cancel")
        assert http.delete(path).status_code == 204
    assert rows(each_runtime) == 0


def test_a_page_of_a_label_takes_as_long_among_thousands_as_one_without(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in steps of SQLite's machine. All jobs but a few are newer than those with the rare label."""
    monkeypatch.setattr(labelled, "_FEW", 100)
    moments = [START + timedelta(seconds=number) for number in range(MANY)]
    ids = [f"prf_{number * 7919 % MANY:05d}" for number in range(MANY)]
    with runtime.database.write() as session:
        made = [
            {"id": job_id, "kind": "proof", "state": "succeeded", "created_at": at, "enqueued_at": at}
            for job_id, at in zip(ids, moments, strict=True)
        ]
        session.execute(insert(Job), made)
        common = [(job_id, at, "env", "prod") for job_id, at in zip(ids, moments, strict=True)]
        rare = [(job_id, at, "run", "17") for job_id, at in zip(ids[:60], moments[:60], strict=True)]
        indexed = [
            {"job_id": job_id, "created_at": at, "tenant_id": LOCAL_TENANT, "name": name, "value": value}
            for job_id, at, name, value in common + rare
        ]
        session.execute(insert(JobLabel), indexed)

    def steps(owner: str | None, **filters: Any) -> int:
        counted = 0

        def count() -> None:
            nonlocal counted
            counted += 1

        def listen(connection: Any, *_: object) -> None:
            connection.connection.set_progress_handler(count, 1)

        event.listen(runtime.database.engine, "before_cursor_execute", listen)
        with runtime.database.read() as session:
            Lists(session, owner).proofs(Filters(**filters), Window(50, None))
        return counted

    for owner in (LOCAL_TENANT, None):
        plain = steps(owner)
        for wanted in ({"run": "17"}, {"env": "prod"}, {"env": "prod", "run": "17"}, {"run": "0"}):
            assert steps(owner, labels=wanted) < 5 * plain
        with monkeypatch.context() as patch:
            patch.setattr(labelled, "_FEW", 0)  # as if it were common
            assert steps(owner, labels={"run": "17"}) > 20 * plain
