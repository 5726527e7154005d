"""The schemes' benchmark runs on the digits, and writes the rows that others read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import schemes

ROOT = Path(__file__).parents[2]
KEYS = ["net", "scheme", "constraints", "setup_s", "prove_s", "verify_s", "peak_mb", "key_mb", "proof_bytes"]


def test_every_row_of_the_schemes_benchmark(tmp_path: Path) -> None:
    output = tmp_path / "rows.json"
    command = [sys.executable, "-m", "bench.schemes", "--quick", "--json", str(output)]
    shown = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    rows = json.loads(output.read_text())
    assert [(row["net"], row["scheme"]) for row in rows] == [
        ("digits", scheme) for scheme in ("registration", "inference", "accuracy-10")
    ]
    for row in rows:
        assert list(row) == KEYS
        assert all(value > 0 for value in list(row.values())[2:])
        assert f"{row['constraints']:,}" in shown
    # A link each to the model, the dataset and the count, beside one to the model alone.
    assert [row["proof_bytes"] for row in rows] == [450, 450, 738]


def test_without_images_the_zoo_has_stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemes, "FOLDER", tmp_path / "none")
    images = schemes.images_of("shallownet")
    assert (images.source, images.inputs.shape, len(images.labels)) == ("stand-ins", (100, 1, 28, 28), 100)
    assert schemes.images_of(schemes.EMBEDDING).inputs.shape == (2, 1, 56, 46)


def test_proofs_that_do_not_verify_are_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = schemes.Bench("digits", 1, tmp_path)
    task = bench.task("inference")
    schemes.make_key(task)
    timed = schemes.prove(task)
    assert timed[2] == 450
    monkeypatch.setattr(schemes.Worker, "prove", lambda self: bytes(450))
    with pytest.raises(AssertionError):
        schemes.prove(task)
