"""Sums over what bounds of networks are made of: a form's coordinates, and products of matrices of intervals.

Arrays are float64 on the current device, those that are made by a namespace's ``empty`` (``like``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from zenserve.gpu import modules
from zenserve.gpu.device import Array, Device

_THREADS: Final = 128
_WIDE: Final = 512
_WARP: Final = 32
PAIRS: Final = 5
"""Of lines and what they are times, of one launch."""

_ROWS: Final = 4
"""Of slopes, that a warp takes at the same time."""

_BLOCKS: Final = 132 * 3
"""About so many add up what lines pay."""

_NORMS: Final = {"inf": 0, "1": 1, "2": 2}


def reach(
    like: Any,
    forms: tuple[Array, Array, Array, Array, Array | None],
    radius: Array,
    norm: str,
    own: int,
    terms: int,
    known: tuple[Array, Array] | None,
) -> tuple[Array, Array, Array]:
    """Return the least and largest values [n, *any] of linear functions over balls, and the reach of slopes
    alone.

    The functions have slope [n, *any, width] and offset [n, *any], give or take rest. The balls are of
    ``own`` coordinates with ``radius`` [n]; the coordinates of ``inf`` are from -1 to 1. Where ``known`` is
    given, it bounds the values, too. ``forms``: slope, offset, rest, size, and the third result if it is
    known already. Forms change in place: rest takes the rounding of sums of ``terms``, and functions whose
    ``known`` bounds are narrower become constants. See ``zenserve.bounds.ball.Region.reach``.
    """
    slope, *sums, most = forms
    shape, width = slope.shape[:-1], slope.shape[-1]
    low, high, rows = like.empty(shape), like.empty(shape), math.prod(shape)
    module = modules.load(Device.of(slope), "intervals")
    ends = [like.ascontiguousarray(each) for each in known] if known else (None, None)
    if most is None:
        most = like.empty(shape)
        arrays = (slope, *sums, radius, *ends, most, low, high)
        sizes = map(np.int64, (rows, max(1, rows // len(slope)), width, own, _NORMS[norm], terms))
        blocks = -(-rows * _WARP // (_ROWS * _THREADS))
        module.launch("reach", blocks, _THREADS, *arrays, *sizes)
    else:
        arrays = (slope, *sums, *ends, most, low, high)
        sizes = map(np.int64, (rows, width, terms))
        module.launch("reach_known", -(-rows // _THREADS), _THREADS, *arrays, *sizes)
    return low, high, most


def weigh(like: Any, pairs: Sequence[tuple[Array, Array | None, bool]], onto: Array) -> None:
    """To ``onto`` [n, s], in place, the sums of at most ``PAIRS``: of lines[n, s, size], or of their absolute
    values where one says so, times x[n or 1, size], or 1."""
    n, rows = onto.shape
    if not (n * rows):
        return
    given: list[Any] = []
    for lines, x, absolute in pairs:
        of_one = rows if x is not None and len(x) > 1 else n * rows
        given += [like.ascontiguousarray(lines), x if x is None else like.ascontiguousarray(x)]
        given += map(np.int64, (lines.shape[-1], of_one, absolute))
    given += [None, None, *[np.int64(0)] * 3] * (PAIRS - len(pairs))
    device, longest = Device.of(onto), max(lines.shape[-1] for lines, _, _ in pairs)
    module = modules.load(device, "intervals")
    blocks = max(1, min(_BLOCKS // (n * rows), -(-longest // (4 * _WIDE))))
    made = like.empty((n * rows, blocks))
    module.launch("weigh", n * rows * blocks, _WIDE, *given, made, np.int64(blocks))
    numbers = np.int64(n * rows), np.int64(blocks)
    module.launch("gather", -(-n * rows // _THREADS), _THREADS, made, onto, *numbers)


def move(like: Any, x: Array, places: Array) -> Array:
    """[n, *places.shape, width] of the rows of x[n, rows, width] at ``places``, int64; zeros where these are
    negative."""
    n, own, width = x.shape
    made = like.empty((n, *places.shape, width))
    rows = n * places.size
    if rows * width:
        module = modules.load(Device.of(x), "intervals")
        numbers = map(np.int64, (rows, places.size, own, width))
        blocks = -(-rows * _WARP // (_ROWS * _THREADS))
        whole = map(like.ascontiguousarray, (x, places))
        module.launch("move", blocks, _THREADS, *whole, made, *numbers)
    return made


def add_up(like: Any, x: Array) -> Array:
    """The sums of x[*rows, count, width] over the last axis but one, which stays with size 1."""
    *ahead, count, width = x.shape
    rows, made = math.prod(ahead), like.empty((*ahead, 1, width))
    if rows * width:
        module, numbers = modules.load(Device.of(x), "intervals"), map(np.int64, (rows, count, width))
        blocks = rows * -(-width // _THREADS)
        module.launch("add_up", blocks, _THREADS, like.ascontiguousarray(x), made, *numbers)
    return made


def product(like: Any, left: tuple[Array, Array], right: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    """[*ahead, m, n] of left [*ahead, m, k] and right [*ahead, k, n], each from its first to its second: the
    least and the largest that sums of products are, and what their absolute values add up to."""
    *ahead, m, k = left[0].shape
    n = right[0].shape[-1]
    made = tuple(like.empty((*ahead, m, n)) for _ in range(3))
    whole = [like.ascontiguousarray(each) for each in (*left, *right)]
    sizes = (math.prod((*ahead, m, n)), m, k, n)
    module = modules.load(Device.of(left[0]), "intervals")
    module.launch("product", -(-sizes[0] // _THREADS), _THREADS, *whole, *made, *map(np.int64, sizes))
    return made[0], made[1], made[2]


def constants(
    like: Any, factor: float, left: Sequence[Array], right: Sequence[Array]
) -> tuple[Array, Array, Array]:
    """Of a product of matrices of forms [*ahead, m, k] and [*ahead, k, n] the offset, rest and size
    [*ahead, m, n]: see ``zenserve.bounds.product``. Of both sides their own, centres and radii."""
    *ahead, m, k = left[0].shape
    n = right[0].shape[-1]
    made = tuple(like.empty((*ahead, m, n)) for _ in range(3))
    whole = [like.ascontiguousarray(each) for each in (*left, *right)]
    sizes = (math.prod((*ahead, m, n)), m, k, n, np.float64(factor).view(np.int64))
    module = modules.load(Device.of(left[0]), "intervals")
    module.launch("constants", -(-sizes[0] // _THREADS), _THREADS, *whole, *made, *map(np.int64, sizes))
    return made[0], made[1], made[2]
