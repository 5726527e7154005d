"""Who may do what: every route, with every scope, for one's own tenant and for another's.

The table is written by hand. A route that is not in it fails the test, and so does one that is gone.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest
from fastapi.routing import iter_route_contexts

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
from tests.service.support import labelled, tiny_calibration, tiny_onnx, work_on
from zenserve.client import Model
from zenserve.service.access.principal import SCOPES, Scope
from zenserve.service.app import create_app
from zenserve.service.jobs.jobs import Jobs
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.records.ceremonies import Ceremony, Contribution
from zenserve.service.storage.records.streams import Stream

PUBLIC = {
    "GET /",
    "GET /openapi.json",
    "GET /docs",
    "GET /healthz",
    "GET /readyz",
    "GET /version",
    "GET /metrics",  # from this host
    "GET /verify",
    "GET /static/{name}",
    "GET /v1/verification-keys/{key_id}",
    "HEAD /v1/verification-keys/{key_id}",
    "GET /v1/verification-keys/{key_id}/architecture",
    "GET /v1/verification-keys/{key_id}/circuit",
    "GET /v1/verification-keys/{key_id}/contract",
    "GET /v1/issuers",
    "POST /v1/verify",
    "POST /v1/verify/batch",
    "GET /admin/login",
    "GET /admin/login/issuer",
    "GET /admin/login/issuer/callback",
}
# With a cookie instead of a key: tests/service/dashboard/test_forms.py.
PAGES = {
    "GET /admin",
    "GET /admin/",
    "GET /admin/audit",
    "GET /admin/ceremonies",
    "GET /admin/ceremonies/{ceremony_id}",
    "GET /admin/circuits",
    "GET /admin/datasets",
    "GET /admin/health",
    "GET /admin/jobs",
    "GET /admin/jobs/{job_id}",
    "GET /admin/jobs/{job_id}/input.png",
    "GET /admin/jobs/{job_id}/proof",
    "GET /admin/jobs/{job_id}/table",
    "POST /admin/jobs/{job_id}/cancel",
    "POST /admin/jobs/{job_id}/end",
    "POST /admin/jobs/{job_id}/retry",
    "GET /admin/keys",
    "POST /admin/keys",
    "POST /admin/keys/{key_id}/revoke",
    "POST /admin/login",
    "POST /admin/logout",
    "GET /admin/models",
    "POST /admin/models",
    "GET /admin/models/new",
    "GET /admin/models/{model_id}",
    "GET /admin/models/{model_id}/datasets/new",
    "GET /admin/models/{model_id}/prove",
    "GET /admin/models/{model_id}/report",
    "POST /admin/models/{model_id}/datasets",
    "POST /admin/models/{model_id}/prove",
    "GET /admin/proofs",
    "GET /admin/tenants",
    "POST /admin/tenants",
    "POST /admin/tenants/{tenant_id}",
    "GET /admin/webhooks",
    "GET /admin/webhooks/{webhook_id}",
    "POST /admin/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver",
    "POST /admin/webhooks",
    "POST /admin/webhooks/{webhook_id}/delete",
    "POST /admin/webhooks/{webhook_id}/test",
    "GET /admin/{rest:path}",
}


@dataclass(frozen=True)
class Rule:
    """``scopes``: one of them is needed. ``status``: to the owner, of a good request or an empty one.
    ``others``: to the scope admin of another tenant; 404: not even then.
    """

    scopes: str
    status: int
    others: int = 404


ANY = " ".join(SCOPES)
SEE = "read admin"
WITNESS = "read contribute admin"
# What has an id in its path is in the order in which the owner can do all of it to the same thing.
RULES = {
    "GET /v1/whoami": Rule(ANY, 200),
    "POST /v1/models": Rule("register", 422),
    "GET /v1/models": Rule(SEE, 200),
    "GET /v1/models/{model_id}": Rule(SEE, 200, 200),
    "GET /v1/models/{model_id}/events": Rule(SEE, 200, 200),
    "GET /v1/models/{model_id}/receipt": Rule(SEE, 200, 200),
    "GET /v1/models/{model_id}/registration": Rule(SEE, 200, 200),
    "GET /v1/models/{model_id}/architecture": Rule(SEE, 200, 200),
    "GET /v1/models/{model_id}/report": Rule(SEE, 200, 200),
    "PATCH /v1/models/{model_id}": Rule("register", 200),
    "POST /v1/models/{model_id}/twins": Rule("register", 422),
    "POST /v1/models/{model_id}/cancel": Rule("register admin", 409, 409),
    "POST /v1/models/{model_id}/retry": Rule("register admin", 409, 409),
    "DELETE /v1/models/{model_id}": Rule("register", 409),
    "POST /v1/commitments": Rule("prove", 422),
    "GET /v1/commitments": Rule(SEE, 200),
    "GET /v1/commitments/{commitment_id}": Rule(SEE, 200, 200),
    "GET /v1/commitments/{commitment_id}/opening": Rule("reveal", 200),
    "DELETE /v1/commitments/{commitment_id}": Rule("prove", 204),
    "POST /v1/datasets": Rule("prove", 422),
    "GET /v1/datasets": Rule(SEE, 200),
    "GET /v1/datasets/{dataset_id}": Rule(SEE, 200, 200),
    "GET /v1/datasets/{dataset_id}/events": Rule(SEE, 200, 200),
    "GET /v1/datasets/{dataset_id}/opening": Rule("reveal", 200),
    "POST /v1/datasets/{dataset_id}/cancel": Rule("prove admin", 409, 409),
    "POST /v1/datasets/{dataset_id}/retry": Rule("prove admin", 409, 409),
    "DELETE /v1/datasets/{dataset_id}": Rule("prove", 204),
    "POST /v1/proofs": Rule("prove", 422),
    "GET /v1/proofs": Rule(SEE, 200),
    "GET /v1/proofs/{proof_id}": Rule(SEE, 200, 200),
    "GET /v1/proofs/{proof_id}/events": Rule(SEE, 200, 200),
    "GET /v1/proofs/{proof_id}/proof": Rule(SEE, 200, 200),
    "GET /v1/proofs/{proof_id}/calldata": Rule(SEE, 200, 200),
    "POST /v1/proofs/{proof_id}/cancel": Rule("prove admin", 409, 409),
    "POST /v1/proofs/{proof_id}/retry": Rule("prove admin", 409, 409),
    "DELETE /v1/proofs/{proof_id}": Rule("prove", 204),
    "POST /v1/streams": Rule("prove", 422),
    "GET /v1/streams": Rule(SEE, 200),
    "GET /v1/streams/{stream_id}": Rule(SEE, 200, 200),
    "GET /v1/streams/{stream_id}/events": Rule(SEE, 200, 200),
    "GET /v1/streams/{stream_id}/frames": Rule(SEE, 200, 200),
    "GET /v1/streams/{stream_id}/file": Rule(SEE, 200, 200),
    "POST /v1/streams/{stream_id}/frames": Rule("prove", 409),
    "POST /v1/streams/{stream_id}/end": Rule("prove", 200),
    "POST /v1/streams/{stream_id}/cancel": Rule("prove admin", 409, 409),
    "POST /v1/streams/{stream_id}/retry": Rule("prove admin", 409, 409),
    "DELETE /v1/streams/{stream_id}": Rule("prove", 204),
    "POST /v1/ceremonies": Rule("admin", 422),
    "GET /v1/ceremonies": Rule(WITNESS, 200),
    "GET /v1/ceremonies/{ceremony_id}": Rule(WITNESS, 200, 200),
    "GET /v1/ceremonies/{ceremony_id}/events": Rule(WITNESS, 200, 200),
    "GET /v1/ceremonies/{ceremony_id}/files/{sha256}": Rule(WITNESS, 404),
    "POST /v1/ceremonies/{ceremony_id}/contributions": Rule("contribute", 422),
    "GET /v1/contributions/{contribution_id}": Rule(WITNESS, 200, 200),
    "POST /v1/contributions/{contribution_id}/cancel": Rule("admin", 409, 409),
    "POST /v1/ceremonies/{ceremony_id}/close": Rule("admin", 409, 409),
    "POST /v1/ceremonies/{ceremony_id}/finish": Rule("admin", 409, 409),
    "POST /v1/ceremonies/{ceremony_id}/cancel": Rule("admin", 409, 409),
    "DELETE /v1/ceremonies/{ceremony_id}": Rule("admin", 204, 204),
    "PUT /v1/uploads/{sha256}": Rule("prove register contribute", 201),
    "HEAD /v1/uploads/{sha256}": Rule("prove register contribute", 200),
    "DELETE /v1/uploads/{sha256}": Rule("prove register contribute", 204),
    "GET /v1/tenants": Rule("admin", 200),
    "POST /v1/tenants": Rule("admin", 422),
    "PATCH /v1/tenants/{tenant_id}": Rule("admin", 200, 200),
    "GET /v1/tenants/{tenant_id}": Rule("admin", 200, 200),
    "POST /v1/tenants/{tenant_id}/suspend": Rule("admin", 409, 409),  # this one is the service's own
    "POST /v1/tenants/{tenant_id}/resume": Rule("admin", 200, 200),
    "DELETE /v1/tenants/{tenant_id}": Rule("admin", 409, 409),
    "GET /v1/keys": Rule("manage admin", 200),
    "POST /v1/keys": Rule("manage admin", 422),
    "DELETE /v1/keys/{key_id}": Rule("manage admin", 204, 204),
    "GET /v1/usage": Rule("manage admin", 200),
    "GET /v1/usage.csv": Rule("manage admin", 200),
    "GET /v1/audit": Rule("manage admin", 200),
    "GET /v1/webhooks": Rule("manage admin", 200),
    "POST /v1/webhooks": Rule("manage admin", 422),
    "GET /v1/webhooks/{webhook_id}": Rule("manage admin", 200),
    "POST /v1/webhooks/{webhook_id}/rotate": Rule("manage admin", 200),
    "POST /v1/webhooks/{webhook_id}/test": Rule("manage admin", 202),
    "GET /v1/webhooks/{webhook_id}/deliveries": Rule("manage admin", 200),
    "POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": Rule("manage admin", 202),
    "DELETE /v1/webhooks/{webhook_id}": Rule("manage admin", 204),
}
FILE = b"a file"
INPUT = [0.1, 0.2, 0.3, 0.4]
UNKNOWN = {
    "model_id": "mdl_000000000000000000000000",
    "commitment_id": "cmt_000000000000000000000000",
    "dataset_id": "dst_000000000000000000000000",
    "proof_id": "prf_000000000000000000000000",
    "stream_id": "str_000000000000000000000000",
    "tenant_id": "tnt_000000000000000000000000",
    "key_id": "key_000000000000",
    "webhook_id": "whk_000000000000000000000000",
    "delivery_id": "msg_000000000000000000000000",
    "ceremony_id": "cer_000000000000000000000000",
    "contribution_id": "ctb_000000000000000000000000",
    "sha256": hashlib.sha256(b"another file").hexdigest(),
}
FORMS = ("POST /v1/models", "POST /v1/datasets")
BODIES: dict[str, dict[str, Any]] = {
    "PATCH /v1/models/{model_id}": {"require_ceremony": False},
    "POST /v1/models/{model_id}/twins": {"system": "groth16"},
    "POST /v1/streams/{stream_id}/frames": {"number": 0, "input": INPUT},
    "POST /v1/ceremonies/{ceremony_id}/contributions": {
        "states": [{"extends": "0" * 64, "sha256": "0" * 64}]
    },
    "POST /v1/ceremonies/{ceremony_id}/close": {"beacon": "a round of drand"},
    "POST /v1/ceremonies/{ceremony_id}/finish": {"value": "0" * 64},
}
"""Good ones, where an empty one is refused before anything is looked for."""


@dataclass(frozen=True)
class World:
    """What the owner has, and the keys of both tenants by their only scope."""

    http: httpx.Client
    runtime: Runtime
    things: dict[str, str]
    owner: dict[Scope, str]
    stranger: dict[Scope, str]
    dead: dict[str, str]

    def ask(self, route: str, key: str | None, things: dict[str, str]) -> httpx.Response:
        method, path = route.split(" ")
        options: dict[str, Any] = {"json": BODIES.get(route, {})}
        if route in FORMS:
            options = {"files": {"nothing": b""}}
        elif method == "PUT":
            options = {"content": FILE}
        elif method not in ("POST", "PATCH"):
            options = {}
        headers = bearer(key) | {"X-Request-ID": "req_1"}
        return self.http.request(method, path.format(**things), headers=headers, **options)


@pytest.fixture(scope="module")
def world(prepared: tuple[Any, Model], tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world") / "data"
    shutil.copytree(prepared[0], folder)
    runtime = asking_for_keys(open_runtime(folder), rate_per_minute=1_000_000)
    stranger = add_tenant(runtime, "stranger")
    owners = {scope: add_key(runtime, scope) for scope in SCOPES}
    strangers = {scope: add_key(runtime, scope, tenant_id=stranger) for scope in SCOPES}
    dead = {"expired": add_key(runtime, *SCOPES), "revoked": add_key(runtime, *SCOPES)}
    expire(runtime, dead["expired"])
    revoke(runtime, dead["revoked"])
    with calling(runtime) as http:
        things = _own(runtime, http, prepared[1].id)
        yield World(http, runtime, things, owners, strangers, dead)
    runtime.close()


def _own(runtime: Runtime, http: httpx.Client, model_id: str) -> dict[str, str]:
    headers = bearer(add_key(runtime, *SCOPES))
    files = dict(zip(("samples", "labels"), labelled(3), strict=True))
    form = {"model_id": model_id, "privacy": "private", "shard_size": "3"}
    dataset = http.post("/v1/datasets", files=files, data=form, headers=headers).json()
    body = {"model_id": model_id, "kind": "input", "values": INPUT}
    commitment = http.post("/v1/commitments", json=body, headers=headers).json()
    proof = http.post("/v1/proofs", json={"model_id": model_id, "input": INPUT}, headers=headers).json()
    sha256 = hashlib.sha256(FILE).hexdigest()
    assert http.put(f"/v1/uploads/{sha256}", content=FILE, headers=headers).status_code == 201
    hook = http.post("/v1/webhooks", json={"url": "https://example.com/hook"}, headers=headers).json()
    delivery = http.post(f"/v1/webhooks/{hook['id']}/test", headers=headers).json()
    for job in (dataset, proof):
        work_on(runtime, job["id"])
    ceremony_id, contribution_id = _ceremony(runtime, model_id)
    return {
        "model_id": model_id,
        "dataset_id": dataset["id"],
        "commitment_id": commitment["id"],
        "proof_id": proof["id"],
        "ceremony_id": ceremony_id,
        "contribution_id": contribution_id,
        "stream_id": _stream(runtime),
        "sha256": sha256,
        "tenant_id": LOCAL_TENANT,
        "webhook_id": hook["id"],
        "delivery_id": delivery["id"],
        "key_id": key_id(add_key(runtime, "read")),
    }


def _ceremony(runtime: Runtime, model_id: str) -> tuple[str, str]:
    """One that is open, without circuits, and what somebody handed in to it and was refused."""
    with runtime.database.write() as session:
        opened = Jobs(session).create("cer_1", "ceremony")
        refused = Jobs(session).create("ctb_1", "contribution")
        opened.state, refused.state = "succeeded", "failed"
        session.add(Ceremony(id=opened.id, model_id=model_id, name="c", asked=[], powers="0" * 64))
        session.flush()
        session.add(Contribution(id=refused.id, ceremony_id=opened.id))
    return "cer_1", "ctb_1"


def _stream(runtime: Runtime) -> str:
    """One that is over, without frames."""
    with runtime.database.write() as session:
        over = Jobs(session).create("str_1", "stream")
        over.state = "succeeded"
        row = Stream(id=over.id, name="s", classes=2, input_privacy="private", backlog=1, rules={})
        row.head, row.begun_at, row.ended_at = {}, over.created_at, over.created_at
        session.add(row)
    return "str_1"


def test_the_table_has_every_route(runtime: Runtime) -> None:
    routes = {
        f"{method} {route.path}"
        for route in iter_route_contexts(create_app(runtime).routes)
        for method in route.methods or ()
        if not (method == "HEAD" and "GET" in (route.methods or ()))
    }
    assert routes == PUBLIC | PAGES | RULES.keys()


def test_the_description_says_what_each_route_needs(runtime: Runtime) -> None:
    paths = create_app(runtime).openapi()["paths"]
    for route, rule in RULES.items():
        method, path = route.split(" ")
        wanted = [] if rule.scopes == ANY else rule.scopes.split()
        assert paths[path][method.lower()]["security"] == [{"HTTPBearer": wanted}], route
        assert {"401", "403", "429"} <= paths[path][method.lower()]["responses"].keys()
    for route in PUBLIC:
        method, path = route.split(" ")
        assert "security" not in paths.get(path, {}).get(method.lower(), {}), route


@pytest.mark.parametrize("route", sorted(PUBLIC))
def test_public_routes_ask_nobody(world: World, route: str) -> None:
    for key in (None, world.owner["read"]):
        answer = world.ask(route, key, {"key_id": "0" * 64, "name": "zenserve.css"})
        # A key is looked at where it may help; pages and their forms have their own ways.
        assert answer.status_code not in (401, 403) or (route == "GET /metrics" and key is not None)


@pytest.mark.parametrize("route", sorted(PAGES))
def test_pages_are_for_those_who_logged_in(world: World, route: str) -> None:
    things = {**UNKNOWN, "job_id": world.things["proof_id"]}
    for key in (None, world.owner["admin"]):
        answer = world.ask(route.replace("{rest:path}", "rest"), key, things)
        assert answer.status_code in (303, 401, 403, 404)
        assert answer.status_code != 303 or answer.headers["Location"].startswith("/admin/login")


@pytest.mark.parametrize("route", RULES)
def test_nobody_without_a_good_key(world: World, route: str) -> None:
    wrong = world.owner["read"][:-1] + ("A" if world.owner["read"][-1] != "A" else "B")
    for key in (None, wrong, "nonsense", "zen_000000000000_" + "0" * 43, *world.dead.values()):
        answer = world.ask(route, key, world.things)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        if not route.startswith("HEAD"):
            assert answer.json()["code"] == ("auth.invalid" if key else "auth.required")


@pytest.mark.parametrize("route", RULES)
def test_no_scope_but_the_right_ones(world: World, route: str) -> None:
    _check_scopes(world, route)


def _check_scopes(world: World, route: str) -> None:
    for keys in (world.owner, world.stranger):
        for scope in set(SCOPES) - set(RULES[route].scopes.split()):
            answer = world.ask(route, keys[scope], world.things)
            assert answer.status_code == 403, scope
            if not route.startswith("HEAD"):
                assert answer.json()["code"] == "auth.scope"
                assert RULES[route].scopes.split()[0] in answer.json()["detail"]


# To PUT an upload is to bring one's own copy.
FOREIGN = [route for route in RULES if "{" in route and not route.startswith("PUT")]


@pytest.mark.parametrize("route", FOREIGN)
def test_what_is_another_tenant_s_is_not_there(world: World, route: str) -> None:
    _check_foreign(world, route)


def test_users_of_an_openid_provider_may_do_as_much(world: World) -> None:
    """Their tokens, each for a tenant and a scope, go the way of the keys."""
    pytest.importorskip("joserfc")
    from tests.service.provider import providing

    with providing() as provider:
        tenants = {"owner": LOCAL_TENANT, "stranger": _tenant(world)}
        rules = [f"{who}-{scope}={tenant}:{scope}" for who, tenant in tenants.items() for scope in SCOPES]
        given = provider.settings(*rules, rate_per_minute=1_000_000)
        owner, stranger = ({scope: provider.token(f"{who}-{scope}") for scope in SCOPES} for who in tenants)
        with calling(asking_for_keys(world.runtime, **given)) as http:
            users = replace(world, http=http, owner=owner, stranger=stranger)
            for route in RULES:
                _check_scopes(users, route)
            for route in FOREIGN:
                _check_foreign(users, route)
            for path in ("/v1/whoami", "/v1/models", f"/v1/proofs/{world.things['proof_id']}"):
                answer = http.get(path, headers=bearer(users.owner["read"]))
                assert answer.status_code == 200, path


def _check_foreign(world: World, route: str) -> None:
    rule = RULES[route]
    for scope in set(rule.scopes.split()) & set(SCOPES) - {"admin"}:
        key = world.stranger[scope]  # type: ignore[index]
        theirs = world.ask(route, key, world.things)
        unknown = world.ask(route, key, UNKNOWN)
        assert (theirs.status_code, unknown.status_code) == (404, 404)
        name = route.split("{")[1].split("}")[0]
        assert theirs.text.replace(world.things[name], "…") == unknown.text.replace(UNKNOWN[name], "…")


# To PUT an upload is to bring one's own, and the key and the ceremony have to last for the owner.
@pytest.mark.parametrize(
    "route",
    [r for r in RULES if "{" in r and not r.startswith(("PUT", "DELETE /v1/keys", "DELETE /v1/cere"))],
)
def test_what_admins_may_do_to_other_tenants_things(world: World, route: str) -> None:
    """With the route's own scopes as well: the openings and files of others stay theirs."""
    key = add_key(world.runtime, *SCOPES, tenant_id=_tenant(world))
    assert world.ask(route, key, world.things).status_code == RULES[route].others


