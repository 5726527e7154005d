"""Keys, tenants, rates, the audit log, and who is let in where no keys are asked for."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from tests.service.accounts import (
    add_key,
    add_tenant,
    asking_for_keys,
    bearer,
    calling,
    expire,
    key_id,
    revoke,
)
from tests.service.conftest import open_runtime
from zenserve.client import Model
from zenserve.errors import ConflictError
from zenserve.service.access import keys
from zenserve.service.access.principal import SCOPES, Principal
from zenserve.service.api import authentication
from zenserve.service.api.rates import Buckets
from zenserve.service.cli import app
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.base import LOCAL_TENANT

INPUT = [0.1, 0.2, 0.3, 0.4]


@pytest.fixture
def keyed(runtime: Runtime) -> Runtime:
    return asking_for_keys(runtime)


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def audit(http: httpx.Client, key: str) -> list[tuple[str, str | None]]:
    items = http.get("/v1/audit", headers=bearer(key)).json()["items"]
    return [(item["action"], item["target"]) for item in items]


def test_a_key_is_shown_once_and_kept_as_a_digest(http: httpx.Client, keyed: Runtime) -> None:
    manager = add_key(keyed, "manage", "read")
    made = http.post("/v1/keys", json={"name": "ci", "scopes": ["read"]}, headers=bearer(manager))
    assert made.status_code == 201
    assert made.headers["Cache-Control"] == "no-store"
    key = made.json()["key"]
    assert re.fullmatch(r"zen_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", key)
    assert made.json()["id"] == key_id(key)
    assert http.get("/v1/whoami", headers=bearer(key)).json() == {
        "tenant_id": LOCAL_TENANT,
        "actor": key_id(key),
        "scopes": ["read"],
    }
    shown = http.get("/v1/keys", headers=bearer(manager))
    secret = key.split("_", 2)[2]
    assert key_id(key) in shown.text
    assert secret not in shown.text
    with keyed.database.engine.connect() as connection:
        rows = connection.execute(text("SELECT * FROM api_keys")).all()
    assert secret not in str(rows)
    assert all(
        secret.encode() not in file.read_bytes() for file in Path(keyed.settings.data_dir).glob("*.sq*")
    )


def test_a_revoked_key_is_refused_within_seconds(
    http: httpx.Client, keyed: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert authentication._KNOWN_SECONDS < 5
    monkeypatch.setattr(authentication, "_KNOWN_SECONDS", 0.05)
    key, manager = add_key(keyed, "read"), add_key(keyed, "manage", "read")
    assert http.get("/v1/whoami", headers=bearer(key)).status_code == 200
    assert http.delete(f"/v1/keys/{key_id(key)}", headers=bearer(manager)).status_code == 204
    assert http.delete(f"/v1/keys/{key_id(key)}", headers=bearer(manager)).status_code == 204
    time.sleep(0.06)
    assert code(http.get("/v1/whoami", headers=bearer(key))) == (401, "auth.invalid")
    assert audit(http, manager)[:2] == [("key.refuse", None), ("key.revoke", key_id(key))]


def test_a_known_key_is_not_looked_up_each_time(
    http: httpx.Client, keyed: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "_KNOWN_SECONDS", 3600.0)
    looked: list[str] = []
    look = keys.authenticate

    def counted(*given: Any) -> Principal:
        looked.append("up")
        return look(*given)

    monkeypatch.setattr(keys, "authenticate", counted)
    key = add_key(keyed, "read")
    for _ in range(5):
        http.get("/v1/whoami", headers=bearer(key)).raise_for_status()
    assert looked == ["up"]


def test_nobody_gives_what_they_do_not_have(http: httpx.Client, keyed: Runtime) -> None:
    manager, other = add_key(keyed, "manage", "read"), add_tenant(keyed, "other")
    body: dict[str, Any] = {"name": "more", "scopes": ["read", "prove"]}
    refused = http.post("/v1/keys", json=body, headers=bearer(manager))
    assert code(refused) == (403, "auth.scope")
    assert "prove" in refused.json()["detail"]
    body = {"name": "theirs", "scopes": ["read"], "tenant_id": other}
    assert code(http.post("/v1/keys", json=body, headers=bearer(manager))) == (404, "not_found")
    stronger = add_key(keyed, "read", "prove")
    assert code(http.delete(f"/v1/keys/{key_id(stronger)}", headers=bearer(manager))) == (403, "auth.scope")
    admin = add_key(keyed, "admin")
    theirs = http.post("/v1/keys", json=body, headers=bearer(admin)).json()
    assert theirs["tenant_id"] == other
    body = {"name": "nobody's", "scopes": ["read"], "tenant_id": "tnt_nope"}
    assert code(http.post("/v1/keys", json=body, headers=bearer(admin))) == (404, "not_found")


def test_a_tenant_has_so_many_keys(
    http: httpx.Client, keyed: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zenserve.service.storage.repositories.accounts.MOST_KEYS", 3)
    manager, spare, old = (add_key(keyed, "manage", "read") for _ in range(3))
    body = {"name": "one more", "scopes": ["read"]}
    refused = http.post("/v1/keys", json=body, headers=bearer(manager))
    assert code(refused) == (409, "conflict.keys")
    assert "revoke one" in refused.json()["detail"]
    with pytest.raises(ConflictError, match="3 keys"):
        add_key(keyed, "read")
    add_key(keyed, "read", tenant_id=add_tenant(keyed, "other"))
    revoke(keyed, spare)
    expire(keyed, old)
    assert [http.post("/v1/keys", json=body, headers=bearer(manager)).status_code for _ in range(3)] == [
        201,
        201,
        409,
    ]


def test_tenants_and_their_limits(http: httpx.Client, keyed: Runtime) -> None:
    headers = bearer(add_key(keyed, "admin"))
    made = http.post("/v1/tenants", json={"name": "Ada", "max_queued": 3}, headers=headers)
    assert (made.status_code, made.json()["max_queued"]) == (201, 3)
    path = made.headers["Location"]
    changed = http.patch(path, json={"max_queued": None, "max_running": 2}, headers=headers).json()
    assert (changed["name"], changed["max_queued"], changed["max_running"]) == ("Ada", None, 2)
    assert code(http.post("/v1/tenants", json={"name": "Ada"}, headers=headers)) == (409, "conflict.name")
    assert code(http.patch(path, json={"name": "local"}, headers=headers)) == (409, "conflict.name")
    assert code(http.patch(path, content=b"{}", headers=headers)) == (415, "request.media_type")
    assert [item["name"] for item in http.get("/v1/tenants", headers=headers).json()["items"]] == [
        "Ada",
        "local",
    ]


def test_a_tenant_has_no_more_jobs_waiting_than_it_may(with_model: Runtime, model: Model) -> None:
    keyed = asking_for_keys(with_model)
    with calling(keyed) as http:
        admin, key = bearer(add_key(keyed, "admin")), bearer(add_key(keyed, "prove"))
        http.patch(f"/v1/tenants/{LOCAL_TENANT}", json={"max_queued": 1}, headers=admin).raise_for_status()
        body = {"model_id": model.id, "input": INPUT}
        assert http.post("/v1/proofs", json=body, headers=key).status_code == 202
        files = set(with_model.settings.data_dir.glob("artifacts/??/*"))
        refused = http.post("/v1/proofs", json=body, headers=key)
    assert code(refused) == (429, "quota.queued")
    assert files == set(with_model.settings.data_dir.glob("artifacts/??/*"))  # nothing is left of the refused
    assert int(refused.headers["Retry-After"]) > 0


@pytest.mark.usefixtures("_buckets_stay")
def test_tenants_and_addresses_are_slowed_down_apart(runtime: Runtime) -> None:
    keyed = asking_for_keys(runtime, rate_per_minute=4, verify_per_minute=3)
    with calling(keyed) as http:
        one, two = (bearer(add_key(keyed, "read")) for _ in range(2))
        other = bearer(add_key(keyed, "read", tenant_id=add_tenant(keyed, "other")))
        answers = [http.get("/v1/whoami", headers=key) for key in (one, two, one, two, one, two)]
        assert [answer.status_code for answer in answers] == [200] * 4 + [429] * 2
        assert answers[3].headers["RateLimit"].startswith('"tenant";r=0;')
        assert code(answers[5]) == (429, "quota.rate")
        assert 0 < int(answers[5].headers["Retry-After"]) <= 15
        assert http.get("/v1/whoami", headers=other).status_code == 200
        # What good keys are asked for is not their address's, and neither can be had by another path in Host.
        guess = bearer("guess") | {"Host": "x/healthz?"}
        statuses = [http.get("/v1/whoami", headers=guess).status_code for _ in range(6)]
        assert statuses == [401, 401, 401, 401, 429, 429]
        verified = [http.post("/v1/verify", json={}).status_code for _ in range(4)]
        assert verified == [422, 422, 422, 429]
        assert http.get("/healthz").status_code == 200


@pytest.mark.usefixtures("_buckets_stay")
def test_proofs_of_one_request_count_as_if_each_had_been_sent_alone(
    with_model: Runtime, document: dict[str, Any]
) -> None:
    with calling(asking_for_keys(with_model, verify_per_minute=10)) as http:
        batch = {"proofs": [{"proof": document}] * 6}
        assert http.post("/v1/verify/batch", json=batch).status_code == 200
        assert code(http.post("/v1/verify/batch", json=batch)) == (429, "quota.rate")
        assert http.post("/v1/verify", json=batch["proofs"][0]).status_code == 200


@pytest.mark.usefixtures("_buckets_stay")
def test_strangers_cannot_fill_the_audit_log(http: httpx.Client, keyed: Runtime) -> None:
    for _ in range(authentication._REFUSALS_PER_MINUTE + 5):
        assert http.get("/v1/whoami", headers=bearer("guess")).status_code == 401
    assert (
        audit(http, add_key(keyed, "admin")).count(("key.refuse", None))
        == authentication._REFUSALS_PER_MINUTE
    )


def test_buckets_fill_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = 1000.0
    monkeypatch.setattr("zenserve.service.api.rates.time.monotonic", lambda: moment)
    buckets = Buckets("key", 60)
    assert [buckets.take("a").wait for _ in range(61)] == [0] * 60 + [1]
    moment += 2
    assert [buckets.take("a").wait for _ in range(3)] == [0, 0, 1]
    moment += 3600
    assert buckets.take("a").left == 59


def test_buckets_forget_who_was_quiet_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zenserve.service.api.rates._MOST", 2)
    buckets = Buckets("key", 1)
    assert [buckets.take(caller).wait > 0 for caller in "abaca"] == [False, False, True, False, True]
    assert buckets.take("b").wait == 0


def test_hosts_of_one_ipv6_network_share_a_bucket() -> None:
    from starlette.requests import HTTPConnection

    def network(host: str) -> str:
        return authentication.network_of(HTTPConnection({"type": "http", "client": (host, 1), "headers": []}))

    assert network("2001:db8::1") == network("2001:db8::ffff") != network("2001:db8:0:1::1")
    assert network("192.0.2.1") == "192.0.2.1"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Host": "evil.example"}, "auth.host"),
        ({"Host": "evil.example:8000"}, "auth.host"),
        ({"Host": "127.0.0.1.evil.example"}, "auth.host"),
        ({"Host": "[::1"}, "auth.host"),
        ({"Host": ""}, "auth.host"),
        ({"Origin": "https://evil.example"}, "auth.origin"),
        ({"Origin": "null"}, "auth.origin"),
        ({"Origin": "http://["}, "auth.origin"),
        ({"Origin": "http://localhost:1"}, "auth.origin"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/whoami", "/v1/verification-keys/x", "/healthz"])
def test_without_keys_web_pages_are_turned_away(
    shared_url: str, headers: dict[str, str], expected: str, path: str
) -> None:
    assert code(httpx.get(shared_url + path, headers=headers)) == (403, expected)


def test_without_keys_this_host_may_do_everything(shared_url: str) -> None:
    port = shared_url.rpartition(":")[2]
    for headers in ({}, {"Host": f"localhost:{port}"}, {"Origin": shared_url}, {"Host": f"[::1]:{port}"}):
        answer = httpx.get(f"{shared_url}/v1/whoami", headers=headers).json()
        assert (answer["actor"], answer["scopes"]) == ("local", list(SCOPES))


def test_a_body_is_not_read_from_strangers(http: httpx.Client) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            yield b"x" * 1000

    answer = http.post("/v1/proofs", content=endless(), headers={"Content-Type": "application/json"})
    assert code(answer) == (401, "auth.required")


def test_openings_are_handed_out_on_record(with_model: Runtime, model: Model) -> None:
    keyed = asking_for_keys(with_model)
    with calling(keyed) as http:
        prover, revealer = bearer(add_key(keyed, "prove")), add_key(keyed, "reveal", "manage")
        body = {"model_id": model.id, "kind": "input", "values": INPUT}
        made = http.post("/v1/commitments", json=body, headers=prover).json()["id"]
        assert http.get(f"/v1/commitments/{made}/opening", headers=bearer(revealer)).status_code == 200
        entries = http.get("/v1/audit", headers=bearer(revealer)).json()["items"]
    first = entries[0]
    assert (first["action"], first["target"]) == ("commitment.reveal", made)
    assert (first["actor"], first["address"]) == (key_id(revealer), "127.0.0.1")
    assert entries[1]["action"] == "commitment.create"


def test_error_bodies_quote_no_secret(http: httpx.Client, keyed: Runtime) -> None:
    key = add_key(keyed, *SCOPES)
    secret = key.split("_", 2)[2]
    for headers in (bearer(key[:-1] + "!"), {"Authorization": f"Basic {key}"}, {"Authorization": key}):
        answer = http.get("/v1/models", headers=headers)
        assert answer.status_code == 401
        assert secret[:-1] not in answer.text
    body = {"name": "x", "scopes": [secret], "tenant_id": secret + "\n"}
    assert secret not in http.post("/v1/keys", json=body, headers=bearer(key)).text


def test_the_help_names_all_scopes() -> None:
    shown = CliRunner().invoke(app, ["keys", "add", "--help"], env={"COLUMNS": "200"}).output
    assert [scope for scope in SCOPES if scope not in shown] == []


def test_the_command_line_makes_the_first_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZENSERVE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")
    open_runtime(tmp_path / "data").close()

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        return result.output.strip()

    tenant = run("tenants", "add", "Ada", "--max-queued", "5")
    run("tenants", "limit", tenant, "--max-running", "2")
    assert run("tenants", "list").count("tnt_") == 2
    key = run("keys", "add", tenant, "all", "--name", "first", "--days", "30")
    listed = run("keys", "list")
    assert key_id(key) in listed
    assert key.split("_", 2)[2] not in listed
    runtime = asking_for_keys(open_runtime(tmp_path / "data"))
    with calling(runtime) as http:
        who = http.get("/v1/whoami", headers=bearer(key)).json()
        assert (who["tenant_id"], who["scopes"]) == (tenant, list(SCOPES))
        limits = http.get("/v1/tenants", headers=bearer(key)).json()["items"][0]
        assert (limits["max_queued"], limits["max_running"]) == (None, 2)
        run("keys", "revoke", key_id(key))
        assert ("key.revoke", key_id(key)) in audit(http, key)  # known for a moment longer
    runtime.close()


def test_the_command_line_refuses_scopes_that_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZENSERVE_DATA_DIR", str(tmp_path / "data"))
    result = CliRunner().invoke(app, ["keys", "add", LOCAL_TENANT, "everything"])
    assert result.exit_code != 0
    assert "everything" in str(result.exception)


def test_a_key_that_is_revoked_twice_is_noted_once(keyed: Runtime) -> None:
    key = add_key(keyed, "read")
    revoke(keyed, key)
    revoke(keyed, key)
    with keyed.database.engine.connect() as connection:
        noted = connection.execute(text("SELECT count(*) FROM audit_log WHERE action = 'key.revoke'"))
        assert noted.scalar_one() == 1
