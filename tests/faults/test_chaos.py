from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.chaos import SERVERS, chaos
from tests.programs import Find


@pytest.mark.large
def test_jobs_under_random_kills(program: Find, tmp_path: Path) -> None:
    """A small one; docs/service.md has a large one, test_workers and test_servers each kill by itself."""
    with chaos(tmp_path, program, jobs=16, seed=7) as run:
        run.run()
        assert run.kills.keys() > set(SERVERS)
        assert "proof    succeeded" in run.summary()
