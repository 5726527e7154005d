"""Field elements and points in the bodies of iden3's sections, checked before anything computes with them.

Scalars are canonical, 32 bytes; points are affine in Montgomery form with c0 before c1, infinity all zero:
the words that the kernels use, so that no conversion is needed.
"""

from __future__ import annotations

import numpy as np

from zenserve.errors import FileFormatError
from zenserve.kernels import FrArray, Group, WordArray, fr
from zenserve.prover.groth16.iden3.binfile import Bytes
from zenserve.prover.groth16.point_arrays import check_points


def scalars(body: Bytes, count: int, field: str) -> FrArray:
    """uint64[count, 4], canonical. ``FileFormatError``: ``file.length``, ``file.not_canonical``."""
    words = unchecked(body, count, (4,), field)
    check_scalars(words, field)
    return words


def check_scalars(words: WordArray, field: str) -> None:
    """``file.not_canonical`` unless each of ``words``, uint64[count, 4], is below the modulus of Fr."""
    wrong = ~fr.is_canonical(words)
    if wrong.any():
        where = f"{field}[{wrong.argmax()}]"
        raise FileFormatError("file.not_canonical", f"{where} is not below the modulus of Fr", field=where)


def points(
    body: Bytes, count: int, group: Group, field: str, *, finite: bool = False, threads: int = 1
) -> WordArray:
    """uint64[count, *group.shape], each on its curve and in its subgroup; with ``finite`` none at infinity.

    ``FileFormatError``: ``file.length``, ``file.point_*`` with the point's place as the field.
    """
    words = unchecked(body, count, group.shape, field)
    check_points(words, group, field, finite=finite, threads=threads)
    return words


def point(body: Bytes, group: Group, field: str) -> WordArray:
    """A single finite point: uint64[1, *group.shape]. Raises as ``points``."""
    return points(body, 1, group, field, finite=True)


def unchecked(
    body: Bytes, count: int, shape: tuple[int, ...], field: str, *, first: int | None = None
) -> WordArray:
    """uint64[count, *shape], whatever they hold; the ``first`` of them if it is given.

    ``FileFormatError``: ``file.length``.
    """
    length = 8 * count * int(np.prod(shape))
    if len(body) != length:
        raise FileFormatError("file.length", f"{field} takes {len(body)} bytes, not {length}", field=field)
    words = np.empty((count if first is None else first, *shape), dtype=np.uint64)
    words.reshape(-1).view(np.uint8)[:] = body[: words.nbytes]  # in the map nothing is aligned
    return words
