"""Windows that slide over images: shapes, views and convolution, for floats and integers alike.

Images are [n, channels, height, width]; padding is (top, left, bottom, right).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from relations.integers import IntArray

Pair = tuple[int, int]
Padding = tuple[int, int, int, int]
Number = TypeVar("Number", np.float64, np.int64)

# Columns are unrolled for so many values at a time: 64 MiB.
_UNROLLED = 1 << 23


def windows(plane: Sequence[int], kernel: Pair, stride: Pair, padding: Padding) -> Pair | None:
    """How many windows fit down and across, None if there are none or the sizes make no sense."""
    if min(padding) < 0 or min(kernel) < 1 or min(stride) < 1:
        return None
    top, left, bottom, right = padding
    down = (plane[0] + top + bottom - kernel[0]) // stride[0] + 1
    across = (plane[1] + left + right - kernel[1]) // stride[1] + 1
    return (down, across) if down > 0 and across > 0 else None


def slide(x: NDArray[Number], kernel: Pair, stride: Pair, padding: Padding, fill: float) -> NDArray[Number]:
    """The windows, [n, channels, down, across, *kernel]: a view of x padded with ``fill``."""
    top, left, bottom, right = padding
    if any(padding):
        x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    return sliding_window_view(x, kernel, axis=(2, 3))[:, :, :: stride[0], :: stride[1]]


def convolve(
    x: NDArray[Number],
    weight: NDArray[Number],
    bias: NDArray[Number],
    stride: Pair,
    padding: Padding,
    groups: int,
) -> NDArray[Number]:
    """Cross-correlation with weight[out, channels / groups, kh, kw] and bias[out]."""
    kernel = weight.shape[2], weight.shape[3]
    matrix = weight.reshape(groups, len(weight) // groups, -1)
    seen = slide(x, kernel, stride, padding, 0)
    down, across = seen.shape[2:4]
    at_once = max(1, _UNROLLED // max(1, seen[0].size))
    out = np.empty((len(x), len(weight), down, across), x.dtype)
    for start in range(0, len(x), at_once):
        chunk = seen[start : start + at_once]
        columns = chunk.transpose(0, 1, 4, 5, 2, 3).reshape(len(chunk), groups, -1, down * across)
        out[start : start + at_once] = (matrix @ columns).reshape(len(chunk), len(weight), down, across)
    out += bias[:, None, None]
    return out


class Windows(NamedTuple):
    """What meets what as a kernel slides: for each output position, in row-major order, pairs of indices.

    ``offsets``: int64[positions + 1]. Position p has the pairs from ``offsets[p]`` to ``offsets[p + 1]`` of
    ``inputs``, indices into the channels of one group, and ``taps``, indices into the kernel of one output,
    both flattened from (channel, row, column): int64[pairs].
    Where the kernel hangs over the edge there is none.
    """

    offsets: IntArray
    inputs: IntArray
    taps: IntArray


@dataclass(frozen=True)
class Sliding:
    """A kernel that slides over ``image`` = (channels, height, width), its channels split into ``groups``."""

    image: tuple[int, int, int]
    kernel: Pair
    stride: Pair = (1, 1)
    padding: Padding = (0, 0, 0, 0)
    groups: int = 1

    @property
    def out(self) -> Pair:
        """Positions down and across. Raises ``ValueError`` where there are none."""
        out = windows(self.image[1:], self.kernel, self.stride, self.padding)
        if out is None:
            raise ValueError(f"{self} leaves no output")
        return out

    @property
    def pairs(self) -> int:
        """How many pairs of a tap and an input meet, in one group."""
        count = self.image[0] // self.groups
        for axis, before in enumerate(self.padding[:2]):
            first = self.stride[axis] * np.arange(self.out[axis]) - before
            index = np.add.outer(first, np.arange(self.kernel[axis]))
            count *= int(((index >= 0) & (index < self.image[1 + axis])).sum())
        return count

    def windows(self) -> Windows:
        """The pairs of one group; the others repeat it over their own channels."""
        channels = self.image[0] // self.groups
        grid = np.indices((*self.out, channels, *self.kernel))
        row = self.stride[0] * grid[0] + grid[3] - self.padding[0]
        column = self.stride[1] * grid[1] + grid[4] - self.padding[1]
        _, height, width = self.image
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        taps = np.ravel_multi_index(tuple(grid[2:]), (channels, *self.kernel))
        inputs = (grid[2] * height + row) * width + column
        counts = inside.reshape(self.out[0] * self.out[1], -1).sum(axis=1)
        return Windows(np.concatenate([[0], np.cumsum(counts)]), inputs[inside], taps[inside])
