from __future__ import annotations

import sys

import pytest

from examples.robustness import accuracy


@pytest.mark.large
def test_a_buyer_sees_what_stays_right(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["accuracy", "1"])
    assert accuracy.main() == 0
    said = capsys.readouterr().out
    assert said.startswith("The proof is valid")
    assert "At least 1 of 1" in said
    assert "Of other labels: The given dataset has the SHA-256" in said
