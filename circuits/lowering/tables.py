"""Level 5: ranges and clamps by lookups, products of private weights checked at a random challenge.

Everything that a challenge checks must be fixed before it is drawn: what the prover chooses stands in a
segment, and the rest is determined by rows without challenges.
"""

from __future__ import annotations

import numpy as np

from circuits.builder import Builder
from circuits.gadgets import require_fit
from circuits.integers import IntArray, Interval
from circuits.linear import Linear, Sums, Weighted
from circuits.lookups import Lookups, Table
from circuits.lowering.arithmetic import Arithmetic
from circuits.lowering.sliding import Kernel
from circuits.products import Convolution, Products
from circuits.quantised import Conv, Dense, Rescale
from circuits.ranges import RangeChecks

# A clamp whose quotients have at most so many bits is one table of all of them.
_WIDEST_CLAMP = 13


class Tables(Arithmetic):
    """All lookups and products of a circuit share their tables, and the challenge's powers."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self._lookups = Lookups(builder)
        self._ranges = RangeChecks(self._lookups)
        self._products = Products(builder)
        self._tables: dict[tuple[int, ...], Table] = {}

    def chosen(self, name: str, *shape: int) -> IntArray:
        return self.builder.auxiliary(name, *shape)

    def ranged(self, name: str, value: Sums, bits: int, lowest: int = 0) -> None:
        self._ranges.check(name, value.whole(), bits, lowest)

    def requantise(self, layer: str, total: Sums, scaled: Interval, rescale: Rescale) -> IntArray:
        """T = 2^k t + ρ with ρ range-checked to k bits, and t, which the row determines, looked up.

        Rows: 1, the lookups of ρ, and 2 for a clamp of at most 13 bits; else as ``_clamp_by_parts``; for t
        that cannot leave [low, high] those of its range check.
        Sound: t is an integer, since every lookup of it says so; then ρ and t are unique.
        """
        builder, shift = self.builder, rescale.shift
        require_fit(f"{layer}/requantise", (scaled[0] - (1 << shift), scaled[1] + (1 << shift)))
        quotient = builder.private(f"{layer}/quotient", total.rows)
        rest = total - Weighted.wires(quotient).scale(1 << shift)
        remainder = self.chosen(f"{layer}/remainder", total.rows) if shift else quotient

        def fill(z: IntArray) -> None:
            values = total.evaluate(z)
            z[quotient] = values >> shift
            if shift:
                z[remainder] = values & ((1 << shift) - 1)

        builder.fill(fill)
        if shift:
            rest -= Weighted.wires(remainder)
            self.ranged(f"{layer}/remainder", Weighted.wires(remainder), shift)
        builder.zero(f"{layer}/divide", rest)
        return self._clamped(layer, quotient, (scaled[0] >> shift, scaled[1] >> shift), rescale)

    def larger(self, name: str, left: IntArray, right: IntArray, bits: int) -> IntArray:
        """Rows: 1, and two range checks of ``bits``. Sound: neither exceeds it, and it equals one of them."""
        out = self.chosen(f"{name}/chosen", len(left))
        over_left, over_right = (Linear.wires(out) - Linear.wires(wires) for wires in (left, right))

        def fill(z: IntArray) -> None:
            z[out] = np.maximum(z[left], z[right])

        self.builder.fill(fill)
        self.ranged(f"{name}/left", over_left, bits)
        self.ranged(f"{name}/right", over_right, bits)
        self.builder.multiply(f"{name}_one_of_them", over_left, over_right, Linear.empty(len(out)))
        return out

    def _sums(
        self, node: Conv | Dense, x: IntArray, kernel: Kernel, weight: IntArray, bias: IntArray
    ) -> Sums:
        """The sums are committed wires, and a product at a challenge says that they are right."""
        if kernel.sliding.groups > 1:
            return super()._sums(node, x, kernel, weight, bias)
        sums = self.chosen(f"{node.name}/sums", kernel.outputs, *kernel.sliding.out)
        flat = sums.ravel()

        def fill(z: IntArray) -> None:
            z[flat] = kernel.convolve(z[x.ravel()], z[weight], z[bias])

        self.builder.fill(fill)
        centred = Linear.wires(x.ravel()).shift(-kernel.zero_point)
        positions = flat.size // kernel.outputs
        product = Linear.wires(flat) - Linear.wires(np.repeat(bias, positions))
        reach = kernel.zero_point, kernel.top - kernel.zero_point
        bounds = max(reach), int(node.weight_type.reach.max())
        name = f"{node.name}/product"
        if isinstance(node, Dense):
            shape = kernel.outputs, weight.shape[1], 1
            self._products.matmul(name, Linear.wires(weight.ravel()), centred, product, shape, bounds[::-1])
        else:
            top, left, bottom, right = node.padding
            convolution = Convolution(
                1,
                x.shape[0],
                kernel.outputs,
                (x.shape[1], x.shape[2]),
                kernel.sliding.kernel,
                node.stride,
                ((top, bottom), (left, right)),
            )
            self._products.convolve(name, centred, Linear.wires(weight.ravel()), product, convolution, bounds)
        return Weighted.wires(flat)

    def _clamped(self, layer: str, quotient: IntArray, bounds: Interval, rescale: Rescale) -> IntArray:
        """``clamp(t, low, high)`` for quotients t in ``bounds``."""
        low, high = rescale.low, rescale.high
        wires = Weighted.wires(quotient)
        if low <= bounds[0] and bounds[1] <= high:
            self.ranged(f"{layer}/quotient", wires, max(1, (bounds[1] - bounds[0]).bit_length()), bounds[0])
            return quotient
        bits = max(bounds[1].bit_length(), (-bounds[0] - 1).bit_length() if bounds[0] < 0 else 0)
        if bits < _WIDEST_CLAMP:
            return self._clamp_by_table(layer, quotient, bits, (low, high))
        return self._clamp_by_parts(layer, quotient, bits, (low, high))

    def _clamp_by_table(self, layer: str, quotient: IntArray, bits: int, ends: Interval) -> IntArray:
        """(t, clamp(t)) is a row of the table of all t in [-2^bits, 2^bits)."""
        out = self.chosen(f"{layer}/out", len(quotient))

        def fill(z: IntArray) -> None:
            z[out] = np.clip(z[quotient], *ends)

        self.builder.fill(fill)
        key = (bits, *ends)
        if key not in self._tables:
            values = np.arange(-(1 << bits), 1 << bits)
            columns = np.stack([values, np.clip(values, *ends)], axis=1)
            self._tables[key] = Table("clamp" + "_".join(map(str, key)), columns)
        pair = [Linear.wires(quotient), Linear.wires(out)]
        self._lookups.look_up(f"{layer}/clamp", self._tables[key], pair)
        return out

    def _clamp_by_parts(self, layer: str, quotient: IntArray, bits: int, ends: Interval) -> IntArray:
        """t - low = 2^b u + d for d of b bits; (u, inside, above) is a row of a table of all u.

        Rows: the lookup of d, 3 for the table, 2 for u and the output; and, where the clamp's width is no
        power of two, 1 and two range checks for the smaller of output and high.
        Sound: u and d are unique; inside = [u = 0] and above = [u > 0], so that
        ``inside · d = out - low - above (2^b - 1)`` has the clamp to [low, low + 2^b) as its one solution.
        """
        builder, (low, high), count = self.builder, ends, len(quotient)
        width = (high - low).bit_length()
        low_part, flags = self.chosen(f"{layer}/low", count), self.chosen(f"{layer}/flags", count, 2)
        upper, out = builder.private(f"{layer}/upper", count), builder.private(f"{layer}/out", count)
        inside, above = flags[:, 0], flags[:, 1]
        top = (1 << width) - 1

        def fill(z: IntArray) -> None:
            lifted = z[quotient] - low
            z[low_part], z[upper] = lifted & top, lifted >> width
            z[inside], z[above] = z[upper] == 0, z[upper] > 0
            z[out] = low + z[inside] * z[low_part] + z[above] * top

        builder.fill(fill)
        parts = Weighted.wires(upper).scale(1 << width) + Weighted.wires(low_part)
        builder.zero(f"{layer}/parts", Weighted.wires(quotient).shift(-low) - parts)
        self.ranged(f"{layer}/low", Weighted.wires(low_part), width)
        key = (bits + 1 - width,)
        if key not in self._tables:
            values = np.arange(-(1 << key[0]), 1 << key[0])
            columns = np.stack([values, values == 0, values > 0], axis=1).astype(np.int64)
            self._tables[key] = Table(f"sign{key[0]}", columns)
        triple = [Linear.wires(wires) for wires in (upper, inside, above)]
        self._lookups.look_up(f"{layer}/sign", self._tables[key], triple)
        excess = Weighted.wires(out).shift(-low) - Weighted.wires(above).scale(top)
        builder.multiply(f"{layer}/clamp", Weighted.wires(inside), Weighted.wires(low_part), excess)
        return out if low + top == high else self._capped(layer, out, high, width)

    def _capped(self, layer: str, value: IntArray, high: int, bits: int) -> IntArray:
        """``min(value, high)``: neither is below it, and it equals one of them."""
        out = self.chosen(f"{layer}/cap/chosen", len(value))
        under_value = Linear.wires(value) - Linear.wires(out)
        under_high = Linear.constant(np.full(len(value), high)) - Linear.wires(out)

        def fill(z: IntArray) -> None:
            z[out] = np.minimum(z[value], high)

        self.builder.fill(fill)
        self.ranged(f"{layer}/cap/value", under_value, bits)
        self.ranged(f"{layer}/cap/high", under_high, bits)
        self.builder.multiply(f"{layer}/cap", under_value, under_high, Linear.empty(len(out)))
        return out
