"""Verifying keys, proofs and public inputs in snarkjs' JSON.

Numbers are decimal strings. A point of G1 is [x, y, "1"], one of G2 [[x_0, x_1], [y_0, y_1], ["1", "0"]] with
c0 first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from py_arkworks_bls12381 import G1Point, G2Point

from zenserve.errors import FileFormatError
from zenserve.prover.groth16.iden3.plain import require_plain
from zenserve.verifier.document import as_list, check_header, natural, parse_json
from zenserve.verifier.groth16.proof import Proof
from zenserve.verifier.groth16.verifying_key import VerifyingKey
from zenserve.verifier.points import (
    FIELD_MODULUS,
    FILE_CODES,
    SCALAR_MODULUS,
    Fault,
    PointError,
    decode_g1,
    decode_g2,
)
from zenserve.verifier.system import IMPORTED

UNKNOWN_STATEMENT: Final = bytes(32)
"""The digest in a key whose file says nothing about the statement that it was made for."""

_HEADER: Final[Mapping[str, str]] = {"protocol": "groth16", "curve": "bls12381"}
_COORDINATE_BYTES = 48
_MAX_DIGITS = len(str(FIELD_MODULUS))

Point = TypeVar("Point", G1Point, G2Point)


def export_verifying_key(key: VerifyingKey) -> dict[str, Any]:
    """Return the ``verification_key.json`` that ``snarkjs groth16 verify`` reads.

    It lacks ``vk_alphabeta_12``, a cached pairing that snarkjs does not read. Raises ``StatementError``
    (``statement.segments``) if the key has segments.
    """
    require_plain(key.segments, "the verifying key")
    return {
        **_HEADER,
        "nPublic": key.public,
        "vk_alpha_1": _from_g1(key.alpha_g1),
        "vk_beta_2": _from_g2(key.beta_g2),
        "vk_gamma_2": _from_g2(key.gamma_g2),
        "vk_delta_2": _from_g2(key.delta_g2),
        "IC": [_from_g1(point) for point in key.ic],
    }


def import_verifying_key(text: str | bytes, *, statement_digest: bytes = UNKNOWN_STATEMENT) -> VerifyingKey:
    """The key in ``text``, labelled "imported".

    The file does not name its statement: ``statement_digest`` is what the caller knows about that.
    Raises ``FileFormatError``: ``file.json``, ``file.shape``, ``file.point_*``, ``file.unsafe_key``.
    """
    document = _parse(text)
    check_header(document, "a verifying key", _HEADER)
    ic = as_list(document.get("IC"), "IC")
    if natural(document.get("nPublic"), "nPublic") != len(ic) - 1:
        raise FileFormatError("file.shape", "IC must have one point more than nPublic says", field="IC")
    return VerifyingKey(
        IMPORTED,
        statement_digest,
        _to_g1(document.get("vk_alpha_1"), "vk_alpha_1"),
        _to_g2(document.get("vk_beta_2"), "vk_beta_2"),
        _to_g2(document.get("vk_gamma_2"), "vk_gamma_2"),
        _to_g2(document.get("vk_delta_2"), "vk_delta_2"),
        tuple(_to_g1(point, f"IC[{index}]") for index, point in enumerate(ic)),
    )


def export_proof(proof: Proof) -> dict[str, Any]:
    """Return the ``proof.json`` that ``snarkjs groth16 verify`` reads.

    Raises ``StatementError`` (``statement.segments``) if the proof has segments.
    """
    require_plain(proof.segments, "the proof")
    return {**_HEADER, "pi_a": _from_g1(proof.a), "pi_b": _from_g2(proof.b), "pi_c": _from_g1(proof.c)}


def import_proof(text: str | bytes) -> Proof:
    """The proof in ``text``. Raises ``FileFormatError``: ``file.json``, ``file.point_*``."""
    document = _parse(text)
    check_header(document, "a proof", _HEADER)
    return Proof(
        _to_g1(document.get("pi_a"), "pi_a"),
        _to_g2(document.get("pi_b"), "pi_b"),
        _to_g1(document.get("pi_c"), "pi_c"),
    )


def export_public_inputs(values: Sequence[int]) -> list[str]:
    """Return the ``public.json`` that ``snarkjs groth16 verify`` reads."""
    return [str(value) for value in values]


def import_public_inputs(text: str | bytes) -> list[int]:
    """The public inputs in ``text``. Raises ``FileFormatError`` (``file.json``)."""
    values = as_list(_parse(text), "the public inputs")
    return [_number(value, SCALAR_MODULUS, f"public[{index}]") for index, value in enumerate(values)]


def _parse(text: str | bytes) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise FileFormatError("file.json", f"this is not JSON: {error}") from None


def _number(value: Any, modulus: int, field: str) -> int:
    """The integer below ``modulus`` whose one decimal spelling is ``value``."""
    if not isinstance(value, str) or not value.isascii() or not value.isdecimal() or len(value) > _MAX_DIGITS:
        raise FileFormatError("file.json", f"{field} must be a string of decimal digits", field=field)
    number = int(value)
    if number >= modulus or str(number) != value:
        raise FileFormatError(
            "file.not_canonical", f"{field} must be below the modulus, without leading zeros", field=field
        )
    return number


def _from_g1(data: bytes) -> list[str]:
    x, y = _coordinates(decode_g1(data))
    return [str(x), str(y), "1"]


def _from_g2(data: bytes) -> list[list[str]]:
    x_0, x_1, y_0, y_1 = _coordinates(decode_g2(data))
    return [[str(x_0), str(x_1)], [str(y_0), str(y_1)], ["1", "0"]]


def _coordinates(point: G1Point | G2Point) -> list[int]:
    """x and y, in G2 c0 before c1 of each."""
    data = bytes(point.to_xy_bytes_be())
    size = _COORDINATE_BYTES
    return [int.from_bytes(data[start : start + size], "big") for start in range(0, len(data), size)]


def _to_g1(value: Any, field: str) -> bytes:
    x, y, z = _items(value, 3, field)
    return _compressed([x, y], [z], G1Point.from_xy_bytes_unchecked_be, decode_g1, field)


def _to_g2(value: Any, field: str) -> bytes:
    x, y, z = (_items(half, 2, field) for half in _items(value, 3, field))
    return _compressed([*x, *y], z, G2Point.from_xy_bytes_unchecked_be, decode_g2, field)


def _items(value: Any, count: int, field: str) -> list[Any]:
    if not isinstance(value, list) or len(value) != count:
        raise FileFormatError("file.json", f"{field} must be a list of {count}", field=field)
    return value


def _compressed(
    coordinates: list[Any],
    last: list[Any],
    on_curve: Callable[[bytes], Point],
    decode: Callable[[bytes], Point],
    field: str,
) -> bytes:
    """The encoding of the point with these affine ``coordinates``; ``last``: the third, projective one."""
    if last == ["0"] * len(last):
        raise _fault(Fault.AT_INFINITY, field)
    if last != ["1", "0"][: len(last)]:
        raise FileFormatError("file.json", f"{field} must be affine: its last coordinate 1", field=field)
    numbers = [_number(value, FIELD_MODULUS, field) for value in coordinates]
    plain = b"".join(number.to_bytes(_COORDINATE_BYTES, "big") for number in numbers)
    try:
        encoded = bytes(on_curve(plain).to_compressed_bytes())
    except ValueError:
        raise _fault(Fault.NOT_ON_CURVE, field) from None
    try:
        decode(encoded)
    except PointError as error:
        raise _fault(error.fault, field) from None
    return encoded


def _fault(fault: Fault, field: str) -> FileFormatError:
    return FileFormatError(FILE_CODES[fault], f"{field}: {fault.replace('_', ' ')}", field=field)
