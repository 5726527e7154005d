"""Openings in public: whoever knows the values checks that a commitment is to them, without the basis.

With ρ shown, cm - ρ H commits to the polynomial v(X) = Σ v_i X^i as Kate, Zaverucha and Goldberg do
(ASIACRYPT 2010). One point π proves its value at a z that is a hash of all the rest:

    π = [(v(τ) - v(z)) / (τ - z)]_1
    e(cm - ρ H - v(z) G + z π, [1]_2) = e(π, [τ]_2)       where e(U_1, [1]_2) = e(G, [τ]_2)

Python integers and the pairing library do; docs/groth16.md, "Openings in public", has the argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from py_arkworks_bls12381 import G1Point, G2Point

from zenserve.errors import EncodingError
from zenserve.verifier.curve import ARKWORKS
from zenserve.verifier.document import check_header, from_hex
from zenserve.verifier.groth16 import transcript
from zenserve.verifier.groth16.proof import decoded
from zenserve.verifier.groth16.verdict import verdict_of
from zenserve.verifier.points import G1_BYTES, SCALAR_MODULUS, Fault, PointError, decode_g1
from zenserve.verifier.verdict import OK, Verdict

SCALAR_BYTES: Final = 32
_H_MESSAGE: Final = b"H"
_H_DOMAIN: Final = b"ZENSERVE-V1-COMMITMENT_BLS12381G1_XMD:SHA-256_SSWU_RO_"
_JSON_HEADER: Final[Mapping[str, str | int]] = {
    "format": "zenserve opening",
    "version": 1,
    "curve": "bls12381",
}


@dataclass(frozen=True)
class Revealed:
    """What ``check_opening`` takes beside a commitment and its values, for which guesses can then be tested.

    ``blinding``: ρ, 32 bytes, big-endian, below r; ``quotient``: π, 48 bytes; ``tau_g2``: [τ]_2, 96 bytes.
    """

    blinding: bytes = field(repr=False)
    quotient: bytes
    tau_g2: bytes

    def to_json(self) -> dict[str, Any]:
        """A JSON-able form: bytes in lower-case hex."""
        return {
            **_JSON_HEADER,
            "blinding": self.blinding.hex(),
            "quotient": self.quotient.hex(),
            "tau_g2": self.tau_g2.hex(),
        }

    def to_bytes(self) -> bytes:
        """The parts one after the other, 176 bytes."""
        return self.blinding + self.quotient + self.tau_g2

    @classmethod
    def from_bytes(cls, data: bytes) -> Revealed:
        """The inverse of ``to_bytes``, of any bytes: ``check_opening`` judges them."""
        end = SCALAR_BYTES + G1_BYTES
        return cls(data[:SCALAR_BYTES], data[SCALAR_BYTES:end], data[end:])

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Revealed:
        """The inverse of ``to_json``, blind to other fields; the bytes are for ``check_opening`` to judge.

        Raises ``FileFormatError`` (``file.json``).
        """
        check_header(document, "an opening", _JSON_HEADER)
        return cls(*(from_hex(document.get(name), name) for name in ("blinding", "quotient", "tau_g2")))


def check_opening(identity: bytes, commitment: bytes, values: Sequence[int], revealed: Revealed) -> Verdict:
    """Whether ``commitment`` (48 bytes) is to ``values``, a list or tuple of integers, taken modulo r.

    ``identity``: U_1 of a basis that the caller trusts, the ``basis`` of a verifying key. Values that differ
    by zeros at the end have the same commitments: the caller knows how many there must be.
    Never raises for bad data: the verdict names the first thing that is wrong.
    """
    try:
        reason = _judge_opening(identity, commitment, values, revealed)
    except EncodingError as error:
        reason = _reason(error)
    return verdict_of(reason, "The commitment is to these values." if reason == OK else "")


def check_sum(commitments: Sequence[bytes], total: int, blinding: bytes) -> Verdict:
    """Whether ``commitments``, each to a single value, add up to one to ``total`` with the ρ ``blinding``.

    ``total``: from 0 to r - 1; ``blinding``: 32 bytes, big-endian, as ``sum_blindings`` has it. That no
    commitment is counted twice, and that the values are too small to wrap around r, is for the caller to see.
    Never raises for bad data.
    """
    try:
        reason = _judge_sum(commitments, total, blinding)
    except EncodingError as error:
        reason = _reason(error)
    return verdict_of(reason, "The commitments add up to this total." if reason == OK else "")


def check_sums(
    identity: bytes, commitments: Sequence[bytes], totals: Sequence[int], revealed: Revealed
) -> Verdict:
    """Whether ``commitments``, each to as many values as there are ``totals``, add up to one to these: their
    sum is opened as any commitment (``check_opening``). What the caller sees to is as of ``check_sum``;
    values are taken modulo r, so that they may be below 0."""
    try:
        found = bytes(_sum(commitments).to_compressed_bytes())
        same = check_opening(identity, found, totals, revealed)
        reason = "sum_mismatch" if same.reason == "opening_mismatch" else same.reason
    except EncodingError as error:
        reason = _reason(error)
    return verdict_of(reason, "The commitments add up to these totals." if reason == OK else "")


def sum_blindings(blindings: Iterable[bytes]) -> bytes:
    """Σ ρ modulo r, each and the sum 32 bytes, big-endian.

    Raises ``EncodingError`` (``encoding.opening_blinding``).
    """
    total = sum(map(blinding_value, blindings))
    return (total % SCALAR_MODULUS).to_bytes(SCALAR_BYTES, "big")


def blinding_value(data: bytes) -> int:
    """The integer below r in 32 bytes, big-endian.

    Raises ``EncodingError`` (``encoding.opening_blinding``).
    """
    if type(data) is not bytes or len(data) != SCALAR_BYTES or int.from_bytes(data, "big") >= SCALAR_MODULUS:
        raise EncodingError(
            "encoding.opening_blinding",
            "a blinding factor is 32 bytes, big-endian, of an integer below r",
            field="blinding",
        )
    return int.from_bytes(data, "big")


@cache
def second_generator() -> G1Point:
    """H, hashed to the curve: nobody knows its logarithm."""
    return G1Point.hash_to_curve(_H_MESSAGE, _H_DOMAIN)


def _reason(error: EncodingError) -> str:
    return error.code.removeprefix("encoding.")


def _judge_opening(identity: bytes, commitment: bytes, values: Sequence[int], revealed: Revealed) -> str:
    if type(commitment) is not bytes:
        return "commitment_type"
    if not isinstance(revealed, Revealed) or not all(
        type(data) is bytes for data in (identity, revealed.quotient, revealed.tau_g2)
    ):
        return "opening_type"
    if not isinstance(values, list | tuple) or not all(type(value) is int for value in values):
        return "opening_values"
    blinding = blinding_value(revealed.blinding)
    cm = decoded(ARKWORKS.decode_g1, commitment, "commitment")
    first = decoded(ARKWORKS.decode_g1, identity, "basis")
    tau = decoded(ARKWORKS.decode_g2, revealed.tau_g2, "tau")
    quotient = decoded(_decode_quotient, revealed.quotient, "quotient")
    if not ARKWORKS.products_agree([(first, G2Point())], [(G1Point(), tau)]):
        return "opening_basis"
    # One spelling for each value: v and v + r are the same, and must lead to the same z.
    scalars = [value % SCALAR_MODULUS for value in values]
    z = transcript.opening_point(identity, commitment, revealed.blinding, scalars)
    value = transcript.fold(scalars, z)
    left = ARKWORKS.weighted_sum(
        [cm, second_generator(), G1Point(), quotient],
        [1, SCALAR_MODULUS - blinding, SCALAR_MODULUS - value, z],
    )
    return OK if ARKWORKS.products_agree([(left, G2Point())], [(quotient, tau)]) else "opening_mismatch"


def _judge_sum(commitments: Sequence[bytes], total: int, blinding: bytes) -> str:
    if not isinstance(commitments, list | tuple) or not all(type(data) is bytes for data in commitments):
        return "commitment_type"
    if type(total) is not int or not 0 <= total < SCALAR_MODULUS:
        return "sum_total"
    expected = ARKWORKS.weighted_sum([G1Point(), second_generator()], [total, blinding_value(blinding)])
    return OK if _sum(commitments) == expected else "sum_mismatch"


def _sum(commitments: Sequence[bytes]) -> G1Point:
    found = G1Point.identity()
    for data in commitments:
        found = found + decoded(ARKWORKS.decode_g1, data, "commitment")
    return found


def _decode_quotient(data: bytes) -> G1Point:
    """A vector whose values after the first are zero is a constant polynomial: its quotient is zero."""
    try:
        return decode_g1(data)
    except PointError as error:
        if error.fault is Fault.AT_INFINITY:
            return G1Point.identity()
        raise
