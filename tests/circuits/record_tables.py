"""Record what XGBoost, LightGBM and CatBoost hold of small models, and what these answer to some rows: the
files beside this one in table_models/.

    python tests/circuits/record_tables.py       with xgboost, lightgbm, catboost and scikit-learn installed

Recorded with xgboost 3.2.0, lightgbm 4.7.0 and catboost 1.2.10.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import catboost
import lightgbm
import numpy as np
import xgboost

from zenserve.circuits.onnx.predictions import predictions
from zenserve.circuits.onnx.tables.xgboost import rounds_of, said_margin

FOLDER = Path(__file__).parent / "table_models"
DRAW = np.random.default_rng(7)
X = DRAW.normal(size=(120, 3)).round(2)
ZEROS = np.where(DRAW.random(X.shape) < 0.3, 0.0, X)
MISSING = np.where(DRAW.random(X.shape) < 0.2, np.nan, X)
CODES = np.column_stack([DRAW.integers(0, 9, 120), X[:, 1:]])
Y = X[:, 0] * 2 + X[:, 1] ** 2
POSITIVE = np.abs(Y) + 0.1
SHARE = POSITIVE / POSITIVE.max() * 0.9 + 0.05
TWO = (Y > 0.5).astype(int)
THREE = TWO + (Y > 2)
OF_CODES = np.isin(CODES[:, 0], [1, 4, 6]) * 2 + CODES[:, 1]
BOTH = np.column_stack([Y, -Y])
WORDS = np.array(["low", "mid", "top"])[THREE]

XGB: dict[str, Any] = {"n_estimators": 3, "max_depth": 3}
LGBM: dict[str, Any] = {"n_estimators": 3, "num_leaves": 5, "verbose": -1, "min_child_samples": 5}
CAT: dict[str, Any] = {"iterations": 3, "depth": 2, "verbose": 0, "allow_writing_files": False}
CATEGORIES: dict[str, Any] = {
    "enable_categorical": True,
    "feature_types": ["c", "q", "q"],
    "max_cat_to_onehot": 1,
}
BAGGED: dict[str, Any] = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}


def xgb(kind: str, **options: Any) -> Any:
    return getattr(xgboost, f"XGB{kind}")(**{**XGB, **options})


def lgbm(kind: str, **options: Any) -> Any:
    return getattr(lightgbm, f"LGBM{kind}")(**{**LGBM, **options})


def cat(kind: str, **options: Any) -> Any:
    return getattr(catboost, f"CatBoost{kind}")(**{**CAT, **options})


# By names: a model, the table and the targets that it is trained on, and what fit is told beside.
MODELS: dict[str, tuple[Any, ...]] = {
    "xgboost_logistic": (xgb("Regressor", objective="reg:logistic"), X, SHARE),
    "xgboost_gamma": (xgb("Regressor", objective="reg:gamma", base_score=2.0), X, POSITIVE),
    "xgboost_two_classes": (xgb("Classifier"), X, TWO),
    "xgboost_three_classes": (xgb("Classifier", objective="multi:softmax"), X, THREE),
    "xgboost_forest_of_classes": (xgb("RFClassifier"), X, THREE),
    "xgboost_hinge": (xgb("Classifier", objective="binary:hinge"), X, TWO),
    "xgboost_targets": (xgb("Regressor"), X, BOTH),
    "xgboost_trees_of_targets": (xgb("Regressor", multi_strategy="multi_output_tree"), X, BOTH),
    "xgboost_dart": (xgb("Regressor", booster="dart", rate_drop=0.5, n_estimators=5), X, Y),
    "xgboost_linear": (xgb("Regressor", booster="gblinear"), X, Y),
    "xgboost_categories": (xgb("Regressor", **CATEGORIES), CODES, OF_CODES),
    "xgboost_stopped_early": (
        xgb("Regressor", n_estimators=9, learning_rate=1.0, early_stopping_rounds=1),
        X,
        Y,
        {"eval_set": [(X[:40], -Y[:40])], "verbose": False},
    ),
    "lightgbm_bagged": (lgbm("Regressor", **BAGGED), X, Y),
    "lightgbm_bagged_classes": (lgbm("Classifier", **BAGGED), X, THREE),
    "lightgbm_zero_is_missing": (lgbm("Regressor", zero_as_missing=True, n_estimators=8), ZEROS, Y),
    "lightgbm_linear_leaves": (lgbm("Regressor", linear_tree=True), X, Y),
    "lightgbm_square_roots": (lgbm("Regressor", reg_sqrt=True), X, Y),
    "lightgbm_poisson": (lgbm("Regressor", objective="poisson"), X, POSITIVE),
    "lightgbm_cross_entropy_lambda": (lgbm("Regressor", objective="cross_entropy_lambda"), X, SHARE),
    "lightgbm_each_class_alone": (lgbm("Classifier", objective="multiclassova", sigmoid=2.0), X, WORDS),
    "lightgbm_categories": (
        lgbm("Regressor", min_data_per_group=5, cat_smooth=1, max_cat_to_onehot=1),
        CODES,
        OF_CODES,
        {"categorical_feature": [0]},
    ),
    "catboost_missing": (cat("Regressor"), MISSING, np.nan_to_num(MISSING[:, 0], nan=4)),
    "catboost_poisson": (cat("Regressor", loss_function="Poisson"), X, POSITIVE),
    "catboost_uncertainty": (cat("Regressor", loss_function="RMSEWithUncertainty"), X, Y),
    "catboost_targets": (cat("Regressor", loss_function="MultiRMSE"), X, BOTH),
    "catboost_each_class_alone": (cat("Classifier", loss_function="MultiClassOneVsAll"), X, THREE),
    "catboost_leaf_by_leaf": (cat("Regressor", grow_policy="Lossguide"), X, Y),
}


def dumped(model: Any) -> dict[str, Any]:
    """What the readers of ``zenserve.circuits.onnx.tables`` ask the model for."""
    if isinstance(model, lightgbm.LGBMModel):
        return {"dump": model.booster_.dump_model()}
    if isinstance(model, catboost.CatBoost):
        with TemporaryDirectory() as folder:
            model.save_model(f"{folder}/model.json", format="json")
            held = json.loads(Path(folder, "model.json").read_text())
        loss = {"loss_function": held["model_info"]["params"]["loss_function"]}
        return {"dump": {**held, "model_info": {"params": loss}}}
    booster = model.get_booster()
    rows = np.zeros((1, booster.num_features()), np.float32)
    return {
        "dump": json.loads(bytes(booster.save_raw("json"))),
        "rounds": rounds_of(model),
        "margin": said_margin(booster, rows, rounds_of(model)).tolist(),
    }


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, (model, table, targets, *more) in MODELS.items():
        model.fit(table, targets, **(more[0] if more else {}))
        rows = np.nan_to_num(table[:16])
        told = predictions(model, rows)
        classes = [each.item() for each in getattr(model, "classes_", [])]
        made = dumped(model) | {
            "classes": classes,
            "rows": rows.tolist(),
            "outputs": {
                each: np.asarray(told[each], np.float64).reshape(len(rows), -1).tolist()
                for each in (("label", "probabilities") if classes else ("variable",))
            },
        }
        (FOLDER / f"{name}.json").write_text(json.dumps(made, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
