"""A Groth16 proof: three group elements in 192 bytes."""

from __future__ import annotations

from dataclasses import dataclass

from py_arkworks_bls12381 import G1Point, G2Point

from prover.points import G1_BYTES, G2_BYTES, PointError, decode_g1, decode_g2
from zenerrors import EncodingError

PROOF_BYTES = 2 * G1_BYTES + G2_BYTES


class ProofError(EncodingError):
    """Bytes that are no proof; ``reason`` is the name that ``Verdict.reason`` gives it."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(f"encoding.{reason}", message, field="proof")
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return ProofError, (self.reason, self.message)


@dataclass(frozen=True)
class Proof:
    """A (48 bytes), B (96 bytes) and C (48 bytes), each compressed as ZCash and the IETF do.

    A proof is no identifier: anyone can turn it into another valid proof of the same statement and public
    inputs (docs/groth16.md, "Proofs are malleable").
    """

    a: bytes
    b: bytes
    c: bytes

    def to_bytes(self) -> bytes:
        """A | B | C: 192 bytes."""
        return self.a + self.b + self.c

    @classmethod
    def from_bytes(cls, data: bytes) -> Proof:
        """Decode with every check: length, flags, range, curve, subgroup, not infinity.

        Raises ``EncodingError`` with a code ``encoding.{reason}``, the reasons being those of a ``Verdict``.
        """
        decode(data)
        return cls(data[:G1_BYTES], data[G1_BYTES:-G1_BYTES], data[-G1_BYTES:])


def decode(data: bytes) -> tuple[G1Point, G2Point, G1Point]:
    """The points A, B, C of ``data``, checked. Raises ``ProofError``."""
    if len(data) != PROOF_BYTES:
        raise ProofError("proof_length", f"a proof has {PROOF_BYTES} bytes, this has {len(data)}")
    name = "a"
    try:
        a = decode_g1(data[:G1_BYTES])
        name = "b"
        b = decode_g2(data[G1_BYTES:-G1_BYTES])
        name = "c"
        c = decode_g1(data[-G1_BYTES:])
    except PointError as error:
        fault = error.fault
        raise ProofError(f"{name}_{fault}", f"{name.upper()}: {fault.replace('_', ' ')}") from None
    return a, b, c
