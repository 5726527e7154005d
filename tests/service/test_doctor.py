"""``zenserve doctor``: what is wrong is found, named, and told how to mend."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import typer
from pydantic import SecretStr
from typer.testing import CliRunner

from tests.servers import free_port, fresh_broker, fresh_database
from tests.service.support import add_job, heart
from zenserve.client import Client, Model
from zenserve.service import doctor
from zenserve.service.cli.doctor import doctor as command
from zenserve.service.doctor import Finding, examine
from zenserve.service.runtime import Runtime
from zenserve.service.settings import Settings
from zenserve.service.storage import schema
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.vault import Vault

PLENTY = 1 << 60


@pytest.fixture(autouse=True)
def _a_host_with_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_DISK_BYTES", (0, 0))
    monkeypatch.setattr(doctor, "_MEMORY_BYTES", 0)


def findings(runtime: Runtime) -> dict[str, Finding]:
    return {finding.name: finding for finding in examine(runtime)}


def test_a_service_in_good_order(with_model: Runtime) -> None:
    with heart(with_model) as heartbeat:
        heartbeat.tick()
        with_model.queue.scheduler_lives()
        found = findings(with_model)
    unwell = {name for name, finding in found.items() if finding.verdict != "ok"}
    assert unwell <= {"processor"}, found  # whose kernels are those of the host
    assert len(found) == 15
    assert "mdl_" in found["secret"].detail


def test_postgresql_redis_and_s3_in_good_order(
    tmp_path: Path, postgres_url: str, redis_url: str, s3: str
) -> None:
    settings = Settings(
        data_dir=tmp_path,
        database_url=SecretStr(fresh_database(postgres_url)),
        broker_url=SecretStr(fresh_broker(redis_url)),
        store_url=f"{s3}/{secrets.token_hex(4)}",
        secret_key=SecretStr("secret"),
    )
    runtime = Runtime.open(settings)
    assert findings(runtime)["schema"] == Finding(
        "schema", "fail", "is not this version's", "run `zenserve migrate`"
    )
    schema.migrate(runtime.database)
    assert findings(runtime)["beat"].verdict == "warn"
    runtime.queue.scheduler_lives()
    found = findings(runtime)
    runtime.close()
    assert found["beat"].verdict == "ok"
    assert {name for name, finding in found.items() if finding.verdict == "fail"} == set()
    assert found["store"].detail.startswith("s3://")
    assert found["clock"].verdict == "ok"


def test_servers_that_do_not_answer_are_named_and_the_rest_is_looked_at(tmp_path: Path, s3: str) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    settings = Settings(
        data_dir=tmp_path,
        database_url=SecretStr(f"postgresql://zenserve:hush@{nobody}/zenserve"),
        broker_url=SecretStr(f"redis://:hush@{nobody}/0"),
        store_url=f"{s3}-of-nobody/artifacts",
        secret_key=SecretStr("secret"),
    )
    runtime = Runtime.open(settings)
    found = findings(runtime)
    runtime.close()
    failing = {name: finding for name, finding in found.items() if finding.verdict == "fail"}
    assert set(failing) == {"database", "schema", "broker", "store"}
    assert "bucket" in failing["store"].detail
    for finding in failing.values():
        assert finding.remedy
        assert "hush" not in finding.detail


def test_another_secret_than_the_one_that_sealed_is_found(with_model: Runtime) -> None:
    found = findings(replace(with_model, vault=Vault(b"another")))["secret"]
    assert found.verdict == "fail"
    assert found.remedy == "give all hosts the ZENSERVE_SECRET_KEY that the service began with"


def test_a_store_without_what_the_database_names_is_found(with_model: Runtime) -> None:
    for file in (with_model.settings.data_dir / "artifacts").glob("??/*"):
        file.unlink()
    found = findings(with_model)["secret"]
    assert found.verdict == "fail"
    assert found.remedy
    assert "backup" in found.remedy


def test_jobs_that_nobody_takes_are_found(runtime: Runtime) -> None:
    assert findings(runtime)["workers"].verdict == "warn"
    add_job(runtime)
    assert findings(runtime)["workers"].detail == "none takes from the queue cpu, where jobs wait: 1"
    with heart(runtime) as heartbeat:
        heartbeat.tick()
        assert findings(runtime)["workers"].verdict == "ok"


def test_a_job_that_no_worker_has_the_memory_for_is_found(
    with_model: Runtime, api: Client, model: Model
) -> None:
    proof = api.create_proof(model.id, [0.1, 0.2, 0.3, 0.4])
    with with_model.database.write() as session:
        session.get_one(Job, proof.id).memory = PLENTY
    with heart(with_model) as heartbeat:
        heartbeat.tick()
        found = findings(with_model)["workers"]
    assert found.verdict == "warn"
    assert "1152921504.6 GB" in found.detail


@pytest.mark.parametrize(("seconds", "verdict"), [(1, "ok"), (10, "warn"), (-3600, "fail")])
def test_a_clock_that_is_wrong_is_found(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, seconds: int, verdict: str
) -> None:
    shifted = timedelta(seconds=seconds)
    monkeypatch.setattr("zenserve.service.doctor.clock", lambda session: clock(session) + shifted)
    assert findings(runtime)["clock"].verdict == verdict


def test_too_little_room_is_found(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    for limits, verdict in (((0, PLENTY), "warn"), ((PLENTY, PLENTY), "fail")):
        monkeypatch.setattr(doctor, "_DISK_BYTES", limits)
        assert findings(runtime)["disk"].verdict == verdict
    monkeypatch.setattr(doctor, "_MEMORY_BYTES", PLENTY)
    assert findings(runtime)["memory"].verdict == "warn"


def test_the_command_tells_and_its_exit_code_too(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = typer.Typer()
    app.command()(command)
    run = CliRunner()
    monkeypatch.setenv("ZENSERVE_DATA_DIR", str(runtime.settings.data_dir))
    answer = run.invoke(app, ["--json"])
    assert answer.exit_code == 0
    assert {"name": "schema", "verdict": "ok", "detail": "is this version's", "remedy": None} in json.loads(
        answer.output
    )
    add_job(runtime)
    answer = run.invoke(app)
    assert answer.exit_code == 1
    assert "fail  workers    none takes" in answer.output
    assert "start one: `zenserve worker`" in answer.output
    monkeypatch.setenv("ZENSERVE_DATA_DIR", str(tmp_path / "nowhere"))
    assert run.invoke(app).exit_code == 1
    assert not (tmp_path / "nowhere").exists()
    monkeypatch.setenv("ZENSERVE_THREADS", "none")
    assert "ZENSERVE_THREADS" in run.invoke(app).output
