"""The sums of a kernel that slides over a tensor of wires, row by row: (output channel, position)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from circuits import planes
from circuits.integers import IntArray
from circuits.linear import Linear, Sums
from circuits.planes import Sliding
from circuits.tiles import Products


class Kernel(NamedTuple):
    """``zero_point``, ``top``: the input's, and its largest integer. ``outputs``: channels of the output."""

    sliding: Sliding
    outputs: int
    zero_point: int
    top: int

    def convolve(self, q: IntArray, weight: IntArray, bias: IntArray) -> IntArray:
        """The sums for inputs q[*image], weight[outputs, taps], bias[outputs], flattened.

        Exact: at most 2^24 terms of two factors below 2^9 each stay below 2^53, in float64 with a BLAS.
        """
        sliding = self.sliding
        centred = (q.reshape(1, *sliding.image) - self.zero_point).astype(np.float64)
        kernel = weight.reshape(self.outputs, -1, *sliding.kernel).astype(np.float64)
        nothing = np.zeros(self.outputs)
        acc = planes.convolve(centred, kernel, nothing, sliding.stride, sliding.padding, sliding.groups)
        sums: IntArray = acc[0].astype(np.int64) + bias[:, np.newaxis, np.newaxis]
        flat: IntArray = sums.reshape(-1)
        return flat


class _Slid(Sums):
    """What public and private weights have in common: which pairs of tap and input each row has."""

    def __init__(self, x: IntArray, kernel: Kernel) -> None:
        self.kernel = kernel
        self.x = x.ravel()
        self.windows = kernel.sliding.windows()
        self.positions = len(self.windows.offsets) - 1
        self.pairs = len(self.windows.taps)
        self.rows = kernel.outputs * self.positions
        groups = kernel.sliding.groups
        self._outputs_of_group = kernel.outputs // groups
        self._inputs_of_group = len(self.x) // groups

    @property
    def width(self) -> int:
        return -(-self.pairs // self.positions) + 1

    def inputs(self, output: IntArray, pair: IntArray) -> IntArray:
        """The input wires that these outputs read in these pairs."""
        group = output // self._outputs_of_group
        wires: IntArray = self.x[group * self._inputs_of_group + self.windows.inputs[pair]]
        return wires

    def terms(self) -> IntArray:
        """The input wire of every product, pair by pair for one output after the other."""
        output, pair = np.divmod(np.arange(self.kernel.outputs * self.pairs), self.pairs)
        return self.inputs(output, pair)

    def entries(self, start: int, stop: int) -> tuple[IntArray, IntArray, IntArray]:
        """Row less ``start``, output and pair of every entry of the rows from ``start`` up to ``stop``."""
        output, position = np.divmod(np.arange(start, stop), self.positions)
        first = self.windows.offsets[position]
        lengths = self.windows.offsets[position + 1] - first
        row = np.repeat(np.arange(stop - start), lengths)
        before = np.cumsum(lengths) - lengths
        return row, output[row], np.arange(len(row)) + (first - before)[row]


class PublicKernel(_Slid):
    """``sum_k weight[o, k] (q_k - z) + bias[o]``: constants times wires, without any row of their own."""

    def __init__(self, x: IntArray, kernel: Kernel, weight: IntArray, bias: IntArray) -> None:
        super().__init__(x, kernel)
        self.weight, self.bias = weight.reshape(kernel.outputs, -1), bias
        # For an input of zeros the sums are the bias less z times the weights that do not hang over the edge.
        self.constant = kernel.convolve(np.zeros(len(self.x), np.int64), self.weight, bias)

    def part(self, start: int, stop: int) -> Linear:
        row, output, pair = self.entries(start, stop)
        value = self.weight[output, self.windows.taps[pair]]
        return Linear(stop - start, row, self.inputs(output, pair), value).shift(self.constant[start:stop])

    def evaluate(self, z: IntArray) -> IntArray:
        return self.kernel.convolve(z[self.x], self.weight, self.bias)


class PrivateKernel(_Slid):
    """The same with wires for ``weight`` [outputs, taps], which hold q_w - z_w, and ``bias`` [outputs].

    ``product`` [outputs · pairs] has the wires of ``q_w - z_w`` times q: one row each, which ``products``
    describes. Zero points cost nothing: ``- z`` times the weights is linear.
    """

    def __init__(
        self, x: IntArray, kernel: Kernel, weight: IntArray, bias: IntArray, product: IntArray
    ) -> None:
        super().__init__(x, kernel)
        self.weight, self.bias, self.product = weight, bias, product

    def products(self, start: int, stop: int) -> Products:
        output, pair = np.divmod(np.arange(start, stop), self.pairs)
        left = self.weight[output, self.windows.taps[pair]]
        return left, self.inputs(output, pair), self.product[start:stop]

    def part(self, start: int, stop: int) -> Linear:
        row, output, pair = self.entries(start, stop)
        ones = np.ones(len(row), np.int64)
        bias = Linear.wires(self.bias[np.arange(start, stop) // self.positions])
        total = Linear(stop - start, row, self.product[output * self.pairs + pair], ones) + bias
        if self.kernel.zero_point == 0:
            return total
        weight = self.weight[output, self.windows.taps[pair]]
        return total + Linear(stop - start, row, weight, ones * -self.kernel.zero_point)

    def evaluate(self, z: IntArray) -> IntArray:
        return self.kernel.convolve(z[self.x], z[self.weight], z[self.bias])
