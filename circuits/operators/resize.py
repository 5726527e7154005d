"""Resize and Upsample: the nearest entry moves, and what lies between entries is a weighted sum of these."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Final

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.types import FloatArray
from zenserve.circuits.onnx.constants import Constant, Element
from zenserve.circuits.onnx.step import Data, Operator, Step, Value
from zenserve.circuits.operators.entry import Entry
from zenserve.circuits.operators.matmul import floats, product
from zenserve.circuits.operators.moving import rearranged
from zenserve.circuits.operators.scale import affine_of
from zenserve.relations.integers import IntArray

Singles = NDArray[np.float32]
"""Runtimes compute places in single precision: which entry is the nearest hangs on the last digit."""


_ZERO: Final = np.float32(0)
_HALF: Final = np.float32(0.5)
_ONE: Final = np.float32(1)


@dataclass(frozen=True)
class _Axis:
    """An axis of ``size`` that becomes ``length``, which is ``scale`` times as long but for rounding.
    ``region``: of the part that is resized start and end, where all is from 0 to 1."""

    size: int
    scale: np.float32
    length: int
    region: tuple[np.float32, np.float32] = (_ZERO, _ONE)


def _resize(step: Step) -> Value:
    """Three inputs and more: opset 11, which has a region and sizes."""
    said = step.attributes
    newer = len(step.inputs) > 2
    where = said.get("coordinate_transformation_mode", b"half_pixel" if newer else b"asymmetric")
    mode = said.get("mode", b"nearest")
    if where not in _COORDINATES:
        raise step.refuse("unsupported_attribute", f"resizes by {where[:20]!r}")
    if mode not in (b"nearest", *_KERNELS):
        raise step.refuse("unsupported_attribute", f"has mode {mode[:20]!r}; use nearest, linear or cubic")
    axes = _resized(step, newer)
    if where in _BY_LENGTH and not step.has(3):
        _require_whole(step, axes)
    if where != b"tf_crop_and_resize" and not step.has(3):
        _require_changed(step, axes)
    step.spend(math.prod(axis.length for axis in axes))
    places = [_COORDINATES[where](np.arange(axis.length, dtype=np.float32), axis) for axis in axes]
    beyond = [np.zeros(axis.length, np.bool_) for axis in axes]
    if where == b"tf_crop_and_resize":
        beyond = [(at < 0) | (at > axis.size - 1) for at, axis in zip(places, axes, strict=True)]
    if mode == b"nearest":
        made = _nearest(step, axes, places, beyond, newer)
    else:
        made = _between(step, axes, places, beyond, mode)
    outside = reduce(np.logical_or.outer, beyond)
    value = said.get("extrapolation_value", 0.0)
    if not outside.any() or not value:
        return made
    if not isinstance(made, Data):
        return step.folded(np.where(outside, value, made.array), made.kind)
    return affine_of(step, made, 1.0, np.where(outside, value, 0.0))


def _nearest(
    step: Step,
    axes: Sequence[_Axis],
    places: Sequence[Singles],
    beyond: Sequence[NDArray[np.bool_]],
    newer: bool,
) -> Value:
    """Before opset 11 it is not said which entry is the nearest: it is the one that onnxruntime takes."""
    said = step.attributes.get("nearest_mode", b"round_prefer_floor")
    if said not in _ROUNDINGS:
        raise step.refuse("unsupported_attribute", f"rounds by {said[:20]!r}")
    nearest = []
    for axis, at in zip(axes, places, strict=True):
        rounding = said if newer else b"ceil" if axis.scale < 1 else b"floor"
        nearest.append(np.clip(_ROUNDINGS[rounding](at), 0, axis.size - 1).astype(np.int64))

    def chosen(entries: IntArray) -> IntArray:
        found = entries[np.ix_(*nearest)]
        for axis, outside in enumerate(beyond):
            np.moveaxis(found, axis, -1)[..., outside] = -1
        return found

    return rearranged(step, chosen, 0)


def _between(
    step: Step,
    axes: Sequence[_Axis],
    places: Sequence[Singles],
    beyond: Sequence[NDArray[np.bool_]],
    mode: bytes,
) -> Value:
    """Axis by axis, each a product with a matrix of weights."""
    value = floats(step, 0)
    for at, (axis, where, outside) in enumerate(zip(axes, places, beyond, strict=True)):
        if np.array_equal(where, np.arange(axis.size)):
            continue
        step.spend(axis.size * axis.length)
        weights = np.where(outside, 0.0, _weights(step, axis, where.astype(np.float64), mode))
        turned = partial(np.swapaxes, axis1=at, axis2=-1)
        made = product(step, _moved(step, value, turned), Constant(weights, Element.FLOAT))
        value = _moved(step, made, turned)
    return value


def _weights(step: Step, axis: _Axis, at: FloatArray, mode: bytes) -> FloatArray:
    """[size, places]: of each entry in what lies at each place. Beyond the ends are the ends again. Where
    entries are nearer than places, a kernel without aliases is as wide as these are apart."""
    radius, kernel = _KERNELS[mode]
    narrow = min(float(axis.scale), 1.0) if step.attributes.get("antialias", 0) else 1.0
    reach = math.ceil(radius / narrow)
    first = np.floor(at)
    weights = np.zeros((axis.size, len(at)))
    total = np.zeros(len(at))
    for tap in range(1 - reach, 1 + reach):
        entry = first + tap
        share = kernel(np.abs(at - entry) * narrow, step.attributes.get("cubic_coeff_a", -0.75))
        if step.attributes.get("exclude_outside", 0):
            share = np.where((entry < 0) | (entry >= axis.size), 0.0, share)
        total += share
        np.add.at(weights, (np.clip(entry, 0, axis.size - 1).astype(np.int64), np.arange(len(at))), share)
    return weights / np.where(total == 0, 1.0, total)


def _linear(distance: FloatArray, _: float) -> FloatArray:
    return np.maximum(0.0, 1 - distance)


def cubic(distance: FloatArray, a: float) -> FloatArray:
    """Keys' kernel."""
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((distance - 5) * distance + 8) * distance * a - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


