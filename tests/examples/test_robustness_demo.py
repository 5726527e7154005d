"""The story of an attack and a certificate."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from examples.robustness import demo
from examples.robustness.network import calibration, held_out, network
from zenserve.circuits import QuantGraph
from zenserve.circuits.quantisation.quantiser import quantise


@pytest.fixture(scope="module")
def qgraph() -> QuantGraph:
    return quantise(network(), calibration())


def test_an_attack_succeeds_beyond_the_radius(qgraph: QuantGraph, capsys: pytest.CaptureFixture[str]) -> None:
    images, labels = held_out()
    certified = demo.attacked(qgraph, images[3], int(labels[3]))
    said = capsys.readouterr().out
    assert 8 < certified < demo.MOST_STEPS
    assert f"The image shows a {labels[3]}, the network says {labels[3]}" in said
    assert f"by up to {certified}/255 makes that another label." in said
    found = said.partition("A change by ")[2]
    assert int(found.partition("/")[0]) > certified
    assert f"now it says {labels[3]}" not in found
    assert "does: now it says" in found


@pytest.mark.large
def test_what_no_attack_reaches_is_proven(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", ["demo", "3"])
    monkeypatch.chdir(tmp_path)
    assert demo.main() == 0
    said = " ".join(capsys.readouterr().out.split())
    bounded, proven = (
        int(said.partition(f"{words} ")[2].partition("/")[0]) for words in ("up to", "Proven within")
    )
    assert bounded - 1 <= proven <= bounded
    assert f"Proven within {proven}/255, of hidden weights. The proof is valid" in said
    assert f"The radius is {proven / 255:.6f}"[:-1] in said
    assert "<svg" in (tmp_path / "robustness.html").read_text()


@pytest.mark.large
def test_where_nothing_is_certain_nothing_is_proven(
    qgraph: QuantGraph, capsys: pytest.CaptureFixture[str]
) -> None:
    demo.proven(qgraph, held_out()[0][3], 0)
    assert "No certificate of it reaches a single step." in capsys.readouterr().out
