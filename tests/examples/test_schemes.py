"""The examples of the schemes run, on the digits that every checkout has."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from examples.buyer import demo as buyer
from examples.faces import demo as faces
from examples.hospital import demo as hospital

NOTEBOOK = Path(__file__).parents[2] / "examples" / "schemes.ipynb"


@pytest.mark.parametrize(
    ("main", "reasons"),
    [
        (
            hospital.main,
            [
                "challenge_mismatch",
                "input_mismatch",
                "model_mismatch",
                "pairing_mismatch",
                "statement_edited",
            ],
        ),
        (buyer.main, ["dataset_mismatch", "shard_missing", "shard_repeated", "total_mismatch"]),
        (faces.main, ["challenge_mismatch", "pairing_mismatch", "reference_mismatch"]),
    ],
    ids=["hospital", "buyer", "faces"],
)
def test_truths_are_verified_and_lies_refused_for_their_own_reasons(
    main: Callable[[Path], int], reasons: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(tmp_path) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert json.loads(last.removeprefix("demo: ")) == {"verified": True, "refused": reasons}


@pytest.mark.parametrize("folder", [NOTEBOOK.parent, NOTEBOOK.parents[1]], ids=["examples", "repository"])
def test_the_notebook_finds_the_repository_and_nothing_beside_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = next(cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code")
    head = "".join(first["source"]).partition("import numpy")[0]
    before = [*sys.path]
    monkeypatch.setattr(sys, "path", [*before])
    monkeypatch.chdir(folder)
    exec(compile(head, NOTEBOOK.name, "exec"), {})  # noqa: S102  our own file
    assert sys.path == [*before, str(NOTEBOOK.parents[1])]


def test_the_notebook_runs_from_top_to_bottom(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(NOTEBOOK.parent)
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert not any(cell.get("outputs") for cell in cells), "stored without outputs"
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), NOTEBOOK.name, "exec"), names)  # noqa: S102  our own file
    shown = capsys.readouterr().out
    for reason in (
        "statement_edited",
        "pairing_mismatch",
        "model_mismatch",
        "dataset_mismatch",
        "shard_missing",
    ):
        assert f"{reason} - " in shown
    assert "450 images" in shown
    assert "of 25 labels right" in shown
