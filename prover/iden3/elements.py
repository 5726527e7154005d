"""Field elements and points in the bodies of iden3's sections, checked before anything computes with them.

Scalars are canonical, 32 bytes; points are affine in Montgomery form with c0 before c1, infinity all zero:
the words that the kernels use, so that no conversion is needed.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from kernels import FrArray, Group, WordArray, fp, fr
from prover.iden3.binfile import Bytes
from prover.points import Fault
from zenerrors import FileFormatError

_CHUNK_POINTS = 1 << 12


def scalars(body: Bytes, count: int, field: str) -> FrArray:
    """uint64[count, 4], canonical. ``FileFormatError``: ``file.length``, ``file.not_canonical``."""
    words = _words(body, count, (4,), field)
    check_scalars(words, field)
    return words


def check_scalars(words: WordArray, field: str) -> None:
    """``file.not_canonical`` unless each of ``words``, uint64[count, 4], is below the modulus of Fr."""
    wrong = ~_below(words, fr.modulus)
    if wrong.any():
        where = f"{field}[{wrong.argmax()}]"
        raise FileFormatError("file.not_canonical", f"{where} is not below the modulus of Fr", field=where)


def points(
    body: Bytes, count: int, group: Group, field: str, *, finite: bool = False, threads: int = 1
) -> WordArray:
    """uint64[count, *group.shape], each on its curve and in its subgroup; with ``finite`` none at infinity.

    ``FileFormatError``: ``file.length``, ``file.point_*`` with the point's place as the field.
    """
    words = _words(body, count, group.shape, field)
    below = _below(words.reshape(-1, fp.words), fp.modulus)
    _require(np.all(below.reshape(count, -1), axis=1), Fault.NOT_CANONICAL, field)
    _require(group.is_on_curve(words), Fault.NOT_ON_CURVE, field)
    if finite:
        _require(~group.is_infinity(words), Fault.AT_INFINITY, field)
    chunks = [words[start : start + _CHUNK_POINTS] for start in range(0, count, _CHUNK_POINTS)]
    with ThreadPoolExecutor(threads) as pool:
        for index, inside in enumerate(pool.map(group.in_subgroup, chunks)):
            _require(inside, Fault.NOT_IN_SUBGROUP, field, first=index * _CHUNK_POINTS)
    return words


def point(body: Bytes, group: Group, field: str) -> WordArray:
    """A single finite point: uint64[1, *group.shape]. Raises as ``points``."""
    return points(body, 1, group, field, finite=True)


def _words(body: Bytes, count: int, shape: tuple[int, ...], field: str) -> WordArray:
    length = 8 * count * int(np.prod(shape))
    if len(body) != length:
        raise FileFormatError("file.length", f"{field} takes {len(body)} bytes, not {length}", field=field)
    words = np.empty((count, *shape), dtype=np.uint64)
    words.reshape(-1).view(np.uint8)[:] = body  # in the map nothing is aligned
    return words


def _below(words: WordArray, modulus: int) -> NDArray[np.bool_]:
    """Which rows of ``words``, uint64[n, limbs], are integers below ``modulus``."""
    below = np.zeros(len(words), dtype=np.bool_)
    equal = ~below
    for limb in reversed(range(words.shape[1])):
        bound = np.uint64(modulus >> 64 * limb & (1 << 64) - 1)
        below |= equal & (words[:, limb] < bound)
        equal &= words[:, limb] == bound
    return below


def _require(good: NDArray[np.bool_], fault: Fault, field: str, first: int = 0) -> None:
    if not good.all():
        where = f"{field}[{first + int(good.argmin())}]"
        raise FileFormatError(f"file.point_{fault}", f"{where}: {fault.replace('_', ' ')}", field=where)
