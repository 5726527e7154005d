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
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from circuits import quantfile
from circuits.integers import INTEGER_LIMIT, IntArray
from circuits.quantlayer import Affine, QuantLayer, slack_factor
from circuits.tensors import as_finite_tensor, first_index
from zenerrors import FileFormatError, ModelError, TensorError

LEAST_BITS, MOST_BITS = 2, 8
# The argmax compares each class with all others: its coefficients grow with the square.
MOST_CLASSES = 2048


@dataclass(frozen=True)
class Output:
    """What the network says: the first index of the largest logit, and the integer logits."""

    label: int
    logits: IntArray = field(repr=False)


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
        _require(inputs <= MOST_CLASSES, f"{inputs} classes; at most {MOST_CLASSES} are supported")

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

    def quantise_input(self, x: ArrayLike) -> IntArray:
        """The integers of the float input ``x``, int64[*input_shape].

        Raises ``TensorError``: ``input.not_numeric``, ``input.shape``, ``input.not_finite``, and
        ``input.out_of_range`` for a value outside the calibrated range by more than rounding.
        """
        tensor = as_finite_tensor(x, self.input_shape, field="input")
        low, high = self.input_type.interval(self.bits)
        bad = first_index((tensor < low) | (tensor > high))
        if bad is not None:
            raise TensorError(
                "input.out_of_range",
                f"input{list(bad)} lies outside the calibrated range, [{low:.6g}, {high:.6g}]",
                field="input",
            )
        return self.input_type.quantise(tensor, self.bits)

    def execute(self, q: IntArray) -> Output:
        """Run on the input tensor ``q``, int64[*input_shape] with values in [0, 2^bits). Exact."""
        x = q.ravel()
        for index, layer in enumerate(self.layers):
            x = layer.accumulate(x, self.input_zero(index))
            if layer.rescale is not None:
                x = layer.rescale.apply(x, self.bits)
        return Output(int(np.argmax(x)), x)

    def to_bytes(self) -> bytes:
        """The network in the format of ``circuits.quantfile``. Holds the weights."""
        return quantfile.write(self.bits, self.input_shape, self.input_type, self.layers)

    @classmethod
    def from_bytes(cls, data: bytes) -> QuantGraph:
        """Raises ``FileFormatError``: the codes of ``quantfile.read``, and ``file.value`` for parts that
        make no exact integer network."""
        parts = quantfile.read(data)
        try:
            return cls(*parts)
        except ModelError as error:
            raise FileFormatError("file.value", error.message) from error

    def _check_affine(self, what: str, kind: Affine) -> None:
        _require(math.isfinite(kind.scale) and kind.scale > 0, f"{what}: the scale must be positive")
        _require(0 <= kind.zero_point <= self.top, f"{what}: the zero point must lie in [0, {self.top}]")

    def _check_range(self, layer: QuantLayer, input_zero: int) -> None:
        _, reach = layer.type_bounds(input_zero, self.bits)
        slack = 0
        if layer.rescale is not None:
            rescale = layer.rescale
            self._check_affine(layer.name, rescale.output)
            _require(rescale.multiplier > 0 and 1 <= rescale.shift < 62, f"{layer.name}: bad scale")
            reach = rescale.multiplier * reach + rescale.offset
            overflow_digits = max(0, (reach >> rescale.shift).bit_length() - self.bits)
            slack = slack_factor(overflow_digits) * self.top
        # The circuit adds to T a power of two of up to twice its bound, and subtracts accumulators.
        reach = max(4 * reach, slack)
        if reach >= INTEGER_LIMIT:
            raise ModelError(
                "model.range_too_wide",
                f"{layer.name} can reach {reach.bit_length()} bits in integers, more than 62; its biases or "
                "weights are out of proportion to its outputs in the calibration data",
            )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ModelError("model.quantised", message)
