"""Both clients and the command line against the real service, which asks for keys."""

from __future__ import annotations

import asyncio
import inspect
import re
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from inspect import signature
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.accounts import add_key
from tests.service.conftest import open_runtime
from tests.service.support import serving, tiny_calibration, tiny_onnx, work_on
from zenserve.client import ApiError, AsyncClient, Client, Model, calls
from zenserve.client.flows import endpoint, listing
from zenserve.client.webhooks import verify
from zenserve.service.access.principal import SCOPES
from zenserve.service.app import create_app
from zenserve.service.jobs.claims import Claims
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.webhooks import sign

Ask = Callable[..., Any]
INPUT = [0.1, 0.2, 0.3, 0.4]


@pytest.fixture
def keyed(prepared: tuple[Path, Model], tmp_path: Path) -> Iterator[Runtime]:
    """A service that asks for keys, with a registered model."""
    shutil.copytree(prepared[0], tmp_path / "data")
    runtime = open_runtime(tmp_path / "data", auth="keys")
    yield runtime
    runtime.close()


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest, keyed: Runtime) -> Iterator[Ask]:
    """What ``use`` of a client comes to: of what comes in numbers, a list."""
    key = add_key(keyed, *SCOPES)

    async def awaited(url: str, use: Ask) -> Any:
        async with AsyncClient(url, api_key=key) as client:
            result = use(client)
            if isinstance(result, AsyncIterator):
                return [item async for item in result]
            return await result if asyncio.iscoroutine(result) else result

    def asked(use: Ask) -> Any:
        if request.param == "async":
            return asyncio.run(awaited(url, use))
        with Client(url, api_key=key) as client:
            result = use(client)
            return list(result) if isinstance(result, Iterator) else result

    with serving(keyed) as url:
        yield asked


def test_a_proof_is_made_waited_for_listed_and_judged(ask: Ask, keyed: Runtime, model: Model) -> None:
    proof = ask(lambda client: client.create_proof(model.id, INPUT, priority=3, deadline_seconds=600))
    assert (proof.priority, proof.state, proof.deadline_at is not None) == (3, "queued", True)
    work_on(keyed, proof.id)
    told: list[Any] = []
    done = ask(lambda client: client.wait(proof, on_progress=told.append))
    assert [seen.state for seen in told] == ["queued", "succeeded"]
    assert [seen.id for seen in ask(lambda client: client.proofs(state="succeeded"))] == [proof.id]
    assert ask(lambda client: client.proofs(state="failed")) == []
    document = ask(lambda client: client.get_proof_document(proof.id))
    key = ask(lambda client: client.get_verification_key(done.verification_key_id))
    assert ask(lambda client: client.verify(document)).valid
    assert ask(lambda client: client.verify_locally(document, key)).valid
    document["statement"]["values"]["label"] ^= 1
    assert not ask(lambda client: client.verify_locally(document, key)).valid
    ask(lambda client: client.delete_proof(proof.id))
    with pytest.raises(ApiError, match="not_found"):
        ask(lambda client: client.get_proof(proof.id))


def test_events_are_of_models_too(ask: Ask, keyed: Runtime) -> None:
    model = ask(lambda client: client.create_model(tiny_onnx(), tiny_calibration(), weight_privacy="public"))
    work_on(keyed, model.id)
    assert [seen.state for seen in ask(lambda client: client.follow(model))] == ["queued", "succeeded"]


def test_what_failed_is_taken_up_again(ask: Ask, keyed: Runtime, model: Model) -> None:
    proof = ask(lambda client: client.create_proof(model.id, INPUT))
    with pytest.raises(ApiError, match=r"conflict\.") as refusal:
        ask(lambda client: client.retry(proof.id))
    assert str(refusal.value.request_id).startswith("req_")
    with keyed.database.write() as session:
        claim = Claims(session).claim(proof.id, "worker_test", 15.0)
        assert claim is not None
        Claims(session).fail(claim, {"code": "resource.memory", "detail": "no", "field": None})
    assert ask(lambda client: client.retry(proof.id)).state == "queued"
    assert ask(lambda client: client.cancel(proof.id)).state == "canceled"


