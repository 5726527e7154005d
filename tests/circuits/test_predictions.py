"""What models in memory answer themselves, by the names of the outputs of their files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.circuits.test_estimators import of
from tests.refusals import refuses
from zenserve.circuits import export_model, load_onnx
from zenserve.circuits.onnx.predictions import _tensors, predictions

ROWS = np.random.default_rng(3).normal(size=(40, 3))


def test_labels_that_are_words_are_places_and_scores_are_of_both_classes() -> None:
    model = of(
        "lightgbm",
        classes_=np.array(["no", "yes"]),
        predict=lambda _, x: np.where(x[:, 0] > 0, "yes", "no"),
        decision_function=lambda _, x: x[:, 0],
    )
    told = predictions(model, ROWS)
    assert told["label"].tolist() == (ROWS[:, 0] > 0).astype(int).tolist() == told["output_label"].tolist()
    np.testing.assert_array_equal(told["probabilities"], np.stack([-ROWS[:, 0], ROWS[:, 0]], axis=1))
    assert "variable" not in told


def test_what_cannot_be_asked_for_is_left_out_and_what_fails_is_refused_without_its_words() -> None:
    assert {*predictions(of("catboost", predict=lambda _, x: x[:, 0]), ROWS)} == {
        "variable", "predictions", "GPmean", "label", "output_label",
    }  # fmt: skip
    assert predictions(object(), ROWS) == {}

    def failing(model: Any, x: Any) -> None:
        raise RuntimeError(f"never of {x[0, 0]}")

    with refuses("model.export", match="the Model itself gives no answer to these inputs: RuntimeError$"):
        predictions(of("xgboost", predict=failing), ROWS)


@pytest.mark.parametrize("words", [False, True])
def test_a_pipeline_answers_as_its_file_does(words: bool) -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install skl2onnx")
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    label = (ROWS[:, 0] > 0) + (ROWS[:, 1] > 0.5).astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        ROWS, np.array(["a", "b", "c"])[label] if words else label
    )
    graph, told = load_onnx(export_model(model, ROWS)), predictions(model, ROWS)
    made = graph.run_all(ROWS, {*graph.outputs.values()})
    for name, tensor in graph.outputs.items():
        np.testing.assert_allclose(made[tensor], told[name].reshape(made[tensor].shape), atol=1e-5)


def test_what_a_module_leaves_out_is_no_output() -> None:
    """As classes of outputs have it: exporters write what there is."""
    assert _tensors({"scores": 1, "hidden": None, "loss": (2, [None, 3])}) == [1, 2, 3]
