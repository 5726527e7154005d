"""The benchmark of networks of few bits writes the rows that its page shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.lowbit import circuits
from bench.report import read
from zenserve.prover.registry import SYSTEMS

ROOT = Path(__file__).parents[2]


def test_constraints_are_beside_those_of_eight_bits() -> None:
    rows = {(row.name.rpartition("-")[2], row.more["weights"]): row for row in circuits("lenet-mnist")}
    for weights in ("public", "committed"):
        eight, few = rows["w8a8", weights], rows["w1a2", weights]
        assert (eight.peer, eight.ratio, few.peer) == (None, None, "w8a8")
        assert few.ratio == eight.median / few.median > 1.6


@pytest.mark.large
def test_proofs_are_made_under_each_system(tmp_path: Path) -> None:
    output = tmp_path / "rows.json"
    command = [sys.executable, "-m", "bench.lowbit", "--quick", "--topics", "proofs", "--json", str(output)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    _, rows = read(output)
    assert [(row.name, row.more["system"]) for row in rows] == [
        ("lenet-mnist-w1a2", each) for each in SYSTEMS
    ]
    assert all(row.median > 0 and (row.size or 0) > 0 for row in rows)
