"""Constants that a file makes of numbers and shapes alone: ranges, identities, windows; and grids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from circuits.graphs.types import FloatArray
from circuits.onnx.constants import FLOATS, MOST_WEIGHTS, Constant, Element
from circuits.onnx.step import Operator, Step, Value
from circuits.operators.entry import Entry
from circuits.operators.matmul import floats, product, reshaped, shape_of
from circuits.operators.moving import rearranged
from relations.integers import IntArray

_KINDS = (*FLOATS, Element.INT64, Element.INT32, Element.BOOL)


def _size(step: Step) -> Value:
    return step.folded(np.array(math.prod(step.whole())), Element.INT64)


def _range(step: Step) -> Value:
    start, limit, delta = (step.plain(position).array for position in range(3))
    if {start.size, limit.size, delta.size} != {1} or not delta.item():
        raise step.refuse("shape", "needs a start, a limit and a step that is not 0, a number each")
    count = max(0, math.ceil((limit.item() - start.item()) / delta.item()))
    step.spend(count)
    return step.folded(start.item() + delta.item() * np.arange(count), step.plain(0).kind)


def _eye(step: Step) -> Value:
    whole, kind = step.whole(), step.attributes.get("dtype", step.value(0).kind or Element.FLOAT)
    if len(whole) != 2:
        raise step.refuse("shape", f"makes a matrix of the shape {[*whole]}")
    step.spend(math.prod(whole))
    diagonal = min(max(step.attributes.get("k", 0), -whole[0]), whole[1])
    return step.folded(np.eye(*whole, k=diagonal), _known(step, kind))


def _window(step: Step, terms: Sequence[float]) -> Value:
    """``sum (-1)^i terms[i] cos(2 pi i x)``"""
    size = int(step.number(0, 0))
    if not 1 <= size <= MOST_WEIGHTS:
        raise step.refuse("shape", f"makes a window of {size}")
    kind = _known(step, step.attributes.get("output_datatype", Element.FLOAT))
    around = size if step.attributes.get("periodic", 1) else size - 1
    step.spend(len(terms) * size)
    x = np.arange(size) / max(1, around)
    parts = [(-1) ** i * term * np.cos(2 * np.pi * i * x) for i, term in enumerate(terms)]
    return step.folded(np.sum(parts, axis=0), kind)


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


def _known(step: Step, kind: int) -> int:
    if kind not in _KINDS:
        raise step.refuse("tensor_type", "makes numbers that are neither floats, int32, int64 nor booleans")
    return kind


def _has(step: Step) -> Value:
    """Whether a number is infinite or none: no computed one is."""
    if step.is_data(0):
        return Constant(np.zeros(step.whole(), np.int64), Element.BOOL)
    array = step.plain(0).array
    if step.node.op_type == "IsNaN":
        return step.folded(np.isnan(array), Element.BOOL)
    said = step.attributes
    above = np.isposinf(array) & bool(said.get("detect_positive", 1))
    return step.folded(above | (np.isneginf(array) & bool(said.get("detect_negative", 1))), Element.BOOL)


_WINDOW = {"output_datatype": "i", "periodic": "i"}


def _windows(*terms: float) -> Operator:
    return Operator(partial(_window, terms=terms), _WINDOW, folds=True)


ENTRY = Entry(
    onnx={
        "AffineGrid": Operator(_affine_grid, {"align_corners": "i"}, 2, 2),
        "BlackmanWindow": _windows(0.42, 0.5, 0.08),
        "EyeLike": Operator(_eye, {"dtype": "i", "k": "i"}, folds=True),
        "HammingWindow": _windows(25 / 46, 21 / 46),
        "HannWindow": _windows(0.5, 0.5),
        "IsInf": Operator(_has, {"detect_negative": "i", "detect_positive": "i"}, folds=True),
        "IsNaN": Operator(_has, folds=True),
        "Range": Operator(_range, {"stash_type": "i"}, 3, 3, folds=True),
        "Size": Operator(_size, folds=True),
    }
)
