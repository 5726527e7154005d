"""Rows that a model of a table cannot be asked about: each refusal names the column and what to do."""

from __future__ import annotations

from typing import Any

import pytest

import zenserve
from tests.credit import CALIBRATION, ROW, network
from tests.refusals import refuses

pandas: Any = pytest.importorskip("pandas", reason="pandas is not installed")


def ask(*rows: dict[str, Any], calibration: Any = CALIBRATION) -> Any:
    table = pandas.DataFrame(rows, columns=[*ROW])
    return zenserve.prove(network(), table, calibration=calibration, weight_privacy="public")


def test_a_proof_is_about_one_row() -> None:
    with refuses("input.empty", "input", match="input: the table has no rows"):
        ask()
    with refuses("input.shape", "input", match="has 2 rows, and a proof is about one"):
        ask(ROW, ROW)
    with refuses("input.empty", "calibration", match="calibration: the table has no rows"):
        ask(ROW, calibration=pandas.DataFrame(columns=[*ROW]))


def test_a_cell_beyond_the_calibration_is_named_by_its_column() -> None:
    with refuses("input.out_of_range", "input", match="column 'age' lies outside") as refusal:
        ask(ROW | {"age": 4000.0})
    assert "4000" not in str(refusal.value)


def test_a_model_that_learned_nothing_is_refused_in_plain_words() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble", reason="scikit-learn is not installed")
    with refuses("model.export", match="the RandomForestClassifier is not fitted: call fit"):
        zenserve.prove(ensemble.RandomForestClassifier(), [1.0, 2.0])


def test_an_empty_file_is_called_empty() -> None:
    with refuses("model.not_onnx", match="the file is empty"):
        zenserve.prove(b"", [1.0])


def test_columns_that_the_model_was_fitted_on_are_named_where_rows_lack_them() -> None:
    trees = pytest.importorskip("sklearn.tree", reason="scikit-learn is not installed")
    table = pandas.DataFrame({"age": [20.0, 61.5, 44.0], "income": [1.0, 2.0, 3.0]})
    model = trees.DecisionTreeClassifier().fit(table, [0, 1, 1])
    with refuses("input.names", "input", match="no column 'income', .*; theirs are 'age', 'salary'"):
        zenserve.prove(model, table[:1].rename(columns={"income": "salary"}))
