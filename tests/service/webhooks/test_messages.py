"""Messages to webhooks: what they say, how they are signed, who is told and when."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import select, update

from tests.patience import until
from tests.service.support import add_job, serving
from tests.service.webhooks.receiver import SIGNING, courier, deliveries, end, hook, receiver
from zenserve.client.errors import SignatureError
from zenserve.client.webhooks import verify
from zenserve.service.api.routes.webhooks import Message
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler import webhooks
from zenserve.service.storage.database import now
from zenserve.service.storage.records.accounts import Tenant
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.webhooks import Delivery, Webhook


def test_a_message_says_what_happened_and_is_signed(open_networks: Runtime) -> None:
    with receiver() as endpoint:
        hook(open_networks, endpoint.url)
        end(open_networks)
        with courier(open_networks):
            until(lambda: deliveries(open_networks)[0].state == "delivered")
    [(headers, body)] = endpoint.came
    message = json.loads(body)
    Message.model_validate(message)
    assert message["type"] == "proof.canceled"
    assert message["data"]["id"] == "prf_1"
    assert message["data"]["url"] == "/v1/proofs/prf_1"
    assert message["data"]["labels"] == {"run": "17"}
    assert headers["content-type"] == "application/json"
    # The specification, in its own words: base64(HMAC-SHA256(secret, "id.timestamp.payload")).
    key = base64.b64decode(SIGNING.split("_", 1)[1], validate=True)
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}".encode()
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert abs(time.time() - int(headers["webhook-timestamp"])) < 30
    assert 24 <= len(key) <= 64


def test_the_signature_is_that_of_the_specification() -> None:
    """The example of https://www.standardwebhooks.com's libraries."""
    headers = webhooks.sign(
        ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        '{"test": 2432232314}',
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_rotated_secret_signs_beside_the_one_of_before_for_a_day(open_networks: Runtime) -> None:
    def signed() -> tuple[dict[str, str], str]:
        sent = len(endpoint.came)
        httpx.post(f"{url}/v1/webhooks/{first['id']}/test").raise_for_status()
        until(lambda: len(endpoint.came) > sent)
        return endpoint.came[-1]

    def judged(secret: str, headers: dict[str, str], body: str) -> bool:
        try:
            verify(secret, headers, body.encode())
        except SignatureError:
            return False
        return True

    with receiver() as endpoint, serving(open_networks) as url, courier(open_networks):
        first = httpx.post(f"{url}/v1/webhooks", json={"url": endpoint.url}).raise_for_status().json()
        fresh = httpx.post(f"{url}/v1/webhooks/{first['id']}/rotate").raise_for_status().json()
        assert fresh["secret"] != first["secret"]
        both = signed()
        assert [judged(each["secret"], *both) for each in (first, fresh)] == [True, True]
        with open_networks.database.write() as session:
            session.get_one(Webhook, first["id"]).previous_until = now() - timedelta(seconds=1)
        one = signed()
        assert [judged(each["secret"], *one) for each in (first, fresh)] == [False, True]
        shown = httpx.get(f"{url}/v1/webhooks/{first['id']}").json()
    assert shown.keys() & {"secret", "previous_secret"} == set()


def test_a_message_is_there_if_and_only_if_the_end_of_the_job_was_committed(runtime: Runtime) -> None:
    hook(runtime, "https://example.com/")
    add_job(runtime, "prf_1", "proof")

    def cancel_and_break() -> None:
        with runtime.database.write() as session:
            Jobs(session).cancel("prf_1")
            assert session.scalar(select(Delivery)) is not None
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cancel_and_break()
    assert deliveries(runtime) == []
    with runtime.database.write() as session:
        Jobs(session).cancel("prf_1")
        Jobs(session).cancel("prf_1")
    [row] = deliveries(runtime)
    assert (row.job_id, row.event, row.state) == ("prf_1", "proof.canceled", "waiting")


def test_those_are_told_who_asked_for_it_about_what_is_theirs(runtime: Runtime) -> None:
    with runtime.database.write() as session:
        session.add(Tenant(id="tnt_other", name="other", created_at=now()))
    hook(runtime, "https://example.com/", 1)
    hook(runtime, "https://example.com/", 2, tenant="tnt_other")
    hook(runtime, "https://example.com/", 3, events=["model.canceled"])
    hook(runtime, "https://example.com/", 4, disabled_at=now())
    end(runtime, "prf_1", "proof")
    end(runtime, "prf_2", "accuracy")
    end(runtime, "mdl_1", "model")
    end(runtime, "dst_1", "dataset")
    end(runtime, "shd_1", "shard")
    told = {(row.webhook_id, row.job_id, row.event) for row in deliveries(runtime)}
    assert told == {
        ("whk_1", "prf_1", "proof.canceled"),
        ("whk_1", "prf_2", "proof.canceled"),
        ("whk_3", "mdl_1", "model.canceled"),
    }


def test_a_job_that_ends_twice_is_told_of_twice(runtime: Runtime) -> None:
    hook(runtime, "https://example.com/")
    end(runtime)
    with runtime.database.write() as session:
        session.execute(update(Job).values(state="queued"))
        Jobs(session).cancel("prf_1")
    first, second = deliveries(runtime)
    assert first.id != second.id
