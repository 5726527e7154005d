from __future__ import annotations

import copy
import io
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import httpx
import pytest
import typer.main
from sqlalchemy import create_engine

from tests.patience import PATIENCE_SECONDS
from tests.servers import fresh_database
from tests.service.accounts import calling
from tests.service.support import serving, tiny_calibration, tiny_onnx, work_on
from zenserve.client import Client, Model
from zenserve.service import cli
from zenserve.service.runtime import Runtime
from zenserve.service.settings import Settings
from zenserve.service.storage import schema
from zenserve.service.storage.database import Database
from zenserve.service.submissions import sandbox

_IN_CHILD = sandbox._in_child
MAX_BODY_BYTES = 200_000
BASIS_POINTS = 256


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ZENSERVE_SECRET_KEY", raising=False)


@pytest.fixture
def _buckets_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """What callers used up does not come back while a test goes on, however long it takes."""
    monkeypatch.setattr("zenserve.service.api.rates.time", SimpleNamespace(monotonic=lambda: 1000.0))


@pytest.fixture(scope="session", autouse=True)
def _requests_are_cheap_and_patient() -> Iterator[None]:
    """Certificates are read once: for each client anew, it would take longer than most requests. No answer is
    too late because the machine is slow, where no test says what is.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpx._transports.default.create_ssl_context", cache(httpx.create_ssl_context))
        for phase in ("connect", "read", "write", "pool"):
            patch.setattr(f"httpx._config.DEFAULT_TIMEOUT_CONFIG.{phase}", PATIENCE_SECONDS)
        yield


@pytest.fixture(scope="session", autouse=True)
def _untrusted_files_are_read_here() -> Iterator[None]:
    """In the test's own process: a child loads for longer than most tests take. See ``in_a_child``."""

    def here(operation: str, given: BinaryIO) -> tuple[int, BinaryIO]:
        answer = sandbox._answer(sandbox._operations()[operation], operation, given.read())
        return 0, io.BytesIO(answer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "_in_child", here)
        yield


@pytest.fixture
def in_a_child() -> Iterator[None]:
    """Untrusted files are read as they are by a service."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "_in_child", _IN_CHILD)
        yield


class _Statements(dict[Any, Any]):
    """SQL that was compiled, of all databases of a kind: each test has a new one, and would spend a quarter
    of its time on compiling the same again.
    """

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get((key[0].name, *key[1:]), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__((key[0].name, *key[1:]), compiled)


@pytest.fixture(scope="session", autouse=True)
def _statements_are_compiled_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        remembering = partial(create_engine, execution_options={"compiled_cache": _Statements()})
        patch.setattr("zenserve.service.storage.database.create_engine", remembering)
        yield


@pytest.fixture(scope="session", autouse=True)
def _commands_are_built_once() -> Iterator[None]:
    """All of the command line's, from the signatures of their functions."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("get_command", "get_group"):
            patch.setattr(typer.main, name, cache(getattr(typer.main, name)))
        yield


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command of ``zenserve``: its exit code, standard output and standard error."""

    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["zenserve", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        captured = capsys.readouterr()
        return int(exit_.value.code or 0), captured.out, captured.err

    return command


@cache
def _empty_database() -> bytes:
    """A copy is made faster than the migrations."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "empty.sqlite")
        database = Database(f"sqlite:///{file}")
        schema.migrate(database)
        database.close()
        return file.read_bytes()


def open_runtime(folder: Path, **given: Any) -> Runtime:
    """A service that asks nobody for a key, unless told otherwise."""
    small: dict[str, Any] = {"threads": 1, "max_body_bytes": MAX_BODY_BYTES, "basis_points": BASIS_POINTS}
    settings = Settings(data_dir=folder, **{"auth": "off", **small, **given})
    runtime = Runtime.open(settings)
    file = folder / "zenserve.sqlite"
    if settings.database_url is None and not file.exists():
        file.write_bytes(_empty_database())
    if not schema.at_head(runtime.database):
        schema.migrate(runtime.database)
    return runtime


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    """An empty data directory, migrated."""
    runtime = open_runtime(tmp_path / "data")
    yield runtime
    runtime.close()


def on_postgresql(folder: Path, url: str) -> Runtime:
    """A service on this database, without a broker."""
    given = {"database_url": url, "broker_url": "redis://127.0.0.1:1/0", "secret_key": "a test's"}
    return open_runtime(folder, **given)


@pytest.fixture(scope="session")
def empty_database(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of one that nobody is connected to: a copy is made faster than the migrations."""
    url = fresh_database(postgres_url)
    on_postgresql(tmp_path_factory.mktemp("empty") / "data", url).close()
    return url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.program)])
def each_runtime(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Runtime]:
    """An empty service on each database, without a broker."""
    if request.param == "postgresql":
        url = fresh_database(request.getfixturevalue("empty_database"))
        runtime = on_postgresql(tmp_path / "data", url)
    else:
        runtime = open_runtime(tmp_path / "data")
    yield runtime
    runtime.close()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Model]:
    """A data directory with one registered model, its weights committed, to be copied, and that model."""
    folder = tmp_path_factory.mktemp("prepared") / "data"
    runtime = open_runtime(folder)
    with serving(runtime) as url, Client(url) as client:
        model = client.create_model(tiny_onnx(), tiny_calibration(), name="tiny", weight_privacy="committed")
        work_on(runtime, model.id)
        model = client.get_model(model.id)
    runtime.close()
    shutil.rmtree(folder / "broker")
    assert model.state == "succeeded", model.problem
    return folder, model


@pytest.fixture
def with_model(prepared: tuple[Path, Model], tmp_path: Path) -> Iterator[Runtime]:
    """A data directory of the test's own with a registered model."""
    shutil.copytree(prepared[0], tmp_path / "data")
    runtime = open_runtime(tmp_path / "data")
    yield runtime
    runtime.close()


@pytest.fixture(scope="session")
def shared(
    prepared: tuple[Path, Model], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, dict[str, Any]]]:
    """One server for all tests that change nothing, and a proof document that it made."""
    folder = tmp_path_factory.mktemp("shared") / "data"
    shutil.copytree(prepared[0], folder)
    runtime = open_runtime(folder)
    with serving(runtime) as url, Client(url) as client:
        proof = client.create_proof(prepared[1].id, [0.1, 0.2, 0.3, 0.4], challenge="lunch")
        work_on(runtime, proof.id)
        yield url, client.get_proof_document(proof.id)
    runtime.close()


@pytest.fixture
def shared_url(shared: tuple[str, dict[str, Any]]) -> str:
    """The server for tests that change nothing."""
    return shared[0]


@pytest.fixture
def document(shared: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A proof document that the shared server made."""
    return copy.deepcopy(shared[1])


@pytest.fixture
def model(prepared: tuple[Path, Model]) -> Model:
    return prepared[1]


@pytest.fixture
def url(with_model: Runtime) -> Iterator[str]:
    with serving(with_model) as url:
        yield url


@pytest.fixture
def api(url: str) -> Iterator[Client]:
    with Client(url) as client:
        yield client


@pytest.fixture
def http(keyed: Runtime) -> Iterator[httpx.Client]:
    """Of a service that asks for keys, as a file of tests has it."""
    with calling(keyed) as http:
        yield http
