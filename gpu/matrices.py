"""Products of stacks of matrices, as numpy's ``@`` has them, by what may be recorded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zenserve.gpu import blas
from zenserve.gpu.device import Array
from zenserve.gpu.layouts import joined, of_array, steps


def product(like: Any, left: Array, right: Array, onto: Array | None = None) -> Array:
    """[*ahead, m, n] of left [*ahead, m, k] and right [*ahead, k, n], float64, whose axes ahead broadcast.
    ``like``: a namespace that makes arrays on the current device. In place where they are added ``onto`` a
    whole array."""
    ahead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    (m, k), n = left.shape[-2:], right.shape[-1]
    if not math.prod((*ahead, m, n, k)):
        return like.zeros((*ahead, m, n)) if onto is None else onto
    out = like.empty((*ahead, m, n)) if onto is None else onto
    one, other = _side(like, left, ahead), _side(like, right, ahead)
    blas.multiply(one, other, out, (m, n, k), math.prod(ahead), added=onto is not None)
    return out


def _side(like: Any, array: Array, ahead: tuple[int, ...]) -> blas.Side:
    """As it lies, where matrices have whole rows or columns and are evenly apart; else a copy."""
    rows, columns = shape = array.shape[-2:]
    *own, down, across = steps(of_array(array), (*ahead, *shape))
    _, (apart,) = joined(ahead, [tuple(own)])
    if len(apart) <= 1:
        for turned, inner, outer, (many, length) in (
            (False, across, down, (rows, columns)),
            (True, down, across, (columns, rows)),
        ):
            step = length if many == 1 else outer
            if (inner == 1 or length == 1) and step >= length:
                return blas.Side(array, turned, step, apart[0] if apart else 0)
    whole = like.ascontiguousarray(like.broadcast_to(array, (*ahead, *shape)))
    return blas.Side(whole, False, columns, rows * columns)
