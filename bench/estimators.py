"""Models of tables as a suite of ONNX files (bench/suite.py): what scikit-learn, XGBoost, LightGBM and
CatBoost train, as their users export it.

    pip install '.[bench]'
    python -m bench.estimators DIR      makes DIR/estimators

Each is trained on three quarters of a table that scikit-learn has built in. The input beside a file is a row
of the rest, and what calibrates it some of the rows that it was trained on.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from numpy.typing import NDArray
from sklearn import (
    cluster,
    datasets,
    ensemble,
    linear_model,
    naive_bayes,
    neighbors,
    neural_network,
    svm,
    tree,
)
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from xgboost import XGBClassifier, XGBRegressor

from zenserve.circuits.onnx.estimators import export_model

Table = Callable[[], tuple[NDArray[Any], NDArray[Any]]]
_CALIBRATION: Final = 64


def _named(load: Callable[..., Any], names: bool = False) -> Table:
    def table() -> tuple[NDArray[Any], NDArray[Any]]:
        found = load()
        return found.data, found.target_names[found.target] if names else found.target

    return table


IRIS, CANCER, WINE, DIABETES, DIGITS = map(
    _named,
    (
        datasets.load_iris,
        datasets.load_breast_cancer,
        datasets.load_wine,
        datasets.load_diabetes,
        datasets.load_digits,
    ),
)
FLOWERS: Final = _named(datasets.load_iris, names=True)


def _dots() -> tuple[NDArray[Any], NDArray[Any]]:
    x, y = DIGITS()
    return (x > 8).astype(np.float64), y


def _scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


_CATBOOST: Final[dict[str, Any]] = {
    "iterations": 20,
    "depth": 4,
    "random_seed": 0,
    "verbose": 0,
    "allow_writing_files": False,
}
ESTIMATORS: Final[dict[str, tuple[Any, Table]]] = {
    "logistic_regression": (_scaled(linear_model.LogisticRegression()), CANCER),
    "logistic_regression_raw": (linear_model.LogisticRegression(max_iter=10_000), CANCER),
    "logistic_regression_words": (linear_model.LogisticRegression(max_iter=1000), FLOWERS),
    "linear_regression": (linear_model.LinearRegression(), DIABETES),
    "ridge": (linear_model.Ridge(), DIABETES),
    "lasso": (linear_model.Lasso(alpha=0.1), DIABETES),
    "sgd_classifier": (_scaled(linear_model.SGDClassifier(loss="log_loss", random_state=0)), WINE),
    "perceptron": (_scaled(linear_model.Perceptron(random_state=0)), WINE),
    "linear_svc": (_scaled(svm.LinearSVC(random_state=0)), CANCER),
    "svc_rbf": (_scaled(svm.SVC()), CANCER),
    "svc_rbf_three": (_scaled(svm.SVC()), WINE),
    "svc_linear": (svm.SVC(kernel="linear"), IRIS),
    "svc_poly": (svm.SVC(kernel="poly"), IRIS),
    "svr": (_scaled(svm.SVR(C=10.0)), DIABETES),
    "k_neighbors": (neighbors.KNeighborsClassifier(), IRIS),
    "gaussian_nb": (naive_bayes.GaussianNB(), IRIS),
    "bernoulli_nb": (naive_bayes.BernoulliNB(), _dots),
    "decision_tree_classifier": (tree.DecisionTreeClassifier(random_state=0), CANCER),
    "decision_tree_regressor": (tree.DecisionTreeRegressor(max_depth=6, random_state=0), DIABETES),
    "random_forest_classifier": (ensemble.RandomForestClassifier(100, max_depth=6, random_state=0), CANCER),
    "random_forest_regressor": (ensemble.RandomForestRegressor(20, max_depth=6, random_state=0), DIABETES),
    "extra_trees": (ensemble.ExtraTreesClassifier(20, max_depth=6, random_state=0), WINE),
    "gradient_boosting": (ensemble.GradientBoostingClassifier(n_estimators=20, random_state=0), WINE),
    "hist_gradient_boosting": (
        ensemble.HistGradientBoostingClassifier(max_iter=20, random_state=0),
        CANCER,
    ),
    "ada_boost": (ensemble.AdaBoostClassifier(n_estimators=10, random_state=0), IRIS),
    "isolation_forest": (ensemble.IsolationForest(n_estimators=10, random_state=0), IRIS),
    "k_means": (cluster.KMeans(3, random_state=0), IRIS),
    "pca": (
        make_pipeline(StandardScaler(), PCA(4, random_state=0), linear_model.LogisticRegression()),
        WINE,
    ),
    "min_max_scaler": (make_pipeline(MinMaxScaler(), linear_model.LogisticRegression()), WINE),
    "mlp_classifier": (neural_network.MLPClassifier((32,), max_iter=200, random_state=0), DIGITS),
    "mlp_regressor": (
        _scaled(neural_network.MLPRegressor(hidden_layer_sizes=(16,), max_iter=2000, random_state=0)),
        DIABETES,
    ),
    "xgb_classifier": (XGBClassifier(n_estimators=20, max_depth=4), CANCER),
    "xgb_regressor": (XGBRegressor(n_estimators=20, max_depth=4), DIABETES),
    "lgbm_classifier": (LGBMClassifier(n_estimators=20, num_leaves=15, verbose=-1), WINE),
    "lgbm_regressor": (LGBMRegressor(n_estimators=20, num_leaves=15, verbose=-1), DIABETES),
    "catboost_classifier": (CatBoostClassifier(**_CATBOOST), CANCER),
    "catboost_regressor": (CatBoostRegressor(**_CATBOOST), DIABETES),
}


def made(name: str) -> tuple[Any, NDArray[np.float32], NDArray[np.float32], NDArray[Any]]:
    """The estimator, trained; the rows that it was trained on, others, and the targets of these."""
    estimator, table = ESTIMATORS[name]
    x, y = table()
    seen, held_out, targets, expected = train_test_split(x.astype(np.float32), y, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(seen, targets)
    return estimator, seen, held_out, expected


def write(name: str, suite: Path) -> None:
    """The network, an input and some rows to calibrate with, into a folder of its own in the suite."""
    estimator, seen, held_out, _ = made(name)
    folder = suite / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "network.onnx").write_bytes(export_model(estimator, seen))
    np.save(folder / "input.npy", held_out[:1])
    np.save(folder / "calibration.npy", seen[:_CALIBRATION])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the suite goes")
    parser.add_argument("--only", nargs="+", choices=ESTIMATORS, metavar="NAME", help="these estimators")
    options = parser.parse_args()
    for name in options.only or ESTIMATORS:
        write(name, options.folder / "estimators")


if __name__ == "__main__":
    main()
