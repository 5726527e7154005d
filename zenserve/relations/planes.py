"""Windows that slide over images: shapes, views and convolution, for floats and integers alike.

Images are [n, channels, *plane]: a plane has height and width, or one axis, or three. Kernels, strides and
dilations have a size for each axis, padding what lies before each and then what lies behind: (top, left,
bottom, right). A dilation of () is 1 along all axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from zenserve.relations.integers import IntArray

Pair = tuple[int, int]
Sizes = tuple[int, ...]
# Axes of a plane.
MOST_AXES = 3
Number = TypeVar("Number", np.float32, np.float64, np.int64)

# Products for one image that take a thread some milliseconds.
_WORTH_THREADS = 1 << 28
# Columns are unrolled for so many values at a time: 64 MiB.
_UNROLLED = 1 << 23


def reach(kernel: Sizes, dilation: Sizes) -> Sizes:
    """Return the extent of a kernel along each axis, dilation included."""
    return tuple(
        step * (size - 1) + 1 for size, step in zip(kernel, dilation or (1,) * len(kernel), strict=True)
    )


def windows(
    plane: Sequence[int], kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes = ()
) -> Sizes | None:
    """Return the number of windows that fit along each axis; None if there are none or the sizes are
    invalid."""
    rank, sizes = len(plane), (*kernel, *stride, *dilation)
    if (
        not 1 <= rank <= MOST_AXES
        or (len(kernel), len(stride), len(padding)) != (rank, rank, 2 * rank)
        or len(dilation) not in (0, rank)
    ):
        return None
    if min(padding) < 0 or not 1 <= min(sizes) <= max(sizes) < 1 << 63:
        return None
    sides = zip(plane, reach(kernel, dilation), stride, padding[:rank], padding[rank:], strict=True)
    fitting = tuple((size + before + after - far) // by + 1 for size, far, by, before, after in sides)
    return fitting if min(fitting) > 0 else None


def slide(
    x: NDArray[Number], kernel: Sizes, stride: Sizes, padding: Sizes, fill: float, dilation: Sizes = ()
) -> NDArray[Number]:
    """The windows, [n, channels, *positions, *kernel]: a view of x padded with ``fill``."""
    rank = len(kernel)
    if any(padding):
        around: tuple[Pair, ...] = tuple(zip(padding[:rank], padding[rank:], strict=True))
        x = np.pad(x, ((0, 0), (0, 0), *around), constant_values=fill)
    seen = sliding_window_view(x, reach(kernel, dilation), axis=tuple(range(2, 2 + rank)))
    return seen[:, :, *(slice(None, None, step) for step in (*stride, *dilation))]


def convolve(
    x: NDArray[Number],
    weight: NDArray[Number],
    bias: NDArray[Number],
    stride: Sizes,
    padding: Sizes,
    groups: int,
    dilation: Sizes = (),
) -> NDArray[Number]:
    """Cross-correlation with weight[out, channels / groups, *kernel] and bias[out]."""
    kernel = weight.shape[2:]
    matrix = weight.reshape(groups, len(weight) // groups, -1)
    seen = slide(x, kernel, stride, padding, 0, dilation)
    rank = len(kernel)
    positions: Sizes = seen.shape[2 : 2 + rank]
    at_once = max(1, _UNROLLED // max(1, seen[0].size))
    out = np.empty((len(x), len(weight), *positions), x.dtype)
    for start in range(0, len(x), at_once):
        chunk = seen[start : start + at_once]
        columns = chunk.transpose(0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank))
        columns = columns.reshape(len(chunk), groups, -1, math.prod(positions))
        # OpenBLAS computes with what lies behind a matrix's last column, too, and throws it away. What stays
        # is the processor's mark of an invalid operation (OpenBLAS issue 1924, numpy issue 24067).
        with np.errstate(invalid="ignore"):
            made = matrix @ columns
        out[start : start + at_once] = made.reshape(len(chunk), len(weight), *positions)
    out += bias.reshape(-1, *(1 for _ in kernel))
    return out


def convolve_integers(
    x: IntArray, weight: IntArray, stride: Sizes, padding: Sizes, groups: int, dilation: Sizes = ()
) -> IntArray:
    """The same for integers, int64 and exact, without biases: in floats where no partial sum is rounded."""
    # No sum is further from zero than this: exact in float64, or at least too large where that rounds.
    each = np.abs(weight.reshape(len(weight), -1).astype(np.float64)).sum(axis=1).max(initial=0)
    reach = each * np.abs(x.astype(np.float64)).max(initial=0)
    around = stride, padding, groups, dilation
    many = weight.size * math.prod(x.shape[2:]) >= _WORTH_THREADS
    with _blas().limit(limits=None if many else 1):
        if reach < 1 << 24:
            return _convolved(np.float32, x, weight, around)
        if reach < 1 << 53:
            return _convolved(np.float64, x, weight, around)
        return _convolved(np.int64, x, weight, around)


def _convolved(
    kind: type[Number], x: IntArray, weight: IntArray, around: tuple[Sizes, Sizes, int, Sizes]
) -> IntArray:
    values, kernel, bias = (array.astype(kind) for array in (x, weight, np.zeros(len(weight))))
    return convolve(values, kernel, bias, *around).astype(np.int64)


@cache
def _blas() -> ThreadpoolController:
    """Return the controller of the threads that compute numpy's matrix products. The threads spin for a while
    after each product, which takes the processors from the next task."""
    return ThreadpoolController().select(user_api="blas")


class Windows(NamedTuple):
    """The pairs of an input and a tap that meet as a kernel slides: for each output position, in row-major
    order, pairs of indices.

    ``offsets``: int64[positions + 1]. Position p has the pairs from ``offsets[p]`` to ``offsets[p + 1]`` of
    ``inputs``, indices into the channels of one group, and ``taps``, indices into the kernel of one output,
    both flattened from (channel, row, column) or as many axes as there are: int64[pairs].
    Where the kernel hangs over the edge there is none.
    """

    offsets: IntArray
    inputs: IntArray
    taps: IntArray


@dataclass(frozen=True)
class Sliding:
    """A kernel that slides over ``image`` = (channels, *plane), its channels split into ``groups``."""

    image: Sizes
    kernel: Sizes
    stride: Sizes = (1, 1)
    padding: Sizes = (0, 0, 0, 0)
    groups: int = 1
    dilation: Sizes = ()

    @property
    def out(self) -> Sizes:
        """Positions along each axis. Raises ``ValueError`` where there are none."""
        out = windows(self.image[1:], self.kernel, self.stride, self.padding, self.dilation)
        if out is None:
            raise ValueError(f"{self} leaves no output")
        return out

    @property
    def pairs(self) -> int:
        """The number of pairs of a tap and an input that meet, in one group."""
        count = self.image[0] // self.groups
        for axis, size in enumerate(self.image[1:]):
            index = self._read(axis, *np.indices((self.out[axis], self.kernel[axis])))
            count *= int(((index >= 0) & (index < size)).sum())
        return count

    def windows(self) -> Windows:
        """The pairs of one group; the others repeat it over their own channels."""
        channels, rank = self.image[0] // self.groups, len(self.kernel)
        grid = np.indices((*self.out, channels, *self.kernel))
        inputs, inside = grid[rank], np.ones(grid.shape[1:], bool)
        for axis, size in enumerate(self.image[1:]):
            index = self._read(axis, grid[axis], grid[rank + 1 + axis])
            inside &= (index >= 0) & (index < size)
            inputs = inputs * size + index
        taps = np.ravel_multi_index(tuple(grid[rank:]), (channels, *self.kernel))
        counts = inside.reshape(math.prod(self.out), -1).sum(axis=1)
        return Windows(np.concatenate([[0], np.cumsum(counts)]), inputs[inside], taps[inside])

    def _read(self, axis: int, position: IntArray, tap: IntArray) -> IntArray:
        """Return the places along an axis of the plane at which these taps fall at these positions."""
        step = self.dilation[axis] if self.dilation else 1
        return self.stride[axis] * position + step * tap - self.padding[axis]
