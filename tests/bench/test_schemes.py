"""The schemes' benchmark runs on the digits, and writes the rows that others read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench import schemes
from bench.report import read

ROOT = Path(__file__).parents[2]
SAID = ["net", "setup_s", "verify_s", "prove_mb", "key_mb", "proof_bytes"]


@pytest.mark.large
def test_every_row_of_the_schemes_benchmark(tmp_path: Path) -> None:
    output = tmp_path / "rows.json"
    command = [sys.executable, "-m", "bench.schemes", "--quick", "--json", str(output)]
    shown = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    _, rows = read(output)
    assert [row.name for row in rows] == ["registration", "inference", "accuracy-10"]
    for row in rows:
        assert list(row.more) == SAID
        assert min(row.median, row.peak_mb or 0, *list(row.more.values())[1:]) > 0
        assert f"{row.size:,}" in shown
    # A link each to the model, the dataset and the count, beside one to the model alone.
    assert [row.more["proof_bytes"] for row in rows] == [450, 450, 738]


def test_without_images_the_zoo_has_stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemes, "FOLDER", tmp_path / "none")
    images = schemes.images_of("shallownet")
    assert (images.source, images.inputs.shape, len(images.labels)) == ("stand-ins", (100, 1, 28, 28), 100)
    assert schemes.images_of(schemes.EMBEDDING).inputs.shape == (2, 1, 56, 46)


def test_proofs_that_do_not_verify_are_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = schemes.Bench("digits", 1, tmp_path)
    bench.make_basis()
    task = bench.task("inference")
    schemes.make_key(task)
    timed = schemes.prove(task)
    assert timed[2] == 450
    monkeypatch.setattr(schemes.Worker, "prove", lambda self: bytes(450))
    with pytest.raises(AssertionError):
        schemes.prove(task)
