"""What operators and their programs are told, and by whom a browser may be sent."""

from __future__ import annotations

import ast
import logging
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import namedtuple
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.patience import until
from tests.service.conftest import open_runtime
from tests.service.support import heart, serving
from zenserve.base.memory import left_of_limits
from zenserve.client import Client
from zenserve.errors import RequestError
from zenserve.kernels.target import available_targets
from zenserve.service import doctor
from zenserve.service.api.routes.metrics import _checked_out, commit_of
from zenserve.service.jobs.queue import SCHEDULER_SECONDS
from zenserve.service.log import _JsonFormatter
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler.reaper import Reaper
from zenserve.service.settings import Settings
from zenserve.service.storage import schema
from zenserve.service.storage.database import Database
from zenserve.service.worker.abilities import Abilities

ROOT = Path(__file__).parents[2]
SITE = "https://site.example"
Usage = namedtuple("Usage", "total used free")


def test_a_full_disk_is_not_ready(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    full: set[Path] = set()

    def usage(path: Path) -> Usage:
        return Usage(1 << 40, 0, (5 << 20) if path in full else (1 << 40))

    monkeypatch.setattr("shutil.disk_usage", usage)
    with heart(runtime) as heartbeat, serving(runtime) as url, Client(url) as client:
        heartbeat.tick()
        assert client.is_ready()
        for folder in (runtime.settings.data_dir, runtime.settings.data_dir / "artifacts"):
            full.add(folder)
            answer = httpx.get(f"{url}/readyz")
            assert answer.status_code == 503
            assert answer.json()["failing"] == {
                "disk": "5 MiB are free, of 256 that there should be: make room"
            }
            full.clear()
        assert client.is_ready()


def test_doctor_notices_that_no_beat_runs(runtime: Runtime) -> None:
    assert doctor._beat(runtime).verdict == "warn"
    reaper = Reaper(runtime)
    reaper.start()
    until(lambda: doctor._beat(runtime).verdict == "ok", "the beat to be seen")
    reaper.finish()
    long_ago = time.time() - SCHEDULER_SECONDS
    os.utime(runtime.settings.data_dir / "beat", (long_ago, long_ago))
    assert "zenserve beat" in (doctor._beat(runtime).remedy or "")


def test_the_version_says_what_runs_here(runtime: Runtime) -> None:
    with serving(runtime) as url:
        answer = httpx.get(f"{url}/version").json()
    assert (answer["api"], answer["schema_revision"]) == ("v1", schema.revision_of(runtime.database))
    assert answer["kernels"] in available_targets()
    assert answer["backends"] == []


def test_the_version_names_the_commit_and_the_workers(runtime: Runtime) -> None:
    with heart(runtime) as heartbeat, serving(runtime) as url:
        heartbeat.tick()
        assert httpx.get(f"{url}/version").json()["backends"] == ["cpu"]
    runtime.settings.commit = "0123abc"
    with serving(runtime) as url:
        assert httpx.get(f"{url}/version").json()["commit"] == "0123abc"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git (apt install git)")
def test_a_checkout_is_asked_for_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    (tmp_path / "zenserve" / "service").mkdir(parents=True)
    monkeypatch.setattr("zenserve.service.__file__", str(tmp_path / "zenserve/service/__init__.py"))
    assert commit() is None
    subprocess.run([*git, "init", "--quiet"], check=True)
    (tmp_path / "file").write_text("1")
    for command in (["add", "file"], ["commit", "--quiet", "--message=first"]):
        subprocess.run([*git, *command], check=True)
    head = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()
    assert commit() == head
    (tmp_path / "file").write_text("2")
    assert commit() == f"{head}-dirty"


def commit() -> str | None:
    _checked_out.cache_clear()
    found = commit_of(Settings())
    _checked_out.cache_clear()
    return found


def test_the_first_page_leads_to_the_dashboard(shared_url: str) -> None:
    answer = httpx.get(f"{shared_url}/", follow_redirects=True)
    assert answer.url.path == "/admin"
    assert answer.status_code == 200


def test_postgresql_without_its_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zenserve.service.storage.database.find_spec", lambda _: None)
    with pytest.raises(RequestError, match=re.escape("pip install 'psycopg[binary]'")):
        Database("postgresql://user:password@host/name")


@pytest.fixture
def asked_by_a_site(tmp_path: Path) -> Iterator[httpx.Client]:
    """A browser's requests, for a page of a site that may ask."""
    runtime = open_runtime(tmp_path / "data", auth="keys", cors_origins=[SITE])
    with serving(runtime) as url, httpx.Client(base_url=url, headers={"Origin": SITE}) as http:
        yield http
    runtime.close()


def test_a_site_that_is_named_may_ask_and_reads_refusals_too(asked_by_a_site: httpx.Client) -> None:
    wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    preflight = asked_by_a_site.options("/v1/proofs", headers=wanted)
    assert preflight.status_code == 200
    assert preflight.headers["Access-Control-Allow-Origin"] == SITE
    assert "authorization" in preflight.headers["Access-Control-Allow-Headers"].lower()
    for answer, status in ((asked_by_a_site.get("/version"), 200), (asked_by_a_site.get("/v1/models"), 401)):
        assert answer.status_code == status
        assert answer.headers["Access-Control-Allow-Origin"] == SITE
        assert "Access-Control-Allow-Credentials" not in answer.headers


def test_other_sites_are_told_nothing(asked_by_a_site: httpx.Client, shared_url: str) -> None:
    wanted = {"Origin": "https://other.example", "Access-Control-Request-Method": "GET"}
    assert asked_by_a_site.options("/v1/proofs", headers=wanted).status_code == 400
    answer = asked_by_a_site.get("/version", headers=wanted)
    assert "Access-Control-Allow-Origin" not in answer.headers
    answer = httpx.get(f"{shared_url}/version")
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("origin", ["*", "site.example", "https://site.example/", "https://a.b/c", "null"])
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(RequestError, match="ZENSERVE_CORS_ORIGINS"):
        Settings.read(cors_origins=origin)


def test_a_log_tells_what_an_error_came_of_and_not_what_it_says() -> None:
    try:
        try:
            raise KeyError("a secret")
        except KeyError as error:
            raise ValueError("another") from error
    except ValueError:
        record = logging.LogRecord("zenserve", 40, "", 0, "failed", (), sys.exc_info())
    line = _JsonFormatter().format(record)
    assert re.search(r"KeyError.*ValueError", line)
    assert "secret" not in line
    assert "another" not in line


CORE: Final = ("base", "bounds", "circuits", "kernels", "onecall", "prover", "relations")
OF_AN_EXTRA: Final = ("circuits/papers", "prover/groth16/reference")
"""The tables that a command prints, and the slow verifier."""


@pytest.mark.parametrize(
    ("project", "rooms", "extras"),
    [
        ("packages/client", ("client", "verifier"), ()),
        (".", CORE, ()),
        (".", ("gpu",), ("gpu",)),
        (".", ("service", "migrations"), ("service",)),
        (".", OF_AN_EXTRA, ("service", "reference")),
    ],
)
def test_what_is_imported_is_declared(project: str, rooms: tuple[str, ...], extras: tuple[str, ...]) -> None:
    about = tomllib.loads((ROOT / project / "pyproject.toml").read_text())["project"]
    asked = [*about["dependencies"], *chain(*(about["optional-dependencies"][name] for name in extras))]
    declared = {re.split(r"[^\w.-]", wanted)[0].lower() for wanted in asked}
    homes = packages_distributions()
    apart = [ROOT / "zenserve" / room for room in OF_AN_EXTRA if room not in rooms]
    undeclared = {
        name
        for room in rooms
        for file in (ROOT / "zenserve" / room).rglob("*.py")
        if not any(file.is_relative_to(folder) for folder in apart)
        for name in _imported(file)
        if name in homes and not declared & {home.lower().replace("_", "-") for home in homes[name]}
    }
    # joserfc is of the extra production, and asked for by name where it is missing.
    assert undeclared - {"zenserve", "joserfc"} == set()


def _imported(file: Path) -> Iterator[str]:
    """The packages that a module takes when it is imported itself."""
    for statement in ast.parse(file.read_text()).body:
        names = [statement.module] if isinstance(statement, ast.ImportFrom) else []
        names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else names
        for name in names:
            top = (name or "").partition(".")[0]
            if top not in sys.stdlib_module_names and top != "zenserve":
                yield top


def test_a_worker_shows_the_card_that_it_proves_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text('#!/bin/sh\n[ "$1" = --id=0000:41:00.0 ] && echo H200, 1, 2, 30\n')
    tool.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    shown = Abilities(["gpu"], "gpu", 1, None, bus="0000:41:00.0").columns()["devices"]
    assert shown == [{"name": "H200", "memory_used": 1 << 20, "memory_total": 2 << 20, "busy": 30}]
    assert Abilities(["cpu"], "cpu", 1, None).columns()["devices"] is None


def test_a_worker_offers_what_was_free_before_its_job_took_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, offered in ((None, 8), (6, 6)):
        worker = Abilities(["cpu"], "cpu", 1, limit)
        for free in (8, 3):
            monkeypatch.setattr("zenserve.service.worker.abilities.free_memory", lambda free=free: free)
            assert worker.columns()["memory"] == offered
        assert worker.free_memory() == 3


def test_a_container_has_what_is_left_of_the_least_limit_around_it(tmp_path: Path) -> None:
    told = {"": ("max", 90, 0), "a": ("100", 70, 20), "a/b": ("60", 70, 0), "a/b/c": ("max", 5, 0)}
    for group, (most, used, files) in told.items():
        (tmp_path / group).mkdir(exist_ok=True)
        (tmp_path / group / "memory.max").write_text(f"{most}\n")
        (tmp_path / group / "memory.current").write_text(f"{used}\n")
        (tmp_path / group / "memory.stat").write_text(f"anon 3\ninactive_file {files}\n")
    assert [*left_of_limits(tmp_path, "a/b/c")] == [0, 50]
    assert [*left_of_limits(tmp_path, "a")] == [50]
    assert [*left_of_limits(tmp_path, "")] == []
    assert [*left_of_limits(tmp_path / "none", "a")] == []
