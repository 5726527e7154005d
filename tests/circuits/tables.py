"""A table as people have them, made up: names, words, categories, booleans, gaps; and pipelines over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install pandas")
pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install scikit-learn")

from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.ensemble import (  # noqa: E402
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import SelectKBest  # noqa: E402
from sklearn.impute import MissingIndicator, SimpleImputer  # noqa: E402
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from sklearn.neural_network import MLPClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline, make_union  # noqa: E402
from sklearn.preprocessing import (  # noqa: E402
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, LinearSVC  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

NUMBERS: Final = ["age", "income", "debt"]
WORDS: Final = ["city", "job"]
CITIES: Final = ["Berlin", "Hamburg", "Köln", "München"]
JOBS: Final = ["clerk", "driver", "nurse", "teacher", "welder", "none"]


def table(rows: int = 300, seed: int = 0, *, gaps: bool = True) -> Any:
    rng = np.random.default_rng(seed)
    made = pandas.DataFrame(
        {
            "age": rng.integers(18, 90, rows).astype(float),
            "income": rng.lognormal(10, 0.7, rows).round(),
            "debt": rng.exponential(9000, rows).round(2),
            "city": rng.choice(CITIES, rows),
            "job": rng.choice(JOBS, rows),
            "owns": rng.choice([True, False], rows),
            "note": rng.choice(["x", "y"], rows),
        }
    )
    if gaps:
        for name in (*NUMBERS, "city"):
            made.loc[rng.random(rows) < 0.08, name] = np.nan
    return made


def score(rows: Any) -> Any:
    return (
        rows.income.fillna(20000) / 20000
        - rows.debt.fillna(9000) / 9000
        + (rows.city == "Hamburg")
        + (rows.job == "nurse")
        - (rows.age.fillna(20) < 30)
        + rows.owns
    )


def decisions(rows: Any) -> Any:
    return np.where(score(rows) > 2, "approve", "decline")


def three(rows: Any) -> Any:
    return np.array(["low", "middle", "high"])[np.digitize(score(rows), [1.5, 3])]


def amounts(rows: Any) -> Any:
    return score(rows).to_numpy() * 1000


def prepared(numbers: Any = None, words: Any = None, rest: Any = "drop") -> Any:
    """``rest``: what becomes of the column of booleans."""
    numbers = numbers or make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    words = words or make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    return make_column_transformer((numbers, NUMBERS), (words, WORDS), (rest, ["owns"]))


def flagged(scaler: Any) -> Any:
    return make_pipeline(SimpleImputer(add_indicator=True), scaler)


def ordinal() -> Any:
    return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)


def forest() -> Any:
    return RandomForestClassifier(8, max_depth=5, random_state=0)


Made = Callable[[], tuple[Any, Callable[[Any], Any]]]

PIPELINES: Final[dict[str, Made]] = {
    "forest": lambda: (make_pipeline(prepared(rest="passthrough"), forest()), decisions),
    "forest of three classes": lambda: (make_pipeline(prepared(), forest()), three),
    "forest with flags": lambda: (make_pipeline(prepared(flagged(StandardScaler())), forest()), decisions),
    "forest of places": lambda: (
        make_pipeline(prepared(SimpleImputer(), ordinal()), forest()),
        decisions,
    ),
    "forest that takes gaps": lambda: (
        make_pipeline(prepared("passthrough", ordinal()), forest()),
        decisions,
    ),
    "tree": lambda: (make_pipeline(prepared(), DecisionTreeClassifier(max_depth=6)), decisions),
    "extra trees": lambda: (
        make_pipeline(prepared(RobustScaler()), ExtraTreesClassifier(8, max_depth=5, random_state=0)),
        decisions,
    ),
    "boosting": lambda: (make_pipeline(prepared(), GradientBoostingClassifier(n_estimators=12)), decisions),
    "boosting of three classes": lambda: (
        make_pipeline(prepared(), GradientBoostingClassifier(n_estimators=8)),
        three,
    ),
    "boosted amounts": lambda: (
        make_pipeline(prepared(), GradientBoostingRegressor(n_estimators=12)),
        amounts,
    ),
    "forest of amounts": lambda: (
        make_pipeline(prepared(), RandomForestRegressor(8, max_depth=5, random_state=0)),
        amounts,
    ),
    "histograms": lambda: (
        make_pipeline(prepared("passthrough", ordinal()), HistGradientBoostingClassifier(max_iter=12)),
        decisions,
    ),
    "quantiles before a forest": lambda: (
        make_pipeline(
            prepared(make_pipeline(SimpleImputer(), QuantileTransformer(n_quantiles=50))), forest()
        ),
        decisions,
    ),
    "powers before a forest": lambda: (
        make_pipeline(prepared(make_pipeline(SimpleImputer(), PowerTransformer())), forest()),
        decisions,
    ),
    "logarithms before a forest": lambda: (
        make_pipeline(prepared(make_pipeline(SimpleImputer(), FunctionTransformer(np.log1p))), forest()),
        decisions,
    ),
    "targets of categories before a forest": lambda: (
        make_pipeline(prepared(SimpleImputer(), TargetEncoder(random_state=0)), forest()),
        decisions,
    ),
    "logistic": lambda: (make_pipeline(prepared(rest="passthrough"), LogisticRegression()), decisions),
    "logistic of three classes": lambda: (make_pipeline(prepared(), LogisticRegression()), three),
    "logistic with flags": lambda: (
        make_pipeline(prepared(flagged(MinMaxScaler())), LogisticRegression()),
        decisions,
    ),
    "logistic with indicators": lambda: (
        make_pipeline(
            prepared(make_union(make_pipeline(SimpleImputer(), MaxAbsScaler()), MissingIndicator())),
            LogisticRegression(),
        ),
        decisions,
    ),
    "components": lambda: (make_pipeline(prepared(), PCA(4), LogisticRegression()), decisions),
    "components of a forest": lambda: (make_pipeline(prepared(), PCA(4), forest()), decisions),
    "selected": lambda: (make_pipeline(prepared(), SelectKBest(k=5), LogisticRegression()), decisions),
    "linear": lambda: (make_pipeline(prepared(), LinearRegression()), amounts),
    "ridge": lambda: (make_pipeline(prepared(flagged(StandardScaler())), Ridge()), amounts),
    "perceptron": lambda: (
        make_pipeline(prepared(), MLPClassifier((12,), max_iter=60, random_state=0)),
        decisions,
    ),
    "machine": lambda: (make_pipeline(prepared(), LinearSVC()), decisions),
    "machine of kernels": lambda: (make_pipeline(prepared(), SVC(C=1.0)), three),
    "gradient descent": lambda: (
        make_pipeline(prepared(), SGDClassifier(loss="log_loss", random_state=0)),
        decisions,
    ),
    "neighbours": lambda: (make_pipeline(prepared(), KNeighborsClassifier(3)), decisions),
    "searched": lambda: (
        GridSearchCV(make_pipeline(prepared(), LogisticRegression()), {"logisticregression__C": [0.1, 1]}),
        decisions,
    ),
    "bins before a logistic one": lambda: (
        make_pipeline(
            prepared(make_pipeline(SimpleImputer(), KBinsDiscretizer(4, quantile_method="linear"))),
            LogisticRegression(),
        ),
        decisions,
    ),
    "polynomials": lambda: (
        make_pipeline(
            prepared(make_pipeline(SimpleImputer(), StandardScaler(), PolynomialFeatures(2))),
            LogisticRegression(max_iter=1000),
        ),
        decisions,
    ),
    "frequent words alone": lambda: (
        make_pipeline(
            prepared(words=OneHotEncoder(min_frequency=40, handle_unknown="infrequent_if_exist")),
            LogisticRegression(),
        ),
        decisions,
    ),
}
