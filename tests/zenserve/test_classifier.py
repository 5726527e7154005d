"""``zenserve.ProvenClassifier``: what ``predict`` gives is the estimator's own class, proven."""

from __future__ import annotations

import numpy as np
import pytest

import zenserve
from tests.refusals import refuses

pytest.importorskip("skl2onnx", reason="scikit-learn's models are exported by it")


@pytest.mark.parametrize("names", [np.array([10, 20, 30]), np.array(["setosa", "versicolor", "virginica"])])
def test_a_prediction_is_the_estimator_s_and_proven(names: np.ndarray) -> None:
    from sklearn.datasets import load_iris
    from sklearn.linear_model import LogisticRegression

    x, y = load_iris(return_X_y=True)
    model = zenserve.ProvenClassifier(LogisticRegression(max_iter=300), weight_privacy="public")
    with refuses("request.invalid", "estimator"):
        model.predict(x)
    ((label, proof),) = model.fit(x, names[y]).predict(x[100:101])
    assert label == model.estimator_.predict(x[100:101])[0] == names[2]
    assert zenserve.verify(proof).valid
    assert not hasattr(model.estimator, "classes_"), "a copy is fitted"
