"""``zenserve robustness``, as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


@pytest.fixture
def given(tmp_path: Path) -> tuple[str, ...]:
    held_out = np.load(DIGITS / "held_out.npz")
    np.savez(tmp_path / "x.npz", image=held_out["images"][:6], labels=held_out["labels"][:6])
    return "robustness", str(DIGITS / "digits.onnx"), str(tmp_path / "x.npz"), "--within", "0:16"


def test_floats_and_integers(run: Any, given: tuple[str, ...], tmp_path: Path) -> None:
    code, text, _ = run(*given, "--eps", "8/32")
    assert code == 0
    assert "the float network" in text
    assert "ℓ_∞" in text
    folder = tmp_path / "plots"
    calibration = "--calibration", str(DIGITS / "calibration.npy")
    code, text, _ = run(*given, "--eps", "1", "--norm", "2", *calibration, "--plot", str(folder), "--json")
    assert code == 0
    found = json.loads(text)
    assert found["integers"]
    assert found == json.loads((folder / "robustness.json").read_text())
    assert "<svg" in (folder / "robustness.html").read_text()
    assert (folder / "certified.svg").is_file()
    np.save(tmp_path / "where.npy", np.arange(64).reshape(8, 8) == 20)
    code, text, _ = run(*given, "--eps", "1/2", "--where", tmp_path / "where.npy", "--json")
    assert json.loads(text)["certified"] == 1  # one pixel alone
    (tmp_path / "where.npy").write_text("no mask")
    assert "neither a .npy or .npz file" in str(
        run(*given, "--eps", "1/2", "--where", tmp_path / "where.npy")
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--eps", "0"), "no positive number"),
        (("--eps", "8/0"), "no positive number"),
        (("--eps", "1", "--within", "2:1"), "no interval"),
    ],
)
def test_what_makes_no_sense(run: Any, given: tuple[str, ...], more: tuple[str, ...], said: str) -> None:
    code, _, errors = run(*given, *more)
    assert code == 2
    assert said in errors


def test_samples_that_do_not_fit(run: Any, given: tuple[str, ...], tmp_path: Path) -> None:
    for name, values, said in (
        ("shape.npy", np.zeros((3, 3)), "has shape [3, 3]; the network takes [n, 8, 8]"),
        ("nan.npy", np.full((1, 8, 8), np.nan), "inputs[0, 0, 0] is nan"),
    ):
        np.save(tmp_path / name, values)
        code, _, errors = run(*given[:2], str(tmp_path / name), "--eps", "1")
        assert code == 2
        assert f"{name} (INPUTS): " in errors
        assert said in errors