# How far each reaches, and its value at a distance.
_KERNELS: Final[Mapping[bytes, tuple[int, Callable[[FloatArray, float], FloatArray]]]] = {
    b"cubic": (2, cubic),
    b"linear": (1, _linear),
}


def _moved(step: Step, value: Value, places: Callable[[IntArray], IntArray]) -> Value:
    return rearranged(replace(step, inputs=[value]), places, 0)


def _resized(step: Step, newer: bool) -> list[_Axis]:
    """Return the resizing of each axis. The node resizes all axes, or those that it names."""
    whole, said = step.whole(), step.attributes
    chosen = step.axes(said.get("axes") or range(len(whole)), len(whole))
    lengths = [whole[axis] for axis in chosen]
    made = [_Axis(size, np.float32(1), size) for size in whole]
    if step.has(3):
        given = _sized(step, lengths, step.numbers("sizes", 3))
    else:
        given = _scaled(step, lengths, said.get("scales") or step.weights(2 if newer else 1).array.ravel())
    region = step.weights(1).array.ravel() if newer and step.has(1) else np.zeros(0)
    if said.get("coordinate_transformation_mode") == b"tf_crop_and_resize":
        if region.size != 2 * len(chosen) or not np.isfinite(region).all():
            raise step.refuse("shape", f"crops {len(chosen)} axes to {region.size} numbers, not two of each")
        starts, ends = region.astype(np.float32).reshape(2, -1)
        given = [replace(axis, region=(starts[at], ends[at])) for at, axis in enumerate(given)]
    for at, axis in zip(chosen, given, strict=True):
        made[at] = axis
    return made


def _sized(step: Step, whole: Sequence[int], sizes: Sequence[int]) -> list[_Axis]:
    if len(sizes) != len(whole) or min(*sizes, *whole, 1) < 1:
        raise step.refuse("shape", f"resizes {len(whole)} axes to {[*sizes]}")
    scales = [np.float32(length) / np.float32(size) for length, size in zip(sizes, whole, strict=True)]
    policy = step.attributes.get("keep_aspect_ratio_policy", b"stretch")
    if policy not in (b"stretch", *_POLICIES):
        raise step.refuse("unsupported_attribute", f"keeps the ratio of sides by {policy[:20]!r}")
    if policy in _POLICIES:
        scales = [_POLICIES[policy](scales)] * len(whole)
        sizes = [math.floor(float(scales[0] * np.float32(size)) + 0.5) for size in whole]
    return [_Axis(*each) for each in zip(whole, scales, sizes, strict=True)]


