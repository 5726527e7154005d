"""What a level of DESIGN 5.3 decides: how values are held, compared, rescaled and multiplied."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from circuits.builder import Builder
from circuits.integers import IntArray, Interval
from circuits.linear import Sums, Weighted
from circuits.lowering.sliding import Kernel, PrivateKernel
from circuits.quantised import Conv, Dense, Rescale

# Products are filled in so many at a time.
_AT_ONCE = 1 << 20


class Arithmetic(ABC):
    """Gadgets of one level over the wires of ``builder``."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder

    @abstractmethod
    def chosen(self, name: str, *shape: int) -> IntArray:
        """Wires for values that the prover chooses and nothing determines, int64[shape]."""

    @abstractmethod
    def ranged(self, name: str, value: Sums, bits: int, lowest: int = 0) -> None:
        """``lowest <= value < lowest + 2^bits`` in each row."""

    @abstractmethod
    def requantise(self, layer: str, total: Sums, scaled: Interval, rescale: Rescale) -> IntArray:
        """``clamp(floor(T / 2^k), low, high)`` of each ``total`` T, which lies in ``scaled``: wires [n]."""

    @abstractmethod
    def larger(self, name: str, left: IntArray, right: IntArray, bits: int) -> IntArray:
        """The larger of two wires whose values differ by less than 2^bits: wires [n]."""

    def private_sums(self, node: Conv | Dense, x: IntArray, kernel: Kernel) -> Sums:
        """The node's sums with wires for weights, which hold ``q_w - z_w``, and biases, all range-checked."""
        weight, bias = self._parameters(node, kernel)
        return self._sums(node, x, kernel, weight, bias)

    def _parameters(self, node: Conv | Dense, kernel: Kernel) -> tuple[IntArray, IntArray]:
        values = node.centred_weight.reshape(kernel.outputs, -1)
        weight = self.chosen(f"{node.name}/weight", *values.shape)
        bias = self.chosen(f"{node.name}/bias", kernel.outputs)

        def fill(z: IntArray) -> None:
            z[weight], z[bias] = values, node.bias

        self.builder.fill(fill)
        zero = np.repeat(np.broadcast_to(node.weight_type.zero_point, kernel.outputs), values.shape[1])
        lifted = Weighted.wires(weight.ravel()).shift(zero)
        self.ranged(f"{node.name}/weight", lifted, node.weight_type.bits)
        self.ranged(f"{node.name}/bias", Weighted.wires(bias), node.bias_bits + 1, -(1 << node.bias_bits))
        return weight, bias

    def _sums(
        self, node: Conv | Dense, x: IntArray, kernel: Kernel, weight: IntArray, bias: IntArray
    ) -> Sums:
        """One row for each product of a weight and an input."""
        pairs = len(kernel.sliding.windows().taps)
        product = self.builder.private(f"{node.name}/product", kernel.outputs * pairs)
        sums = PrivateKernel(x, kernel, weight, bias, product)

        def fill(z: IntArray) -> None:
            for start in range(0, len(product), _AT_ONCE):
                left, right, out = sums.products(start, min(start + _AT_ONCE, len(product)))
                z[out] = z[left] * z[right]

        self.builder.fill(fill)
        self.builder.products(f"{node.name}/product", len(product), sums.products)
        return sums
