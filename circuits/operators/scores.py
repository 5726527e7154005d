"""Scores of classes: the label that they say, and what they become behind it. Linear models, support vectors
and trees end in these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zenserve.circuits.onnx.step import Data, Step, Value
from zenserve.circuits.operators.activation import Activation
from zenserve.circuits.operators.labels import class_names, named
from zenserve.circuits.operators.largest import largest
from zenserve.circuits.operators.moving import picked
from zenserve.circuits.operators.reduce import function
from zenserve.circuits.operators.scale import affine_of
from zenserve.circuits.operators.softmax import softmax
from zenserve.errors import ModelError

NONE, LOGISTIC, SOFTMAX = b"NONE", b"LOGISTIC", b"SOFTMAX"


def transformed(step: Step, scores: Data) -> Data:
    """Scores [rows, classes], all there are, by the node's ``post_transform``."""
    match step.attributes.get("post_transform", NONE):
        case b"NONE":
            return scores
        case b"LOGISTIC":
            return replace(scores, tensor=function(step, scores.tensor, "sigmoid(x)"))
        case b"SOFTMAX":
            return softmax(step, scores, [1])
        case b"SOFTMAX_ZERO":
            # What is 0 stays 0.
            kept = function(step, scores.tensor, "max(less(0.0, x), less(x, 0.0))")
            return softmax(step, scores, [1], masks=[replace(scores, tensor=kept)])
        case b"PROBIT":
            return replace(scores, tensor=function(step, scores.tensor, "probit(x)"))
        case other:
            raise unknown(step, other)


def classified(step: Step, scores: Data) -> Sequence[Value]:
    """The names of the classes [rows] of the largest scores [rows, classes], the first of equals, and the
    scores, ``transformed``."""
    names = class_names(step)
    if (scores.shape or ())[1:] != (len(names),):
        raise step.refuse("shape", f"names {len(names)} classes and scores {[*(scores.shape or ())]}")
    return named(step, largest(step, scores), names), transformed(step, scores)


def of_two(step: Step, score: Data, sure: float) -> Data:
    """Of one score [rows, 1], s, those of both classes [rows, 2], transformed: ``sure`` - s and s."""
    kind, whole = step.attributes.get("post_transform", NONE), score.shape or ()
    if kind not in (NONE, LOGISTIC):
        raise unknown(step, kind)
    if kind == NONE:
        other, one = affine_of(step, score, -1.0, sure), score
    else:
        other, one = (
            Data(step.emit(Activation, (score.tensor,), text), shape=whole)
            for text in ("sigmoid(-x)", "sigmoid(x)")
        )
    count = math.prod(whole)
    return picked(step, np.arange(2 * count).reshape(2, count).T, [other, one])


def unknown(step: Step, kind: bytes) -> ModelError:
    said = kind.decode(errors="replace")[:20]
    return step.refuse(
        "unsupported_attribute",
        f"has post_transform={said!r} here; use NONE, LOGISTIC, or, of several, SOFTMAX",
    )
