"""Headers of ``.npy`` files, by a grammar that has one reading (docs/formats.md, "Arrays of numbers").

numpy has Python's own parser read a header, which takes the last value of a field given twice. Other readers
take the first: one file, two arrays. web/verifier/npy.ts refuses the same files with the same words.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

MAGIC: Final = b"\x93NUMPY"
_LENGTH_BYTES: Final = {b"\x01\x00": 2, b"\x02\x00": 4, b"\x03\x00": 4}
_MAX_HEADER: Final = 10_000
_MAX_DIMENSIONS: Final = 64
_MAX_BYTES: Final = (1 << 53) - 1

_FIELD: Final = r"'([a-z_]+)' *: *('[^'\\]*'|True|False|\([0-9, ]*\))"
_HEADER: Final = re.compile(rf"\{{ *{_FIELD} *, *{_FIELD} *, *{_FIELD} *(?:, *)?\}} *\n?")
_SIDE: Final = "(?:0|[1-9][0-9]{0,15})"
_SHAPE: Final = re.compile(rf"\( *(?:{_SIDE} *, *(?:{_SIDE} *, *)*(?:{_SIDE} *)?)?\)")
_NUMBERS: Final = re.compile(r"'([<>](?:[iu][248]|f[248])|[<>|][iub]1)'")
_ORDERS: Final = {"True": True, "False": False}


@dataclass(frozen=True)
class Header:
    """``type``: an order of bytes, a kind and a width, as in ``<f8``. The numbers lie from ``start`` on."""

    type: str
    by_columns: bool
    shape: tuple[int, ...]
    start: int


def read_header(data: bytes) -> Header:
    """The header of a ``.npy`` file whose size it states. Raises ``ValueError``."""
    length_bytes = _LENGTH_BYTES.get(data[len(MAGIC) : len(MAGIC) + 2])
    if not data.startswith(MAGIC) or length_bytes is None:
        raise ValueError("it is no .npy file of a version that numpy writes")
    begin = len(MAGIC) + 2 + length_bytes
    if len(data) < begin:
        raise ValueError("its header is cut short")
    start = begin + int.from_bytes(data[begin - length_bytes : begin], "little")
    if start - begin > _MAX_HEADER or start > len(data):
        raise ValueError("its header is too long")
    header = _parse(data[begin:start].decode("latin-1"), start)
    width = int(header.type[-1])
    # Sides beside a 0 are bounded too: numpy multiplies them.
    bounded = width * math.prod(side for side in header.shape if side) <= _MAX_BYTES
    if not bounded or width * math.prod(header.shape) != len(data) - start:
        raise ValueError("the header says another size than the file has")
    if "b" in header.type and data[start:].translate(None, b"\0\1"):
        raise ValueError("a truth value in it is neither 0 nor 1")
    return header


def _parse(text: str, start: int) -> Header:
    found = _HEADER.fullmatch(text)
    fields = dict(zip(found.groups()[::2], found.groups()[1::2], strict=True)) if found else {}
    kind, order, shape = (fields.get(name, "") for name in ("descr", "fortran_order", "shape"))
    if not kind.startswith("'") or order not in _ORDERS or not _SHAPE.fullmatch(shape):
        raise ValueError("its header is not as numpy writes it for numbers")
    number = _NUMBERS.fullmatch(kind)
    if number is None:
        raise ValueError("it holds no integers, floats of 16 to 64 bits or truth values")
    sides = tuple(map(int, re.findall("[0-9]+", shape)))
    if len(sides) > _MAX_DIMENSIONS:
        raise ValueError(f"it has more than {_MAX_DIMENSIONS} dimensions")
    return Header(number[1], _ORDERS[order], sides, start)
