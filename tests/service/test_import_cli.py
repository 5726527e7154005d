"""``zenserve import``, as a user meets it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from circuits import load_onnx
from tests.circuits.operators.test_learned import CLASSIFIERS, model

MODELS = """
class Booster:
    __module__ = "catboost.core"

    def save_model(self, file, format):
        with open(file, "wb") as to:
            to.write(open("made.onnx", "rb").read())

class Rooms:
    booster = Booster()

def trained():
    return Booster()
"""


@pytest.fixture
def run(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Of ``zenserve import``, in a folder with a module."""
    monkeypatch.chdir(tmp_path)
    Path("rooms_to_let.py").write_text(MODELS)
    Path("made.onnx").write_bytes(model(*CLASSIFIERS["linear, NONE"], outputs=2))
    np.save("rows.npy", np.zeros((3, 2)))
    return partial(run, "import")


@pytest.mark.parametrize("place", ["rooms_to_let:trained", "rooms_to_let:Rooms.booster"])
def test_a_model_becomes_a_file(run: Any, place: str) -> None:
    code, out, err = run(place, "room.onnx", "--input", "rows.npy", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "file": "room.onnx",
        "inputs": {"x": [2]},
        "outputs": {"label": [1], "scores": [3]},
    }
    assert [*load_onnx(Path("room.onnx")).outputs] == ["label", "scores"]


def test_of_its_outputs_some_may_be_kept(run: Any) -> None:
    code, out, _ = run("rooms_to_let:trained", "room.onnx", "--input", "rows.npy", "--output", "scores")
    assert (code, out) == (0, "room.onnx: x [2], scores [3]\n")
    assert [*load_onnx(Path("room.onnx")).outputs] == ["scores"]
    code, _, err = run("rooms_to_let:trained", "room.onnx", "--input", "rows.npy", "--output", "other")
    assert code == 2
    assert "those that there are: label, scores" in err


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("rooms_to_let", "is no MODULE:NAME"),
        ("rooms_to_let:none", "no attribute"),
        ("no_rooms:x", "No module"),
    ],
)
def test_what_is_not_there_is_said(run: Any, place: str, words: str) -> None:
    code, _, err = run(place, "room.onnx", "--input", "rows.npy")
    assert code == 2
    assert words in err
