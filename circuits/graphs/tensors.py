"""Validation of the tensors that callers pass in.

Messages name indices, never values: those may be secret.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from zenserve.circuits.graphs.types import FloatArray
from zenserve.errors import TensorError


def as_finite_tensor(values: ArrayLike, shape: tuple[int | None, ...], *, field: str) -> FloatArray:
    """``values`` as float64 of ``shape``, where None stands for any length but zero.

    Raises ``TensorError``: ``input.not_numeric``, ``input.shape``, or ``input.not_finite`` with the index.
    """
    try:
        tensor = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        raise TensorError(
            "input.not_numeric", f"{field} must be a full, nested array of numbers", field=field
        ) from None
    fits = tensor.ndim == len(shape) and all(
        size == wanted if wanted is not None else size > 0
        for size, wanted in zip(tensor.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("n" if size is None else str(size) for size in shape)
        raise TensorError(
            "input.shape",
            f"{field} has shape [{', '.join(map(str, tensor.shape))}]; the network takes [{wanted}]",
            field=field,
        )
    require_finite(tensor, field)
    return tensor


def require_finite(tensor: FloatArray, field: str) -> None:
    """Raises ``TensorError`` (``input.not_finite``) with the index."""
    bad = first_index(~np.isfinite(tensor))
    if bad is not None:
        raise TensorError(
            "input.not_finite", f"{field}{list(bad)} is {tensor[bad]}; it must be finite", field=field
        )


def as_samples(
    values: ArrayLike | Mapping[str, ArrayLike], shapes: Mapping[str, tuple[int, ...]], *, field: str
) -> dict[str, FloatArray]:
    """Samples of every input by its name, float64[n, *shape]; of an only input also the array alone.

    Raises ``TensorError``: as ``as_finite_tensor``, ``input.names``, and ``input.shape`` for more samples of
    one input than of another.
    """
    given = by_name(values, shapes, field=field)
    alone = len(shapes) == 1
    samples = {
        name: as_finite_tensor(each, (None, *shapes[name]), field=field if alone else f"{field}.{name}")
        for name, each in given.items()
    }
    if len({len(each) for each in samples.values()}) > 1:
        raise TensorError(
            "input.shape", f"{field} has more samples of one input than of another", field=field
        )
    return samples


def by_name(values: Any, names: Collection[str], *, field: str) -> dict[str, Any]:
    """Return the value of each of ``names``, in their order. For a single name, ``values`` may also be the
    value alone. Raises ``TensorError`` (``input.names``)."""
    given = values if isinstance(values, Mapping) else dict.fromkeys(names, values)
    if set(given) != set(names) or (len(names) > 1 and given is not values):
        raise TensorError(
            "input.names",
            f"{field} must be an array for each of {', '.join(names)}, by its name",
            field=field,
        )
    return {name: given[name] for name in names}


def first_index(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> tuple[int, ...] | None:
    """The index of the first true entry in row-major order, if there is one."""
    where = np.argwhere(mask)
    return tuple(int(i) for i in where[0]) if len(where) else None
