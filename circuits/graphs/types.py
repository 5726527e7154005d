"""The types of integer tensors: their real values, and the rescaling of accumulators to the next tensor's
type.

Arrays of weights are C-contiguous float64 with finite entries. Shapes and axes leave out the batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zenserve.errors import ModelError
from zenserve.relations.bounds import Bound, Proof
from zenserve.relations.functions import Requantisation
from zenserve.relations.integers import INTEGER_LIMIT, JSON_LIMIT, IntArray, Interval

FloatArray = NDArray[np.float64]
Shape = tuple[int, ...]
WeightArray = NDArray[np.uint8] | NDArray[np.uint16]

# Of tensors and of weights.
LEAST_BITS, MOST_BITS = 1, 16
MOST_SHIFT = 61
# Of inputs that are compared alone: features of one tensor may span very different ranges.
MOST_COMPARED_BITS = 32

# For each output the least and the largest value, arrays that broadcast to the outputs' shape.
Bounds = tuple[IntArray, IntArray]


@dataclass(frozen=True)
class Affine:
    """``real = scale (q - zero_point)`` with ``0 <= q < 2^bits``: a tensor's type."""

    scale: float
    zero_point: int
    bits: int

    def __post_init__(self) -> None:
        require(1 <= self.bits <= MOST_COMPARED_BITS, f"bits must be 1 to {MOST_COMPARED_BITS}")
        require(math.isfinite(self.scale) and self.scale > 0, "a scale must be positive")
        require(abs(self.zero_point) < JSON_LIMIT, "a zero point must have at most 53 bits")

    @property
    def top(self) -> int:
        """The largest integer, 2^bits - 1."""
        return (1 << self.bits) - 1

    @property
    def has_zero(self) -> bool:
        """True if the zero point is one of the integers. It is not only for whole numbers far from zero,
        which only nodes that move or shift values read."""
        return 0 <= self.zero_point <= self.top

    @property
    def centred(self) -> Interval:
        """The least and the largest ``q - zero_point``."""
        return -self.zero_point, self.top - self.zero_point

    @property
    def interval(self) -> tuple[float, float]:
        """The real numbers that ``quantise`` moves by rounding only."""
        low, high = self.centred
        return self.scale * (low - 0.5), self.scale * (high + 0.5)

    def quantise(self, values: FloatArray) -> IntArray:
        """The nearest integers, int64 in [0, 2^bits)."""
        with np.errstate(over="ignore"):  # what is too large even for a float64 is clipped as well
            nearest = np.rint(values / self.scale) + self.zero_point
        q: IntArray = np.clip(nearest, 0, self.top).astype(np.int64)
        return q

    def real(self, q: IntArray) -> FloatArray:
        """Return the real numbers that the integers represent."""
        return self.scale * (q - self.zero_point).astype(np.float64)


