"""Every kernel test runs on every target of this processor, and on the emulated one where it was built."""

from __future__ import annotations

import pytest

import kernels
from tests.kernels.targets import TARGETS


@pytest.fixture(params=TARGETS, scope="session")
def k(request: pytest.FixtureRequest) -> kernels.Kernels:
    return kernels.load(request.param)
