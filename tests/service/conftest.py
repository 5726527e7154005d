from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from client import Client, Model
from service.runtime import Runtime
from service.settings import Settings
from tests.service.support import serving, tiny_calibration, tiny_onnx, work_on

MAX_BODY_BYTES = 200_000


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ZENSERVE_SECRET_KEY", raising=False)


def open_runtime(folder: Path) -> Runtime:
    runtime = Runtime.open(Settings(data_dir=folder, threads=1, max_body_bytes=MAX_BODY_BYTES))
    runtime.database.migrate()
    return runtime


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    """An empty data directory, migrated."""
    runtime = open_runtime(tmp_path / "data")
    yield runtime
    runtime.close()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Model]:
    """A data directory with one prepared model, to be copied, and that model."""
    folder = tmp_path_factory.mktemp("prepared") / "data"
    runtime = open_runtime(folder)
    with serving(runtime) as url, Client(url) as client:
        model = client.create_model(tiny_onnx(), tiny_calibration(), name="tiny")
        work_on(runtime, model.id)
        model = client.get_model(model.id)
    runtime.close()
    for message in (folder / "broker" / "messages").iterdir():
        message.unlink()
    assert model.state == "succeeded", model.problem
    return folder, model


@pytest.fixture
def with_model(prepared: tuple[Path, Model], tmp_path: Path) -> Iterator[Runtime]:
    """A data directory of the test's own with a prepared model."""
    shutil.copytree(prepared[0], tmp_path / "data")
    runtime = open_runtime(tmp_path / "data")
    yield runtime
    runtime.close()


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
