"""The fixed-point numbers ``multiplier / 2^shift`` that bring sums into the type of the next tensor."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from zenserve.circuits.graphs.calibration import Interval
from zenserve.circuits.graphs.types import MOST_BITS, MOST_SHIFT, Affine, FloatArray, Rescale
from zenserve.errors import ModelError
from zenserve.relations.integers import JSON_LIMIT, IntArray

# The multiplier has as few bits as it can while it makes a tensor's step at most 1/32 coarser than
# calibration asks for: each bit of it costs one constraint per activation.
COARSER = 1 + 2**-5
# Scales that are given are met to an eighth of the output's step over its whole range.
_GIVEN = 1 / 8
# Of a step.
_BETWEEN = 2.0**-10


class Clamp(NamedTuple):
    """The real interval of a Clip after the sums, infinite where there is no bound."""

    low: float = -math.inf
    high: float = math.inf

    def between(self, step: float) -> bool:
        """Return whether a finite end lies between multiples of ``step``."""
        return any(math.isfinite(end) and abs(end / step - round(end / step)) > _BETWEEN for end in self)

    def within(self, kind: Affine) -> tuple[int, int]:
        """The integers of type ``kind`` that it leaves."""
        low, high = (
            0 if math.isinf(bound) and bound < 0 else kind.top if math.isinf(bound) else _nearest(bound, kind)
            for bound in self
        )
        if low >= high:
            raise ModelError(
                "model.scale", f"a clamp to [{self.low}, {self.high}] leaves no interval of its tensor's type"
            )
        return low, high


def _nearest(value: float, kind: Affine) -> int:
    return min(max(round(value / kind.scale) + kind.zero_point, 0), kind.top)


def affine(span: Interval, bits: int, what: str, *, halves: bool = False) -> Affine:
    """The type of ``bits`` bits that spans ``span``. ``halves``: one that has whole numbers and, of a step
    below one, halves, exactly."""
    if span.low == span.high:
        return Affine(1.0, 0, bits)
    scale = (span.high - span.low) / ((1 << bits) - 1)
    usable(scale, what)
    if halves:
        scale = math.ldexp(1.0, math.ceil(math.log2(scale)))
    return Affine(scale, round(-span.low / scale), bits)


def exact(span: Interval, what: str, most: int = MOST_BITS) -> Affine:
    """The type of the integers in ``span``: of scale 1 and as few bits as hold them, at most ``most``."""
    low, high = int(span.low), int(span.high)
    bits = max(1, (high - low).bit_length())
    if bits > most:
        raise ModelError(
            "model.quantised",
            f"{what[:80]!r} takes integers from {low} to {high}, {bits} bits; tensors have {most} at most: "
            "have the network subtract a constant near them first, or give it smaller numbers",
        )
    return Affine(1.0, -low, bits)


def usable(scale: float, what: str) -> None:
    """``ModelError`` (``model.scale``) unless ``scale`` is a normal, positive number."""
    if not math.isfinite(scale) or scale < np.finfo(np.float64).tiny:
        raise ModelError("model.scale", f"{what} has no usable scale: its values span {scale:.3g} a step")


def free(step: float, span: Interval, bits: int, clamp: Clamp, what: str) -> Rescale:
    """To a type that spans ``span``, for sums of real step ``step``.

    The output scale is the one that ``multiplier / 2^shift`` gives exactly, so the multiplier has no
    rounding error.
    """
    top = (1 << bits) - 1
    # A finer step than the sums' own would carry no information.
    wanted = max((span.high - span.low) / top, step)
    usable(wanted, what)
    usable(step, what)
    # Where the clamp cuts the calibrated values off, it must do so to a quarter of a step.
    capped = clamp.high <= span.high or -math.inf < clamp.low < 0
    finer = math.floor(step * top / (span.high - span.low)) if clamp.between(step) else 1
    if finer > 1:
        multiplier, shift = finer, 0
    else:
        multiplier, shift = fixed_point(step / wanted, 1 + 1 / (4 * top) if capped else COARSER)
    if shift > MOST_SHIFT:
        raise ModelError(
            "model.range_too_wide",
            f"{what} reaches from {span.low:.3g} to {span.high:.3g} on the calibration data, and is made in "
            f"steps of {step:.3g}: no integers have both; a constant of the network is huge, and must be "
            "nearer to its other numbers",
        )
    scale = math.ldexp(step / multiplier, shift)
    # Where sums are coarser than the type, integers are left over: rounded up, one is below zero.
    below = math.ceil(-span.low / scale) if wanted == step else round(-span.low / scale)
    zero = 0 if clamp.low >= 0 else min(below, top)
    output = Affine(scale, zero, bits)
    low, high = clamp.within(output)
    return Rescale(np.array([multiplier]), shift, output, low, high)


def given(step: FloatArray, output: Affine, clamp: Clamp) -> Rescale:
    """To the type ``output``, for sums of real step ``step``, an array that broadcasts to their shape."""
    multiplier, shift = approximate(step / output.scale, _GIVEN / output.top)
    low, high = clamp.within(output)
    return Rescale(multiplier, shift, output, low, high)


def fixed_point(ratio: float, coarser: float) -> tuple[int, int]:
    """The shortest M, and k >= 0, with ``M / 2^k <= ratio <= (M / 2^k) coarser``, for 0 < ratio <= 1."""
    fraction, exponent = math.frexp(ratio)
    for precision in range(1, 54):
        multiplier, shift = math.floor(math.ldexp(fraction, precision)), precision - exponent
        if shift >= 0 and math.ldexp(fraction, precision) <= multiplier * coarser:
            return multiplier, shift
    raise AssertionError("a float has 53 bits")


def approximate(ratios: FloatArray, error: float | FloatArray) -> tuple[IntArray, int]:
    """The least k with integers M, each ``|M / 2^k - ratio| <= error · ratio``: M and k. ``error``: of all,
    or of each."""
    for shift in range(MOST_SHIFT + 1):
        multiplier = np.maximum(np.rint(np.ldexp(ratios, shift)), 1)
        if multiplier.max() >= JSON_LIMIT:
            break
        if (np.abs(np.ldexp(multiplier, -shift) - ratios) <= error * ratios).all():
            return multiplier.astype(np.int64), shift
    raise ModelError(
        "model.range_too_wide", "the scales of neighbouring tensors are too far apart; calibrate anew"
    )
