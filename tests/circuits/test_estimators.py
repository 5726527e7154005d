"""Models of other libraries than PyTorch, as they are."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from circuits import export_model, load_onnx
from circuits.onnx import estimators
from tests.refusals import refuses


def of(package: str, **methods: Any) -> Any:
    """A model whose class says that it is of this package."""
    return type("Model", (), {"__module__": f"{package}.models", **methods})()


def installed(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    module = ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)


def test_what_is_missing_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with refuses("model.no_exporter", match=r"pip install 'zenserve\[estimators\]'"):
        export_model(of("sklearn"), np.zeros((1, 3)))


def test_scikit_learn_s_are_given_one_row_of_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    file = helper.make_model(helper.make_graph([], "empty", [], []))

    def to_onnx(model: Any, row: Any, **options: Any) -> Any:
        asked.update(row=row, **options)
        return file

    installed(monkeypatch, "skl2onnx", to_onnx=to_onnx)
    monkeypatch.setattr(estimators, "_let_pipelines_have_trees", lambda: None)
    made = onnx.load_from_string(export_model(of("sklearn"), np.arange(6).reshape(2, 3)))
    assert {each.domain: each.version for each in made.opset_import}["ai.onnx.ml"] == 3
    assert (asked["row"].dtype, asked["row"].tolist()) == (np.float32, [[0, 1, 2]])
    assert asked["target_opset"]["ai.onnx.ml"] == 3


def test_keras_writes_its_files_itself() -> None:
    def write(model: Any, file: str, **options: Any) -> None:
        assert options["format"] == "onnx"
        with open(file, "wb") as to:
            to.write(b"keras")

    called: list[Any] = []
    model = of(
        "keras", export=write, input_shape=(None, 3), __call__=lambda _, batch: called.append(batch.shape)
    )
    assert export_model(model, np.zeros(3)) == b"keras"
    assert called == [(1, 3)]


def test_what_an_exporter_does_not_take_is_refused_with_its_reason() -> None:
    def refusing(model: Any, file: str, **options: Any) -> None:
        raise ValueError("this one\nnever")

    with refuses("model.export", match="no exporter takes the Model: this one$"):
        export_model(of("catboost", save_model=refusing), np.zeros((1, 3)))
    with refuses("model.export", match="takes one input, not 2"):
        export_model(of("keras"), np.zeros(3), np.zeros(3))
    with refuses("model.export", match="no model of PyTorch's"):
        export_model(object(), np.zeros(3))


def test_a_pipeline_is_read_with_both_outputs() -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install 'zenserve[estimators]'")
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = np.random.default_rng(1).normal(size=(64, 3))
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, x[:, 0] > 0)
    graph = load_onnx(export_model(model, x))
    made = graph.run_all(x, {*graph.outputs.values()})
    label, scores = (made[tensor] for tensor in graph.outputs.values())
    assert (label.ravel() == model.predict(x)).all()
    np.testing.assert_allclose(scores, model.predict_proba(x), atol=1e-5)
