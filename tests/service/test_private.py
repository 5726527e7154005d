"""The data directory and all that is in it are for their owner alone, whatever was there before."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.service.conftest import open_runtime
from tests.service.support import add_job
from zenserve.errors import RequestError, ZenError
from zenserve.service.access import local_token
from zenserve.service.cli import app
from zenserve.service.storage import private
from zenserve.service.storage.database import Database

OTHERS = stat.S_IRWXG | stat.S_IRWXO


@pytest.fixture(autouse=True)
def _lax() -> Iterator[None]:
    """A user whose files are open to all, unless something sees to it."""
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    paths = [folder, *folder.rglob("*")]
    return [path.name for path in paths if path.lstat().st_mode & OTHERS]


def test_nothing_of_a_service_is_open_to_others(tmp_path: Path) -> None:
    private.close_to_others()
    runtime = open_runtime(tmp_path / "data", auth="keys")
    add_job(runtime)
    runtime.queue.send("job_1")
    runtime.store.put(b"an artifact")
    with local_token.shown(runtime, 1), runtime.database.read() as session:
        session.connection()
        names = {path.name for path in (tmp_path / "data").rglob("*")}
        assert {"zenserve.sqlite", "zenserve.sqlite-wal", "zenserve.sqlite-shm"} < names
        assert {"secret.key", "token", "broker", "zenserve.cpu", "artifacts", "incoming"} < names
        assert open_to_others(tmp_path / "data") == []
    runtime.close()


def test_what_was_open_is_closed_when_the_service_starts(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "artifacts" / "ab").mkdir(parents=True)
    for file in (data / "zenserve.sqlite", data / "secret.key", data / "artifacts" / "ab" / "abcd"):
        file.write_text("")
    (data / "elsewhere").symlink_to(tmp_path / "file")
    (tmp_path / "file").write_text("not the service's")
    assert len(open_to_others(data)) > 5
    private.own(data)
    assert open_to_others(data) == ["elsewhere"]  # links have no mode of their own
    assert (tmp_path / "file").stat().st_mode & OTHERS
    assert (data / "secret.key").stat().st_mode & stat.S_IRWXU == stat.S_IRUSR | stat.S_IWUSR


def test_a_directory_of_another_user_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_yours(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "chmod", not_yours)
    private.own(tmp_path / "new")
    (tmp_path / "theirs").mkdir(mode=0o777)
    with pytest.raises(RequestError, match=r"chown -R .* && chmod -R go= ") as refused:
        private.own(tmp_path / "theirs")
    assert refused.value.field == "ZENSERVE_DATA_DIR"


COMMANDS = [
    ("tenants", "list"),
    ("tenants", "add", "Ada"),
    ("keys", "list"),
    ("keys", "revoke", "key_1"),
    ("basis", "show"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_commands_on_a_deployment_make_none(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusal() -> ZenError:
        error = CliRunner().invoke(app, command).exception
        assert isinstance(error, ZenError)
        return error

    monkeypatch.chdir(tmp_path)
    assert "zenserve serve" in refusal().message
    with monkeypatch.context() as patch:
        patch.setenv("ZENSERVE_URL", "https://zenserve.example")
        assert refusal().field == "ZENSERVE_URL"
        patch.setenv("ZENSERVE_DATA_DIR", "elsewhere")
        assert refusal().field == "ZENSERVE_DATA_DIR"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "zenserve-data").mkdir()
    database = Database(f"sqlite:///{tmp_path}/zenserve-data/zenserve.sqlite")
    with database.engine.connect():
        pass
    assert refusal().code == "resource.schema"


def test_doctor_and_a_wrong_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(app, ["doctor"])
    assert answer.exit_code == 1
    assert "no service keeps its data in zenserve-data" in " ".join(answer.output.split())
    assert list(tmp_path.iterdir()) == []


def test_migrate_makes_the_database_that_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["migrate"]).exit_code == 0
    assert "tnt_local" in CliRunner().invoke(app, ["tenants", "list"]).output
    assert open_to_others(tmp_path / "zenserve-data") == []