@dataclass(frozen=True, eq=False)
class WeightType:
    """The same for weights: ``scale`` float64[1], ``zero_point`` int64[1], or [outputs] for each its own.

    Weights of one bit are -1 and 1, ``real = scale (2 q - 1)``: they have no zero, and zero points of 0.
    """

    scale: FloatArray
    zero_point: IntArray
    bits: int

    def __post_init__(self) -> None:
        require(LEAST_BITS <= self.bits <= MOST_BITS, f"bits must be {LEAST_BITS} to {MOST_BITS}")
        require(self.scale.ndim == self.zero_point.ndim == 1, "weight scales and zero points are vectors")
        require(bool((np.isfinite(self.scale) & (self.scale > 0)).all()), "a scale must be positive")
        most = 0 if self.signs else self.top
        inside = (self.zero_point >= 0) & (self.zero_point <= most)
        require(bool(inside.all()), f"a zero point must lie in [0, {most}]")

    @property
    def top(self) -> int:
        """The largest integer, 2^bits - 1."""
        return (1 << self.bits) - 1

    @property
    def signs(self) -> bool:
        """True if weights are -1 and 1."""
        return self.bits == 1

    def quantise(self, weight: FloatArray) -> WeightArray:
        """The nearest integers of weight[outputs, ..], in the ``dtype`` of the type."""
        if self.signs:
            return (weight >= 0).astype(np.uint8)
        q = np.rint(weight / self._along(self.scale, weight)) + self._along(self.zero_point, weight)
        made: WeightArray = np.clip(q, 0, self.top).astype(self.dtype)
        return made

    def centred(self, q: WeightArray) -> IntArray:
        """Return the integers by which layers multiply, int64 of the shape of ``q``: ``q - zero_point``, or
        -1 and 1."""
        whole = q.astype(np.int64)
        return 2 * whole - 1 if self.signs else whole - self._along(self.zero_point, q)

    def bound(self, q: WeightArray, proof: Proof) -> Bound:
        """Of ``centred``."""
        if self.signs:
            return Bound.of(-1, 1, proof, step=2)
        zero = self._along(self.zero_point, q)
        return Bound(-zero, self.top - zero, proof)

    @staticmethod
    def _along(values: NDArray[Any], weight: NDArray[Any]) -> NDArray[Any]:
        """Broadcasting to the weights' shape."""
        return values.reshape(-1, *(1 for _ in weight.shape[1:]))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype in which the integers are stored: the smallest type that holds them."""
        return np.min_scalar_type(self.top)

    @property
    def reach(self) -> IntArray:
        """The largest absolute value of ``centred``: int64[1] or [outputs]."""
        if self.signs:
            return np.ones_like(self.zero_point)
        return np.maximum(self.zero_point, self.top - self.zero_point)


@dataclass(frozen=True, eq=False)
class Declared:
    """A quantisation that the file prescribes: ``real = scale (q - zero_point)``.

    ``q`` has ``bits`` bits and is signed (two's complement) or not. ``scale`` float64 and ``zero_point``
    int64 are scalars [] or, for weights alone, one per output channel [out]. Signed weights of one bit are
    -1 and 1, with a zero point of 0.
    """

    scale: FloatArray
    zero_point: IntArray
    bits: int
    signed: bool

    @property
    def integers(self) -> Interval:
        """The least and the largest q."""
        low = -(1 << (self.bits - 1)) if self.signed else 0
        return low, low + (1 << self.bits) - 1

    @property
    def interval(self) -> tuple[float, float]:
        """The least and the largest real of a per-tensor type."""
        low, high = (float(self.scale) * (q - int(self.zero_point)) for q in self.integers)
        return low, high

    def nearest(self, values: FloatArray) -> FloatArray:
        """The nearest reals of a per-tensor type, halves to the even integer, as files have it."""
        q = np.clip(np.rint(values / self.scale) + self.zero_point, *self.integers)
        made: FloatArray = self.scale * (q - self.zero_point)
        return made

    def matches(self, other: Declared) -> bool:
        return (
            (self.bits, self.signed) == (other.bits, other.signed)
            and np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero_point, other.zero_point)
        )

    def reads_as(self, other: Declared) -> bool:
        """Return whether the integers represent the same numbers under the other type, whose range may be
        wider."""
        return np.array_equal(self.scale, other.scale) and np.array_equal(self.zero_point, other.zero_point)

    @property
    def has_zero(self) -> bool:
        """True if all zero points are integers of the type, so that it represents 0."""
        low, high = self.integers
        return bool(((self.zero_point >= low) & (self.zero_point <= high)).all())

    def within(self, low: float, high: float) -> Declared:
        """The type of fewest bits whose integers are all of these that lie in [low, high]; as it is where
        that has no zero."""
        least, most = max(low, self.integers[0]), min(high, self.integers[1])
        for bits in range(2, self.bits):
            narrow = replace(self, bits=bits)
            if narrow.integers[0] <= least and most <= narrow.integers[1] and narrow.has_zero:
                return narrow
        return self

    @property
    def whole(self) -> Declared:
        """The same integers as the numbers that they are."""
        return Declared(np.array(1.0), np.array(0), self.bits, self.signed)

    @property
    def affine(self) -> Affine:
        """The same type for a tensor, its integers unsigned."""
        return Affine(float(self.scale), int(self.zero_point) - self.integers[0], self.bits)

    @property
    def of_weights(self) -> WeightType:
        """The same type for weights, their integers unsigned."""
        if self.bits == 1:
            require(self.signed and not self.zero_point.any(), "weights of one bit are -1 and 1")
            return WeightType(np.atleast_1d(self.scale), np.zeros(self.scale.size, np.int64), 1)
        zero = np.atleast_1d(self.zero_point).astype(np.int64) - self.integers[0]
        return WeightType(np.atleast_1d(self.scale), zero, self.bits)


@dataclass(frozen=True, eq=False)
class Rescale:
    """From accumulators to a tensor of type ``output``:

        T = multiplier · acc + zero_point · 2^shift + 2^(shift - 1)
        q = clamp(floor(T / 2^shift), low, high)

    without the half where ``shift`` is 0. ``multiplier``: int64, positive, broadcasts to the tensor's shape.
    """

    multiplier: IntArray = field(repr=False)
    shift: int
    output: Affine
    low: int
    high: int

    def __post_init__(self) -> None:
        require(0 <= self.shift <= MOST_SHIFT, f"a shift must lie in [0, {MOST_SHIFT}]")
        require(self.output.has_zero, f"a zero point must lie in [0, {self.output.top}]")
        inside = (self.multiplier > 0) & (self.multiplier < JSON_LIMIT)
        require(bool(inside.all()), "a multiplier must be positive, of at most 53 bits")
        require(0 <= self.low < self.high <= self.output.top, "a clamp must leave an interval of its type")

    @property
    def offset(self) -> int:
        """``T - multiplier · acc``."""
        half = 1 << (self.shift - 1) if self.shift else 0
        return (self.output.zero_point << self.shift) + half

    @property
    def function(self) -> Requantisation:
        """From an accumulator to the clamped integer."""
        return Requantisation(self.multiplier, self.offset, self.shift, self.low, self.high)


def require(condition: bool, message: str) -> None:
    """``ModelError`` (``model.quantised``) unless ``condition`` holds."""
    if not condition:
        raise ModelError("model.quantised", message)


def require_narrow(name: str, reach: int) -> None:
    """``ModelError`` (``model.range_too_wide``) unless ``INTEGER_LIMIT`` bounds ``reach``."""
    if reach >= INTEGER_LIMIT:
        raise ModelError(
            "model.range_too_wide",
            f"{name} can reach {reach.bit_length()} bits in integers, more than 62; its biases or weights "
            "are out of proportion to its outputs in the calibration data",
        )
