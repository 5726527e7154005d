"""Compressed points of BLS12-381 from untrusted bytes, decoded with every check.

The encoding is that of ZCash and the IETF: x big-endian (G2: c1 before c0), three flag bits on top of the
first byte. The pairing library's own decoder accepts stray bits beside the infinity flag, so flags and
range are checked here first. Neither this module nor what verification imports needs the native kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, TypeVar

from py_arkworks_bls12381 import G1Point, G2Point

from zenserve.codes import Code

FIELD_MODULUS = (
    0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
)
SCALAR_MODULUS = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001

G1_BYTES = 48
G2_BYTES = 96
COORDINATE_BYTES = 64
"""Of a coordinate that stands alone, as EIP-2537 has it: 16 zeros in front."""

_COMPRESSED, _INFINITY, _SIGN = 0x80, 0x40, 0x20

Point = TypeVar("Point", G1Point, G2Point)


class Fault(StrEnum):
    """Why bytes of the right length are no acceptable point."""

    ENCODING = "encoding"
    NOT_CANONICAL = "not_canonical"
    NOT_ON_CURVE = "not_on_curve"
    NOT_IN_SUBGROUP = "not_in_subgroup"
    AT_INFINITY = "at_infinity"


FILE_CODES: Final[Mapping[Fault, Code]] = {
    Fault.ENCODING: "file.point_encoding",
    Fault.NOT_CANONICAL: "file.point_not_canonical",
    Fault.NOT_ON_CURVE: "file.point_not_on_curve",
    Fault.NOT_IN_SUBGROUP: "file.point_not_in_subgroup",
    Fault.AT_INFINITY: "file.point_at_infinity",
}
"""Of such a point in a file."""


class PointError(ValueError):
    """Raised by the decoders below; callers turn it into their own error or verdict."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.value)
        self.fault = fault


def decode_g1(data: bytes) -> G1Point:
    """A finite point of the prime-order subgroup of G1 from 48 bytes. Raises ``PointError``."""
    return _decode(data, G1_BYTES, G1Point.from_compressed_bytes_unchecked)


def decode_g2(data: bytes) -> G2Point:
    """A finite point of the prime-order subgroup of G2 from 96 bytes. Raises ``PointError``."""
    return _decode(data, G2_BYTES, G2Point.from_compressed_bytes_unchecked)


def uncompressed(coordinates: bytes) -> bytes:
    """``coordinates``, 48 bytes each and big-endian, in 64 bytes each."""
    return b"".join(
        coordinates[start : start + G1_BYTES].rjust(COORDINATE_BYTES, b"\0")
        for start in range(0, len(coordinates), G1_BYTES)
    )


def _decode(data: bytes, length: int, solve_for_y: Callable[[bytes], Point]) -> Point:
    if len(data) != length:
        raise PointError(Fault.ENCODING)
    _check_flags_and_range(data)
    try:
        point = solve_for_y(data)
    except ValueError:
        raise PointError(Fault.NOT_ON_CURVE) from None
    if not point.is_in_subgroup():
        raise PointError(Fault.NOT_IN_SUBGROUP)
    return point


def _check_flags_and_range(data: bytes) -> None:
    flags, first = data[0], bytes([data[0] & 0x1F]) + data[1:G1_BYTES]
    coordinates = [int.from_bytes(half, "big") for half in (first, data[G1_BYTES:])]
    if not flags & _COMPRESSED:
        raise PointError(Fault.ENCODING)
    if flags & _INFINITY:
        plain = not flags & _SIGN and not any(coordinates)
        raise PointError(Fault.AT_INFINITY if plain else Fault.ENCODING)
    if any(coordinate >= FIELD_MODULUS for coordinate in coordinates):
        raise PointError(Fault.NOT_CANONICAL)
