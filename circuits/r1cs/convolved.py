"""Sums of products as a kernel slides over wires: too many terms to make rows whenever they are read."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from zenserve.circuits.r1cs.linear import Combination, LinearCombinations
from zenserve.relations import planes
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import Sliding


class Kernel(NamedTuple):
    """``zero_point``, ``top``: the inputs', and their largest integer. ``outputs``: channels of the output.
    ``batch``: of inputs."""

    sliding: Sliding
    outputs: int
    zero_point: int
    top: int
    batch: int = 1

    @property
    def positions(self) -> int:
        """Of all inputs, for one output channel."""
        return self.batch * math.prod(self.sliding.out)

    @property
    def pairs(self) -> int:
        """Meetings of a tap and an input's entry, for one output channel."""
        return self.batch * self.sliding.pairs

    def convolve(self, q: IntArray, weight: IntArray, bias: IntArray) -> IntArray:
        """The sums for inputs q[batch, *image], weight[outputs, taps], bias[outputs], as rows."""
        sliding = self.sliding
        centred = q.reshape(self.batch, *sliding.image) - self.zero_point
        kernel = weight.reshape(self.outputs, -1, *sliding.kernel)
        acc = planes.convolve_integers(
            centred, kernel, sliding.stride, sliding.padding, sliding.groups, sliding.dilation
        )
        sums = np.swapaxes(acc, 0, 1).reshape(self.outputs, -1) + bias[:, np.newaxis]
        flat: IntArray = sums.reshape(-1)
        return flat


class Convolved(LinearCombinations):
    """``sum_k weight[o, k] (q_k - z) + bias[o]`` for each output channel and position, q_k the wires ``x``.

    ``weight``: [outputs, taps], ``bias``: [outputs]: integers, or the wires that hold them where they are
    ``wired``. In every phase whoever reads the sums knows that these wires hold integers, and that sums fit.
    """

    kernel: Kernel
    x: IntArray
    weight: IntArray
    bias: IntArray
    wired: ClassVar[bool]

    def evaluate(self, z: IntArray) -> IntArray:
        return self.convolve(lambda wires: z[wires])

    def convolve(self, read: Callable[[IntArray], IntArray]) -> IntArray:
        """The sums, int64[rows], for what ``read`` says of wires."""
        weight, bias = map(read, (self.weight, self.bias)) if self.wired else (self.weight, self.bias)
        return self.kernel.convolve(read(self.x), weight, bias)


def parted(
    operand: LinearCombinations,
) -> tuple[LinearCombinations | None, list[tuple[int | IntArray, Convolved]]]:
    """``Convolved`` terms with their factors, and before them what else it adds up, if anything."""
    if isinstance(operand, Convolved):
        return None, [(1, operand)]
    if not isinstance(operand, Combination):
        return operand, []
    convolved = [(factor, term) for factor, term in operand.terms if isinstance(term, Convolved)]
    others = tuple((factor, term) for factor, term in operand.terms if not isinstance(term, Convolved))
    return Combination(operand.rows, others, operand.constant) if convolved else operand, convolved
