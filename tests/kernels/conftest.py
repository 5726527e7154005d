"""Every kernel test runs on every target of this processor, the emulated one if it was built, and the GPU."""

from __future__ import annotations

import pytest

from tests.kernels.targets import TARGETS, each, load
from zenserve import kernels
from zenserve.kernels.group import Group


@pytest.fixture(params=each(TARGETS), scope="session")
def k(request: pytest.FixtureRequest) -> kernels.Kernels:
    return load(request.param)


@pytest.fixture(params=["g1", "g2"])
def group(request: pytest.FixtureRequest, k: kernels.Kernels) -> Group:
    return k.g1 if request.param == "g1" else k.g2
