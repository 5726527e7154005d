"""Tests look into how the processor makes keys and proofs; those in tests/gpu choose the GPU themselves.

Several processes of tests share the cores, where the threads of a BLAS would spend their time on waiting.
"""

import os
from collections.abc import Iterator

import pytest

os.environ.setdefault("ZENSERVE_BACKEND", "cpu")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

pytest_plugins = ["tests.programs", "tests.browsers", "tests.servers"]


@pytest.fixture(scope="session", autouse=True)
def _tokens_of_tests_stay_theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Services leave their tokens where programs of the same user look: not the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
