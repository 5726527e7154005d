"""Models of other libraries than PyTorch, as they are."""

from __future__ import annotations

import sys
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.refusals import refuses
from zenserve.circuits import export_model, load_onnx
from zenserve.circuits.onnx import estimators


def of(package: str, **methods: Any) -> Any:
    """A model whose class says that it is of this package."""
    return type("Model", (), {"__module__": f"{package}.models", **methods})()


def installed(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    module = ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)


def test_what_is_missing_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with refuses("model.no_exporter", match=r"pip install skl2onnx"):
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
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install skl2onnx")
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


def test_words_are_refused_and_none_is_quoted() -> None:
    rows = np.array([["Hamburg", 3.0]], dtype=object)
    with refuses("input.not_numeric", "input", match="the input has words, and a circuit") as refusal:
        export_model(of("sklearn"), rows)
    assert "Hamburg" not in str(refusal.value)
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    table = pandas.DataFrame({"age": [3.0], "town": ["Hamburg"]})
    with refuses("input.not_numeric", match="words in 'town', and a circuit") as refusal:
        export_model(of("xgboost"), table)
    assert "Hamburg" not in str(refusal.value)


@pytest.mark.parametrize("words", [False, True])
def test_scores_of_a_machine_are_in_the_order_of_its_labels(words: bool) -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install skl2onnx")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    x = np.random.default_rng(1).normal(size=(64, 3))
    y = (x[:, 0] > 0).astype(int)
    model = make_pipeline(StandardScaler(), SVC()).fit(x, np.array(["no", "yes"])[y] if words else y)
    graph = load_onnx(export_model(model, x))
    made = graph.run_all(x, {*graph.outputs.values()})
    label, scores = (made[tensor] for tensor in graph.outputs.values())
    told = (model.predict(x) == "yes") if words else model.predict(x)
    assert (label.ravel() == told).all()
    assert (scores.argmax(axis=-1).ravel() == told).all()
    np.testing.assert_allclose(scores[..., 1].ravel(), model.decision_function(x), atol=1e-4)


@pytest.mark.parametrize("kind", ["SVC", "KMeans"])
def test_what_does_not_rank_classes_is_shown_as_values(kind: str) -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install skl2onnx")
    from skl2onnx import to_onnx
    from sklearn.cluster import KMeans
    from sklearn.svm import SVC

    x = np.random.default_rng(1).normal(size=(64, 3)).astype(np.float32)
    model = SVC().fit(x, x[:, 0] > 0) if kind == "SVC" else KMeans(3, n_init=1, random_state=0).fit(x)
    options = {id(model): {"zipmap": False}} if kind == "SVC" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = to_onnx(model, x[:1], options=options, target_opset={"": 18, "ai.onnx.ml": 3})
    graph = load_onnx(file.SerializeToString())
    assert [*graph.values] == [*graph.outputs][1:]
    assert load_onnx(export_model(model, x)).values == (() if kind == "SVC" else graph.values)


@pytest.mark.parametrize("named", [False, True])
def test_columns_by_name_and_categories_that_are_numbers_are_read(named: bool) -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install skl2onnx")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    draw = np.random.default_rng(1)
    x = np.column_stack([draw.normal(size=80), draw.integers(0, 3, 80)])
    table = pandas.DataFrame(x, columns=["size", "code"]) if named else x
    encoded = ColumnTransformer([("c", OneHotEncoder(), ["code"] if named else [1])], remainder="passthrough")
    model = make_pipeline(encoded, LogisticRegression()).fit(table, (x[:, 1] == 1) | (x[:, 0] > 1))
    graph = load_onnx(export_model(model, table))
    made = graph.run_all(x, {*graph.outputs.values()})
    label, scores = (made[tensor] for tensor in graph.outputs.values())
    assert (label.ravel() == model.predict(table)).all()
    np.testing.assert_allclose(scores.reshape(80, -1), model.predict_proba(table), atol=1e-5)
    assert encoded.transformers[0][1].handle_unknown == "error"
