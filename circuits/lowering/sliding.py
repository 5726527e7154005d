"""The sums of a kernel that slides over tensors of wires, row by row: (output channel, input, position).

A kernel that slides over a batch of inputs does what one input with as many more positions would ask for.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from zenserve.circuits.r1cs.convolved import Convolved, Kernel
from zenserve.circuits.r1cs.linear import ONE, Linear, LinearCombinations, Picked, Unvalued
from zenserve.circuits.r1cs.tiles import Products
from zenserve.relations.integers import IntArray
from zenserve.relations.relation import Convolution, MatMul, WindowSum


def kernel_of(relation: WindowSum | MatMul | Convolution) -> Kernel:
    """The kernel of a relation, whose ``x`` has a type."""
    tensor, bits = relation.x.tensor, relation.x.tensor.bits
    assert bits is not None  # noqa: S101  sums are never multiplied
    outputs = relation.out.shape[1]
    return Kernel(relation.sliding, outputs, relation.x.zero, (1 << bits) - 1, tensor.shape[0])


class Slid:
    """The tap and the input entry of each product: ``pairs`` of them for an output channel, sorted by
    position. A row is an output channel and a position."""

    def __init__(self, x: IntArray, kernel: Kernel) -> None:
        self.kernel = kernel
        self.x = x.ravel()
        self.positions, self.pairs = kernel.positions, kernel.pairs
        self.rows = kernel.outputs * self.positions
        groups = kernel.sliding.groups
        self.taps = kernel.sliding.image[0] // groups * math.prod(kernel.sliding.kernel)
        # Those of one input: every other repeats them.
        self._windows = kernel.sliding.windows()
        self._outputs_of_group = kernel.outputs // groups
        self._size = math.prod(kernel.sliding.image)
        self._inputs_of_group = self._size // groups

    @property
    def width(self) -> int:
        """Products in a row, on average."""
        return -(-self.pairs // self.positions)

    def tap(self, pair: IntArray) -> IntArray:
        """The taps of these pairs."""
        taps: IntArray = self._windows.taps[pair % self.kernel.sliding.pairs if self._several else pair]
        return taps

    def indices(self, output: IntArray, pair: IntArray) -> IntArray:
        """Return the indices of the input entries that these outputs read in these pairs."""
        first = output // self._outputs_of_group * self._inputs_of_group
        if self._several:
            image, pair = np.divmod(pair, self.kernel.sliding.pairs)
            first = first + image * self._size
        index: IntArray = first + self._windows.inputs[pair]
        return index

    @property
    def _several(self) -> bool:
        return self.kernel.batch > 1

    def inputs(self, output: IntArray, pair: IntArray) -> IntArray:
        """Their wires."""
        wires: IntArray = self.x[self.indices(output, pair)]
        return wires

    def terms(self) -> IntArray:
        """The input wire of every product, pair by pair for one output after the other."""
        output, pair = np.divmod(np.arange(self.kernel.outputs * self.pairs), self.pairs)
        return self.inputs(output, pair)

    def named(self, output: IntArray, pair: IntArray, *, by_input: bool) -> IntArray:
        """Return the indices of the input entries that these pairs read, or, unless ``by_input``, those of
        weight[outputs, taps]."""
        return self.indices(output, pair) if by_input else output * self.taps + self.tap(pair)

    def entries(self, start: int, stop: int) -> tuple[IntArray, IntArray, IntArray]:
        """Row less ``start``, output and pair of every product of the rows from ``start`` up to ``stop``."""
        output, position = np.divmod(np.arange(start, stop), self.positions)
        image, place = np.divmod(position, len(self._windows.offsets) - 1)
        first = self._windows.offsets[place]
        lengths = self._windows.offsets[place + 1] - first
        first = first + image * self.kernel.sliding.pairs
        row = np.repeat(np.arange(stop - start), lengths)
        before = np.cumsum(lengths) - lengths
        return row, output[row], np.arange(len(row)) + (first - before)[row]


class PublicKernel(Convolved):
    """Constants times wires, without any row of their own."""

    wired = False

    def __init__(self, x: IntArray, kernel: Kernel, weight: IntArray, bias: IntArray) -> None:
        self._slid = slid = Slid(x, kernel)
        self.rows, self.kernel, self.x = slid.rows, kernel, slid.x
        self.weight, self.bias = weight.reshape(kernel.outputs, -1), bias
        # For an input of zeros the sums are the bias less z times the weights that do not hang over the edge.
        self.constant = kernel.convolve(np.zeros(len(slid.x), np.int64), self.weight, bias)

    @property
    def width(self) -> int:
        return self._slid.width + 1

    @property
    def columns(self) -> IntArray:
        return np.unique(np.append(self._slid.x, ONE))

    def part(self, start: int, stop: int) -> Linear:
        slid = self._slid
        row, output, pair = slid.entries(start, stop)
        value = self.weight[output, slid.tap(pair)]
        return Linear(stop - start, row, slid.inputs(output, pair), value).shift(self.constant[start:stop])


class PairSums(Unvalued):
    """For each row the sum of its wires in ``product`` [outputs · pairs]."""

    def __init__(self, slid: Slid, product: IntArray) -> None:
        self._slid, self._product = slid, product
        self.rows = slid.rows

    @property
    def width(self) -> int:
        return self._slid.width

    def part(self, start: int, stop: int) -> Linear:
        row, output, pair = self._slid.entries(start, stop)
        wires = self._product[output * self._slid.pairs + pair]
        return Linear(stop - start, row, wires, np.ones(len(row), np.int64))


class PrivateKernel(Convolved, PairSums):
    """The same as ``PublicKernel`` with wires for ``weight`` [outputs, taps], which hold q_w - z_w, and
    ``bias`` [outputs].

    ``product`` [outputs · pairs] has the wires of ``q_w - z_w`` times q: one row each, which ``products``
    describes. Zero points cost nothing: ``- z`` times the weights is linear.
    """

    wired = True

    def __init__(self, slid: Slid, weight: IntArray, bias: IntArray, product: IntArray) -> None:
        PairSums.__init__(self, slid, product)
        self.kernel, self.x, self.weight, self.bias = slid.kernel, slid.x, weight, bias

    @property
    def factors(self) -> tuple[LinearCombinations, LinearCombinations]:
        """The same as values: weights, inputs."""
        weight, x = Linear.wires(self.weight.ravel()), Linear.wires(self._slid.x)
        return Paired(self._slid, weight, by_input=False), Paired(self._slid, x, by_input=True)

    def products(self, start: int, stop: int) -> Products:
        slid = self._slid
        output, pair = np.divmod(np.arange(start, stop), slid.pairs)
        left = self.weight[output, slid.tap(pair)]
        return left, slid.inputs(output, pair), self._product[start:stop]

    def part(self, start: int, stop: int) -> Linear:
        slid, zero_point = self._slid, self._slid.kernel.zero_point
        bias = Linear.wires(self.bias[np.arange(start, stop) // slid.positions])
        total = PairSums.part(self, start, stop) + bias
        if zero_point == 0:
            return total
        row, output, pair = slid.entries(start, stop)
        weight = self.weight[output, slid.tap(pair)]
        return total + Linear(stop - start, row, weight, np.full(len(row), -zero_point))


class KernelSums(Convolved):
    """The sums of the same wires, ``x`` those of the inputs, as values that steps read and no row does: what
    they add up is products, which have no wires."""

    wired = True

    def __init__(self, kernel: Kernel, x: IntArray, weight: IntArray, bias: IntArray) -> None:
        self.kernel, self.x, self.weight, self.bias = kernel, x, weight, bias
        self.rows = kernel.outputs * kernel.positions

    @property
    def width(self) -> int:
        return int(self.weight[0].size)

    def part(self, start: int, stop: int) -> Linear:
        raise NotImplementedError("sums of products are no linear combinations of wires")


class Paired(Picked):
    """For each output and pair the row of ``base`` that it names: by its input, or by output and tap."""

    def __init__(self, slid: Slid, base: Linear, *, by_input: bool) -> None:
        self._slid, self.base, self._by_input = slid, base, by_input
        self.rows = slid.kernel.outputs * slid.pairs

    def picks(self, start: int, stop: int) -> IntArray:
        output, pair = np.divmod(np.arange(start, stop), self._slid.pairs)
        return self._slid.named(output, pair, by_input=self._by_input)


class Tapped(Picked):
    """For each row of ``slid`` and each tap the row of ``base`` that it names; 0 where a tap has no input,
    and in rows that make their number a multiple of ``count``."""

    def __init__(self, slid: Slid, base: Linear, count: int, *, by_input: bool) -> None:
        self._slid, self._by_input = slid, by_input
        self._nothing = base.rows
        self.base = replace(base, rows=base.rows + 1)
        self.rows = -(-slid.rows // count) * count * slid.taps

    def picks(self, start: int, stop: int) -> IntArray:
        slid, first, last = self._slid, start // self._slid.taps, -(-stop // self._slid.taps)
        row, output, pair = slid.entries(first, min(last, slid.rows))
        picks = np.full((last - first, slid.taps), self._nothing)
        picks[row, slid.tap(pair)] = slid.named(output, pair, by_input=self._by_input)
        return picks.ravel()[start - first * slid.taps :][: stop - start]


class Strands(Unvalued):
    """For each group of rows and each tap the sum of ``2^powers[i]`` times the row of ``base`` that the i-th
    row of the group names: by its input, or by output and tap. A tap without input adds nothing."""

    def __init__(self, slid: Slid, base: Linear, powers: IntArray, *, by_input: bool) -> None:
        self._slid, self._base, self._powers, self._by_input = slid, base, powers, by_input
        self.rows = -(-slid.rows // len(powers)) * slid.taps

    @property
    def width(self) -> int:
        return len(self._powers) * self._base.width

    def part(self, start: int, stop: int) -> Linear:
        slid, count, taps = self._slid, len(self._powers), self._slid.taps
        groups = start // taps, -(-stop // taps)
        row, output, pair = slid.entries(groups[0] * count, min(groups[1] * count, slid.rows))
        group, strand = np.divmod(row, count)
        place = group * taps + slid.tap(pair) + groups[0] * taps - start
        inside = (place >= 0) & (place < stop - start)
        output, pair, place, strand = output[inside], pair[inside], place[inside], strand[inside]
        terms = self._base.take(slid.named(output, pair, by_input=self._by_input))
        return terms.knit(place, self._powers[strand], stop - start)
