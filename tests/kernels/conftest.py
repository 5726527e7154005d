"""Every kernel test runs on every target that this processor has."""

from __future__ import annotations

import pytest

import kernels


@pytest.fixture(params=kernels.available_targets(), scope="session")
def k(request: pytest.FixtureRequest) -> kernels.Kernels:
    return kernels.load(request.param)
