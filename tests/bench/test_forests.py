"""The benchmark of forests runs, and integers lose nothing of what it trains."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.report import read

ROOT = Path(__file__).parents[2]


@pytest.mark.large
def test_a_small_forest_is_measured(tmp_path: Path) -> None:
    for package in ("sklearn", "skl2onnx"):
        pytest.importorskip(package, reason="pip install '.[bench]'")
    output = tmp_path / "rows.json"
    command = [sys.executable, "-m", "bench.forests", "--quick", "--json", str(output)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    _, (row,) = read(output)
    assert row.more["integers"] == row.more["floats"] > 0.9
    assert row.size is not None
    assert row.size < 1000