def _scaled(step: Step, whole: Sequence[int], factors: Sequence[float] | FloatArray) -> list[_Axis]:
    scales = [np.float32(factor) for factor in factors]
    if len(scales) != len(whole) or not all(0 < scale < 1 << 16 for scale in scales):
        raise step.refuse("shape", f"resizes {len(whole)} axes by {[*map(float, scales[:8])]}")
    lengths = [math.floor(np.float32(size) * scale) for size, scale in zip(whole, scales, strict=True)]
    if min(lengths, default=1) < 1:
        raise step.refuse("shape", f"resizes {[*whole]} to {lengths}")
    return [_Axis(*each) for each in zip(whole, scales, lengths, strict=True)]


def _require_changed(step: Step, axes: Sequence[_Axis]) -> None:
    """Scales that change places, but no size, are left out by onnxruntime."""
    if all(axis.length == axis.size for axis in axes) and any(axis.scale != 1 for axis in axes):
        raise step.refuse(
            "unsupported_attribute",
            "has scales that leave all sizes as they are, of which onnxruntime makes a copy and others "
            "something else; leave it out",
        )


def _require_whole(step: Step, axes: Sequence[_Axis]) -> None:
    """Of scales below 1 by which corners fall between entries onnx's tests have other places than onnxruntime
    and PyTorch."""
    for axis in axes:
        cut = float(axis.scale) * axis.size - axis.length
        if axis.scale < 1 and axis.length > 1 and cut > _WHOLE:
            raise step.refuse(
                "unsupported_attribute",
                f"aligns the corners of {axis.size} entries scaled by {axis.scale:.6g}, of which runtimes "
                "make different places; give sizes",
            )


def _from_half_pixel(at: Singles, axis: _Axis) -> Singles:
    return (at + _HALF) / axis.scale - _HALF


def _from_half_pixel_of_several(at: Singles, axis: _Axis) -> Singles:
    return _from_half_pixel(at, axis) if axis.length > 1 else np.zeros(1, np.float32)


def _from_half_pixel_symmetric(at: Singles, axis: _Axis) -> Singles:
    """Map output places to places of the input, with the length that rounding cuts off or adds split between
    both ends. Computed in double precision."""
    adjustment = np.float32(axis.length) / (axis.scale * np.float32(axis.size))
    offset = axis.size / 2 * (1 - float(adjustment))
    return (offset + (at + 0.5).astype(np.float64) / float(axis.scale) - 0.5).astype(np.float32)


def _from_half_pixel_of_tensorflow(at: Singles, axis: _Axis) -> Singles:
    return (at + _HALF) / axis.scale


def _from_corners(at: Singles, axis: _Axis) -> Singles:
    if axis.length == 1:
        return np.zeros(1, np.float32)
    return at * np.float32(axis.size - 1) / np.float32(axis.length - 1)


def _from_start(at: Singles, axis: _Axis) -> Singles:
    return at / axis.scale


def _from_region(at: Singles, axis: _Axis) -> Singles:
    last, (start, end) = np.float32(axis.size - 1), axis.region
    if axis.length == 1:
        return np.array([_HALF * (start + end) * last])
    return start * last + at * (end - start) * last / np.float32(axis.length - 1)


# Nearer to the middle of two entries is in the middle, as in onnxruntime.
_NEAR: Final = np.float32(1e-5)
_WHOLE: Final = 1e-3
# From places along an axis of the output to places along that of the input.
_COORDINATES: Final[Mapping[bytes, Callable[[Singles, _Axis], Singles]]] = {
    b"align_corners": _from_corners,
    b"asymmetric": _from_start,
    b"half_pixel": _from_half_pixel,
    b"half_pixel_symmetric": _from_half_pixel_symmetric,
    b"pytorch_half_pixel": _from_half_pixel_of_several,
    b"tf_crop_and_resize": _from_region,
    b"tf_half_pixel_for_nn": _from_half_pixel_of_tensorflow,
}
# Those that need the length, which scales do not give but for rounding.
_BY_LENGTH: Final = (b"align_corners", b"tf_crop_and_resize")
_POLICIES: Final[Mapping[bytes, Callable[[Sequence[np.float32]], np.float32]]] = {
    b"not_larger": min,
    b"not_smaller": max,
}
_ROUNDINGS: Final[Mapping[bytes, Callable[[Singles], Singles]]] = {
    b"ceil": np.ceil,
    b"floor": np.floor,
    b"round_prefer_ceil": lambda at: np.floor(at + _HALF + _NEAR),
    b"round_prefer_floor": lambda at: np.ceil(at - _HALF - _NEAR),
}


_RESIZE = {
    "antialias": "i",
    "axes": "ints",
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
