"""The benchmark runs, and writes the rows that others read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_row_of_the_cpu_benchmark(tmp_path: Path) -> None:
    output = tmp_path / "rows.json"
    command = [sys.executable, "-m", "bench.cpu", "--quick", "--json", str(output)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    rows = json.loads(output.read_text())
    assert {row["name"] for row in rows} >= {
        "fp_product_portable",
        "fr_product_portable",
        "ntt",
        "msm_g1",
        "msm_g2",
        "digits_public_weights_setup",
        "digits_private_weights_prove",
        "digits_public_weights_verify",
    }
    for row in rows:
        assert row["median_s"] > 0
        assert row["threads"] in (1, 2)
        assert (row["peer"] is None) == (row["ratio"] is None)
        assert (row["peak_mb"] is not None) == row["name"].startswith("digits")
    assert {row["peer"] for row in rows if row["name"] == "msm_g1" and row["threads"] == 1} == {
        "py_arkworks_bls12381"
    }


def test_every_row_of_the_segments_benchmark(tmp_path: Path) -> None:
    output = tmp_path / "rows.json"
    command = [sys.executable, "-m", "bench.segments", "--quick", "--json", str(output)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    rows = json.loads(output.read_text())
    proving, verifying = rows[:4], rows[4:]
    assert [row["name"] for row in proving] == ["convolution_setup", "convolution_prove"] * 2
    names = ["verify_plain", "verify_linked", "verify_linked_batch"]
    assert [(row["name"], row["scalars"]) for row in verifying] == [
        (name, scalars) for scalars in ("bytes", "random") for name in names
    ]
    assert {row["peer"] for row in verifying} == {"py_arkworks_bls12381"}
    assert all(row["median_s"] > 0 for row in rows)