def test_a_list_of_several_pages(ask: Ask, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [ask(lambda client: client.create_commitment(model.id, "input", INPUT)).id for _ in range(3)]
    get = calls.get
    monkeypatch.setattr("zenserve.client.calls.get", lambda *parts, **params: get(*parts, **params, limit=2))
    assert [each.id for each in ask(lambda client: client.commitments())] == made[::-1]


def test_large_files_are_brought_once(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zenserve.client.proving.LARGE_FILE_BYTES", 100)
    first = ask(
        lambda client: client.create_model(
            tiny_onnx(), tiny_calibration(), idempotency_key="once", weight_privacy="public"
        )
    )
    assert first.state == "queued"
    sha256 = ask(lambda client: client.upload(b"something else"))
    assert ask(lambda client: client.upload(b"something else")) == sha256
    ask(lambda client: client.delete_upload(sha256))


def test_accounts(ask: Ask) -> None:
    assert "admin" in ask(lambda client: client.whoami()).scopes
    tenant = ask(lambda client: client.create_tenant("Example", max_queued=5))
    tenant = ask(lambda client: client.update_tenant(tenant.id, max_queued=None, retention_days=7))
    assert (tenant.max_queued, tenant.retention_days, tenant.name) == (None, 7, "Example")
    assert tenant.id in [each.id for each in ask(lambda client: client.tenants())]
    made = ask(lambda client: client.create_key("ci", ["prove"], tenant_id=tenant.id, expires_in_days=1))
    assert made.key.startswith("zen_")
    assert made.id in [each.id for each in ask(lambda client: client.keys())]
    ask(lambda client: client.revoke_key(made.id))
    done = [each.action for each in ask(lambda client: client.audit())]
    assert {"tenant.create", "key.create", "key.revoke"} <= set(done)


def test_webhooks(ask: Ask) -> None:
    webhook = ask(lambda client: client.create_webhook("https://example.com/told", ["proof.failed"]))
    assert webhook.secret.startswith("whsec_")
    assert ask(lambda client: client.get_webhook(webhook.id)).events == ["proof.failed"]
    assert [each.id for each in ask(lambda client: client.webhooks())] == [webhook.id]
    sent = ask(lambda client: client.test_webhook(webhook.id))
    assert [each.id for each in ask(lambda client: client.webhook_deliveries(webhook.id))] == [sent.id]
    assert ask(lambda client: client.redeliver(webhook.id, sent.id)).event == "webhook.test"
    ask(lambda client: client.delete_webhook(webhook.id))


def test_receivers_know_the_service_by_its_signature(ask: Ask, model: Model) -> None:
    webhook = ask(lambda client: client.create_webhook("https://example.com/told"))
    proof = ask(lambda client: client.create_proof(model.id, INPUT))
    ask(lambda client: client.cancel(proof.id))
    (sent,) = ask(lambda client: client.webhook_deliveries(webhook.id))
    headers = sign([webhook.secret], sent.id, int(time.time()), sent.body)
    event = verify(webhook.secret, headers, sent.body.encode())
    assert (event.id, event.type) == (sent.id, "proof.canceled")
    assert (event.data["id"], event.data["url"]) == (proof.id, f"/v1/proofs/{proof.id}")


def test_a_key_that_is_none_and_one_that_may_not(keyed: Runtime) -> None:
    with serving(keyed) as url:
        with Client(url, api_key="zen_0123456789ab_" + "x" * 43) as nobody:
            with pytest.raises(ApiError) as refusal:
                list(nobody.proofs())
            assert (refusal.value.status, refusal.value.code) == (401, "auth.invalid")
            assert nobody.is_ready() is False  # the key is looked at, no worker is there
        with Client(url, api_key=add_key(keyed, "read")) as reader:
            with pytest.raises(ApiError, match="prove") as refusal:
                reader.create_proof("mdl_1", INPUT)
            assert (refusal.value.status, refusal.value.code) == (403, "auth.scope")


def test_who_asks_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    runtime = open_runtime(tmp_path / "data", auth="keys", rate_per_minute=2)
    with serving(runtime) as url, Client(url, api_key=add_key(runtime, "read"), retry_seconds=0) as client:
        with pytest.raises(ApiError) as refusal:
            [client.whoami() for _ in range(5)]
        assert refusal.value.code == "quota.rate"
        assert 0 < (refusal.value.retry_after or 0) <= 30
    runtime.close()


def test_there_is_a_method_for_every_endpoint(keyed: Runtime) -> None:
    """And none for what is not there."""
    asked: set[tuple[str, str]] = set()

    def answer(request: httpx.Request) -> httpx.Response:
        asked.add((request.method, re.sub(r"/(ID|[0-9a-f]{64})\b", "/{}", request.url.path)))
        return httpx.Response(201 if request.method == "PUT" else 404)

    some: dict[str, Any] = {"bytes": b"content", "Privacy": "public", "CommitmentKind": "input"}
    some |= {"Sequence[str]": ["ID"], "Sequence[bytes]": [b"content"]}
    with Client("http://service", api_key="zen_x") as client:
        client._http = httpx.Client(base_url="http://service", transport=httpx.MockTransport(answer))
        for name, method in inspect.getmembers_static(Client):
            if isinstance(method, endpoint | listing):
                call = getattr(client, name)
                needed = [each for each in signature(call).parameters.values() if each.default is each.empty]
                named = [each for each in needed if each.kind is not each.VAR_KEYWORD]
                positional = [some.get(e.annotation, "ID") for e in named if e.kind is not e.KEYWORD_ONLY]
                keywords = {e.name: some.get(e.annotation, "ID") for e in named if e.kind is e.KEYWORD_ONLY}
                with suppress(ApiError):
                    result = call(*positional, **keywords)
                    list(result if isinstance(result, Iterator) else [])
        for resource in ("models", "datasets", "proofs", "streams", "ceremonies"):
            asked.add(("GET", f"/v1/{resource}/{{}}/events"))  # what wait and follow listen to

    paths = create_app(keyed).openapi()["paths"]
    there = {
        (method.upper(), re.sub(r"{\w+}", "{}", path))
        for path, methods in paths.items()
        for method in methods
        if path.startswith("/v1/")
    }
    assert asked - {("GET", "/readyz")} == there - {("GET", "/v1/usage.csv")}  # for spreadsheets
