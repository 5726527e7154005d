"""One quantised dense layer: its types, its integers, and how far they can reach."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from circuits.integers import IntArray


@dataclass(frozen=True)
class Affine:
    """``real = scale (q - zero_point)``: how a tensor's integers read as real numbers."""

    scale: float
    zero_point: int

    def quantise(self, values: NDArray[np.float64], bits: int) -> IntArray:
        """The nearest integers, int64 in [0, 2^bits)."""
        nearest = np.rint(values / self.scale) + self.zero_point
        q: IntArray = np.clip(nearest, 0, (1 << bits) - 1).astype(np.int64)
        return q

    def interval(self, bits: int) -> tuple[float, float]:
        """The real numbers that ``quantise`` moves by rounding only."""
        low, high = -self.zero_point, (1 << bits) - 1 - self.zero_point
        return self.scale * (low - 0.5), self.scale * (high + 0.5)


@dataclass(frozen=True)
class Rescale:
    """How accumulators become the next tensor: ``multiplier``, ``shift``, and that tensor's type."""

    multiplier: int
    shift: int
    output: Affine

    def apply(self, acc: IntArray, bits: int) -> IntArray:
        """The clamped tensor, each value in [0, 2^bits)."""
        quotient: IntArray = (self.multiplier * acc + self.offset) >> self.shift
        return np.clip(quotient, 0, (1 << bits) - 1)

    @property
    def offset(self) -> int:
        """``T - multiplier · acc``: the output's zero point, and one half to round to the nearest."""
        return (self.output.zero_point << self.shift) + (1 << (self.shift - 1))


@dataclass(frozen=True, eq=False)
class QuantLayer:
    """One dense layer. ``weight``: uint8[outputs, inputs], the integers q_w; ``bias``: int64[outputs].

    Without ``rescale`` the accumulators themselves are the output.
    """

    name: str
    weight: NDArray[np.uint8] = field(repr=False)
    weight_type: Affine
    bias: IntArray = field(repr=False)
    rescale: Rescale | None

    @cached_property
    def centred_weight(self) -> IntArray:
        """``q_w - z_w`` as int64[outputs, inputs]."""
        return self.weight.astype(np.int64) - self.weight_type.zero_point

    @property
    def bias_bits(self) -> int:
        """The bias's type: a b >= 1 with -2^b <= bias < 2^b for every entry."""
        return max(1, int(self.bias.min()).bit_length(), int(self.bias.max()).bit_length())

    def describe(self) -> dict[str, Any]:
        """The public types and scales, JSON-able."""
        described: dict[str, Any] = {
            "name": self.name,
            "weight": {"scale": self.weight_type.scale, "zero_point": self.weight_type.zero_point},
            "bias_bits": self.bias_bits,
        }
        if self.rescale is not None:
            described["rescale"] = asdict(self.rescale)
        return described

    def accumulate(self, x: IntArray, input_zero: int) -> IntArray:
        """The accumulators [outputs] for inputs q_x [inputs]."""
        return self.centred_weight @ (x - input_zero) + self.bias

    def type_bounds(self, input_zero: int, bits: int) -> tuple[int, int]:
        """The interval of accumulators over all weights, biases and inputs of these types."""
        top = (1 << bits) - 1
        weight = max(self.weight_type.zero_point, top - self.weight_type.zero_point)
        reach = self.weight.shape[1] * weight * max(input_zero, top - input_zero) + (1 << self.bias_bits)
        return -reach, reach

    def weight_bounds(self, input_zero: int, bits: int) -> tuple[int, int]:
        """The interval of accumulators over all inputs of their type, for exactly these weights."""
        at_least = self.centred_weight * -input_zero
        at_most = self.centred_weight * ((1 << bits) - 1 - input_zero)
        low = np.minimum(at_least, at_most).sum(axis=1) + self.bias
        high = np.maximum(at_least, at_most).sum(axis=1) + self.bias
        return int(low.min()), int(high.max())


def slack_factor(overflow_digits: int) -> int:
    """What makes the clamp's slack an integer: the least common multiple of all counts of overflow."""
    return math.lcm(*range(1, overflow_digits + 2))


def layer_name(index: int) -> str:
    """What layer ``index`` is called in wires, blocks and messages."""
    return f"dense{index + 1}"
