"""Tenants that are suspended, and tenants that go with all that they have."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select, text, update
from typer.testing import CliRunner

from tests.service.accounts import add_key, add_tenant, asking_for_keys, bearer
from tests.service.conftest import open_runtime
from tests.service.support import labelled, tiny_calibration, tiny_onnx
from zenserve.service.access.principal import SCOPES
from zenserve.service.api import authentication
from zenserve.service.cli import app
from zenserve.service.jobs.claims import Claim, Claims
from zenserve.service.jobs.queue import Queue
from zenserve.service.jobs.scheduling import claim_next
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler import removal
from zenserve.service.scheduler.removal import remove_tenants
from zenserve.service.storage.records.accounts import Tenant
from zenserve.service.storage.records.base import LOCAL_TENANT
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Model
from zenserve.service.storage.repositories import stored

INPUT = [0.1, 0.2, 0.3, 0.4]
FILE = b"a file"


@pytest.fixture
def keyed(each_runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    monkeypatch.setattr(Queue, "send", lambda *_: None)  # there is no broker
    monkeypatch.setattr(authentication, "_KNOWN_SECONDS", 0.0)
    return asking_for_keys(each_runtime)


def claim(runtime: Runtime) -> Claim | None:
    with runtime.database.write() as session:
        return claim_next(session, "w", 60.0, ["cpu"], 1 << 40)


def files(runtime: Runtime) -> set[Path]:
    return {path for path in (runtime.settings.data_dir / "artifacts").glob("??/*") if path.is_file()}


def furnish(http: httpx.Client, runtime: Runtime, key: str) -> dict[str, Any]:
    """One of each thing, for the tenant of this key; what asks for another proof."""
    headers = bearer(key)
    network = {"model": tiny_onnx(), "calibration": tiny_calibration()}
    model_id = http.post("/v1/models", files=network, headers=headers).raise_for_status().json()["id"]
    with runtime.database.write() as session:
        session.execute(update(Job).where(Job.id == model_id).values(state="succeeded"))
        session.execute(update(Model).where(Model.id == model_id).values(commitment="00" * 48))
    proof = {"model_id": model_id, "input": INPUT}
    commitment = {"model_id": model_id, "kind": "input", "values": INPUT}
    samples = dict(zip(("samples", "labels"), labelled(3), strict=True))
    hook = http.post("/v1/webhooks", json={"url": "https://example.com/"}, headers=headers).json()["id"]
    for answer in (
        http.post("/v1/proofs", json=proof, headers=headers),
        http.post("/v1/proofs", json=proof, headers=headers),
        http.post("/v1/commitments", json=commitment, headers=headers),
        http.post(
            "/v1/datasets", files=samples, data={"model_id": model_id, "privacy": "private"}, headers=headers
        ),
        http.put(f"/v1/uploads/{hashlib.sha256(FILE).hexdigest()}", content=FILE, headers=headers),
        http.post(f"/v1/webhooks/{hook}/test", headers=headers),
    ):
        answer.raise_for_status()
    return proof


def test_a_suspended_tenant_is_refused_and_none_of_its_jobs_taken(http: httpx.Client, keyed: Runtime) -> None:
    tenant = add_tenant(keyed, "late payers")
    admin, key = bearer(add_key(keyed, "admin")), add_key(keyed, *SCOPES, tenant_id=tenant)
    furnish(http, keyed, key)
    suspended = http.post(f"/v1/tenants/{tenant}/suspend", headers=admin).raise_for_status().json()
    assert suspended["suspended_at"]
    again = http.post(f"/v1/tenants/{tenant}/suspend", headers=admin).json()
    assert again == suspended
    for method, path in (("GET", "/v1/whoami"), ("GET", "/v1/proofs"), ("POST", "/v1/proofs")):
        answer = http.request(method, path, headers=bearer(key))
        assert (answer.status_code, answer.json()["code"]) == (403, "auth.suspended")
    assert http.post("/admin/login", data={"key": key}).status_code in (401, 403)
    assert claim(keyed) is None
    assert http.post(f"/v1/tenants/{tenant}/resume", headers=admin).json()["suspended_at"] is None
    assert http.get("/v1/whoami", headers=bearer(key)).status_code == 200
    assert claim(keyed) is not None


def test_what_was_let_in_before_is_refused_at_the_last_door(
    http: httpx.Client, keyed: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key is known for some seconds without a look at it."""
    tenant = add_tenant(keyed, "late payers")
    admin, key = bearer(add_key(keyed, "admin")), add_key(keyed, *SCOPES, tenant_id=tenant)
    proof = furnish(http, keyed, key)
    monkeypatch.setattr(authentication, "_KNOWN_SECONDS", 3600.0)
    http.get("/v1/whoami", headers=bearer(key)).raise_for_status()
    before = files(keyed)
    http.post(f"/v1/tenants/{tenant}/suspend", headers=admin).raise_for_status()
    commitment = {"model_id": proof["model_id"], "kind": "input", "values": INPUT}
    other = hashlib.sha256(b"other").hexdigest()
    for answer in (
        http.post("/v1/proofs", json=proof, headers=bearer(key)),
        http.post("/v1/commitments", json=commitment, headers=bearer(key)),
        http.put(f"/v1/uploads/{other}", content=b"other", headers=bearer(key)),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "auth.suspended")
    assert files(keyed) == before


