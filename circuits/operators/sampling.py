"""GridSample by a grid of the file's: what lies between entries is a weighted sum of these."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from zenserve.circuits.graphs.node import dims
from zenserve.circuits.graphs.types import FloatArray, Shape
from zenserve.circuits.onnx.constants import Constant, Element
from zenserve.circuits.onnx.step import Operator, Step, Value
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.matmul import floats, product, reshaped
from zenserve.circuits.operators.moving import rearranged
from zenserve.circuits.operators.resize import cubic
from zenserve.relations.integers import IntArray

# Of each place of the output an entry of the input, -1 for none, and its weight.
_Taps = Iterator[tuple[IntArray, FloatArray]]


def _grid_sample(step: Step) -> Value:
    whole, said = step.whole(), step.attributes
    if step.is_data(1):
        raise step.refuse(
            "unsupported_operator", "samples at places that are computed; use a grid that the file holds"
        )
    grid = step.weights(1).array
    rank = len(whole) - 2
    if rank not in (2, 3) or grid.ndim != len(whole) or (grid.shape[0], grid.shape[-1]) != (whole[0], rank):
        raise step.refuse("shape", f"samples [{dims(whole)}] by a grid [{dims(grid.shape)}]")
    mode, padding = said.get("mode", b"linear"), said.get("padding_mode", b"zeros")
    if mode not in (*_CUBIC, b"bilinear", b"linear", b"nearest") or padding not in _PADDINGS:
        raise step.refuse("unsupported_attribute", f"samples by {mode[:20]!r} and {padding[:20]!r}")
    corners = bool(said.get("align_corners", 0))
    # The last number of a place is that along the last axis.
    places = [_place(grid[..., rank - 1 - axis], size, corners) for axis, size in enumerate(whole[2:])]
    if mode not in _CUBIC:
        places = [_inside(at, size, corners, padding) for at, size in zip(places, whole[2:], strict=True)]
    count, behind = math.prod(grid.shape[1:-1]), grid.shape[1:-1]
    if mode == b"nearest":
        chosen = _index([np.rint(at) for at in places], whole[2:])
        step.spend(chosen.size * whole[1])

        def nearest(entries: IntArray) -> IntArray:
            flat = entries.reshape(*whole[:2], -1)
            padded = np.concatenate([flat, np.full((*whole[:2], 1), -1)], axis=2)
            return np.take_along_axis(padded, chosen.reshape(whole[0], 1, count), 2).reshape(
                *whole[:2], *behind
            )

        return rearranged(step, nearest, 0)
    size = math.prod(whole[2:])
    step.spend(whole[0] * size * count)
    weights = np.zeros((whole[0], size + 1, count))
    sample, at = np.arange(whole[0])[:, np.newaxis], np.arange(count)[np.newaxis]
    taps = _cubic_taps(places, whole[2:], corners, padding) if mode in _CUBIC else _taps(places, whole[2:])
    for index, share in taps:
        np.add.at(weights, (sample, index.reshape(whole[0], count), at), share.reshape(whole[0], count))
    lines = reshaped(step, floats(step, 0), (whole[0], whole[1], size))
    made = product(step, lines, Constant(weights[:, :-1], Element.FLOAT))
    return reshaped(replace(step, inputs=[made]), made, (*whole[:2], *behind))


def _place(at: FloatArray, size: int, corners: bool) -> FloatArray:
    """Numbers from -1 to 1 as places along an axis."""
    place: FloatArray = (at + 1) / 2 * (size - 1) if corners else ((at + 1) * size - 1) / 2
    return place


def _inside(place: FloatArray, size: int, corners: bool, padding: bytes) -> FloatArray:
    """Map places beyond the ends of an axis as the padding mode prescribes. Places far beyond either end are
    clipped to -2 and ``size + 1``, where nothing is read."""
    if padding == b"border":
        place = np.clip(place, 0, size - 1)
    elif padding == b"reflection":
        low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
        span = high - low
        place = np.abs((place - low + span) % (2 * span) - span) + low if span else np.zeros_like(place)
        place = np.clip(place, 0, size - 1)
    # Far beyond either end is nothing, wherever it is.
    return np.clip(place, -2, size + 1)


def _taps(places: Sequence[FloatArray], sizes: Shape) -> _Taps:
    """The entries around each place: those before it along each axis, and those behind."""
    for behind in itertools.product((0, 1), repeat=len(sizes)):
        near = [np.floor(at) + more for at, more in zip(places, behind, strict=True)]
        shares = [1 - np.abs(at - entry) for at, entry in zip(places, near, strict=True)]
        yield _index(near, sizes), np.prod(shares, axis=0)


def _cubic_taps(places: Sequence[FloatArray], sizes: Shape, corners: bool, padding: bytes) -> _Taps:
    """Four entries around each place along each axis, each of which may be beyond the ends."""
    for behind in itertools.product((-1, 0, 1, 2), repeat=len(sizes)):
        near = [np.floor(at) + more for at, more in zip(places, behind, strict=True)]
        shares = [cubic(np.abs(at - entry), _SHARPNESS) for at, entry in zip(places, near, strict=True)]
        found = [_inside(entry, size, corners, padding) for entry, size in zip(near, sizes, strict=True)]
        yield _index(found, sizes), np.prod(shares, axis=0)


def _index(places: Sequence[FloatArray], sizes: Shape) -> IntArray:
    """Whole places as one number, -1 where they are outside."""
    inside = np.all([(at >= 0) & (at < size) for at, size in zip(places, sizes, strict=True)], axis=0)
    kept = [np.where(inside, at, 0).astype(np.int64) for at in places]
    return np.where(inside, np.ravel_multi_index(kept, sizes), -1)


_CUBIC: Final = (b"bicubic", b"cubic")
_PADDINGS: Final = (b"zeros", b"border", b"reflection")
# Of Keys' kernel.
_SHARPNESS: Final = -0.75
_SAMPLE = {"align_corners": "i", "mode": "s", "padding_mode": "s"}

ENTRY = Entry(onnx={"GridSample": Operator(_grid_sample, _SAMPLE, 2, 2)})
