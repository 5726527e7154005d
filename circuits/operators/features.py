"""Preprocessing of a table's columns before a model reads them, as scikit-learn has it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from zenserve.circuits.graphs import formula
from zenserve.circuits.graphs.types import Affine, Bounds, FloatArray, Shape
from zenserve.circuits.onnx.constants import Element
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.activation import applied
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.labels import extract, looked_up
from zenserve.circuits.operators.linear_models import rows
from zenserve.circuits.operators.moving import rearranged
from zenserve.circuits.operators.multiply import Mul
from zenserve.circuits.operators.reduce import Rows, function
from zenserve.circuits.operators.reshape import Reshape, shaped
from zenserve.circuits.operators.scale import affine
from zenserve.circuits.operators.selection import placed
from zenserve.circuits.operators.softmax import Softmax
from zenserve.circuits.operators.sums import Accumulating
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Linear, Relation, Tensor, Term
from zenserve.verifier.schemes import Privacy


@dataclass(frozen=True, eq=False)
class QuantFeatures(Accumulating):
    """``acc = q - middle``, int64 of the input's shape: each feature less a number of its own."""

    middle: IntArray = field(repr=False)

    def accumulate(self, inputs: Sequence[IntArray], types: Sequence[Affine]) -> IntArray:
        return inputs[0] - self.middle

    def bounds(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> Bounds:
        return -self.middle, types[0].top - self.middle

    def check(self, types: Sequence[Affine], shapes: Sequence[Shape]) -> None:
        self._require(self.middle.shape == shapes[0], f"has {self.middle.shape} numbers for {shapes[0]}")
        inside = (self.middle >= 0) & (self.middle <= types[0].top)
        self._require(bool(inside.all()), f"has numbers beyond [0, {types[0].top}]")
        super().check(types, shapes)

    def summed(self, sums: Tensor, terms: Sequence[Term], privacy: Privacy) -> list[Relation]:
        return [Linear(self.name, sums, (Term(terms[0].tensor, 1, self.middle),))]

    def scales(self) -> dict[str, Any] | None:
        return (super().scales() or {}) | {"middle": self.middle.ravel().tolist()}


def _scaler(step: Step) -> Value:
    """``(x - offset) scale``"""
    offset, factor = (_for_each(step, name) for name in ("offset", "scale"))
    return replace(affine(step, 0, factor, -offset * factor), kind=Element.FLOAT)


def _for_each(step: Step, name: str) -> FloatArray:
    """Numbers of the features, one for each or one for all."""
    array, whole = step.vector(name), step.whole()
    if len(array) not in (1, *whole[-1:]):
        raise step.refuse("shape", f"has {len(array)} numbers as its {name} for the shape {[*whole]}")
    return array


def _normalizer(step: Step) -> Value:
    """Each row by its largest entry, or a norm of it."""
    norm, data = step.attributes.get("norm", b"MAX"), rows(step)
    if norm == b"L1" and _are_shares(step, data):
        return step.data()
    lines = Rows(step, data, [1])
    match norm:
        case b"MAX":
            inverse = function(step, lines.largest(lines.image), "1.0 / x")
        case b"L1":
            inverse = function(step, lines.sums(function(step, lines.image, "abs(x)")), "1.0 / x")
        case b"L2":
            inverse = function(step, lines.sums(function(step, lines.image, "x * x")), "1.0 / sqrt(x)")
        case other:
            said = other.decode(errors="replace")[:20]
            raise step.refuse("unsupported_attribute", f"has norm={said!r}; use MAX, L1 or L2")
    made = lines.back(step.emit(Mul, (lines.image, lines.spread(inverse))))
    return replace(shaped(step, made, step.whole()), kind=Element.FLOAT)


def _are_shares(step: Step, data: Data) -> bool:
    """Return whether a Softmax made the rows, which therefore add up to 1."""
    maker = step.building.makers.get(data.tensor)
    while isinstance(maker, Reshape):
        maker = step.building.makers.get(maker.inputs[0])
    return isinstance(maker, Softmax) and step.building.shapes[maker.name][1:] == data.shape


def _imputer(step: Step) -> Value:
    """Return the rows with missing values replaced. NaN and infinity are no inputs, so nothing is replaced
    for them; a whole number may mark a missing value."""
    said = step.attributes
    missing = said.get("replaced_value_int64", said.get("replaced_value_float", 0.0))
    if not math.isfinite(missing):
        return step.value(0)
    filled = step.vector("imputed_value_floats") if "imputed_value_floats" in said else None
    values = np.array(said.get("imputed_value_int64s", []), np.float64) if filled is None else filled
    if not step.is_whole(0) or len(values) != 1:
        raise step.refuse(
            "unsupported_attribute",
            f"takes {missing} for what is missing; NaN, which no input has, is supported, and of integers a "
            "number that stands for one value",
        )
    here = formula.number(float(missing))
    return applied(step, f"x + equal(x, {here}) * ({formula.number(float(values[0]))} - {here})")


def _binarizer(step: Step) -> Value:
    threshold = float(step.attributes.get("threshold", 0.0))
    if not math.isfinite(threshold):
        raise step.refuse("unsupported_attribute", f"has threshold={threshold}")
    return applied(step, f"less({formula.number(threshold)}, x)")


def _feature_vectorizer(step: Step) -> Value:
    """Rows beside each other, as floats."""
    wholes = [step.whole(position) for position in range(len(step.inputs))]
    sizes = step.attributes.get("inputdimensions", [whole[-1] for whole in wholes])
    if any(len(whole) != 2 or whole[0] != wholes[0][0] for whole in wholes) or sizes != [
        w[1] for w in wholes
    ]:
        raise step.refuse("shape", f"joins rows of the shapes {[*map(list, wholes)]}, said to be of {sizes}")

    def beside(*places: IntArray) -> IntArray:
        return np.concatenate(places, axis=1)

    made = rearranged(step, beside, *range(len(wholes)))
    return replace(made, kind=Element.FLOAT)


def _extractor(step: Step) -> Value:
    """Entries along the last axis: ArrayFeatureExtractor."""
    if (found := extract(step)) is not None:
        return found
    wanted, size = step.plain(1).array.ravel(), step.whole()[-1]
    if wanted.dtype != np.int64 or not wanted.size or wanted.min() < 0 or wanted.max() >= size:
        raise step.refuse("shape", f"takes entries outside an axis of {size}")
    return rearranged(step, lambda places: np.atleast_2d(places)[..., wanted], 0)


def _one_hot_encoder(step: Step) -> Value:
    """Of each whole number a row of booleans, one for each category. Of one that is none all are 0."""
    said, whole = step.attributes, step.whole()
    categories = said.get("cats_int64s", [])
    if not categories or len(set(categories)) < len(categories):
        raise step.refuse(
            "unsupported_attribute", "must have whole numbers, all different, as its categories"
        )
    if not said.get("zeros", 1):
        raise step.refuse(
            "unsupported_attribute",
            "has zeros=0: an unknown category would be an error; fit it with handle_unknown='ignore', which "
            "gives it no column",
        )
    count, size = len(categories), math.prod(whole)
    step.spend(size * count)
    keys = np.array(categories, np.int64)
    data = Data(step.floats(), shape=whole)
    places = looked_up(step, data, keys, np.arange(count, dtype=np.float64), float(count), Element.INT64)
    hot = placed(step, places, count, outside="none")
    return replace(shaped(step, hot, (*whole, count)), kind=Element.FLOAT)


_IMPUTER = {
    "imputed_value_floats": "floats",
    "imputed_value_int64s": "ints",
    "replaced_value_float": "f",
    "replaced_value_int64": "i",
}
_MOST = 1 << 10

ENTRY = Entry(
    learned={
        "ArrayFeatureExtractor": Operator(_extractor, {}, 2, 2),
        "Binarizer": Operator(_binarizer, {"threshold": "f"}, elementwise=True),
        "FeatureVectorizer": Operator(_feature_vectorizer, {"inputdimensions": "ints"}, 1, _MOST),
        "Imputer": Operator(_imputer, _IMPUTER, elementwise=True),
        "Normalizer": Operator(_normalizer, {"norm": "s"}),
        "OneHotEncoder": Operator(
            _one_hot_encoder, {"cats_int64s": "ints", "cats_strings": "strings", "zeros": "i"}
        ),
        "Scaler": Operator(_scaler, {"offset": "floats", "scale": "floats"}),
    },
    integers=(QuantFeatures,),
)
