"""Resize and Upsample: the nearest entry moves, and what lies between entries is a weighted sum of these."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from circuits.graphs.types import FloatArray, Shape
from circuits.onnx.constants import Constant, Element
from circuits.onnx.step import Operator, Step, Value
from circuits.operators.entry import Entry
from circuits.operators.matmul import floats, product
from circuits.operators.moving import rearranged
from relations.integers import IntArray


def _resize(step: Step) -> Value:
    """Three inputs and more: opset 11, which has a region and sizes."""
    whole, said = step.whole(), step.attributes
    newer = len(step.inputs) > 2
    where = said.get("coordinate_transformation_mode", b"half_pixel" if newer else b"asymmetric")
    if where not in _COORDINATES or said.get("antialias", 0):
        raise step.refuse("unsupported_attribute", f"resizes by {where[:20]!r}, or with antialiasing")
    scales, sizes = _resized(step, whole)
    step.spend(math.prod(sizes))
    places = [
        _COORDINATES[where](np.arange(length, dtype=np.float64), scale, size, length)
        for size, scale, length in zip(whole, scales, sizes, strict=True)
    ]
    mode = said.get("mode", b"nearest")
    if mode == b"nearest":
        return _nearest(step, places, said.get("nearest_mode", b"round_prefer_floor" if newer else b"floor"))
    if mode not in (b"linear", b"cubic"):
        raise step.refuse("unsupported_attribute", f"has mode {mode[:20]!r}; use nearest, linear or cubic")
    return _between(step, places, cubic=mode == b"cubic")


def _nearest(step: Step, places: list[FloatArray], rounding: bytes) -> Value:
    if rounding not in _ROUNDINGS:
        raise step.refuse("unsupported_attribute", f"rounds by {rounding[:20]!r}")
    nearest = [
        np.clip(_ROUNDINGS[rounding](at), 0, size - 1).astype(np.int64)
        for at, size in zip(places, step.whole(), strict=True)
    ]
    return rearranged(step, lambda entries: entries[np.ix_(*nearest)], 0)


def _between(step: Step, places: list[FloatArray], *, cubic: bool) -> Value:
    """Axis by axis, each a product with a matrix of weights."""
    value = floats(step, 0)
    for axis, (size, at) in enumerate(zip(step.whole(), places, strict=True)):
        if np.array_equal(at, np.arange(size)):
            continue
        step.spend(size * len(at))
        turned = partial(np.swapaxes, axis1=axis, axis2=-1)
        lines = _moved(step, value, turned)
        made = product(step, lines, Constant(_weights(step, at, size, cubic), Element.FLOAT))
        value = _moved(step, made, turned)
    return value


def _weights(step: Step, at: FloatArray, size: int, cubic: bool) -> FloatArray:
    """[size, places]: of each entry in what lies at each place. Beyond the ends are the ends again."""
    if not cubic:
        at = np.clip(at, 0, size - 1)
    first = np.floor(at)
    taps = [-1, 0, 1, 2] if cubic else [0, 1]
    weights = np.zeros((size, len(at)))
    total = np.zeros(len(at))
    for tap in taps:
        entry, distance = first + tap, np.abs(at - first - tap)
        share = _cubic(distance, step.attributes.get("cubic_coeff_a", -0.75)) if cubic else 1 - distance
        if step.attributes.get("exclude_outside", 0):
            share = np.where((entry < 0) | (entry >= size), 0.0, share)
        total += share
        np.add.at(weights, (np.clip(entry, 0, size - 1).astype(np.int64), np.arange(len(at))), share)
    return weights / total


def _cubic(distance: FloatArray, a: float) -> FloatArray:
    """Keys' kernel."""
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((distance - 5) * distance + 8) * distance * a - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


def _moved(step: Step, value: Value, places: Callable[[IntArray], IntArray]) -> Value:
    return rearranged(replace(step, inputs=[value]), places, 0)


def _resized(step: Step, whole: Shape) -> tuple[list[float], list[int]]:
    """The scale of each axis, and its new size."""
    at = 2 if len(step.inputs) > 2 else 1
    if step.has(3):
        sizes = step.numbers("sizes", 3)
        if len(sizes) != len(whole) or min(*sizes, *whole, 1) < 1:
            raise step.refuse("shape", f"resizes {len(whole)} axes to {sizes}")
        return [length / size for length, size in zip(sizes, whole, strict=True)], sizes
    scales = step.attributes.get("scales") or step.weights(at).array.ravel().tolist()
    if len(scales) != len(whole) or not all(0 < scale < 1 << 16 for scale in scales):
        raise step.refuse("shape", f"resizes {len(whole)} axes by {scales[:8]}")
    return scales, [math.floor(size * scale) for size, scale in zip(whole, scales, strict=True)]


def _from_half_pixel(at: FloatArray, scale: float, size: int, length: int) -> FloatArray:
    return (at + 0.5) / scale - 0.5


def _from_half_pixel_of_several(at: FloatArray, scale: float, size: int, length: int) -> FloatArray:
    return (at + 0.5) / scale - 0.5 if length > 1 else np.zeros(1)


def _from_corners(at: FloatArray, scale: float, size: int, length: int) -> FloatArray:
    return at * (size - 1) / (length - 1) if length > 1 else np.zeros(1)


def _from_start(at: FloatArray, scale: float, size: int, length: int) -> FloatArray:
    return at / scale


# From places along an axis of the output, ``length`` of them, to places along that of the input.
_COORDINATES: Final[Mapping[bytes, Callable[[FloatArray, float, int, int], FloatArray]]] = {
    b"align_corners": _from_corners,
    b"asymmetric": _from_start,
    b"half_pixel": _from_half_pixel,
    b"pytorch_half_pixel": _from_half_pixel_of_several,
}
_ROUNDINGS: Final[Mapping[bytes, Callable[[FloatArray], FloatArray]]] = {
    b"ceil": np.ceil,
    b"floor": np.floor,
    b"round_prefer_ceil": lambda at: np.floor(at + 0.5),
    b"round_prefer_floor": lambda at: np.ceil(at - 0.5),
}


_RESIZE = {
    "antialias": "i",
    "coordinate_transformation_mode": "s",
    "cubic_coeff_a": "f",
    "exclude_outside": "i",
    "extrapolation_value": "f",
    "keep_aspect_ratio_policy": "s",
    "mode": "s",
    "nearest_mode": "s",
}

ENTRY = Entry(
    onnx={
        "Resize": Operator(_resize, _RESIZE, 2, 4),
        "Upsample": Operator(_resize, {"mode": "s", "scales": "floats"}, 1, 2),
    },
)
