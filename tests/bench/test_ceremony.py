"""A ceremony's commands are measured, beside another program that stands in for an older one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.ceremony import COMMANDS, OURS
from bench.report import read

ROOT = Path(__file__).parents[2]


@pytest.mark.large
def test_every_command_is_measured(tmp_path: Path) -> None:
    output = tmp_path / "rows.json"
    command = [sys.executable, "-m", "bench.ceremony", "--quick", "--json", str(output)]
    subprocess.run([*command, "--before", str(OURS)], cwd=ROOT, check=True, capture_output=True)
    _, rows = read(output)
    assert [row.name for row in rows] == [*COMMANDS, "powers verify"]
    assert {row.size for row in rows} == {245, None}
    for row in rows:
        assert row.median > 0
        assert row.ratio is not None
        assert row.peak_mb is not None
        assert row.ratio > 0
        assert 10 < row.peak_mb < 1000
