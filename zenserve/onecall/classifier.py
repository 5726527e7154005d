"""A classifier as scikit-learn has them, whose predictions come with proofs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple, Self

from zenserve.errors import RequestError
from zenserve.onecall import networks
from zenserve.onecall.proof import Proof
from zenserve.onecall.proving import prove


class Prediction(NamedTuple):
    """The class of a row, and the proof of it."""

    label: Any
    proof: Proof


class ProvenClassifier:
    """A classifier whose ``predict`` proves each of its answers.

    ``estimator``: a classifier or a pipeline of scikit-learn's, XGBoost's, LightGBM's or CatBoost's.
    ``options``: as ``zenserve.prove`` takes them. The network that is proven is of integers: where it gives
    another class than the estimator, ``predict`` raises ``ModelError`` (``model.differs``).

    Each row is a proof of its own, under keys and a commitment of its own, and takes seconds: predictions of
    many rows with one model are for the service.
    """

    def __init__(self, estimator: Any, **options: Any) -> None:
        self.estimator = estimator
        self.options = options

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803  scikit-learn's name
        """Fit a copy of the estimator. The ranges of ``X`` become scales that everybody sees."""
        self.estimator_ = deepcopy(self.estimator).fit(X, y)
        self.classes_ = self.estimator_.classes_
        self._typical = X
        return self

    def predict(self, X: Any) -> list[Prediction]:  # noqa: N803
        """The class of each row, with its proof. Raises as ``zenserve.prove``, and ``RequestError`` before
        ``fit``."""
        if not hasattr(self, "estimator_"):
            raise RequestError("request.invalid", "call fit before predict", field="estimator")
        return [self._predicted(row) for row in networks.each(X)]

    def _predicted(self, row: Any) -> Prediction:
        proof = prove(self.estimator_, row, calibration=self._typical, **self.options)
        (label,) = proof.answer.values()
        is_place = self.classes_.dtype.kind in "OUS" and not isinstance(label, str)
        return Prediction(self.classes_[int(label)] if is_place else label, proof)
