"""Boosted trees as their libraries dump them: the file that is written answers as the model did, when it was
recorded (record_tables.py), and as it does now where its library is installed."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

from tests.refusals import refuses
from zenserve.circuits import export_model, load_onnx
from zenserve.circuits.onnx.predictions import predictions
from zenserve.circuits.onnx.tables import catboost, hist_gradient, lightgbm, xgboost
from zenserve.circuits.onnx.tables.ensemble import LEQ, MEMBER, Ensemble, Trees

FOLDER = Path(__file__).parent / "table_models"
RECORDED = sorted(path.stem for path in FOLDER.glob("*.json"))


def saving(text: str) -> Any:
    return lambda file, **_: Path(file).write_text(text)


def as_recorded(name: str, held: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Ensemble:
    """The model that was recorded, as it is read: what readers ask it for is what was recorded."""
    dump, classes = held["dump"], {"classes_": held["classes"]} if held["classes"] else {}
    if name.startswith("lightgbm"):
        return lightgbm.ensemble_of(SimpleNamespace(dump_model=lambda: dump, **classes))
    if name.startswith("catboost"):
        text = json.dumps(dump)
        return catboost.ensemble_of(SimpleNamespace(save_model=saving(text), **classes))
    features = int(dump["learner"]["learner_model_param"]["num_feature"])
    booster = SimpleNamespace(save_raw=lambda _: json.dumps(dump).encode(), num_features=lambda: features)
    monkeypatch.setattr(xgboost, "said_margin", lambda *_: np.array(held["margin"]))
    best = {"best_iteration": held["rounds"] - 1} if held["rounds"] else {}
    return xgboost.ensemble_of(SimpleNamespace(get_booster=lambda: booster, **best, **classes))


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_written_answers_as_the_model_did(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    held = json.loads((FOLDER / f"{name}.json").read_text())
    rows = np.array(held["rows"])
    file = as_recorded(name, held, monkeypatch).model(rows.shape[1])
    onnx.checker.check_model(onnx.load_from_string(file), full_check=True)
    graph = load_onnx(file, whole=True)
    made = graph.run_all(rows, {*graph.outputs.values()})
    assert {*graph.outputs} == {*held["outputs"]}
    for output, tensor in graph.outputs.items():
        expected = np.array(held["outputs"][output])
        np.testing.assert_allclose(made[tensor].reshape(expected.shape), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", RECORDED)
def test_onnxruntime_runs_what_is_written(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    held = json.loads((FOLDER / f"{name}.json").read_text())
    rows = np.array(held["rows"], np.float32)
    file = as_recorded(name, held, monkeypatch).model(rows.shape[1])
    session = onnxruntime.InferenceSession(file)
    for entry, values in zip(session.get_outputs(), session.run(None, {"x": rows}), strict=True):
        if values.dtype.kind == "f":
            expected = np.array(held["outputs"][entry.name])
            np.testing.assert_allclose(values.reshape(expected.shape), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("package", ["xgboost", "lightgbm", "catboost"])
def test_the_installed_library_s_models_are_written_so_too(package: str) -> None:
    library = pytest.importorskip(package, reason=f"{package} is not installed: pip install '.[bench]'")
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    names = {"xgboost": "XGB", "lightgbm": "LGBM", "catboost": "CatBoost"}
    x = np.random.default_rng(2).normal(size=(100, 3)).round(1)
    options: dict[str, Any] = {"n_estimators": 4}
    options |= {"xgboost": {}, "lightgbm": {"verbose": -1}}.get(
        package, {"verbose": 0, "allow_writing_files": False}
    )
    for kind, y in (("Classifier", np.rint(np.abs(x[:, 0]) + 1)), ("Regressor", x[:, 1] * 30)):
        y = y - y.min() if kind == "Classifier" else y
        model = getattr(library, f"{names[package]}{kind}")(**options)
        model.fit(x, np.minimum(y, 2).astype(int) if kind == "Classifier" else y)
        graph, told = load_onnx(export_model(model, x), whole=True), predictions(model, x)
        made = graph.run_all(x, {*graph.outputs.values()})
        for name, tensor in graph.outputs.items():
            np.testing.assert_allclose(made[tensor].ravel(), np.ravel(told[name]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "options", [{"loss": "gamma"}, {"loss": "poisson"}, {"categorical_features": [1]}, {"loss": "quantile"}]
)
def test_histograms_are_written_with_their_links_and_their_categories(options: dict[str, Any]) -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install skl2onnx")
    ensemble = import_module("sklearn.ensemble")
    draw = np.random.default_rng(5)
    x = np.column_stack([draw.normal(size=200), draw.integers(-2, 9, 200) * 3, draw.normal(size=200)])
    y = np.isin(x[:, 1], [-3, 6, 21]) + np.abs(x[:, 0]) + 0.1
    options = options | ({"quantile": 0.4} if options.get("loss") == "quantile" else {})
    model = ensemble.HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5, **options).fit(x, y)
    graph = load_onnx(export_model(model, x))
    np.testing.assert_allclose(graph.run(x).ravel(), model.predict(x), rtol=1e-5)
    words = SimpleNamespace(
        _loss=model._loss,
        _preprocessor=SimpleNamespace(
            named_transformers_={"encoder": SimpleNamespace(categories_=[np.array(["a", "b"], object)])}
        ),
        is_categorical_=np.array([True, False]),
        n_features_in_=2,
    )
    with refuses("model.export", match="words as categories"):
        hist_gradient.ensemble_of(words)


def test_what_has_no_circuit_is_refused_with_its_reason() -> None:
    dump: dict[str, Any] = {"objective": "custom", "pandas_categorical": None}
    with refuses("model.export", match="LightGBM's objective 'custom' has no circuit"):
        lightgbm.ensemble_of(SimpleNamespace(dump_model=lambda: dump))
    dump = {"objective": "regression", "pandas_categorical": [["a", "b"]]}
    with refuses("model.export", match="an array of their codes"):
        lightgbm.ensemble_of(SimpleNamespace(dump_model=lambda: dump))
    text = json.dumps({"features_info": {"float_features": [], "categorical_features": []}})
    with refuses("model.export", match="columns of categories, text or embeddings"):
        catboost.ensemble_of(SimpleNamespace(save_model=saving(text)))


def test_splits_at_infinity_and_leaves_alone_are_trees_too() -> None:
    trees = Trees()
    left, right = trees.leaf([1.0, 0.0]), trees.leaf([0.0, 2.0])
    assert trees.split(0, LEQ, [np.inf], left, right) == left
    assert trees.split(0, LEQ, [-3.4028234663852886e38], left, right) == right
    assert trees.split(0, MEMBER, [], left, right) == right
    trees.add(left)
    trees.add(trees.split(1, MEMBER, [3.0, 5.0], left, right))
    graph = load_onnx(Ensemble(trees, np.array([0.5, 0.0])).model(2))
    assert graph.run(np.array([[9.0, 5.0], [9.0, 4.0]])).tolist() == [[2.5, 0.0], [1.5, 2.0]]
    assert trees.scores(np.array([9.0, 4.0])).tolist() == [1.0, 2.0]


class OwnCategories:
    """CatBoost's models with columns of categories, as they save themselves."""

    classes_ = ("no", "yes")

    def save_model(self, file: str, format: str) -> None:  # noqa: A002
        numbers = [{"feature_index": 0, "flat_feature_index": 0, "feature_id": "age"}]
        categories = [{"feature_index": 0, "flat_feature_index": 1, "feature_id": "city"}]
        held = {"features_info": {"float_features": numbers, "categorical_features": categories}}
        Path(file).write_text(json.dumps(held))


def test_catboosts_own_categories_are_refused_by_column_with_what_to_do() -> None:
    with refuses("model.export", match=r"\('city'\).*without cat_features.*OrdinalEncoder"):
        catboost.ensemble_of(OwnCategories())
