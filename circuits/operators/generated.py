"""Constants that the shape of a computed tensor alone says: how many entries it has, identities, and which of
its entries are infinite or no numbers; and grids."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.onnx.constants import FLOATS, Constant, Element
from zenserve.circuits.onnx.step import Operator, Step, Value
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.matmul import floats, product, reshaped, shape_of
from zenserve.circuits.operators.moving import rearranged
from zenserve.relations.integers import IntArray

_KINDS = (*FLOATS, Element.INT64, Element.INT32, Element.BOOL)


def _size(step: Step) -> Value:
    return step.folded(np.array(math.prod(step.whole())), Element.INT64)


def _eye(step: Step) -> Value:
    whole, kind = step.whole(), step.attributes.get("dtype", step.value(0).kind or Element.FLOAT)
    if len(whole) != 2:
        raise step.refuse("shape", f"makes a matrix of the shape {[*whole]}")
    if kind not in _KINDS:
        raise step.refuse("tensor_type", "makes numbers that are neither floats, int32, int64 nor booleans")
    step.spend(math.prod(whole))
    diagonal = min(max(step.attributes.get("k", 0), -whole[0]), whole[1])
    return step.folded(np.eye(*whole, k=diagonal), kind)


def _affine_grid(step: Step) -> Value:
    """Of each place of an image from -1 to 1, its place by ``theta`` [n, axes, axes + 1]."""
    theta, size = floats(step, 0), step.numbers("size", 1)
    sizes = size[2:]
    wanted = (size[0] if size else 0, len(sizes), len(sizes) + 1)
    if len(sizes) not in (2, 3) or shape_of(theta) != wanted or min(size) < 1:
        raise step.refuse("shape", f"makes a grid of the shape {size} by {[*shape_of(theta)]}")
    step.spend(size[0] * math.prod(sizes) * (len(sizes) + 1))
    corners = step.attributes.get("align_corners", 0)
    axes = [_ends(length) if corners else _middles(length) for length in sizes]
    places = np.stack([*np.meshgrid(*axes, indexing="ij")][::-1], axis=-1)
    rows = np.concatenate([places, np.ones((*places.shape[:-1], 1))], axis=-1).reshape(-1, len(sizes) + 1)
    turned = rearranged(replace(step, inputs=[theta]), lambda entries: entries.swapaxes(1, 2), 0)
    grid = product(step, Constant(rows, Element.FLOAT), turned)
    return reshaped(step, grid, (size[0], *sizes, len(sizes)))


def _ends(length: int) -> FloatArray:
    return np.linspace(-1.0, 1.0, length)


def _middles(length: int) -> FloatArray:
    steps: IntArray = 2 * np.arange(length) + 1
    return steps / length - 1


def _has(step: Step) -> Value:
    """Return zeros for IsInf and IsNaN: no computed number is infinite or NaN."""
    return Constant(np.zeros(step.whole(), np.int64), Element.BOOL)


ENTRY = Entry(
    onnx={
        "AffineGrid": Operator(_affine_grid, {"align_corners": "i"}, 2, 2),
        "EyeLike": Operator(_eye, {"dtype": "i", "k": "i"}, folds=True),
        "IsInf": Operator(_has, {"detect_negative": "i", "detect_positive": "i"}, folds=True),
        "IsNaN": Operator(_has, folds=True),
        "Size": Operator(_size, folds=True),
    }
)
