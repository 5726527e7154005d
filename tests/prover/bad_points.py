"""Encodings that no decoder may accept, one of each kind, derived rather than typed."""

from __future__ import annotations

from collections.abc import Callable

from py_arkworks_bls12381 import G1Point, G2Point

from zenserve.verifier.points import FIELD_MODULUS

INFINITY = 0xC0


def bad_points(length: int) -> dict[str, list[bytes]]:
    """For points of ``length`` bytes (48 or 96): encodings by the fault that they must be refused for."""
    decode = (
        G1Point.from_compressed_bytes_unchecked if length == 48 else G2Point.from_compressed_bytes_unchecked
    )
    good = (G1Point() if length == 48 else G2Point()).to_compressed_bytes()
    infinity = bytes([INFINITY]) + bytes(length - 1)
    top = (FIELD_MODULUS).to_bytes(48, "big")
    too_large = [with_flags(top, 0x80) + good[48:], with_flags(b"\x1f" + b"\xff" * 47, 0xA0) + good[48:]]
    if length == 96:
        too_large += [good[:48] + top, good[:48] + b"\x80" + good[49:], good[:48] + b"\xff" * 48]
    return {
        "encoding": [
            flip(good, 0, 0x80),
            flip(good, 0, 0x40),
            flip(good, 0, 0xC0),
            bytes(length),
            flip(infinity, 0, 0x20),
            flip(infinity, 0, 0x80),
            flip(infinity, 0, 0x01),
            flip(infinity, length - 1, 0x01),
            flip(infinity, length // 2, 0x10),
        ],
        "not_canonical": too_large,
        "not_on_curve": [find(length, lambda data: not decodes(decode, data))],
        "not_in_subgroup": [
            find(length, lambda data: decodes(decode, data) and not decode(data).is_in_subgroup()),
        ],
        "at_infinity": [infinity],
    }


def flip(data: bytes, index: int, mask: int) -> bytes:
    return data[:index] + bytes([data[index] ^ mask]) + data[index + 1 :]


def with_flags(data: bytes, flags: int) -> bytes:
    return bytes([data[0] | flags]) + data[1:]


def find(length: int, wanted: Callable[[bytes], bool]) -> bytes:
    """The first small x whose encoding is wanted."""
    return next(data for x in range(1, 100) if wanted(data := b"\x80" + x.to_bytes(length - 1, "big")))


def decodes(decode: Callable[[bytes], object], data: bytes) -> bool:
    try:
        decode(data)
    except ValueError:
        return False
    return True
