"""Groth16 over BLS12-381 for statements made of constraint blocks.

    statement = Statement(public, private, blocks)
    proving_key = setup(statement)
    proof = prove(proving_key, statement, witness)
    verdict = verify(proving_key.verifying_key, public_inputs, proof)

The rooms: ``statement`` (constraints), ``qap`` (their polynomials), ``trusted_setup``, ``proving`` and
``verification``; what these pass on: ``proving_key``, ``verifying_key``, ``proof``; ``container`` and
``preamble`` (files), ``points`` (untrusted bytes), ``randomness``; ``reference``, slow and independent.
docs/groth16.md has the formulas, docs/formats.md the bytes.
"""

from prover.commitment import CommitmentBasis, Opening
from prover.progress import Progress
from prover.proof import Proof
from prover.proving import Answer, prove
from prover.proving_key import ProvingKey
from prover.statement import Segment, Statement
from prover.trusted_setup import setup
from prover.verdict import REASONS, Verdict
from prover.verification import Claim, verify, verify_batch
from prover.verifying_key import SegmentKey, VerifyingKey

__all__ = [
    "REASONS",
    "Answer",
    "Claim",
    "CommitmentBasis",
    "Opening",
    "Progress",
    "Proof",
    "ProvingKey",
    "Segment",
    "SegmentKey",
    "Statement",
    "Verdict",
    "VerifyingKey",
    "prove",
    "setup",
    "verify",
    "verify_batch",
]
