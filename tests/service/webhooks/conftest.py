"""Services whose webhooks may lead to this host."""

from __future__ import annotations

import pytest

from tests.service.webhooks.receiver import LOOPBACK
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler import webhooks


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "PERIOD_SECONDS", 0.02)
    monkeypatch.setattr(webhooks, "BREATH_SECONDS", 0.0)
    monkeypatch.setattr(webhooks, "STOP_SECONDS", 0.1)


@pytest.fixture
def open_networks(runtime: Runtime) -> Runtime:
    """A service that may tell this host's loopback addresses."""
    runtime.settings.webhook_networks = list(LOOPBACK)
    return runtime


@pytest.fixture
def each_open(each_runtime: Runtime) -> Runtime:
    """The same on each database."""
    each_runtime.settings.webhook_networks = list(LOOPBACK)
    return each_runtime
