"""Tensors that the file holds, decoded: never more in all than the allowance."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from zenserve.circuits.graphs.types import Declared
from zenserve.errors import ModelError

MOST_WEIGHTS = 1 << 25
MOST_DIMENSIONS = 8
# Elements that constants are computed from and to, in all.
_MOST_WORK = 1 << 28


class Element(IntEnum):
    """Types of elements by ONNX's numbers: those of ``TensorProto``, for what needs no protobuf."""

    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20
    UINT4 = 21
    INT4 = 22
    FLOAT4E2M1 = 23
    FLOAT8E8M0 = 24
    UINT2 = 25
    INT2 = 26


# Bits of floats; those of fewer than 16 are far apart.
FLOAT_BITS: dict[int, int] = {
    Element.FLOAT: 32,
    Element.DOUBLE: 64,
    Element.FLOAT16: 16,
    Element.BFLOAT16: 16,
    Element.FLOAT8E4M3FN: 8,
    Element.FLOAT8E4M3FNUZ: 8,
    Element.FLOAT8E5M2: 8,
    Element.FLOAT8E5M2FNUZ: 8,
    Element.FLOAT4E2M1: 4,
    Element.FLOAT8E8M0: 8,
}
FLOATS = tuple(FLOAT_BITS)
# The types that a quantised tensor may have: bits, and whether they are signed.
INTEGERS: dict[int, tuple[int, bool]] = {
    Element.INT8: (8, True),
    Element.UINT8: (8, False),
    Element.INT16: (16, True),
    Element.UINT16: (16, False),
    Element.INT4: (4, True),
    Element.UINT4: (4, False),
    Element.INT2: (2, True),
    Element.UINT2: (2, False),
}
# The types of whole numbers: bits, and whether they are signed.
WHOLE: dict[int, tuple[int, bool]] = {
    **INTEGERS,
    Element.INT32: (32, True),
    Element.UINT32: (32, False),
    Element.INT64: (64, True),
    Element.UINT64: (64, False),
}


@dataclass(frozen=True, eq=False)
class Constant:
    """``array`` is float64 or int64, ``kind`` the ``Element`` that the file gives it.

    ``declared``: the quantisation of floats that the file holds as integers, per channel along ``axis``.
    """

    array: NDArray[Any]
    kind: int
    declared: Declared | None = None
    axis: int = 0


class Allowance:
    """The number of weight elements that may still be kept, read or computed, and the work that may still be
    done."""

    def __init__(self) -> None:
        self._left, self._work = MOST_WEIGHTS, _MOST_WORK
        self._held: dict[int, finalize[..., Any]] = {}

    def spend(self, elements: int, what: str) -> None:
        """Count elements that the network keeps."""
        self.require(elements, what)
        self._left -= elements
        self.work(elements, what)

    def require(self, elements: int, what: str) -> None:
        """Refuse what would be too many elements, before they are there."""
        if elements > self._left:
            raise ModelError(
                "model.too_large", f"the network has more than {MOST_WEIGHTS} weights, up to {what}"
            )

    def work(self, elements: int, what: str) -> None:
        """Count elements that are computed and need not be kept."""
        self._work -= elements
        if self._work < 0:
            raise ModelError(
                "model.too_large",
                f"constants of the network take more than {_MOST_WORK} operations to compute, up to {what}",
            )

    def hold(self, array: NDArray[Any], what: str) -> None:
        """Count an array of its own memory for as long as it is there."""
        self.spend(array.size, what)
        self._held[id(array)] = finalize(array, self._release, id(array), array.size)
        self._held[id(array)].atexit = False

    def keep(self, array: NDArray[Any]) -> None:
        """Count an array for ever, of which a node of the network may keep a copy."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        if held := self._held.pop(id(array), None):
            held.detach()

    def _release(self, key: int, elements: int) -> None:
        del self._held[key]
        self._left += elements
