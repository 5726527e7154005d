"""The quantised network and its one integer semantics (docs/circuits.md).

Tensors are affine, ``real = scale (q - zero_point)`` with ``0 <= q < 2^bits``. A layer computes

    acc = sum_j (q_w - z_w)(q_x - z_x) + b
    T   = multiplier · acc + zero_point · 2^shift + 2^(shift - 1)
    q_y = clamp(floor(T / 2^shift), 0, 2^bits - 1)

(ZEN, Feng et al., section 4). Integers are int64 and provably never overflow: the constructor refuses a
layer in which any weights and inputs of its types could bring an intermediate value to 2^62.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zenerrors import ModelError

IntArray = NDArray[np.int64]

# Every intermediate integer stays below this in absolute value: inside int64, and so far below r that the
# product of two of them cannot wrap around the field either.
INTEGER_LIMIT = 1 << 62
LEAST_BITS, MOST_BITS = 2, 8


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
    weight: NDArray[np.uint8]
    weight_type: Affine
    bias: IntArray
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


@dataclass(frozen=True)
class Output:
    """What the network says: the first index of the largest logit, and the integer logits."""

    label: int
    logits: IntArray


@dataclass(frozen=True, eq=False)
class QuantGraph:
    """Dense layers in order, over inputs of ``input_shape`` and ``bits`` per tensor element.

    Raises ``ModelError`` (``model.quantised``, ``model.range_too_wide``) where the parts do not make an
    exact, overflow-free integer network.
    """

    bits: int
    input_shape: tuple[int, ...]
    input_type: Affine
    layers: tuple[QuantLayer, ...]

    def __post_init__(self) -> None:
        _require(LEAST_BITS <= self.bits <= MOST_BITS, f"bits must be {LEAST_BITS} to {MOST_BITS}")
        _require(all(size > 0 for size in self.input_shape), "the input shape must be positive")
        _require(bool(self.layers), "there must be at least one layer")
        inputs = math.prod(self.input_shape)
        self._check_affine("input", self.input_type)
        for index, layer in enumerate(self.layers):
            _require(layer.weight.shape == (len(layer.bias), inputs), f"{layer.name}: weight and bias misfit")
            _require(layer.weight.size > 0, f"{layer.name} is empty")
            _require(int(layer.weight.max()) <= self.top, f"{layer.name}: a weight exceeds {self.bits} bits")
            _require(
                layer.rescale is not None or index == len(self.layers) - 1,
                f"{layer.name}: only the last layer may stay unscaled",
            )
            self._check_affine(layer.name, layer.weight_type)
            self._check_range(layer, self.input_zero(index))
            inputs = len(layer.bias)
        _require(inputs >= 2, "the network must have at least two classes")

    @property
    def top(self) -> int:
        """The largest tensor value, 2^bits - 1."""
        return (1 << self.bits) - 1

    @property
    def classes(self) -> int:
        return len(self.layers[-1].bias)

    def input_zero(self, index: int) -> int:
        """The zero point of what layer ``index`` reads."""
        previous = self.layers[index - 1].rescale if index else None
        return previous.output.zero_point if previous else self.input_type.zero_point

    def execute(self, q: IntArray) -> Output:
        """Run on the input tensor ``q``, int64[*input_shape] with values in [0, 2^bits). Exact."""
        x = q.ravel()
        for index, layer in enumerate(self.layers):
            x = layer.accumulate(x, self.input_zero(index))
            if layer.rescale is not None:
                x = layer.rescale.apply(x, self.bits)
        return Output(int(np.argmax(x)), x)

    def _check_affine(self, what: str, kind: Affine) -> None:
        _require(math.isfinite(kind.scale) and kind.scale > 0, f"{what}: the scale must be positive")
        _require(0 <= kind.zero_point <= self.top, f"{what}: the zero point must lie in [0, {self.top}]")

    def _check_range(self, layer: QuantLayer, input_zero: int) -> None:
        _, reach = layer.type_bounds(input_zero, self.bits)
        if layer.rescale is not None:
            rescale = layer.rescale
            self._check_affine(layer.name, rescale.output)
            _require(rescale.multiplier > 0 and 1 <= rescale.shift < 62, f"{layer.name}: bad scale")
            reach = rescale.multiplier * reach + rescale.offset
        # The circuit adds to T a power of two of up to twice its bound, and subtracts accumulators.
        reach = 4 * reach
        if reach >= INTEGER_LIMIT:
            raise ModelError(
                "model.range_too_wide",
                f"{layer.name} can reach {reach.bit_length()} bits in integers, more than 62; its biases or "
                "weights are out of proportion to its outputs in the calibration data",
            )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ModelError("model.quantised", message)
