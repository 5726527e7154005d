"""Slow, obvious, independent: Python integers and py_ecc only. Judges the fast path; never serves it."""

from prover.groth16.reference.constraints import check
from prover.groth16.reference.exponents import Trapdoor, key_exponents, proof_exponents
from prover.groth16.reference.pairing import verify
from prover.groth16.reference.simulator import simulate

__all__ = ["Trapdoor", "check", "key_exponents", "proof_exponents", "simulate", "verify"]
