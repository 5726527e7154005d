"""The verifier on both curves, native and py_arkworks: every verdict must be the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zenserve.prover import groth16
from zenserve.prover.groth16 import Claim, Verdict, VerifyingKey
from zenserve.verifier.groth16 import verification


def verify(
    key: VerifyingKey, inputs: Sequence[int], proof: Any, commitments: Sequence[bytes] = ()
) -> Verdict:
    native = groth16.verify(key, inputs, proof, commitments)
    assert verification.verify(key, inputs, proof, commitments) == native
    return native


def verify_batch(key: VerifyingKey, claims: Sequence[Claim]) -> list[Verdict]:
    native = groth16.verify_batch(key, claims)
    assert verification.verify_batch(key, claims) == native
    return native
