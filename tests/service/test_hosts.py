"""What ``deploy/`` has for hosts without containers: units of systemd, and roles of PostgreSQL."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.programs import Find
from tests.servers import documented_roles
from tests.service.conftest import on_postgresql
from tests.service.support import add_job, heart, run_job, serving
from zenserve.client import Client
from zenserve.service.settings import Settings
from zenserve.service.storage import schema
from zenserve.service.storage.database import Database

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted(path.name for path in DEPLOY.glob("systemd/*.service"))
EXPOSURE = "25"
"""Of 100, as ``systemd-analyze security`` counts; without the drop-in it is above 90."""


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """The root of a host that the units were copied to."""
    units = tmp_path / "etc" / "systemd" / "system"
    shutil.copytree(DEPLOY / "systemd", units)
    for unit in units.glob("*.service"):
        unit.write_text(unit.read_text().replace("/opt/zenserve/bin/zenserve", "/bin/true"))
    return tmp_path


def test_there_is_a_unit_for_each_process() -> None:
    assert [name.split(".")[0] for name in UNITS] == ["zenserve-api", "zenserve-beat", "zenserve-worker"]
    for name in UNITS:
        what = name.removeprefix("zenserve-").removesuffix(".service")
        assert f"ExecStart=/opt/zenserve/bin/zenserve {what}\n" in (DEPLOY / "systemd" / name).read_text()


def test_systemd_takes_the_units(host: Path, program: Find) -> None:
    command = [program("systemd-analyze"), "verify", *UNITS]
    where = {"SYSTEMD_UNIT_PATH": f"{host}/etc/systemd/system:"}
    answer = subprocess.run(command, env=os.environ | where, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_may_do_little(unit: str, host: Path, program: Find) -> None:
    command = [program("systemd-analyze"), "security", "--offline=true", "--no-pager"]
    answer = subprocess.run(
        [*command, f"--root={host}", f"--threshold={EXPOSURE}", unit],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout


def test_credentials_of_systemd_are_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "zenserve_secret_key": "of the operator",
        "zenserve_database_url": "postgresql://a:b@host/name",
        "zenserve_broker_url": "redis://host",
    }
    for name, value in given.items():
        (tmp_path / name).write_text(f"{value}\n")
        assert f"LoadCredential={name}:" in (DEPLOY / "systemd/zenserve-.service.d/shared.conf").read_text()
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    settings = Settings.read()
    assert settings.secret_key is not None
    assert settings.secret_key.get_secret_value() == "of the operator"
    assert settings.environment()["ZENSERVE_DATABASE_URL"] == given["zenserve_database_url"]


@pytest.fixture
def roles(postgres_url: str, program: Find) -> Iterator[dict[str, str]]:
    """The URLs of a database that ``postgresql.sql`` made, by role."""
    name = f"roles_{secrets.token_hex(4)}"
    yield documented_roles(postgres_url, program, name)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        for role in ("owner", "service"):
            connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(f"zenserve_{role}")))


def test_the_owner_migrates_and_the_service_serves(roles: dict[str, str], tmp_path: Path) -> None:
    owner = Database(roles["owner"])
    schema.migrate(owner)
    owner.close()
    runtime = on_postgresql(tmp_path / "data", roles["service"])
    with heart(runtime) as heartbeat, serving(runtime) as url, Client(url) as client:
        heartbeat.tick()
        assert client.is_ready()
        client.create_tenant("Acme")
        run_job(runtime, heartbeat, add_job(runtime))
    runtime.close()
    with psycopg.connect(roles["service"], autocommit=True) as connection:
        for change in ("DROP TABLE jobs", "ALTER TABLE jobs ADD x int", "TRUNCATE jobs", "CREATE TABLE x()"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(change)


def test_another_database_has_the_same_roles(
    roles: dict[str, str], postgres_url: str, program: Find, tmp_path: Path
) -> None:
    """As a restore takes one: the service's role can do with its tables what it can with the first one's."""
    name = f"roles_{secrets.token_hex(4)}"
    another = documented_roles(postgres_url, program, name)
    try:
        assert [url.rpartition("/")[2] for url in another.values()] == [name, name]
        owner = Database(another["owner"])
        schema.migrate(owner)
        owner.close()
        with psycopg.connect(another["service"]) as connection:
            connection.execute("DELETE FROM jobs")
        with psycopg.connect(roles["service"]) as connection:
            connection.execute("SELECT")
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
