"""Groth16 over BLS12-381 for constraint systems made of blocks.

    system = ConstraintSystem(public, private, blocks)
    proving_key = setup(system)
    proof = prove(proving_key, system, witness)
    verdict = verify(proving_key.verifying_key, public_inputs, proof)

With segments, ``setup`` takes a ``CommitmentKey`` where they are linked, ``prove`` the openings and
what makes the post-challenge witness, ``verify`` the commitments.

The rooms: ``qap`` (the polynomials of a constraint system), ``commitment``, ``trusted_setup``, ``proving``,
``native`` (verification with the kernels), ``proving_key``; ``point_arrays`` (untrusted points); ``sessions``
(a proof's sums on either backend); ``ceremony`` (setup by several parties, from ``powers_of_tau``); ``cost``
and ``memory`` (what all this takes); ``system`` (all of it as the object that ``zenserve.prover.registry``
has); ``iden3`` (snarkjs and circom); ``reference``, slow and independent. The verifier's half is in
``zenserve.verifier.groth16``. docs/groth16.md has the formulas, docs/formats.md the bytes.

Names are loaded when they are first used: a command that only verifies does without the prover.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zenserve.base.progress import Progress
    from zenserve.prover.groth16.commitment import CommitmentKey, Opening
    from zenserve.prover.groth16.native import verify, verify_batch
    from zenserve.prover.groth16.proving import PostChallenge, prove
    from zenserve.prover.groth16.proving_key import ProvingKey
    from zenserve.prover.groth16.trusted_setup import setup
    from zenserve.verifier.groth16.opening import Revealed, check_opening, check_sum, sum_blindings
    from zenserve.verifier.groth16.proof import Proof
    from zenserve.verifier.groth16.verdict import REASONS
    from zenserve.verifier.groth16.verifying_key import SegmentKey, VerifyingKey
    from zenserve.verifier.system import Claim
    from zenserve.verifier.verdict import Verdict

_HOMES = {
    "zenserve.base.progress": ("Progress",),
    "zenserve.prover.groth16.commitment": ("CommitmentKey", "Opening"),
    "zenserve.prover.groth16.native": ("verify", "verify_batch"),
    "zenserve.prover.groth16.proving": ("PostChallenge", "prove"),
    "zenserve.prover.groth16.proving_key": ("ProvingKey",),
    "zenserve.prover.groth16.trusted_setup": ("setup",),
    "zenserve.verifier.groth16.opening": ("Revealed", "check_opening", "check_sum", "sum_blindings"),
    "zenserve.verifier.groth16.proof": ("Proof",),
    "zenserve.verifier.groth16.verdict": ("REASONS",),
    "zenserve.verifier.verdict": ("Verdict",),
    "zenserve.verifier.system": ("Claim",),
    "zenserve.verifier.groth16.verifying_key": ("SegmentKey", "VerifyingKey"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(module), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "REASONS",
    "Claim",
    "CommitmentKey",
    "Opening",
    "PostChallenge",
    "Progress",
    "Proof",
    "ProvingKey",
    "Revealed",
    "SegmentKey",
    "Verdict",
    "VerifyingKey",
    "check_opening",
    "check_sum",
    "prove",
    "setup",
    "sum_blindings",
    "verify",
    "verify_batch",
]
