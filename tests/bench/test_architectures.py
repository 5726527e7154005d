"""PyTorch's architectures: the list is what the maker makes, and what it makes is a suite."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from bench import suite

MAKER = Path(__file__).parents[2] / "bench" / "architectures.py"


def test_the_list_is_what_the_maker_makes() -> None:
    made = [
        each.name
        for each in ast.parse(MAKER.read_text()).body
        if isinstance(each, ast.FunctionDef)
        and any(
            isinstance(by, ast.Call) and ast.unparse(by.func) == "architecture" for by in each.decorator_list
        )
    ]
    lines = (suite.LISTS / "pytorch.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == made
    assert len(set(made)) == len(made) >= 60


@pytest.mark.parametrize("exporter", ["pytorch-export", "pytorch-torchscript"])
def test_networks_come_with_their_inputs(tmp_path: Path, exporter: str) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch onnxscript")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed: pip install torch onnxscript")
    from bench.architectures import made, write

    write("siamese", tmp_path / exporter)
    given, source = suite.inputs(tmp_path / exporter / "siamese" / "network.onnx")
    assert source == "input.npz"
    for found, drawn in zip(given.values(), made("siamese")[1], strict=True):
        assert (found == drawn.numpy()).all()
    with pytest.raises(FileNotFoundError, match="linear_regression"):
        suite.members(tmp_path / exporter)
