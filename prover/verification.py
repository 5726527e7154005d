"""Verification of Groth16 proofs: e(A, B) = e(α, β) · e(Σ x_i IC_i, γ) · e(C, δ).

Needs Python and the pairing library only, not the native kernels. Everything here is public, so nothing
is secret in timing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from py_arkworks_bls12381 import GT, G1Point, Scalar

from prover.points import SCALAR_MODULUS
from prover.proof import Proof, ProofError, decode
from prover.verifying_key import VerifyingKey


class Reason(Enum):
    """Every answer that verification can give: a stable name and a sentence."""

    OK = "ok", "The proof is valid for these public inputs."
    PROOF_TYPE = "proof_type", "The proof is neither bytes nor a Proof."
    PROOF_LENGTH = "proof_length", "The proof does not have exactly 192 bytes."
    PUBLIC_INPUT_COUNT = "public_input_count", "There are more or fewer public inputs than the key takes."
    PUBLIC_INPUT_TYPE = "public_input_type", "A public input is not an integer."
    PUBLIC_INPUT_NOT_CANONICAL = (
        "public_input_not_canonical",
        "A public input is negative, or not below the group order r.",
    )
    A_ENCODING = "a_encoding", "The flag bits of A are not those of a compressed point."
    A_NOT_CANONICAL = "a_not_canonical", "A coordinate of A is not below the field modulus."
    A_NOT_ON_CURVE = "a_not_on_curve", "A is not on the curve."
    A_NOT_IN_SUBGROUP = "a_not_in_subgroup", "A is on the curve, but outside the subgroup of prime order."
    A_AT_INFINITY = "a_at_infinity", "A is the point at infinity."
    B_ENCODING = "b_encoding", "The flag bits of B are not those of a compressed point."
    B_NOT_CANONICAL = "b_not_canonical", "A coordinate of B is not below the field modulus."
    B_NOT_ON_CURVE = "b_not_on_curve", "B is not on the curve."
    B_NOT_IN_SUBGROUP = "b_not_in_subgroup", "B is on the curve, but outside the subgroup of prime order."
    B_AT_INFINITY = "b_at_infinity", "B is the point at infinity."
    C_ENCODING = "c_encoding", "The flag bits of C are not those of a compressed point."
    C_NOT_CANONICAL = "c_not_canonical", "A coordinate of C is not below the field modulus."
    C_NOT_ON_CURVE = "c_not_on_curve", "C is not on the curve."
    C_NOT_IN_SUBGROUP = "c_not_in_subgroup", "C is on the curve, but outside the subgroup of prime order."
    C_AT_INFINITY = "c_at_infinity", "C is the point at infinity."
    PAIRING_MISMATCH = (
        "pairing_mismatch",
        "The proof is well-formed, but it does not prove this statement for these public inputs.",
    )

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        self.sentence = sentence


_BY_CODE = {reason.code: reason for reason in Reason}


@dataclass(frozen=True)
class Verdict:
    """The answer of a verifier. ``reason`` is the code of a ``Reason``, ``detail`` a sentence.

    A verdict is true where the proof is valid, so that ``if verify(...)`` means what it says.
    """

    valid: bool
    reason: str
    detail: str

    @classmethod
    def of(cls, reason: Reason, detail: str = "") -> Verdict:
        return cls(reason is Reason.OK, reason.code, detail or reason.sentence)

    @classmethod
    def of_code(cls, code: str) -> Verdict:
        return cls.of(_BY_CODE[code])

    def __bool__(self) -> bool:
        return self.valid


def verify(verifying_key: VerifyingKey, public_inputs: Sequence[int], proof: bytes | Proof) -> Verdict:
    """Check ``proof`` (192 bytes) for ``public_inputs``, canonical integers in the key's order.

    Never raises for a bad proof or bad inputs: the verdict names the first thing that is wrong.
    """
    refusal = check_public_inputs(verifying_key.public, public_inputs)
    if refusal is not None:
        return refusal
    data = proof.to_bytes() if isinstance(proof, Proof) else proof
    if not isinstance(data, bytes):
        return Verdict.of(Reason.PROOF_TYPE)
    try:
        a, b, c = decode(data)
    except ProofError as fault:
        return Verdict.of_code(fault.reason)
    key = verifying_key.prepared
    inputs = G1Point.multiexp_unchecked(key.ic, [Scalar(1), *map(Scalar, public_inputs)])
    left = GT.multi_pairing([a, -inputs, -c], [b, key.gamma, key.delta])
    return Verdict.of(Reason.OK if left == key.alpha_beta else Reason.PAIRING_MISMATCH)


def check_public_inputs(count: int, public_inputs: Sequence[int]) -> Verdict | None:
    """The refusal that ``public_inputs`` earn for a key of ``count`` inputs, or None.

    A value x + r would stand for the same field element: accepting it would give every proof several
    public readings.
    """
    if not isinstance(public_inputs, Sequence) or isinstance(public_inputs, str | bytes):
        return Verdict.of(Reason.PUBLIC_INPUT_TYPE, "The public inputs are not a sequence of integers.")
    if len(public_inputs) != count:
        return Verdict.of(
            Reason.PUBLIC_INPUT_COUNT,
            f"The key takes {count} public inputs, {len(public_inputs)} were given.",
        )
    for index, value in enumerate(public_inputs):
        if not isinstance(value, int) or isinstance(value, bool):
            return Verdict.of(Reason.PUBLIC_INPUT_TYPE, f"Public input {index} is not an integer.")
        if not 0 <= value < SCALAR_MODULUS:
            return Verdict.of(
                Reason.PUBLIC_INPUT_NOT_CANONICAL,
                f"Public input {index} is negative, or not below the group order r.",
            )
    return None
