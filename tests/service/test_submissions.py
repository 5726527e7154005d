"""What holds for all that is asked for: made once by one key, waited for, canceled, retried, deleted."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from psycopg.errors import UniqueViolation
from sqlalchemy import event, text, update

from tests.patience import PATIENCE_SECONDS, until
from tests.service.accounts import add_key, add_tenant, asking_for_keys, bearer, calling, revoke
from tests.service.support import labelled, tiny_calibration, tiny_onnx, work_on
from zenserve import client
from zenserve.service.access.principal import LOCAL
from zenserve.service.api import watcher
from zenserve.service.jobs.claims import Claims
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.jobs.queue import Queue
from zenserve.service.runtime import Runtime
from zenserve.service.storage.paging import Window
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Model
from zenserve.service.storage.repositories import Proofs
from zenserve.service.storage.repositories.accounts import AuditLog
from zenserve.service.submissions import jobs, proofs
from zenserve.service.submissions.requests import ProofRequest

INPUT = [0.1, 0.2, 0.3, 0.4]
AT_ONCE = 8


@pytest.fixture
def http(with_model: Runtime) -> Iterator[httpx.Client]:
    with calling(with_model) as http:
        yield http


def add_proof(http: httpx.Client, model: client.Model, **fields: Any) -> dict[str, Any]:
    answer = http.post("/v1/proofs", json={"model_id": model.id, "input": INPUT, **fields})
    return dict(answer.raise_for_status().json())


def add_dataset(http: httpx.Client, model: client.Model, **headers: str) -> dict[str, Any]:
    files = dict(zip(("samples", "labels"), labelled(3), strict=True))
    form = {"model_id": model.id, "privacy": "private"}
    return dict(http.post("/v1/datasets", files=files, data=form, headers=headers).raise_for_status().json())


def add_model(http: httpx.Client, **headers: str) -> dict[str, Any]:
    files = {"model": tiny_onnx(), "calibration": tiny_calibration()}
    return dict(http.post("/v1/models", files=files, headers=headers).raise_for_status().json())


def ready_model(http: httpx.Client, runtime: Runtime) -> str:
    """A model that says it is registered, without the work."""
    model_id = str(add_model(http)["id"])
    with runtime.database.write() as session:
        session.execute(update(Job).where(Job.id == model_id).values(state="succeeded"))
        session.execute(update(Model).where(Model.id == model_id).values(commitment="00" * 48))
    return model_id


def fail(runtime: Runtime, job_id: str) -> None:
    """As a worker that met its end."""
    with runtime.database.write() as session:
        claim = Claims(session).claim(job_id, "worker", 60.0)
        assert claim is not None
        Claims(session).fail(claim, {"code": "resource.test", "detail": "a test"})


def events(http: httpx.Client, path: str, last: str | None = None) -> list[tuple[str, str, dict[str, Any]]]:
    """Name, id and data of all that a stream tells until its end."""
    answer = http.get(f"{path}/events", headers={"Last-Event-ID": last} if last is not None else {})
    told = [
        dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        for block in answer.text.split("\n\n")
    ]
    return [(one["event"], one["id"], json.loads(one["data"])) for one in told if "event" in one]


def test_what_is_asked_for_takes_no_http(with_model: Runtime, model: client.Model) -> None:
    """The dashboard asks the same functions as the API."""
    caller = replace(LOCAL, address="192.0.2.1")
    body = ProofRequest(model_id=model.id, input=INPUT)
    made = proofs.ask(with_model, caller, body, "once")
    assert proofs.ask(with_model, caller, body, "once") == made
    jobs.cancel(with_model, caller, "proof", made)
    with with_model.database.read() as session:
        assert Jobs(session).state(made) == "canceled"
        noted = AuditLog(session).page(Window(2, None)).rows
    assert [(row.action, row.target, row.address) for row in noted] == [
        ("proof.cancel", made, "192.0.2.1"),
        ("proof.create", made, "192.0.2.1"),
    ]


def test_equal_requests_at_once_make_one_thing(
    each_runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them makes it. Another looked before it was there."""
    monkeypatch.setattr(Queue, "send", lambda *_: None)  # there is no broker
    engine = each_runtime.database.engine
    once, refused = jobs.once, []
    came: list[Any] = []

    def slowly(runtime: Runtime, earlier: Any, add: Any, stored: Any) -> Any:
        def wait_and_add(session: Any) -> Any:
            until(lambda: len(came) > 1)
            return add(session)

        came.append(add)  # having seen that there was none
        return once(runtime, earlier, wait_and_add, stored)

    event.listen(engine, "handle_error", lambda error: refused.append(error.original_exception))
    with calling(each_runtime) as http:
        model_id = ready_model(http, each_runtime)
        commitment = {"model_id": model_id, "kind": "input", "values": INPUT}
        http.post("/v1/commitments", json=commitment).raise_for_status()  # which makes the basis
        monkeypatch.setattr(jobs, "once", slowly)
        for path, body in (
            ("/v1/proofs", {"model_id": model_id, "input": INPUT}),
            ("/v1/commitments", commitment),
        ):
            came.clear()
            start = threading.Barrier(AT_ONCE)

            def post(path: str = path, body: Any = body, start: threading.Barrier = start) -> httpx.Response:
                with httpx.Client(base_url=http.base_url) as caller:
                    start.wait()
                    return caller.post(path, json=body, headers={"Idempotency-Key": "once"})

            with ThreadPoolExecutor(AT_ONCE) as pool:
                answers = [future.result() for future in [pool.submit(post) for _ in range(AT_ONCE)]]
            assert {answer.status_code for answer in answers} <= {201, 202}
            assert len({answer.json()["id"] for answer in answers}) == 1
            other = http.post(
                path, json=body | {"model_id": model_id + "x"}, headers={"Idempotency-Key": "once"}
            )
            assert (other.status_code, other.json()["code"]) == (409, "conflict.idempotency_key")
        assert {type(error) for error in refused} <= {UniqueViolation, sqlite3.IntegrityError}
        assert refused
        with engine.connect() as connection:
            for table, count in (("proofs", 1), ("commitments", 2)):
                assert connection.scalar(text(f"SELECT count(*) FROM {table}")) == count  # noqa: S608