def _tenant(world: World) -> str:
    answer = world.http.get("/v1/whoami", headers=bearer(world.stranger["read"]))
    return str(answer.json()["tenant_id"])


def _split(rule: Rule) -> list[Scope]:
    return [scope for scope in SCOPES if scope in rule.scopes.split()]


def test_lists_show_one_s_own_and_admins_all(world: World) -> None:
    for path in ("models", "proofs", "keys", "audit"):
        scope: Scope = "manage" if path in ("keys", "audit") else "read"
        mine = world.http.get(f"/v1/{path}", headers=bearer(world.stranger[scope])).json()["items"]
        assert LOCAL_TENANT not in {item["tenant_id"] for item in mine}
        everything = world.http.get(f"/v1/{path}?limit=200", headers=bearer(world.stranger["admin"])).json()
        assert LOCAL_TENANT in {item["tenant_id"] for item in everything["items"]}


def test_another_tenant_s_model_proves_nothing(world: World) -> None:
    body = {"model_id": world.things["model_id"], "input": INPUT}
    all_of_them = add_key(world.runtime, *SCOPES, tenant_id=_tenant(world))
    answer = world.http.post("/v1/proofs", json=body, headers=bearer(all_of_them))
    assert answer.status_code == 404
    body = {"model_id": world.things["model_id"], "kind": "input", "values": INPUT}
    assert world.http.post("/v1/commitments", json=body, headers=bearer(all_of_them)).status_code == 404
    files = {"model": tiny_onnx(), "calibration": tiny_calibration()}
    form = {"parent_id": world.things["model_id"], "weight_privacy": "committed"}
    answer = world.http.post("/v1/models", files=files, data=form, headers=bearer(all_of_them))
    assert (answer.status_code, answer.json()["field"]) == (404, "parent_id")


def test_the_owner_may_do_it_all(world: World) -> None:
    """In the order of the table, at the end of it all."""
    for route, rule in RULES.items():
        statuses = [world.ask(route, world.owner[scope], world.things).status_code for scope in _split(rule)]
        expected = [rule.status] * len(statuses)
        if route.startswith(("DELETE /v1/uploads", "DELETE /v1/webhooks")):
            expected[1:] = [404] * (len(expected) - 1)  # it is gone
        if route.startswith("DELETE /v1/keys"):
            expected[0] = 403  # that key may read, and a key that may only manage has no power over it
        assert statuses == expected, route
