"""Slow, obvious, independent: Python integers and py_ecc only. Judges the fast path; never serves it."""

from zenserve.prover.groth16.reference.constraints import check
from zenserve.prover.groth16.reference.exponents import Trapdoor, key_exponents, proof_exponents
from zenserve.prover.groth16.reference.pairing import verify
from zenserve.prover.groth16.reference.simulator import simulate

__all__ = ["Trapdoor", "check", "key_exponents", "proof_exponents", "simulate", "verify"]