def test_one_s_own_tenant_and_the_service_s_stay(http: httpx.Client, keyed: Runtime) -> None:
    other = add_tenant(keyed, "other")
    admin = bearer(add_key(keyed, "admin", tenant_id=other))
    for tenant in (other, LOCAL_TENANT):
        for method, path in (("POST", f"/v1/tenants/{tenant}/suspend"), ("DELETE", f"/v1/tenants/{tenant}")):
            answer = http.request(method, path, headers=admin)
            assert (answer.status_code, answer.json()["code"]) == (409, "conflict.own_tenant")


def test_a_tenant_goes_with_all_that_it_has_and_is_remembered(
    http: httpx.Client, keyed: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = bearer(add_key(keyed, *SCOPES))
    furnish(http, keyed, add_key(keyed, *SCOPES))
    before = files(keyed)
    tenant = add_tenant(keyed, "leaving")
    key = add_key(keyed, *SCOPES, tenant_id=tenant)
    furnish(http, keyed, key)
    with keyed.database.write() as session:  # its own jobs alone are taken here
        session.execute(update(Job).where(Job.tenant_id == LOCAL_TENANT).values(queue="gpu"))
    running = claim(keyed)
    assert running is not None
    gone = http.delete(f"/v1/tenants/{tenant}", headers=admin)
    assert gone.status_code == 202
    assert gone.json()["deleted_at"] == gone.json()["suspended_at"]
    assert http.post(f"/v1/tenants/{tenant}/resume", headers=admin).json()["code"] == "conflict.deleted"
    assert http.get("/v1/whoami", headers=bearer(key)).json()["code"] == "auth.suspended"

    monkeypatch.setattr(removal, "_AT_ONCE", 3)  # so that it takes many rounds
    for _ in range(20):
        remove_tenants(keyed)
    with keyed.database.read() as session:  # it waits for the worker
        left = list(session.scalars(select(Job.id).where(Job.tenant_id == tenant, Job.kind != "model")))
        assert left == [running.id]
        assert session.get(Tenant, tenant) is not None
    with keyed.database.write() as session:
        assert Claims(session).renew(running, "compile", 0.0, 60.0) == "cancel"
        Claims(session).canceled(running)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # after the commit, before its file is gone
        patch.setattr(type(keyed.store), "delete", crash)
        with pytest.raises(KeyboardInterrupt):
            remove_tenants(keyed)
    for _ in range(5):
        remove_tenants(keyed)
    assert http.get(f"/v1/tenants/{tenant}", headers=admin).status_code == 404
    with keyed.database.engine.connect() as connection:
        for table in ("jobs", "commitments", "uploads", "api_keys", "webhooks"):
            count = f"SELECT count(*) FROM {table} WHERE tenant_id = :tenant"  # noqa: S608
            assert connection.scalar(text(count), {"tenant": tenant}) == 0
            assert connection.scalar(text(count), {"tenant": LOCAL_TENANT})
    with keyed.database.read() as session:
        keyed.store.delete_others(stored(session), 0.0)
    assert files(keyed) >= before
    assert len(files(keyed) - before) <= 1  # the basis, which is nobody's
    log = http.get("/v1/audit?limit=200", headers=admin).json()["items"]
    of_it = [entry["action"] for entry in log if entry["target"] == tenant]
    assert of_it == ["tenant.gone", "tenant.delete", "tenant.create"]


def test_at_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZENSERVE_DATA_DIR", str(tmp_path / "data"))
    runtime = open_runtime(tmp_path / "data")
    run = CliRunner().invoke
    tenant = run(app, ["tenants", "add", "Ada", "--field", "id"]).stdout.strip()
    for command, suspended, deleted in (
        ("suspend", True, False),
        ("resume", False, False),
        ("delete", True, True),
    ):
        assert run(app, ["tenants", command, tenant]).exit_code == 0
        with runtime.database.read() as session:
            row = session.get_one(Tenant, tenant)
            assert (row.suspended_at is not None, row.deleted_at is not None) == (suspended, deleted)
    remove_tenants(runtime)
    with runtime.database.read() as session:
        assert session.get(Tenant, tenant) is None
    runtime.close()
