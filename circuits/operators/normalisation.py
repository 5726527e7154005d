"""Normalisations by statistics of the input: means and norms of rows, and a function of these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Final, NamedTuple

import numpy as np

from zenserve.circuits.graphs import formula
from zenserve.circuits.graphs.node import dims
from zenserve.circuits.graphs.types import FloatArray, Shape
from zenserve.circuits.onnx.constants import Constant, Element
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.activation import Activation
from zenserve.circuits.operators.add import Sub, add
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.multiply import Mul
from zenserve.circuits.operators.reduce import Rows, SumPool, function
from zenserve.circuits.operators.reshape import shaped
from zenserve.circuits.operators.scale import affine_of
from zenserve.circuits.operators.selection import selected

_TINY: Final = 1e-300


class _Normal(NamedTuple):
    """Rows that are normalised, and what they were: the mean of each and the inverse of its deviation,
    [1, rows, 1]."""

    entries: Data
    mean: str
    inverse: str


def _normalised(
    step: Step, data: Data, axes: Sequence[int], epsilon: float, *, centred: bool = True
) -> _Normal:
    """Each row less its mean, by its standard deviation; where it is not ``centred`` by the root of the mean
    of its squares."""
    if not 0 <= epsilon < math.inf:
        raise step.refuse("unsupported_attribute", f"has epsilon={epsilon}")
    rows = Rows(step, data, axes)
    image, mean = rows.image, ""
    if centred:
        mean = rows.sums(image, rows.length)
        image = step.emit(Sub, (image, rows.spread(mean)))
    squares = rows.sums(function(step, image, "x * x"), rows.length)
    inverse = function(step, squares, f"1.0 / sqrt(max(x, 0.0) + {formula.number(epsilon)})")
    return _Normal(rows.back(step.emit(Mul, (image, rows.spread(inverse)))), mean, inverse)


def _layer(step: Step, centred: bool) -> list[Value]:
    """Over the axes from ``axis`` on, then a factor and a term for each entry of these; the mean, if it is
    ``centred``, and the inverse of the deviation."""
    whole = step.whole()
    (axis,) = step.axes([step.attributes.get("axis", -1)], len(whole))
    epsilon = step.attributes.get("epsilon", 1e-5)
    made = _normalised(step, _data(step), range(axis, len(whole)), epsilon, centred=centred)
    ahead = (*whole[:axis], *(1 for _ in whole[axis:]))
    statistics = [shaped(step, Data(each), ahead) for each in (made.mean, made.inverse) if each]
    kind = Element.FLOAT
    return [_scaled(step, made.entries, whole[axis:], ()), *(replace(each, kind=kind) for each in statistics)]


def _skipped(step: Step, centred: bool) -> Sequence[Value]:
    """Of a sum of two tensors and a bias, which is its fourth output."""
    factor, *rest = range(2, 5 if centred else 4)
    total = add(replace(step, inputs=[step.value(0), step.value(1)]))
    if step.has(rest[-1]):
        total = add(replace(step, inputs=[total, step.value(rest[-1])]))
    term = step.value(rest[0]) if centred and step.has(rest[0]) else None
    made, *statistics = _layer(_finely(step, [total, step.value(factor), term]), centred)
    return [made, *([] if centred else [made]), *statistics, total]


def _embedded(step: Step) -> Value:
    """Rows of three tables, by words, positions and segments, added and normalised."""
    ids = step.value(0)
    *_, tokens = step.whole(0)
    positions = step.inputs[8] if step.has(8) else Constant(np.arange(tokens)[np.newaxis], Element.INT64)
    found = [(step.value(2), ids), (step.value(3), positions)]
    if step.has(1) and step.has(4):
        found.append((step.value(4), step.value(1)))
    rows = [selected(replace(step, inputs=[*pair], attributes={})) for pair in found]
    total = reduce(lambda one, other: add(replace(step, inputs=[one, other])), rows)
    return _layer(_finely(step, [total, step.value(5), step.value(6)]), True)[0]


def _finely(step: Step, inputs: Sequence[Value | None]) -> Step:
    """With the epsilon that onnxruntime's joined operators have."""
    return replace(step, inputs=inputs, attributes={"epsilon": 1e-12, **step.attributes})


def _instance(step: Step) -> Value:
    return _by_channel(step, step.whole()[1] if len(step.whole()) > 2 else 0)


def _group(step: Step) -> Value:
    return _by_channel(step, step.attributes.get("num_groups", 0))


