"""Tests look into how the processor makes keys and proofs; those in tests/gpu choose the GPU themselves.

Several processes of tests share the cores, where the threads of a BLAS would spend their time on waiting.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("ZENSERVE_BACKEND", "cpu")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A busy machine decides nothing.
settings.register_profile("zenserve", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("zenserve")

pytest_plugins = ["tests.programs", "tests.browsers", "tests.servers"]


_LONGEST = ("documentation", "web", "faults", "service")
"""Folders whose files take longest: at the end every process has something short left."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folders = {item: item.path.relative_to(Path(__file__).parent).parts[0] for item in items}
    items.sort(
        key=lambda item: _LONGEST.index(found) if (found := folders[item]) in _LONGEST else len(_LONGEST)
    )


@pytest.fixture(scope="session", autouse=True)
def _tokens_of_tests_stay_theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Services leave their tokens where programs of the same user look: not the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