def test_a_tenant_s_limit_holds_however_many_ask_at_once(
    each_runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Queue, "send", lambda *_: None)  # there is no broker
    with calling(each_runtime) as http:
        body = {"model_id": ready_model(http, each_runtime), "input": INPUT}
        http.patch(f"/v1/tenants/{LOCAL_TENANT}", json={"max_queued": 5}).raise_for_status()
        start = threading.Barrier(50)

        def post() -> int:
            with httpx.Client(base_url=http.base_url) as caller:
                start.wait()
                return caller.post("/v1/proofs", json=body).status_code

        with ThreadPoolExecutor(50) as pool:
            answers = [future.result() for future in [pool.submit(post) for _ in range(50)]]
    assert sorted(answers) == [202] * 5 + [429] * 45


def test_two_tenants_may_choose_one_idempotency_key(with_model: Runtime, model: client.Model) -> None:
    keyed = asking_for_keys(with_model)
    other = add_tenant(keyed, "other")
    files = {"model": tiny_onnx(), "calibration": tiny_calibration()}
    with calling(keyed) as http:
        made = [
            http.post(
                "/v1/models",
                files=files,
                headers=bearer(add_key(keyed, "register", tenant_id=tenant)) | {"Idempotency-Key": "one"},
            ).json()
            for tenant in (LOCAL_TENANT, other, other)
        ]
    assert made[0]["id"] != made[1]["id"] == made[2]["id"]
    assert [one["tenant_id"] for one in made] == [LOCAL_TENANT, other, other]


def test_priority_deadline_and_expiry_are_the_job_s(http: httpx.Client, model: client.Model) -> None:
    proof = add_proof(http, model, priority=7, deadline_seconds=600, expires_in_days=2)
    made = datetime.fromisoformat(proof["created_at"])
    assert proof["priority"] == 7
    deadline, expiry = (datetime.fromisoformat(proof[name]) for name in ("deadline_at", "expires_at"))
    assert abs(deadline - made - timedelta(minutes=10)) < timedelta(seconds=5)
    assert abs(expiry - made - timedelta(days=2)) < timedelta(seconds=5)
    assert made < datetime.now(UTC) + timedelta(seconds=5)
    for field, value in (("priority", 11), ("deadline_seconds", 0), ("expires_in_days", 4000)):
        answer = http.post("/v1/proofs", json={"model_id": model.id, "input": INPUT, field: value})
        assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_models_and_datasets_are_canceled_retried_and_followed(
    http: httpx.Client, with_model: Runtime, model: client.Model
) -> None:
    for path in (
        f"/v1/models/{add_model(http)['id']}",
        f"/v1/datasets/{add_dataset(http, model)['id']}",
        f"/v1/proofs/{add_proof(http, model)['id']}",
    ):
        job_id = path.rpartition("/")[2]
        assert http.post(f"{path}/retry").json()["code"] == "conflict.not_failed"
        fail(with_model, job_id)
        name, revision, end = events(http, path)[-1]
        assert (name, end["state"], revision) == ("end", "failed", str(end["revision"]))
        again = http.post(f"{path}/retry").json()
        assert (again["state"], again["attempt"], again["problem"]) == ("queued", 0, None)
        assert http.post(f"{path}/cancel").json()["state"] == "canceled"
        assert http.post(f"{path}/cancel").json()["state"] == "canceled"
        told = events(http, path, "0")
        assert [name for name, _, _ in told] == ["milestone", "milestone", "milestone", "end"]
        assert [data["state"] for _, _, data in told] == ["running", "failed", "queued", "canceled"]
        revisions = [int(number) for _, number, _ in told]
        assert revisions == sorted(set(revisions))
        assert [number for _, number, _ in events(http, path, str(revisions[1]))] == [
            str(revision) for revision in revisions[2:]
        ]
        for last in ("rubbish", "-1", "9" * 30, str(revisions[-1])):
            assert [name for name, _, _ in events(http, path, last)] == ["end"]


