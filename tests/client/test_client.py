"""Both clients against answers made up here; tests/service drives one against the real service."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import subprocess
import sys
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.client.stub import Clock, Service, model, page, problem, proof, stream
from zenserve.client import ApiError, AsyncClient, Client, ClientError, JobError, UnreachableError
from zenserve.client.resources import Model, NewKey, read
from zenserve.errors import ZenError

SECRET = "zen_0123456789ab_" + "s" * 43


@pytest.fixture(params=["sync", "async"])
def service(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.delenv("ZENSERVE_API_KEY", raising=False)
    clock = Clock()
    clock.install(monkeypatch)
    return Service(request.param, clock)


def ok(document: dict[str, Any]) -> httpx.Response:
    return httpx.Response(200, json=document)


# What goes wrong


def test_a_problem_becomes_an_exception_with_its_code(service: Service) -> None:
    service.answers(problem(422, "input.shape"))
    with pytest.raises(ApiError, match=r"it is input\.shape") as refusal:
        service.sees(lambda client: client.get_proof("prf_1"))
    error = refusal.value
    assert (error.status, error.code, error.field) == (422, "input.shape", "input")
    assert (error.request_id, error.retry_after) == ("req_1", None)


@pytest.mark.parametrize("content", [b"<html>bad gateway</html>", b"[]", b""])
def test_an_error_that_is_no_problem_document(service: Service, content: bytes) -> None:
    service.answers(httpx.Response(502, content=content))
    with pytest.raises(ApiError) as refusal:
        service.sees(lambda client: client.get_proof("prf_1"))
    assert (refusal.value.status, refusal.value.code) == (502, "unknown")


@pytest.mark.parametrize("content", ["<html>It works!</html>", "[]", "{}", '{"items": 1}'])
def test_a_good_answer_of_another_service(service: Service, content: str) -> None:
    service.answers(httpx.Response(200, text=content))
    for use in (
        lambda client: client.get_proof("prf_1"),
        lambda client: client.proofs(),
    ):
        with pytest.raises(ApiError, match="not one of ZenServe"):
            service.sees(use)


@pytest.mark.parametrize("address", ["nonsense", "ftp://127.0.0.1", "http://a:b", "http://"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(UnreachableError):
        Client(address, retry_seconds=0).get_proof("prf_1")


def test_no_service_at_the_address() -> None:
    with Client("http://someone:hunter2@127.0.0.1:1", retry_seconds=0) as client:
        with pytest.raises(UnreachableError, match=r"http://127\.0\.0\.1:1") as refusal:
            client.get_proof("prf_1")
        assert "hunter2" not in str(refusal.value)
        assert not client.is_ready()

    async def ask() -> None:
        async with AsyncClient("http://127.0.0.1:1", retry_seconds=0) as client:
            assert not await client.is_ready()

    asyncio.run(ask())


def test_an_id_leads_nowhere_else(service: Service) -> None:
    service.answers(problem(404, "not_found"))
    with pytest.raises(ApiError):
        service.sees(lambda client: client.get_proof("../models?x=1#y"))
    assert service.paths == ["GET /v1/proofs/..%2Fmodels%3Fx%3D1%23y"]


WRONG = {
    "id": lambda client: client.get_model(read(Model, model())),
    "model": lambda client: client.create_model("model.onnx", b"[1]"),
    "calibration": lambda client: client.create_model(b"onnx", Path("rows.npy")),
    "labels": lambda client: client.create_model(b"onnx", b"[1]", labels=["run=17"]),
    "ranges": lambda client: client.create_model(b"onnx", b"[1]", ranges={"ids": 7}),
    "input": lambda client: client.create_proof("mdl_1", {"x": object()}),
    "challenge": lambda client: client.create_proof("mdl_1", [1], challenge=b"bytes"),
    "content": lambda client: client.upload("model.onnx"),
}


@pytest.mark.parametrize("field", WRONG)
def test_an_argument_of_a_wrong_type_is_named_and_nothing_is_sent(service: Service, field: str) -> None:
    with pytest.raises(ZenError, match=f"^{field}: give .*, not an object of type ") as refusal:
        service.sees(WRONG[field])
    assert (refusal.value.code, refusal.value.field, service.paths) == ("request.invalid", field, [])


def test_arrays_are_sent_as_lists(service: Service) -> None:
    service.answers(ok(proof()))
    service.sees(lambda client: client.create_proof("mdl_1", np.eye(2, dtype=np.uint8), top=np.int64(2)))
    body = json.loads(service.asked[0].content)
    assert (body["input"], body["top"]) == ([[1, 0], [0, 1]], 2)


# Retries


@pytest.mark.parametrize(
    "answer",
    [
        httpx.ReadTimeout("timed out"),
        httpx.RemoteProtocolError("closed"),
        httpx.ConnectError("refused", request=httpx.Request("GET", "http://service/")),
        httpx.Response(503),
        httpx.Response(429),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_what_may_be_repeated_is_until_it_succeeds(service: Service, answer: Any) -> None:
    service.answers(answer, answer, answer, ok(proof()))
    assert service.sees(lambda client: client.get_proof("prf_1")).id == "prf_1"
    low = [0.1, 0.2, 0.4]
    assert all(least <= pause <= 2 * least for pause, least in zip(service.clock.pauses, low, strict=True))


def test_patience_is_bounded_in_all(service: Service) -> None:
    service.answers(httpx.Response(503))
    with pytest.raises(ApiError):
        service.sees(lambda client: client.get_proof("prf_1"), retry_seconds=7.0)
    assert 3 < sum(service.clock.pauses) <= 7
    service.answers(httpx.ReadError("reset"))
    with pytest.raises(UnreachableError, match="reset"):
        service.sees(lambda client: client.get_proof("prf_1"), retry_seconds=0.0)
    assert len(service.asked) == 1


def test_the_service_says_when_to_come_back(service: Service) -> None:
    service.answers(problem(429, "quota.rate", **{"Retry-After": "3"}), ok(proof()))
    service.sees(lambda client: client.get_proof("prf_1"))
    assert service.clock.pauses == [3.0]
    service.answers(problem(429, "quota.rate", **{"Retry-After": "3600"}))
    with pytest.raises(ApiError) as refusal:
        service.sees(lambda client: client.get_proof("prf_1"))
    assert (refusal.value.retry_after, service.clock.pauses) == (3600.0, [])


def test_what_costs_is_sent_again_under_one_key(service: Service) -> None:
    service.answers(httpx.ReadTimeout("timed out"), httpx.Response(504), ok(proof()))
    service.sees(lambda client: client.create_proof("mdl_1", [1.0]))
    keys = {request.headers["Idempotency-Key"] for request in service.asked}
    assert (len(service.asked), len(keys)) == (3, 1)
    service.sees(lambda client: client.create_proof("mdl_1", [1.0]))
    assert service.asked[-1].headers["Idempotency-Key"] not in keys
    service.sees(lambda client: client.create_proof("mdl_1", [1.0], idempotency_key="mine"))
    assert service.asked[-1].headers["Idempotency-Key"] == "mine"


def test_what_might_be_done_twice_is_sent_once(service: Service) -> None:
    service.answers(httpx.ReadTimeout("timed out"))
    for use in (
        lambda client: client.create_key("ci", ["prove"]),
        lambda client: client.create_webhook("https://x.test/", ["proof.succeeded"]),
        lambda client: client.retry("prf_1"),
    ):
        service.asked.clear()
        with pytest.raises(UnreachableError):
            service.sees(use)
        assert len(service.asked) == 1


# Keys


def test_a_key_is_sent_and_never_shown(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.answers(problem(401, "auth.invalid"))
    seen = []

    def ask(client: Any) -> Any:
        seen.append(f"{client!r} {client._http!r} {client._http.headers!r}")
        return client.get_proof("prf_1")

    with pytest.raises(ApiError) as refusal:
        service.sees(ask, api_key=SECRET)
    monkeypatch.setenv("ZENSERVE_API_KEY", "zen_from_outside")
    with pytest.raises(ApiError):
        service.sees(ask)
    assert [r.headers["Authorization"] for r in service.asked] == [
        f"Bearer {SECRET}",
        "Bearer zen_from_outside",
    ]
    assert SECRET not in f"{seen} {refusal.value!r}"


@pytest.mark.parametrize("key", [f"{SECRET}\n", f"{SECRET}é", f" {SECRET}"])
def test_what_cannot_be_a_key_is_refused_unsaid(key: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(ClientError, match="ZENSERVE_API_KEY") as refusal:
            kind(api_key=key)
        assert SECRET not in str(refusal.value)


def test_secrets_that_are_shown_once_are_not_in_a_repr() -> None:
    made = read(
        NewKey,
        {
            "id": "key_1",
            "tenant_id": "tnt_1",
            "name": "ci",
            "scopes": ["prove"],
            "created_at": "2026-11-21T14:00:00Z",
            "expires_at": None,
            "revoked_at": None,
            "last_used_at": None,
            "key": SECRET,
        },
    )
    assert made.key == SECRET
    assert SECRET not in repr(made)


# Lists


def test_a_list_asks_for_a_page_when_it_is_needed(service: Service) -> None:
    first = page(proof(id="prf_3"), proof(id="prf_2"), cursor="abc")
    service.answers(first, page(proof(id="prf_1")))
    since = datetime(2026, 11, 1, tzinfo=UTC)
    found = service.sees(lambda client: client.proofs(state="failed", created_after=since))
    assert [each.id for each in found] == ["prf_3", "prf_2", "prf_1"]
    assert [dict(request.url.params) for request in service.asked] == [
        {"state": "failed", "created_after": "2026-11-01T00:00:00+00:00"},
        {"state": "failed", "created_after": "2026-11-01T00:00:00+00:00", "cursor": "abc"},
    ]


def test_a_list_that_is_left_early_asks_no_further() -> None:
    service = Service("sync", Clock()).answers(page(proof(), proof(), cursor="abc"))
    assert len(service.sees(lambda client: islice(client.proofs(), 2))) == 2
    assert len(service.asked) == 1


# Uploads


def test_large_files_are_brought_ahead_under_their_hash(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zenserve.client.proving.LARGE_FILE_BYTES", 4)
    sha256 = hashlib.sha256(b"large file").hexdigest()

    def create(client: Any) -> Any:
        return client.create_model(b"large file", b"[1]", name="digits")

    service.answers(httpx.Response(404), httpx.Response(201), ok(model()))
    assert service.sees(create).id == "mdl_1"
    assert service.paths == [f"HEAD /v1/uploads/{sha256}", f"PUT /v1/uploads/{sha256}", "POST /v1/models"]
    assert service.asked[1].content == b"large file"
    form = service.asked[2].content
    assert sha256.encode() in form
    assert b'name="model_sha256"' in form
    assert b'name="calibration"; filename' in form
    assert b"large file" not in form

    service.answers(httpx.Response(200), ok(model()))
    service.sees(create)
    assert service.paths == [f"HEAD /v1/uploads/{sha256}", "POST /v1/models"]

    service.answers(httpx.Response(404), problem(413, "request.too_large"))
    with pytest.raises(ApiError, match="too_large"):
        service.sees(create)


def test_labels_are_sent_as_forms_lists_and_requests_have_them(service: Service) -> None:
    labels = {"run": "17", "team": "a=b"}
    service.answers(ok(model(labels=labels)))
    assert service.sees(lambda client: client.create_model(b"onnx", b"[1]", labels=labels)).labels == labels
    form = service.asked[0].content
    assert form.count(b'name="label"') == 2
    assert b"run=17" in form
    assert b"team=a=b" in form
    service.answers(ok(proof()))
    assert service.sees(lambda client: client.create_proof("mdl_1", [1.0], labels=labels)).labels == {}
    assert json.loads(service.asked[0].content)["labels"] == labels
    service.sees(lambda client: client.create_proof("mdl_1", [1.0], labels={}))
    assert "labels" not in json.loads(service.asked[1].content)
    service.answers(page(proof(), cursor="abc"), page())
    service.sees(lambda client: client.proofs(labels=labels, state="failed"))
    assert service.asked[1].url.params.get_list("label") == ["run=17", "team=a=b"]
    service.sees(lambda client: client.models(labels={}))
    assert "label" not in service.asked[-1].url.params


def test_a_form_without_files_is_one_all_the_same(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zenserve.client.proving.LARGE_FILE_BYTES", 0)
    service.answers(httpx.Response(200), httpx.Response(200), ok(model()))
    service.sees(lambda client: client.create_model(b"onnx", b"[1]"))
    assert service.asked[2].headers["Content-Type"].startswith("multipart/form-data")


# Waiting


def test_events_end_with_the_job(service: Service) -> None:
    service.answers(
        ok(proof("queued", revision=0)),
        stream(proof("queued", revision=0), proof(revision=3), proof("succeeded", revision=5, label=3)),
    )
    seen = service.sees(lambda client: client.events("prf_1"))
    assert [(p.state, p.revision, p.label) for p in seen] == [
        ("queued", 0, None),
        ("running", 3, None),
        ("succeeded", 5, 3),
    ]
    assert service.asked[1].headers["Last-Event-ID"] == "0"
    assert service.asked[1].headers["Accept"] == "text/event-stream"


@pytest.mark.parametrize("broken", ["breaks", "ends", "refused"])
def test_events_are_picked_up_where_the_stream_broke(service: Service, broken: str) -> None:
    refused = broken == "refused"
    half = httpx.ReadError("reset") if refused else stream(proof(revision=3), breaks=broken == "breaks")
    service.answers(ok(proof(revision=2)), half, ok(proof(revision=4)), stream(proof("canceled", revision=9)))
    seen = service.sees(lambda client: client.events("prf_1"))
    middle = [] if refused else [3]
    assert [p.revision for p in seen] == [2, *middle, 4, 9]
    assert service.asked[-1].headers["Last-Event-ID"] == "4"


def test_events_of_a_proof_that_does_not_exist(service: Service) -> None:
    service.answers(problem(404, "not_found"))
    with pytest.raises(ApiError):
        service.sees(lambda client: client.events("prf_1"))


def test_wait_gives_the_result_and_tells_how_far_it_is(service: Service) -> None:
    done = proof("succeeded", revision=9, label=3, overall_percent=100.0)
    service.answers(
        ok(proof(revision=1)), stream(proof(revision=2, overall_percent=40.0, eta_seconds=2.5), done)
    )
    first = service.sees(lambda client: client.get_proof("prf_1"))
    told: list[Any] = []
    result = service.sees(lambda client: client.wait(first, on_progress=told.append))
    assert result.label == 3
    assert [(p.overall_percent, p.eta_seconds) for p in told] == [(None, None), (40.0, 2.5), (100.0, None)]


def test_where_there_is_no_stream_the_service_is_asked_again(service: Service) -> None:
    service.answers(ok(proof()))
    first = service.sees(lambda client: client.get_proof("prf_1"))
    running, done = ok(proof(revision=2)), ok(proof("succeeded", revision=3, label=3))
    service.answers(problem(404, "not_found"), running, running, done)
    assert service.sees(lambda client: client.wait(first)).label == 3
    assert service.paths == ["GET /v1/proofs/prf_1/events", *["GET /v1/proofs/prf_1"] * 3]


def test_wait_gives_the_cause_of_a_failure(service: Service) -> None:
    service.answers(ok(proof("failed", problem={"code": "resource.memory", "detail": "out of memory"})))
    failed = service.sees(lambda client: client.get_proof("prf_1"))
    with pytest.raises(JobError, match="out of memory") as failure:
        service.sees(lambda client: client.wait(failed))
    assert (failure.value.job_id, failure.value.code) == ("prf_1", "resource.memory")


@pytest.mark.parametrize("timeout", [0.0, 5.0, 100.0])
def test_wait_ends_when_its_time_is_over(service: Service, timeout: float) -> None:
    service.answers(ok(proof()))
    first = service.sees(lambda client: client.get_proof("prf_1"))
    before = service.clock.now
    with pytest.raises(TimeoutError, match="prf_1"):
        service.sees(lambda client: client.wait(first, timeout))
    assert service.clock.now - before == pytest.approx(timeout)


# Shape


def test_both_clients_have_the_same_methods_under_full_signatures() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert public(Client) == public(AsyncClient)
    for client in (Client(), AsyncClient()):
        signature = inspect.signature(client.create_proof)
        assert list(signature.parameters)[:3] == ["model_id", "values", "scheme"]
        assert "Ask for a proof" in str(client.create_proof.__doc__)


def test_the_client_needs_nothing_of_the_service() -> None:
    program = (
        "import sys, zenserve.client;"
        "print([m for m in sys.modules if m.removeprefix('zenserve.').split('.')[0] in"
        " ('service', 'circuits', 'prover', 'kernels', 'fastapi', 'sqlalchemy', 'numpy')])"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
