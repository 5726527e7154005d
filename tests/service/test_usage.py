"""What each tenant used, for its bill: it stays when what it made is deleted."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from typer.testing import CliRunner

from tests.service.accounts import add_key, add_tenant, asking_for_keys, bearer
from tests.service.support import add_job, work_on
from zenserve.client import Client, Model
from zenserve.service.cli import app
from zenserve.service.jobs.claims import Claims
from zenserve.service.jobs.jobs import Jobs, Terms
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.base import LOCAL_TENANT


@pytest.fixture
def keyed(each_runtime: Runtime) -> Runtime:
    return asking_for_keys(each_runtime)


def end(
    runtime: Runtime, tenant: str, name: str, kind: str = "proof", rows: int = 1000, size: int = 10
) -> None:
    add_job(runtime, name, kind, Terms(tenant_id=tenant, size=size))
    with runtime.database.write() as session:
        claim = Claims(session).claim(name, "w", 60.0)
        assert claim is not None
        assert Claims(session).succeed(claim, {"a": 1.5, "b": 0.5}, rows)


def test_tenants_see_their_own_and_admins_all_in_a_range_of_time(http: httpx.Client, keyed: Runtime) -> None:
    tenant = add_tenant(keyed, 'Ada, "the first"')
    for number in range(3):
        end(keyed, tenant, f"prf_{number}")
    end(keyed, tenant, "shd_1", "shard", rows=500, size=0)
    end(keyed, LOCAL_TENANT, "prf_x", rows=7)
    add_job(keyed, "prf_c", "proof", Terms(tenant_id=tenant, size=5))
    with keyed.database.write() as session:
        Jobs(session).cancel("prf_c")
    admin, theirs = bearer(add_key(keyed, "admin")), bearer(add_key(keyed, "manage", tenant_id=tenant))
    ada = {
        "tenant_id": tenant,
        "name": 'Ada, "the first"',
        "jobs": 4,
        "seconds": 8.0,
        "rows": 3500,
        "bytes": 35,
    }
    local = {"tenant_id": LOCAL_TENANT, "name": "local", "jobs": 1, "seconds": 2.0, "rows": 7, "bytes": 10}
    assert http.get("/v1/usage", headers=theirs).json()["items"] == [ada]
    everybody = http.get("/v1/usage", headers=admin).json()["items"]
    assert sorted(everybody, key=lambda row: str(row["name"])) == [ada, local]
    table = http.get("/v1/usage.csv", headers=theirs)
    assert table.headers["Content-Type"].startswith("text/csv")
    assert list(csv.DictReader(io.StringIO(table.text))) == [
        {name: str(value) for name, value in ada.items()}
    ]
    later = {"since": (datetime.now(UTC) + timedelta(hours=1)).isoformat()}
    assert http.get("/v1/usage", params=later, headers=admin).json()["items"] == []
    assert http.get("/v1/usage", params={"since": "yesterday"}, headers=admin).status_code == 422


def test_what_was_used_outlives_what_was_made(
    api: Client, with_model: Runtime, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    (registered,) = api.usage()
    assert (registered.jobs, registered.rows > 0, registered.bytes > 0) == (1, True, True)
    proof = api.create_proof(model.id, [0.1, 0.2, 0.3, 0.4])
    work_on(with_model, proof.id)
    (used,) = api.usage()
    estimate = api.get_model(model.id).description
    assert estimate is not None
    assert used.jobs == 2
    assert used.seconds > registered.seconds
    assert used.rows > registered.rows
    assert used.bytes > registered.bytes
    api.delete_proof(proof.id)
    assert list(api.usage()) == [used]
    monkeypatch.setenv("ZENSERVE_DATA_DIR", str(with_model.settings.data_dir))
    shown = CliRunner().invoke(app, ["tenants", "usage", "--json"])
    assert json.loads(shown.stdout) == [vars(used)]
    table = CliRunner().invoke(app, ["tenants", "usage", "--csv", "--since", "2026-01-01"]).stdout
    assert table.splitlines()[0] == "tenant_id,name,jobs,seconds,rows,bytes"
    assert len(table.splitlines()) == 2
