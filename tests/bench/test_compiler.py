"""The compiler's benchmark runs, and writes the rows and the plot that others read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.report import read

ROOT = Path(__file__).parents[2]


@pytest.mark.large
def test_every_row_of_the_compiler_benchmark(tmp_path: Path) -> None:
    output, plot = tmp_path / "rows.json", tmp_path / "plot.svg"
    command = [sys.executable, "-m", "bench.compiler", "--quick", "--json", str(output), "--plot", str(plot)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    rows = {row.name: row for row in read(output)[1]}
    circuits = [rows[f"circuit_{name}"] for name in ("shallownet", "conv_1_to_2", "conv_2_to_4")]
    assert all(row.peer == "gate by gate" and (row.ratio or 0) > 1 for row in circuits)
    for network in ("shallownet", "shallownet_committed"):
        assert (rows[f"{network}_compile"].peak_mb or 0) > 0
        assert all(rows[f"{network}_{what}"].median > 0 for what in ("cached", "execute", "witness"))
    assert (rows["shallownet_compile"].size or 0) < (rows["shallownet_committed_compile"].size or 0)
    assert "gate by gate" in plot.read_text()