def _by_channel(step: Step, groups: int) -> Value:
    """Over so many groups of channels and all their positions, then a factor and a term for each channel; in
    opset 18 for each group."""
    whole = step.whole()
    if len(whole) < 3 or groups < 1 or whole[1] % groups:
        raise step.refuse("shape", f"normalises [{dims(whole)}] in {groups} groups of channels")
    split = shaped(step, _data(step), (whole[0], groups, math.prod(whole[1:]) // groups))
    normal = _normalised(step, split, [2], step.attributes.get("epsilon", 1e-5))
    made = shaped(step, normal.entries, whole)
    wide = whole[1] // groups if step.weights(1).array.shape == (groups,) else 1
    return _scaled(step, made, (whole[1] // wide,), (1,) * (len(whole) - 2), wide)


def _scaled(step: Step, data: Data, shape: Shape, behind: Shape, repeats: int = 1) -> Data:
    """By the factor that is input 1, and plus the term that is input 2."""
    vectors: list[FloatArray] = []
    for position, default in ((1, 1.0), (2, 0.0)):
        array = step.weights(position).array if step.has(position) else np.full(shape, default)
        try:
            array = np.broadcast_to(array, shape)
        except ValueError:
            raise step.refuse("shape", f"has {array.shape} factors or terms for [{dims(shape)}]") from None
        wide = np.repeat(array, repeats) if repeats > 1 else array
        vectors.append(wide.reshape(*wide.shape, *behind))
    if (vectors[0] == 1).all() and not vectors[1].any():
        return data
    return affine_of(step, data, *vectors)


def _local_response(step: Step) -> Value:
    """By a power of the sum of squares of the channels around."""
    whole, said = step.whole(), step.attributes
    size, alpha = said.get("size", 0), said.get("alpha", 1e-4)
    beta, bias = said.get("beta", 0.75), said.get("bias", 1.0)
    if len(whole) < 3 or not 1 <= size <= 2 * whole[1]:
        raise step.refuse("shape", f"normalises [{dims(whole)}] over {size} channels")
    if not all(map(math.isfinite, (alpha, beta, bias))):
        raise step.refuse("unsupported_attribute", "has parameters that are not finite")
    rows = Rows(step, _data(step), [1])
    before = (size - 1) // 2
    squares = function(step, rows.image, "x * x")
    padding = (0, before, 0, size - 1 - before)
    sums = step.emit(SumPool, (squares,), (1, size), (1, 1), padding) if size > 1 else squares
    base = f"({formula.number(bias)} + {formula.number(alpha / size)} * x)"
    power = step.emit(Activation, (sums,), f"{base} ** {formula.number(-beta)}")
    return rows.back(step.emit(Mul, (rows.image, power)))


def _norm(step: Step) -> Value:
    """By the sum of absolute values, or the root of that of squares; nothing is 0."""
    power = step.attributes.get("p", 2)
    if power not in (1, 2):
        raise step.refuse("unsupported_attribute", f"has p={power}; use 1 or 2")
    axes = step.axes([step.attributes.get("axis", -1)], len(step.whole()))
    rows = Rows(step, _data(step), axes)
    sums = rows.sums(function(step, rows.image, "abs(x)" if power == 1 else "x * x"))
    norm = "x" if power == 1 else "sqrt(x)"
    inverse = function(step, sums, f"{norm} / max({norm} * {norm}, {_TINY})")
    return rows.back(step.emit(Mul, (rows.image, rows.spread(inverse))))


def _mean_variance(step: Step) -> Value:
    axes = step.axes(step.integers("axes") or [0, 2, 3], len(step.whole()))
    return _normalised(step, _data(step), axes, 1e-9).entries


def _data(step: Step) -> Data:
    return Data(step.floats(), shape=step.whole())


_LAYER = {"axis": "i", "epsilon": "f", "stash_type": "i"}
_RESPONSE = {"alpha": "f", "beta": "f", "bias": "f", "size": "i"}

ENTRY = Entry(
    onnx={
        "GroupNormalization": Operator(_group, {"epsilon": "f", "num_groups": "i", "stash_type": "i"}, 3, 3),
        "InstanceNormalization": Operator(_instance, {"epsilon": "f"}, 3, 3),
        "LRN": Operator(_local_response, _RESPONSE),
        "LayerNormalization": Operator(lambda step: _layer(step, True), _LAYER, 2, 3),
        "LpNormalization": Operator(_norm, {"axis": "i", "p": "i"}),
        "MeanVarianceNormalization": Operator(_mean_variance, {"axes": "ints"}),
        "RMSNormalization": Operator(lambda step: _layer(step, False), _LAYER, 2, 2),
        # Onnxruntime's, which its optimiser writes into ONNX's own domain.
        "SimplifiedLayerNormalization": Operator(lambda step: _layer(step, False), _LAYER, 2, 2),
    },
    microsoft={
        "EmbedLayerNormalization": Operator(_embedded, {"epsilon": "f", "mask_index_type": "i"}, 7, 9),
        "SimplifiedLayerNormalization": Operator(lambda step: _layer(step, False), _LAYER, 2, 2),
        "SkipLayerNormalization": Operator(lambda step: _skipped(step, True), {"epsilon": "f"}, 3, 5),
        "SkipSimplifiedLayerNormalization": Operator(
            lambda step: _skipped(step, False), {"epsilon": "f"}, 3, 4
        ),
    },
)
