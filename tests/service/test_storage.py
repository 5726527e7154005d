"""Vault, store and database: what is kept, and how it is protected."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError

from tests.service.support import add_job
from zenserve.errors import FileFormatError
from zenserve.service.jobs.claims import Claims
from zenserve.service.jobs.reaping import Reaping
from zenserve.service.runtime import Runtime
from zenserve.service.settings import Settings
from zenserve.service.storage import schema
from zenserve.service.storage.database import Database, now
from zenserve.service.storage.records.jobs import Job
from zenserve.service.storage.records.resources import Model
from zenserve.service.storage.schema import _alembic as alembic
from zenserve.service.storage.store import Store
from zenserve.service.storage.vault import Vault


def test_a_sealed_blob_opens_in_its_place_only() -> None:
    vault = Vault(b"secret")
    sealed = vault.seal(b"plaintext", "input:prf_1")
    assert b"plaintext" not in sealed
    assert vault.open(sealed, "input:prf_1") == b"plaintext"
    assert vault.seal(b"plaintext", "input:prf_1") != sealed
    for wrong in (sealed[:-1], sealed[:5], bytes([sealed[0] ^ 1]) + sealed[1:], b""):
        with pytest.raises(FileFormatError, match="cannot be decrypted"):
            vault.open(wrong, "input:prf_1")
    with pytest.raises(FileFormatError):
        vault.open(sealed, "input:prf_2")
    with pytest.raises(FileFormatError):
        Vault(b"other").open(sealed, "input:prf_1")


def test_macs_depend_on_key_and_on_where_parts_end() -> None:
    vault = Vault(b"secret")
    assert vault.mac(b"ab", b"c") == vault.mac(b"ab", b"c")
    assert vault.mac(b"ab", b"c") != vault.mac(b"a", b"bc")
    assert vault.mac(b"ab", b"c") != Vault(b"other").mac(b"ab", b"c")


def test_the_key_file_is_made_once_for_the_owner_only(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    sealed = Vault.from_settings(settings).seal(b"x", "place")
    assert Vault.from_settings(settings).open(sealed, "place") == b"x"
    assert stat.S_IMODE((tmp_path / "secret.key").stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["secret.key"]


def test_a_key_from_the_environment_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZENSERVE_SECRET_KEY", "correct horse battery staple")
    settings = Settings(data_dir=tmp_path)
    Vault.from_settings(settings)
    assert not list(tmp_path.iterdir())
    assert "horse" not in repr(settings)


def test_the_data_directory_is_the_owner_s(runtime: Runtime) -> None:
    assert stat.S_IMODE(runtime.settings.data_dir.stat().st_mode) == 0o700


def test_the_store_keeps_and_checks(tmp_path: Path) -> None:
    store = Store(tmp_path)
    digest = store.put(b"data")
    assert store.get(digest) == b"data"
    assert store.put(b"data") == digest
    assert not list((tmp_path / "incoming").iterdir())
    store.path(digest).write_bytes(b"date")
    with pytest.raises(FileFormatError, match="changed in the store"):
        store.get(digest)
    store.delete(digest)
    store.delete(digest)
    with pytest.raises(FileFormatError, match="not in the store"):
        store.get(digest)


OLD_JOB = """INSERT INTO jobs (id, kind, state, revision, attempt, fence, percent, cancel_requested, timings,
    failures, created_at, enqueued_at) VALUES ('{}', '{}', '{}', 0, 2, 2, 100, 0, '{{}}', '[]',
    '2026-01-01 00:00:00', '2026-01-01 00:00:00')"""
OLD_ROWS = (
    OLD_JOB.format("mdl_1", "model", "succeeded"),
    OLD_JOB.format("mdl_2", "model", "failed"),
    OLD_JOB.format("prf_1", "proof", "succeeded"),
    "INSERT INTO verification_keys VALUES ('key', '{}', '{}', '2026-01-01 00:00:00')",
    "INSERT INTO models VALUES ('mdl_1', 'm', 'public', 'private', 8, 'blob', 'blob', 'key')",
    "INSERT INTO models VALUES ('mdl_2', 'm', 'public', 'public', 8, 'blob', NULL, NULL)",
    "INSERT INTO proofs VALUES ('prf_1', 'mdl_1', NULL, x'00', '[]', 1)",
)


def test_models_of_the_first_schema_are_queued_to_be_registered_anew(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'old.sqlite'}")
    with database.engine.begin() as connection:
        command.upgrade(alembic(connection), "0001")
        for row in OLD_ROWS:
            connection.exec_driver_sql(row)
    schema.migrate(database)
    assert schema.at_head(database)
    with database.read() as session:
        models = {row.id: row for row in session.scalars(select(Model))}
        assert {row.id: (row.job.state, row.weight_privacy) for row in models.values()} == {
            "mdl_1": ("queued", "committed"),
            "mdl_2": ("failed", "public"),
        }
        assert models["mdl_1"].verification_key_id is None
        assert [row.id for row in Reaping(session).waiting(60.0)] == ["mdl_1"]
        assert session.get(Job, "prf_1") is None
    with database.write() as session:
        assert Claims(session).claim("mdl_1", "w", 60.0)
    database.close()


def test_foreign_keys_hold_and_the_journal_is_a_wal(runtime: Runtime) -> None:
    with runtime.database.read() as session:
        assert session.scalar(text("PRAGMA journal_mode")) == "wal"
    orphan = Model(id="mdl_1", name="x", weight_privacy="public", bits=8, quantised="0" * 64)
    with pytest.raises(IntegrityError), runtime.database.write() as session:
        session.add(orphan)


def test_a_transaction_within_another_is_a_mistake_that_shows(runtime: Runtime) -> None:
    with (
        runtime.database.write(),
        pytest.raises(RuntimeError, match="within a transaction"),
        runtime.database.write(),
    ):
        pass
    with runtime.database.write():  # and then all goes on
        pass


def test_errors_of_the_database_quote_no_values(each_runtime: Runtime) -> None:
    add_job(each_runtime)
    with pytest.raises(IntegrityError) as error:
        add_job(each_runtime, kind="quoted nowhere")
    assert "quoted nowhere" not in str(error.value)


def test_a_failed_transaction_leaves_nothing(runtime: Runtime) -> None:
    with pytest.raises(IntegrityError), runtime.database.write() as session:
        session.add_all([Job(id="job_2", kind="x", created_at=now(), enqueued_at=now()), Job(id="job_3")])
    with runtime.database.read() as session:
        assert session.get(Job, "job_2") is None


def test_many_writers_wait_for_each_other(runtime: Runtime) -> None:
    """Read, then write, in one transaction: without BEGIN IMMEDIATE some of these would fail or be lost."""
    add_job(runtime)
    errors: list[Exception] = []

    def count_up() -> None:
        try:
            for _ in range(10):
                with runtime.database.write() as session:
                    job = session.get_one(Job, "job_1")
                    job.fence += 1
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=count_up) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with runtime.database.read() as session:
        assert session.get_one(Job, "job_1").fence == 80
