"""Products of two bounded tensors, entry by entry or as matrices.

With x = m + a and y = w + b, ``x y = w x + m y - m w + a b``, and ``|a b|`` is at most the product of the two
radii: one pair of slopes for both sides, the mean of McCormick's two planes below and of his two above.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from zenserve.bounds.arrays import (
    EXACT,
    UNIT,
    Array,
    Interval,
    Mask,
    Sums,
    fused,
    gamma,
    namespace,
    times,
    together,
)
from zenserve.bounds.elementwise import rescaled
from zenserve.bounds.given import Given, Rules
from zenserve.bounds.network import Forms, Operation, Relaxed
from zenserve.circuits.operators.matmul import MatMul, QuantMatMul
from zenserve.circuits.operators.multiply import Mul, QuantMul


@dataclass(frozen=True, eq=False)
class Product(Operation):
    """``factor`` times the product of two tensors: of matrices [groups, m, k] and [groups, k, n] where
    ``matrices``, else entry by entry. ``within``: where it is known to lie, whatever intervals say."""

    matrices: bool
    factor: float
    length: int
    within: tuple[float, float] = (-np.inf, np.inf)

    def value(self, *read: Array) -> Array:
        return self.multiplied(*read) * self.factor

    def multiplied(self, left: Array, right: Array) -> Array:
        made: Array = times(left, right) if self.matrices else left * right
        return made

    def image(self, *read: Interval) -> Interval:
        left, right = read
        low, high, size = self._sums(left, right)
        exact = self.whole and self.factor == 1 and float(size.max()) < EXACT
        error = 0.0 if exact else gamma(self.length + 4)
        return Interval(*fused(_outward, low, high, size, of=(error, self.factor, *self.within)))

    def _sums(self, left: Interval, right: Interval) -> tuple[Array, Array, Array]:
        """Of products' least and largest, and of absolute values."""
        xp = namespace(left.low)
        if not self.matrices:
            low, high, size = fused(_ends, *left, *right)
            return low, high, size
        if xp is not np:
            from zenserve.gpu import intervals

            return intervals.product(xp, left, right)
        low = high = size = xp.zeros(())
        for at in range(self.length):
            columns = (each[..., at : at + 1] for each in left)
            least, most, larger = _ends(*columns, *(each[..., at : at + 1, :] for each in right))
            low, high, size = low + least, high + most, size + larger
        return low, high, size

    def constants(self, left: Sequence[Array], right: Sequence[Array]) -> tuple[Array, Array, Array]:
        """``_constants`` of what is multiplied."""
        xp = namespace(left[0])
        if not self.matrices:
            return fused(_constants, *left, *right, of=(operator.mul, self.factor))  # type: ignore[no-any-return]
        if xp is np:
            return _constants(times, self.factor, *left, *right)
        from zenserve.gpu import intervals

        return intervals.constants(xp, self.factor, left, right)

    def relaxed(self, *read: Interval) -> Relaxed:
        return _Around(self, *read)

    def curved(self, *read: Interval) -> Sequence[Mask | None]:
        return [each.low < each.high for each in read]

    @property
    def terms(self) -> int:
        return 2 * self.length


def _ends(low: Array, high: Array, least: Array, most: Array) -> tuple[Array, Array, Array]:
    """Of the product of two intervals, and the larger of its ends' absolute values."""
    xp = namespace(low)
    ends = [a * b for a in (low, high) for b in (least, most)]
    least = xp.minimum(xp.minimum(ends[0], ends[1]), xp.minimum(ends[2], ends[3]))
    most = xp.maximum(xp.maximum(ends[0], ends[1]), xp.maximum(ends[2], ends[3]))
    return least, most, xp.maximum(abs(least), abs(most))


def _outward(
    error: float, factor: float, least: float, most: float, low: Array, high: Array, size: Array
) -> tuple[Array, Array]:
    xp, around = namespace(low), error * (size * abs(factor))
    one, other = low * factor, high * factor
    ends = xp.minimum(one, other) - around, xp.maximum(one, other) + around
    return xp.clip(ends[0], least, most), xp.clip(ends[1], least, most)


