from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.cluster import Cluster
from tests.programs import Find
from zenserve.client import Model


@pytest.fixture(scope="module")
def cluster(program: Find, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The service as in production; tests of a module disturb it one after the other."""
    settings = {"kill_seconds": 2.0, "webhook_networks": ["127.0.0.0/8"]}
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), program, **settings)
    try:
        for name in ("api", "beat", "worker"):
            cluster.start(name)
        cluster.until_ready()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="module")
def model(cluster: Cluster) -> Model:
    return cluster.model()
