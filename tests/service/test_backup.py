"""``zenserve backup`` and ``zenserve restore``, as typed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from tests.service.conftest import open_runtime
from tests.service.support import proving_key_files, serving, work_on
from tests.service.test_hosts import roles  # noqa: F401  a fixture
from tests.service.test_openings import FIRST, ToyKey, committed, counting, spend
from zenserve.client import Client, Model
from zenserve.service import backup as backups
from zenserve.service import openings
from zenserve.service.runtime import Runtime
from zenserve.service.storage import schema
from zenserve.service.storage.records.accounts import AuditEntry
from zenserve.service.storage.records.openings import Ledger
from zenserve.service.storage.records.resources import Circuit, Proof
from zenserve.service.storage.vault import KEY_FILE

INPUT = [0.1, 0.2, 0.3, 0.4]


@pytest.fixture
def command(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """A command where a service keeps its data: its exit code, and all that it prints."""
    monkeypatch.chdir(tmp_path)

    def typed(data_dir: Path, *arguments: str) -> tuple[int, str]:
        monkeypatch.setenv("ZENSERVE_DATA_DIR", str(data_dir))
        code, out, err = run(*arguments)
        return code, " ".join((out + err).split())

    return typed


@pytest.fixture
def used(with_model: Runtime, api: Client, model: Model) -> tuple[Runtime, str]:
    """A service with a model, a proof, and a second model that is the first one's child; the proof's id."""
    proof = api.create_proof(model.id, INPUT)
    work_on(with_model, proof.id)
    api.create_tenant("Acme")
    committed(with_model, ToyKey())
    return with_model, proof.id


def bring_secret(old: Path, new: Path) -> None:
    new.mkdir(mode=0o700)
    shutil.copy2(old / KEY_FILE, new)


def contents(runtime: Runtime) -> dict[str, list[Any]]:
    """All rows but those that a restore changes."""
    with runtime.database.read() as session:
        return {
            name: sorted(map(repr, session.execute(select(table))))
            for name, table in backups._tables().items()
            if name not in {"ledger", "audit_log"}
        }


def test_a_service_is_brought_back(
    command: Callable[..., tuple[int, str]], used: tuple[Runtime, str], model: Model, tmp_path: Path
) -> None:
    runtime, proof_id = used
    data, again = runtime.settings.data_dir, tmp_path / "again"
    assert command(data, "backup", "backup")[0] == 0
    assert (tmp_path / "backup").stat().st_mode & 0o77 == 0
    for file in (tmp_path / "backup").rglob("*"):
        assert KEY_FILE not in file.name
    bring_secret(data, again)
    code, said = command(again, "restore", "backup")
    assert code == 0, said
    restored = open_runtime(again)
    assert contents(restored) == contents(runtime)
    assert set(artifacts(restored)) >= set(artifacts(runtime)) - {"openings"}
    with serving(restored) as url, Client(url) as client:
        assert client.verify(client.get_proof_document(proof_id)).valid
        proof = client.create_proof(model.id, INPUT)
        work_on(restored, proof.id)
        assert client.get_proof(proof.id).state == "succeeded"
        client.create_tenant("Another")  # whose row in the audit log has a number of its own
    assert openings.counts(restored).retired == 1
    restored.close()
    assert "is not empty" in command(again, "restore", "backup")[1]
    assert "is not empty" in command(again, "backup", "backup")[1]


def artifacts(runtime: Runtime) -> list[str]:
    return [file.name for file in (runtime.settings.data_dir / "artifacts").glob("??/*")]


def test_what_was_opened_since_is_retired(
    command: Callable[..., tuple[int, str]], runtime: Runtime, tmp_path: Path
) -> None:
    """A restore is one that an operator knows of: it does what is to be done after one."""
    key = ToyKey()
    committed(runtime, key)
    spend(counting(runtime, key))
    assert command(runtime.settings.data_dir, "backup", "backup")[0] == 0
    bring_secret(runtime.settings.data_dir, tmp_path / "again")
    assert command(tmp_path / "again", "restore", "backup")[0] == 0
    restored = open_runtime(tmp_path / "again")
    with restored.database.read() as session:
        ledger = session.get_one(Ledger, 1)
        assert (ledger.spent, ledger.seen) == (0, 0)
    with pytest.raises(Exception, match="was retired"):
        spend(counting(restored, key))
    assert openings.counts(restored).retired == 1
    assert FIRST.commitment.hex() in (tmp_path / "backup" / "database" / "roots.jsonl").read_text()
    restored.close()


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "unfinished": (lambda folder: (folder / "backup.json").unlink(), "one that was not finished"),
    "no manifest": (lambda folder: (folder / "backup.json").write_text("{}"), "is not a backup's"),
    "table": (lambda folder: (folder / "database" / "jobs.jsonl").unlink(), "jobs.jsonl is not there"),
    "row": (lambda folder: (folder / "database" / "jobs.jsonl").write_text(""), "jobs.jsonl has changed"),
    "artifact": (lambda folder: next(folder.glob("artifacts/*/*")).unlink(), "is not there"),
    "byte": (lambda folder: next(folder.glob("artifacts/*/*")).write_bytes(b""), "has changed"),
}


@pytest.mark.parametrize("case", SPOILT)
def test_a_partial_backup_is_refused_before_anything_is_written(
    command: Callable[..., tuple[int, str]], used: tuple[Runtime, str], tmp_path: Path, case: str
) -> None:
    spoil, words = SPOILT[case]
    data, again = used[0].settings.data_dir, tmp_path / "again"
    assert command(data, "backup", "backup")[0] == 0
    spoil(tmp_path / "backup")
    bring_secret(data, again)
    code, said = command(again, "restore", "backup")
    assert (code, words in said) == (2, True), said
    assert [file.name for file in again.iterdir()] == [KEY_FILE]


def test_another_secret_is_refused(
    command: Callable[..., tuple[int, str]],
    used: tuple[Runtime, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert command(used[0].settings.data_dir, "backup", "backup")[0] == 0
    code, said = command(tmp_path / "again", "restore", "backup")
    assert (code, "put the service's secret.key into" in said) == (2, True), said
    assert not (tmp_path / "again").exists()
    monkeypatch.setenv("ZENSERVE_SECRET_KEY", "another")
    code, said = command(tmp_path / "again", "restore", "backup")
    assert (code, "sealed with another secret" in said) == (2, True), said


def test_of_a_store_that_lost_something_there_is_no_whole_backup(
    command: Callable[..., tuple[int, str]], used: tuple[Runtime, str], model: Model, tmp_path: Path
) -> None:
    """But of a lost key that jobs make anew there is."""
    runtime, _ = used
    for file in proving_key_files(runtime):
        file.unlink()
    code, said = command(runtime.settings.data_dir, "backup", "backup", "--json")
    assert code == 0, said
    with runtime.database.read() as session:
        keys = session.scalar(select(func.count()).select_from(Circuit))
    assert json.loads(said)["made_anew"] == keys
    next((runtime.settings.data_dir / "artifacts").glob("??/*")).unlink()
    code, said = command(runtime.settings.data_dir, "backup", "other")
    assert (code, "its store has lost" in said) == (2, True), said
    assert not (tmp_path / "other" / "backup.json").exists()


def test_what_ends_during_the_backup_is_left_out(
    used: tuple[Runtime, str], api: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its artifacts are deleted after the snapshot that names them: another is taken."""
    runtime, proof_id = used
    waiting = api.create_proof(api.get_proof(proof_id).model_id, INPUT)
    written = backups._write_artifacts

    def late(*given: Any) -> set[str]:
        if api.get_proof(waiting.id).state == "queued":
            api.cancel(waiting.id)
            with runtime.database.write() as session:
                proof = session.get_one(Proof, waiting.id)
                assert proof.input is not None
                runtime.store.delete(proof.input)
                proof.input = None
        return written(*given)

    monkeypatch.setattr(backups, "_write_artifacts", late)
    manifest = backups.write(runtime, tmp_path / "backup")
    assert manifest == backups.read(tmp_path / "backup")
    assert '"canceled"' in (tmp_path / "backup" / "database" / "jobs.jsonl").read_text()


