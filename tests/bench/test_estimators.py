"""Models of tables: the list is what the maker makes, and what it makes is a suite."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from bench import suite

MAKER = Path(__file__).parents[2] / "bench" / "estimators.py"


def test_the_list_is_what_the_maker_makes() -> None:
    (made,) = (
        [ast.literal_eval(key) for key in each.value.keys if key]
        for each in ast.parse(MAKER.read_text()).body
        if isinstance(each, ast.AnnAssign)
        and ast.unparse(each.target) == "ESTIMATORS"
        and isinstance(each.value, ast.Dict)
    )
    lines = (suite.LISTS / "estimators.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == made
    assert len(set(made)) == len(made) >= 19


def test_networks_come_with_an_input_and_what_calibrates(tmp_path: Path) -> None:
    for package in ("catboost", "lightgbm", "skl2onnx", "xgboost"):
        pytest.importorskip(package, reason=f"{package} is not installed: pip install '.[bench]'")
    from bench.estimators import made, write

    write("linear_regression", tmp_path)
    _, seen, held_out, _ = made("linear_regression")
    network = tmp_path / "linear_regression" / "network.onnx"
    given, source = suite.inputs(network)
    assert source == "input.npy"
    (x,) = given.values()
    assert (x == held_out[:1]).all()
    (found,) = (suite.calibration(network) or {}).values()
    assert (found == seen[: len(found)]).all()
