"""Windows that slide over images: shapes, views and convolution, for floats and integers alike.

Images are [n, channels, height, width]; padding is (top, left, bottom, right).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

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
