"""Groth16 over BLS12-381 for statements made of constraint blocks.

    statement = Statement(public, private, blocks)
    proving_key = setup(statement)
    proof = prove(proving_key, statement, witness)
    verdict = verify(proving_key.verifying_key, public_inputs, proof)

With segments, ``setup`` takes a ``CommitmentBasis`` where they are linked, ``prove`` the openings and an
``answer`` to the challenges, ``verify`` the commitments.

The rooms: ``statement`` (constraints; ``adaptivity`` guards those on challenges), ``qap`` (their
polynomials), ``commitment`` and ``opening``, ``trusted_setup``, ``proving``, ``transcript`` and
``verification`` (over a ``curve``, the pairing library's or the ``native`` one); what these pass on:
``proving_key``, ``verifying_key``, ``proof``, ``verdict``; ``container``, ``preamble`` and ``document``
(files), ``points`` and ``point_arrays`` (untrusted points), ``randomness``; ``ceremony`` (setup by several
parties, from ``powers_of_tau``); ``cost`` (what all this takes); ``iden3`` (snarkjs and circom);
``reference``, slow and independent.
docs/groth16.md has the formulas, docs/formats.md the bytes.

Names are loaded when they are first used: so ``prover.verification`` and ``prover.opening`` can be imported
where neither the native kernels nor numpy are.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prover.commitment import CommitmentBasis, Opening
    from prover.native import verify, verify_batch
    from prover.opening import Revealed, check_opening, check_sum, sum_blindings
    from prover.progress import Progress
    from prover.proof import Proof
    from prover.proving import Answer, prove
    from prover.proving_key import ProvingKey
    from prover.statement import Csr, ProductBlock, Segment, SparseBlock, Statement
    from prover.trusted_setup import setup
    from prover.verdict import REASONS, Verdict
    from prover.verification import Claim
    from prover.verifying_key import SegmentKey, VerifyingKey

_HOMES = {
    "commitment": ("CommitmentBasis", "Opening"),
    "native": ("verify", "verify_batch"),
    "opening": ("Revealed", "check_opening", "check_sum", "sum_blindings"),
    "progress": ("Progress",),
    "proof": ("Proof",),
    "proving": ("Answer", "prove"),
    "proving_key": ("ProvingKey",),
    "statement": ("Csr", "ProductBlock", "Segment", "SparseBlock", "Statement"),
    "trusted_setup": ("setup",),
    "verdict": ("REASONS", "Verdict"),
    "verification": ("Claim",),
    "verifying_key": ("SegmentKey", "VerifyingKey"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"prover.{module}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "REASONS",
    "Answer",
    "Claim",
    "CommitmentBasis",
    "Csr",
    "Opening",
    "ProductBlock",
    "Progress",
    "Proof",
    "ProvingKey",
    "Revealed",
    "Segment",
    "SegmentKey",
    "SparseBlock",
    "Statement",
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
