"""Points from known exponents, and encodings with one fault each: py_ecc alone."""

from __future__ import annotations

from hashlib import sha256
from itertools import count
from typing import Any

from py_ecc.bls.g2_primitives import subgroup_check
from py_ecc.bls.hash_to_curve import hash_to_G1
from py_ecc.bls.point_compression import compress_G1, compress_G2, decompress_G1, decompress_G2
from py_ecc.optimized_bls12_381 import G1, G2, field_modulus, multiply


def g1(exponent: int) -> bytes:
    return int(compress_G1(multiply(G1, exponent))).to_bytes(48, "big")


def g2(exponent: int) -> bytes:
    return b"".join(int(word).to_bytes(48, "big") for word in compress_G2(multiply(G2, exponent)))


def second_generator() -> Any:
    """H."""
    return hash_to_G1(b"H", b"ZENSERVE-V1-COMMITMENT_BLS12381G1_XMD:SHA-256_SSWU_RO_", sha256)  # type: ignore[arg-type]


def encoded(point: Any) -> bytes:
    return int(compress_G1(point)).to_bytes(48, "big")


def bad_encodings(element: bytes) -> dict[str, bytes]:
    """One encoding of the length of ``element`` for each reason to refuse it."""
    length = len(element)
    return {
        "encoding": bytes([element[0] & 0x7F]) + element[1:],
        "not_canonical": bytes([0x80 | field_modulus >> 376])
        + field_modulus.to_bytes(48, "big")[1:]
        + element[48:],
        "not_on_curve": first_x(length, on_curve=False),
        "not_in_subgroup": first_x(length, on_curve=True),
        "at_infinity": b"\xc0" + bytes(length - 1),
    }


def first_x(length: int, *, on_curve: bool) -> bytes:
    """The smallest x that is on the curve, or not, and in no case in the subgroup."""
    for x in count(1):
        try:
            flagged = x + (1 << 383)
            point: Any = decompress_G1(flagged) if length == 48 else decompress_G2((1 << 383, x))  # type: ignore[arg-type]
        except ValueError:
            point = None
        if (point is not None) == on_curve and not (point and subgroup_check(point)):
            return b"\x80" + x.to_bytes(length - 1, "big")
    raise AssertionError
