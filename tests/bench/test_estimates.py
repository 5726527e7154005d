"""Estimates beside what setup and a proof take, in processor seconds: a busy machine changes little."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.report import read

ROOT = Path(__file__).parents[2]


def test_every_stage_is_foretold_and_the_whole_is_near(tmp_path: Path) -> None:
    output = tmp_path / "rows.json"
    command = [sys.executable, "-m", "bench.estimates", "--quick", "--json", str(output)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    rows = {row.more["stage"]: row for row in read(output)[1]}
    assert {"setup", "columns", "key_g1", "store", "proof", "witness", "msm_quotient"} <= rows.keys()
    for whole in ("setup", "proof"):
        assert 1 / 3 < rows[whole].more["foretold_s"] / rows[whole].median < 3