def test_a_stream_ends_where_its_job_is_deleted(
    http: httpx.Client, with_model: Runtime, model: client.Model
) -> None:
    proof_id = add_proof(http, model)["id"]
    told: list[str] = []

    def follow() -> None:
        with http.stream("GET", f"/v1/proofs/{proof_id}/events") as stream:
            for line in stream.iter_lines():
                told.append(line)

    thread = threading.Thread(target=follow)
    thread.start()
    until(lambda: told)
    with with_model.database.write() as session:  # a tenant's last proof, deleted under its reader's eyes
        Jobs(session).cancel(proof_id)
        Proofs(session).delete(proof_id)
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
    assert "event: end" not in told


def test_a_stream_ends_soon_after_its_key(
    with_model: Runtime, model: client.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "CHECK_SECONDS", 0.1)
    keyed = asking_for_keys(with_model)
    key = add_key(keyed, "read", "prove")
    with calling(keyed) as http:
        body = {"model_id": model.id, "input": INPUT}
        proof_id = http.post("/v1/proofs", json=body, headers=bearer(key)).json()["id"]
        with http.stream("GET", f"/v1/proofs/{proof_id}/events", headers=bearer(key)) as stream:
            lines = stream.iter_lines()
            assert next(lines) == "event: progress"
            revoke(keyed, key)
            assert "event: end" not in list(lines)


def test_waiting_for_a_dataset(http: httpx.Client, with_model: Runtime, model: client.Model) -> None:
    dataset = add_dataset(http, model, **{"Idempotency-Key": "k"})
    assert dataset["state"] == "queued"
    timer = threading.Timer(0.2, work_on, (with_model, dataset["id"]))
    timer.start()
    waited = add_dataset(http, model, **{"Idempotency-Key": "k", "Prefer": "wait=60"})
    timer.join()
    assert (waited["id"], waited["state"]) == (dataset["id"], "succeeded")


def test_deleting_leaves_nothing(http: httpx.Client, with_model: Runtime, model: client.Model) -> None:
    """Not in the database, and not in the store."""

    def left() -> tuple[set[Path], list[int]]:
        files = {path for path in (with_model.settings.data_dir / "artifacts").rglob("*") if path.is_file()}
        with with_model.database.engine.connect() as connection:
            tables = ("jobs", "models", "proofs", "datasets", "commitments", "job_events")
            return files, [connection.scalar(text(f"SELECT count(*) FROM {t}")) or 0 for t in tables]  # noqa: S608

    before = left()
    fresh = add_model(http)["id"]
    assert http.delete(f"/v1/models/{fresh}").json()["code"] == "conflict.in_use"  # it is queued
    proof = add_proof(http, model)["id"]
    assert http.delete(f"/v1/proofs/{proof}").json()["code"] == "conflict.in_use"
    for path in (f"/v1/models/{fresh}", f"/v1/proofs/{proof}"):
        http.post(f"{path}/cancel").raise_for_status()
        assert http.delete(path).status_code == 204
        assert http.get(path).status_code == 404
        assert http.delete(path).status_code == 404
    assert left() == before


def test_a_model_is_deleted_after_what_is_of_it(
    each_runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Queue, "send", lambda *_: None)  # there is no broker
    with calling(each_runtime) as http:
        model_id = ready_model(http, each_runtime)
        path, body = f"/v1/models/{model_id}", {"model_id": model_id}
        proof = http.post("/v1/proofs", json=body | {"input": INPUT}).raise_for_status().json()["id"]
        commitment = http.post("/v1/commitments", json=body | {"kind": "input", "values": INPUT}).json()["id"]
        files = dict(zip(("samples", "labels"), labelled(3), strict=True))
        dataset = http.post("/v1/datasets", files=files, data=body | {"privacy": "private"}).json()["id"]
        for kind, made in (("proofs", proof), ("datasets", dataset), ("commitments", commitment)):
            refused = http.delete(path)
            assert (refused.status_code, refused.json()["code"]) == (409, "conflict.in_use")
            assert made in refused.json()["detail"]
            http.post(f"/v1/{kind}/{made}/cancel")
            assert http.delete(f"/v1/{kind}/{made}").status_code == 204
        newer = {"parent_id": model_id, "weight_privacy": "committed"}
        models = {"model": tiny_onnx(), "calibration": tiny_calibration()}
        child = http.post("/v1/models", files=models, data=newer).raise_for_status().json()["id"]
        assert http.delete(path).json()["code"] == "conflict.in_use"
        http.post(f"/v1/models/{child}/cancel")
        assert http.delete(path).status_code == 204
        assert http.get(f"/v1/models/{child}").json()["parent_id"] is None


def test_what_is_deleted_while_it_is_asked_for_is_a_conflict(
    http: httpx.Client, with_model: Runtime, model: client.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    routed = "zenserve.service.submissions.jobs.routed"

    def deleted(session: Any, _settings: Any, terms: Any, _estimate: Any) -> Any:
        session.execute(text("DELETE FROM models"))
        return terms

    monkeypatch.setattr(routed, deleted)
    answer = http.post("/v1/proofs", json={"model_id": model.id, "input": INPUT})
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict.changed")
