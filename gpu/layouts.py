"""The layouts of arrays in memory, and the steps by which kernels walk through several arrays together."""

from __future__ import annotations

import numpy as np

from zenserve.gpu.device import Array

Layout = tuple[tuple[int, ...], tuple[int, ...], str]
"""Of an array: shape, strides in bytes, kind of numbers."""


def of_array(array: Array) -> Layout:
    return array.shape, array.strides, array.dtype.char


def whole(layout: Layout) -> bool:
    """Return whether the layout is contiguous in C order."""
    step = _size(layout)
    for extent, own in zip(*map(reversed, layout[:2]), strict=True):
        if extent != 1 and own != step:
            return False
        step *= extent
    return True


def steps(layout: Layout, shape: tuple[int, ...]) -> tuple[int, ...]:
    """From an entry to the next along each axis of ``shape``, in entries; 0 where it is broadcast."""
    size = _size(layout)
    own = [0 if extent == 1 else step // size for extent, step in zip(layout[0], layout[1], strict=True)]
    return (0,) * (len(shape) - len(own)) + tuple(own)


def joined(
    shape: tuple[int, ...], steps: list[tuple[int, ...]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """As few axes as all arrays can be read by."""
    extents, kept = list[int](), [list[int]() for _ in steps]
    for axis, extent in enumerate(shape):
        here = [each[axis] for each in steps]
        if extent == 1:
            continue
        if extents and all(own[-1] == step * extent for own, step in zip(kept, here, strict=True)):
            extents[-1] *= extent
            for own, step in zip(kept, here, strict=True):
                own[-1] = step
        else:
            extents.append(extent)
            for own, step in zip(kept, here, strict=True):
                own.append(step)
    return tuple(extents), [tuple(own) for own in kept]


def _size(layout: Layout) -> int:
    return np.dtype(layout[2]).itemsize
