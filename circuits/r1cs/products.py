"""Matrix products and convolutions, checked at a random challenge instead of computed.

Every gadget checks that a polynomial in the challenge x, whose coefficients are the differences between the
claimed and the true entries, vanishes at x. Entries are fixed before x is drawn (the circuit is refused
where they are not), so that a wrong one is missed for at most ``degree`` of the r values of x (Schwartz and
Zippel). All gadgets share x and its powers: their degrees add up in ``Builder.degree``.

Entries may be any linear combinations, such as ``q - z`` for a public zero point z. Each is multiplied by a
power of x once, in one row, the small value in A and the power in B.

Products are those of the field: they are products of integers where ``product_interval`` says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.gadgets import require_fit
from zenserve.circuits.r1cs.linear import ONE, Linear
from zenserve.circuits.r1cs.lookups import POINT
from zenserve.circuits.r1cs.powers import Powers
from zenserve.circuits.r1cs.steps import Product, Sum
from zenserve.errors import StatementError
from zenserve.relations.integers import IntArray, Interval
from zenserve.relations.planes import Pair, Sizes, reach, slide


@dataclass(frozen=True)
class Convolution:
    """y = conv(x, w) for x[batch, inputs, *image], w[outputs, inputs, *kernel], y[batch, outputs, *out].

    ``y[b, o, R, T] = sum w[o, i, p, q] x[b, i, s_0 R + d_0 p - P_0, s_1 T + d_1 q - P_1]``, zero outside the
    image, for the strides s and the dilations d, which are 1 where ``dilation`` is (); and so with any number
    of axes. ``padding``: rows above and below, columns left and right. Raises ``StatementError``
    (``statement.product_shape``) where no output is left.
    """

    batch: int
    inputs: int
    outputs: int
    image: Sizes
    kernel: Sizes
    stride: Sizes = (1, 1)
    padding: tuple[Pair, ...] = ((0, 0), (0, 0))
    dilation: Sizes = ()

    def __post_init__(self) -> None:
        if min(self.out) < 1:
            raise StatementError(
                "statement.product_shape",
                f"a kernel of {self.kernel} does not fit the padded image {self.image}",
            )

    @property
    def out(self) -> Sizes:
        sizes = zip(self.image, self.padding, reach(self.kernel, self.dilation), self.stride, strict=True)
        return tuple((size + sum(around) - far) // by + 1 for size, around, far, by in sizes)

    def apply(self, x: IntArray, w: IntArray) -> IntArray:
        """y in int64, for x and w of their full shapes. The caller knows that it fits."""
        befores, afters = zip(*self.padding, strict=True)
        windows = slide(x, self.kernel, self.stride, (*befores, *afters), 0, self.dilation)
        taps = range(2, w.ndim)
        return np.moveaxis(
            np.tensordot(windows, w, axes=((1, *(w.ndim - 2 + tap for tap in taps)), (1, *taps))), -1, 1
        )

    def meetings(self) -> tuple[IntArray, IntArray, IntArray]:
        """All triples (kernel position, pixel, output) that meet, as flat indices: int64[n] each."""
        axes = []
        for axis, size in enumerate(self.image):
            position, output = np.indices((self.kernel[axis], self.out[axis])).reshape(2, -1)
            pixel = self.stride[axis] * output + self._dilation[axis] * position - self.padding[axis][0]
            inside = (pixel >= 0) & (pixel < size)
            axes.append((position[inside], pixel[inside], output[inside]))
        positions, pixels, outputs = zip(*axes, strict=True)
        return _flat(positions, self.kernel), _flat(pixels, self.image), _flat(outputs, self.out)

    def excess(self) -> IntArray:
        """For each kernel position how many outputs, row-major, a pixel's weight runs ahead: int64[kernel].

        Pixel (r, t) meets kernel position (p, q) at output (R, T) where r + P_0 = s_0 R + d_0 p. With
        d_0 p = s_0 β + ρ and 0 <= ρ < s_0 this is s_0 (R + β) + ρ: R + β depends on the pixel alone, and so
        does T + β'.
        """
        sizes = zip(self.kernel, self._dilation, self.stride, strict=True)
        return _flat([step * np.arange(size) // by for size, step, by in sizes], self.out)

    @property
    def _dilation(self) -> Sizes:
        return self.dilation or (1,) * len(self.kernel)


def _flat(axes: Sequence[IntArray], sizes: Sizes) -> IntArray:
    """The flat indices, row-major, of all that has an index from each axis."""
    flat = np.zeros(1, np.int64)
    for index, size in zip(axes, sizes, strict=True):
        flat = np.add.outer(size * flat, index).ravel()
    return flat


class Products:
    """The products of a circuit.

    ``matmul_rows`` and ``convolve_rows``: their rows, beside those of the powers that they take.
    """

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._powers = Powers(builder, POINT)

    def matmul(self, name: str, x: Linear, y: Linear, z: Linear, shape: tuple[int, int, int]) -> None:
        """``Z = X Y`` over Fr for X[m, k], Y[k, n], Z[m, n], row-major, ``shape = (m, k, n)``.

        With u_j = x^j and v_r = x^(n r): ``(v X) (Y u) = v Z u``, a polynomial of degree m n - 1.
        Rows: mk + kn + mn - k - 1, and at most n + m - 2 for powers, less those that others use.
        """
        m, k, n = shape
        _require_rows(name, (x, m * k), (y, k * n), (z, m * n))
        self._fixed(name, x, y, z)
        u, v = (self._powers.progression(*each) for each in self.matmul_powers(shape))
        in_x, in_y, in_z = (np.indices(sizes).reshape(2, -1) for sizes in ((m, k), (k, n), (m, n)))
        left = self._sums(f"{name}/left", x, v[in_x[0]], in_x[1])
        right = self._sums(f"{name}/right", y, u[in_y[1]], in_y[0])
        rows = self._sums(f"{name}/rows", z, u[in_z[1]], in_z[0])
        total = self._sums(f"{name}/total", rows, v, np.zeros(m, dtype=np.int64))
        most = np.arange(k - 1)
        products = self._products(f"{name}/inner", left.take(most), right.take(most))
        last = np.array([k - 1])
        rest = total - Linear.ones(products[np.newaxis])
        self._builder.multiply(f"{name}/check", left.take(last), right.take(last), rest)
        self._builder.degree += m * n - 1

    @staticmethod
    def matmul_rows(shape: tuple[int, int, int]) -> int:
        m, k, n = shape
        return (m - 1) * k + k * (n - 1) + m * (n - 1) + (m - 1) + k

    @staticmethod
    def matmul_powers(shape: tuple[int, int, int]) -> list[tuple[int, int]]:
        """The stride and the count of each progression."""
        m, _, n = shape
        return [(1, n), (n, m)]

    def convolve(self, name: str, x: Linear, w: Linear, y: Linear, shape: Convolution) -> None:
        """``y = conv(x, w)`` over Fr, all row-major.

        For Q outputs in a channel, output n = (b, o, j) has the weight x^(Q (outputs b + o) + j). A pixel
        that kernel position p meets at output j is weighted once, by x^(j + excess_p), which does not depend
        on p. The sum S_bip over the window of p then has x^excess_p too much; with e the largest excess,

            sum_p x^(e - excess_p) sum_i (sum_o x^(Q o) w_oip) (sum_b x^(Q outputs b) S_bip)
                = x^e sum_n x^n y_n

        a polynomial of degree |y| - 1 + e. Rows, for K kernel positions: at most
        |x| + |w| + |y| + (2 batch - 1) inputs K + K, and Q + e + outputs + batch for powers, less those that
        others use. Pixels that no kernel position meets cost nothing.
        """
        channel, kernel, image = (math.prod(sizes) for sizes in (shape.out, shape.kernel, shape.image))
        planes = shape.batch * shape.inputs
        _require_rows(
            name,
            (x, planes * image),
            (w, shape.outputs * shape.inputs * kernel),
            (y, shape.batch * shape.outputs * channel),
        )
        self._fixed(name, x, w, y)
        excess = shape.excess()
        most = int(excess.max())
        power, of_output, of_image = (self._powers.progression(*each) for each in self.convolve_powers(shape))

        windows = self._windows(f"{name}/windows", x, shape, power)
        plane, position = np.indices((planes, kernel)).reshape(2, -1)
        image_index, term = plane // shape.inputs, plane % shape.inputs * kernel + position
        right = self._sums(f"{name}/images", windows, of_image[image_index], term)
        output, term = np.indices((shape.outputs, shape.inputs * kernel)).reshape(2, -1)
        left = self._sums(f"{name}/kernels", w, of_output[output], term)
        products = Linear.wires(self._products(f"{name}/inner", left, right))
        by_position = products.sums(np.tile(np.arange(kernel), shape.inputs), kernel)
        once = np.zeros(kernel, dtype=np.int64)
        computed = self._sums(f"{name}/positions", by_position, power[most - excess], once)

        index, output, place = np.indices((shape.batch, shape.outputs, channel)).reshape(3, -1)
        claimed = self._sums(f"{name}/channels", y, power[place], index * shape.outputs + output)
        index, output = np.indices((shape.batch, shape.outputs)).reshape(2, -1)
        claimed = self._sums(f"{name}/outputs", claimed, of_output[output], index)
        claimed = self._sums(f"{name}/total", claimed, of_image, np.zeros(shape.batch, dtype=np.int64))
        self._builder.multiply(f"{name}/check", claimed, Linear.wires(power[most : most + 1]), computed)
        self._builder.degree += y.rows - 1 + most

    @staticmethod
    def convolve_rows(shape: Convolution) -> int:
        _, pixel, _ = shape.meetings()
        channel, kernel = math.prod(shape.out), math.prod(shape.kernel)
        planes, terms = shape.batch * shape.inputs, shape.inputs * kernel
        windows = planes * (len(np.unique(pixel)) + kernel)
        images, kernels = (shape.batch - 1) * terms, (shape.outputs - 1) * terms
        excess = shape.excess()
        positions = int((excess < excess.max()).sum())
        claimed = shape.batch * shape.outputs * (channel - 1) + shape.batch * (shape.outputs - 1)
        return windows + images + kernels + terms + positions + claimed + (shape.batch - 1) + 1

    @staticmethod
    def convolve_powers(shape: Convolution) -> list[tuple[int, int]]:
        """The stride and the count of each progression."""
        channel = math.prod(shape.out)
        most = int(shape.excess().max())
        return [(1, channel + most), (channel, shape.outputs), (channel * shape.outputs, shape.batch)]

    def _fixed(self, name: str, *tensors: Linear) -> None:
        for tensor in tensors:
            self._builder.fixed(name, tensor)

    def _windows(self, name: str, x: Linear, shape: Convolution, power: IntArray) -> Linear:
        """For each plane of x and each kernel position the sum of the weighted pixels that it meets."""
        planes, kernel = shape.batch * shape.inputs, math.prod(shape.kernel)
        image = math.prod(shape.image)
        position, pixel, output = shape.meetings()
        exponent = np.full(image, -1)
        exponent[pixel] = output + shape.excess()[position]
        met = np.flatnonzero(exponent >= 0)
        rows = np.add.outer(image * np.arange(planes), met).ravel()
        weights = np.tile(power[exponent[met]], planes)
        weighted = self._products(f"{name}/weighted", x.take(rows), Linear.wires(weights))
        index = np.searchsorted(met, pixel)
        total = Linear(
            planes * kernel,
            np.add.outer(kernel * np.arange(planes), position).ravel(),
            weighted.reshape(planes, len(met))[:, index].ravel(),
            np.ones(planes * len(pixel), dtype=np.int64),
        )
        # Wires for the sums, in rows of C alone: else every weighted pixel would stand in B, in G2.
        wires = self._builder.private(name, planes * kernel)
        self._builder.zero(name, total - Linear.wires(wires))
        self._builder.post_challenge(Sum(name, wires, total.compact))
        return Linear.wires(wires)

    def _products(self, name: str, left: Linear, right: Linear) -> IntArray:
        """Wires for ``left · right``, a row each."""
        return self._solved(name, left, right, Linear.empty(left.rows))

    def _sums(self, name: str, values: Linear, weights: IntArray, groups: IntArray) -> Linear:
        """``sum weights[i] · values[i]`` over the rows i of each group, 0 .. groups.max().

        One row for each value whose weight is not the constant one: the last of a group yields the sum. Every
        group has such a value, or none has.
        """
        count = int(groups.max()) + 1
        plain = np.flatnonzero(weights == ONE)
        heavy = np.flatnonzero(weights != ONE)
        rest = values.take(plain).sums(groups[plain], count)
        if not len(heavy):
            return rest
        last = np.zeros(count, dtype=np.int64)
        last[groups[heavy]] = heavy
        others = np.setdiff1d(heavy, last)
        products = self._products(name, values.take(others), Linear.wires(weights[others]))
        rest += Linear.wires(products).sums(groups[others], count)
        return Linear.wires(self._solved(f"{name}_sum", values.take(last), Linear.wires(weights[last]), rest))

    def _solved(self, name: str, left: Linear, right: Linear, rest: Linear) -> IntArray:
        """Wires for ``left · right + rest``, a row each."""
        wires = self._builder.private(name, left.rows)
        self._builder.multiply(name, left, right, Linear.wires(wires) - rest)
        addend = rest.compact if len(rest.row) else 0
        self._builder.post_challenge(Product(name, wires, left.compact, right.compact, addend))
        return wires


def product_interval(name: str, terms: int, bounds: tuple[int, int]) -> Interval:
    """The interval of sums of ``terms`` products, for proven bounds of the factors' absolute values.

    Raises ``StatementError`` (``statement.could_wrap``) unless equality in Fr is equality of integers there.
    """
    largest = terms * bounds[0] * bounds[1]
    for bound in (*bounds, largest):
        require_fit(name, (-bound, bound))
    return -largest, largest


def _require_rows(name: str, *tensors: tuple[Linear, int]) -> None:
    for tensor, rows in tensors:
        if tensor.rows != rows:
            raise StatementError(
                "statement.product_shape", f"{name}: a tensor has {tensor.rows} entries, its shape {rows}"
            )