@dataclass(frozen=True, eq=False)
class _Around:
    operation: Product
    left: Interval
    right: Interval

    @cached_property
    def scale(self) -> Array:
        """Of both linear terms, the constant and the remainder."""
        operation = self.operation
        reach = operation.multiplied(self.left.magnitude, self.right.magnitude)
        return 4 * abs(operation.factor) * reach

    def back(self, lines: Array, added: Sums) -> list[Array]:
        """By McCormick's planes (1976): of x from l to u, and y from m, ``x m + l y - l m`` is below ``x y``
        and ``x m + u y - u m`` above it."""
        operation, xp, (low, high), least = self.operation, namespace(lines), self.left, self.right.low
        if not operation.matrices:
            known = (each[:, np.newaxis] for each in (low, high, least))
            left, right, paid = fused(_planes, lines, *known, of=(operation.factor,))
            added.add(paid)
            return [left, right]
        ends = operation.multiplied(low, least), operation.multiplied(high, least)
        above, below, paid = fused(
            _signed, lines, *(each[:, np.newaxis] for each in ends), of=(operation.factor,)
        )
        added.add(paid)
        turned = [xp.swapaxes(each, -1, -2)[:, np.newaxis] for each in (least, low, high)]
        return [
            times(above + below, turned[0]),
            times(turned[2], below, times(turned[1], above)),
        ]

    def forward(self, read: Sequence[Forms]) -> Forms:
        (x, y), operation = read, self.operation
        (left, a, _), (right, b, _) = self.left.parts, self.right.parts
        slope, constants = together(
            lambda: _slopes(operation, x.slope, right, left, y.slope),
            lambda: operation.constants((*x[1:4], left, a), (*y[1:4], right, b)),
            left,
        )
        return Forms(slope, *constants)


def _signed(factor: float, lines: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Return the non-negative and the negative part of the scaled lines, and the constant that is added for
    both."""
    xp, scaled = namespace(lines), lines * factor
    above, below = xp.maximum(scaled, 0.0), xp.minimum(scaled, 0.0)
    return above, below, -(above * low + below * high)


def _planes(factor: float, lines: Array, low: Array, high: Array, least: Array) -> tuple[Array, Array, Array]:
    """Of products of entries: lines of both, and what is added."""
    above, below, paid = _signed(factor, lines, low * least, high * least)
    return (above + below) * least, above * low + below * high, paid


def _slopes(operation: Product, x: Array, right: Array, left: Array, y: Array) -> Array:
    """``factor (x right + left y)`` of slopes, [.., m, n, d] of [.., m, k, d] and [.., k, n, d], or entry by
    entry."""
    factor = operation.factor
    if not operation.matrices:
        ends = right[..., np.newaxis], left[..., np.newaxis]
        made: Array = fused(_weighted, x, *ends, y, of=(factor,))[0]
        return made
    turned, left = namespace(right).swapaxes(right * factor, -1, -2)[..., np.newaxis, :, :], left * factor
    *ahead, inner, columns, width = y.shape
    made = times(turned, x)
    onto = made.reshape(*ahead, left.shape[-2], columns * width)
    return times(left, y.reshape(*ahead, inner, columns * width), onto).reshape(made.shape)


def _weighted(factor: float, x: Array, right: Array, left: Array, y: Array) -> tuple[Array]:
    return (x * (right * factor) + (left * factor) * y,)


def _constants(
    multiplied: Callable[[Array, Array], Array],
    factor: float,
    offset: Array,
    rest: Array,
    size: Array,
    left: Array,
    a: Array,
    other_offset: Array,
    other_rest: Array,
    other_size: Array,
    right: Array,
    b: Array,
) -> tuple[Array, Array, Array]:
    """Offset, rest and size: of both sides their own, centres and radii."""
    by_right, by_left = right * factor, left * factor
    around_right, around_left = abs(by_right), abs(by_left)
    remainder = multiplied(a, b) * abs(factor) * (1 + 8 * UNIT)
    return (
        multiplied(offset, by_right) + multiplied(by_left, other_offset) - multiplied(by_left, right),
        multiplied(rest, around_right) + multiplied(around_left, other_rest) + remainder,
        multiplied(size, around_right)
        + multiplied(around_left, other_size)
        + (remainder + multiplied(around_left, abs(right))),
    )


def _mul(given: Given, node: Mul) -> list[Operation]:
    return [Product(given.name, given.inputs, given.shape, False, False, 1.0, 1)]


def _matmul(given: Given, node: MatMul) -> list[Operation]:
    return [Product(given.name, given.inputs, given.shape, False, True, node.factor, given.shapes[0][2])]


def _quant_mul(given: Given, node: QuantMul) -> list[Operation]:
    made = Product(given.sums, given.inputs, given.shape, True, False, 1.0, 1)
    return rescaled(given, made, node.rescale)


def _quant_matmul(given: Given, node: QuantMatMul) -> list[Operation]:
    made = Product(given.sums, given.inputs, given.shape, True, True, 1.0, given.shapes[0][2])
    return rescaled(given, made, node.rescale)


RULES: Rules = {Mul: _mul, MatMul: _matmul, QuantMul: _quant_mul, QuantMatMul: _quant_matmul}