def test_no_job_ends_while_what_it_has_is_copied(
    used: tuple[Runtime, str], api: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However fast jobs come and go, one snapshot is enough."""
    runtime, proof_id = used
    waiting = api.create_proof(api.get_proof(proof_id).model_id, INPUT)
    with runtime.database.read() as session:
        secret = session.get_one(Proof, waiting.id).input
    written = backups._write_artifacts
    asked: list[Future[Any] | None] = []
    with ThreadPoolExecutor() as pool:

        def slowly(*given: Any) -> set[str]:
            asked.append(pool.submit(api.cancel, waiting.id) if asked else None)
            if (canceled := asked[-1]) is not None:
                wait([canceled], timeout=0.2)
                assert not canceled.done()
            return written(*given)

        monkeypatch.setattr(backups, "_write_artifacts", slowly)
        manifest = backups.write(runtime, tmp_path / "backup")
    assert len(asked) == 2
    assert secret in manifest.artifacts
    assert api.get_proof(waiting.id).state == "canceled"


@pytest.mark.program
def test_postgresql_with_the_documented_roles(
    command: Callable[..., tuple[int, str]],
    used: tuple[Runtime, str],
    roles: dict[str, str],  # noqa: F811
    model: Model,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One host's backup brought to PostgreSQL, and that one's back, as the role of the service."""
    runtime, _ = used
    monkeypatch.setenv("ZENSERVE_SECRET_KEY", "of both")
    assert command(runtime.settings.data_dir, "backup", "first")[0] == 0
    monkeypatch.setenv("ZENSERVE_BROKER_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("ZENSERVE_DATABASE_URL", roles["owner"])
    assert command(tmp_path / "host", "migrate")[0] == 0
    monkeypatch.setenv("ZENSERVE_DATABASE_URL", roles["service"])
    code, said = command(tmp_path / "host", "restore", "first")
    assert code == 0, said
    code, said = command(tmp_path / "host", "backup", "second")
    assert code == 0, said
    for name in ("jobs", "models", "proofs", "circuits"):
        first, second = (tmp_path / each / "database" / f"{name}.jsonl" for each in ("first", "second"))
        assert sorted(first.read_text().splitlines()) == sorted(second.read_text().splitlines())
    assert command(tmp_path / "host", "tenants", "add", "Another")[0] == 0, (
        "its row in the audit log has a number"
    )
    for name in ("ZENSERVE_DATABASE_URL", "ZENSERVE_BROKER_URL"):
        monkeypatch.delenv(name)
    code, said = command(tmp_path / "again", "restore", "second")
    assert code == 0, said
    restored = open_runtime(tmp_path / "again")
    assert schema.at_head(restored.database)
    with restored.database.read() as session:
        numbers = session.scalars(select(AuditEntry.id)).all()
    assert len(numbers) == len(set(numbers)) > 0
    restored.close()
