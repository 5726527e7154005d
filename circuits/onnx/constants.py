"""Tensors that the file holds, decoded: never more in all than the allowance."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from numpy.typing import NDArray

from circuits.graphs.types import Declared
from zenerrors import ModelError

MOST_WEIGHTS = 1 << 25
MOST_DIMENSIONS = 8


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
    """How many elements of weights may still be read or computed."""

    def __init__(self) -> None:
        self._left = MOST_WEIGHTS

    def spend(self, elements: int, what: str) -> None:
        self._left -= elements
        if self._left < 0:
            raise ModelError(
                "model.too_large", f"the network has more than {MOST_WEIGHTS} weights, up to {what}"
            )
