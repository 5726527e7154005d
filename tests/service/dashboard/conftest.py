"""Services to visit: one that has done nothing, and one after a day's work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.dashboard.site import Site, site


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path / "data") as empty:
        yield empty


@pytest.fixture(scope="session")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Before any work, for tests that change nothing."""
    with site(tmp_path_factory.mktemp("quiet") / "data") as quiet:
        yield quiet


@pytest.fixture(scope="session")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """After a day's work, for tests that change nothing of it."""
    with site(tmp_path_factory.mktemp("busy") / "data", jobs=150) as busy:
        yield busy
