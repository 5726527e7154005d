"""Webhooks over the API."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.patience import until
from tests.service.support import serving
from tests.service.webhooks.receiver import courier, deliveries, end, hook, receiver
from zenserve.client.webhooks import verify
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import now
from zenserve.service.storage.records.accounts import Tenant
from zenserve.service.storage.records.webhooks import Webhook
from zenserve.service.storage.repositories import webhooks as repository
from zenserve.service.storage.repositories.webhooks import Deliveries


@pytest.fixture
def web(open_networks: Runtime) -> Iterator[httpx.Client]:
    with serving(open_networks) as url, httpx.Client(base_url=f"{url}/v1") as client:
        yield client


def test_a_webhook_from_its_making_to_its_end(
    open_networks: Runtime, web: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with receiver() as endpoint:
        made = web.post("/webhooks", json={"url": endpoint.url, "events": ["proof.canceled"]})
        assert made.status_code == 201, made.text
        webhook = made.json()
        secret = webhook.pop("secret")
        assert secret.startswith("whsec_")
        assert made.headers["Cache-Control"] == "no-store"
        place = made.headers["Location"].removeprefix("/v1")
        assert web.get(place).json() == webhook
        assert web.get("/webhooks").json() == {"items": [webhook], "next_cursor": None}
        with open_networks.database.read() as session:
            assert secret.encode() not in session.get_one(Webhook, webhook["id"]).secret
        with courier(open_networks):
            test = web.post(f"{place}/test").json()
            until(lambda: len(endpoint.came) == 1)
            end(open_networks)
            until(lambda: len(endpoint.came) == 2)
            until(lambda: {row.state for row in deliveries(open_networks)} == {"delivered"})
            newest, oldest = web.get(f"{place}/deliveries").json()["items"]
            assert (newest["event"], newest["job_id"]) == ("proof.canceled", "prf_1")
            assert (oldest["id"], oldest["event"]) == (test["id"], "webhook.test")
            again = web.post(f"{place}/deliveries/{newest['id']}/redeliver")
            assert (again.status_code, again.json()["state"]) == (202, "waiting")
            until(lambda: len(endpoint.came) == 3)
            until(lambda: len(deliveries(open_networks)[-1].attempts) == 2)
        assert endpoint.came[1][0]["webhook-id"] == endpoint.came[2][0]["webhook-id"] == newest["id"]
        assert endpoint.came[1][1] == endpoint.came[2][1] == newest["body"]
        for headers, body in endpoint.came:
            assert verify(secret, headers, body.encode()).id == headers["webhook-id"]
    assert web.delete(place).status_code == 204
    assert web.get(place).status_code == 404
    assert deliveries(open_networks) == []
    seen = caplog.text + "".join(str(record.__dict__) for record in caplog.records)
    assert secret not in seen
    assert secret.removeprefix("whsec_") not in seen


def test_the_log_of_a_webhook_comes_in_pages(open_networks: Runtime, web: httpx.Client) -> None:
    hook(open_networks, "https://example.com/")
    for number in range(5):
        end(open_networks, f"prf_{number}")
    seen, cursor = [], None
    while True:
        page = web.get(
            "/webhooks/whk_1/deliveries", params={"limit": 2, **({"cursor": cursor} if cursor else {})}
        )
        seen += [item["job_id"] for item in page.json()["items"]]
        if (cursor := page.json()["next_cursor"]) is None:
            break
    assert seen == [f"prf_{number}" for number in reversed(range(5))]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/webhooks/whk_1"),
        ("DELETE", "/webhooks/whk_1"),
        ("POST", "/webhooks/whk_1/test"),
        ("GET", "/webhooks/whk_1/deliveries"),
        ("POST", "/webhooks/whk_1/deliveries/{id}/redeliver"),
        ("POST", "/webhooks/whk_2/deliveries/{id}/redeliver"),
    ],
)
def test_other_tenants_webhooks_are_not_there(
    open_networks: Runtime, web: httpx.Client, method: str, path: str
) -> None:
    with open_networks.database.write() as session:
        session.add(Tenant(id="tnt_other", name="other", created_at=now()))
    hook(open_networks, "https://example.com/", 1, tenant="tnt_other")
    hook(open_networks, "https://example.com/", 2)
    with open_networks.database.write() as session:
        theirs = Deliveries(session).add_test(session.get_one(Webhook, "whk_1"))
    answer = web.request(method, path.format(id=theirs.id))
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert [item["id"] for item in web.get("/webhooks").json()["items"]] == ["whk_2"]
    assert len(deliveries(open_networks)) == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "https://10.0.0.1/"}, "url"),
        ({"url": "https://example.com/" + "a" * 2000}, "url"),
        ({"url": "https://example.com/", "events": []}, "events"),
        ({"url": "https://example.com/", "events": ["proof.begun"]}, "events.0"),
        ({"url": "https://example.com/", "secret": "mine"}, "secret"),
    ],
)
def test_a_webhook_that_cannot_be_is_refused(web: httpx.Client, body: dict[str, Any], field: str) -> None:
    answer = web.post("/webhooks", json=body)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert web.get("/webhooks").json()["items"] == []


def test_a_tenant_has_so_many_webhooks_at_most(web: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "MOST_WEBHOOKS", 1)
    body = {"url": "https://example.com/"}
    assert web.post("/webhooks", json=body).status_code == 201
    refused = web.post("/webhooks", json=body)
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict.webhooks")
