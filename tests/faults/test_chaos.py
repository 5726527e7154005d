from __future__ import annotations

from pathlib import Path

from tests.faults.chaos import SERVERS, chaos
from tests.programs import Find


def test_jobs_under_random_kills(program: Find, tmp_path: Path) -> None:
    """A small one; docs/service.md has a large one."""
    with chaos(tmp_path, program, jobs=16, seed=7) as run:
        run.run()
        assert run.kills.keys() > set(SERVERS)
        assert "proof    succeeded" in run.summary()
