"""Slow, obvious, independent: Python integers and py_ecc only. Judges the fast path; never serves it."""

from prover.reference.constraints import check
from prover.reference.exponents import Trapdoor, key_exponents, proof_exponents
from prover.reference.pairing import verify
from prover.reference.simulator import simulate

__all__ = ["Trapdoor", "check", "key_exponents", "proof_exponents", "simulate", "verify"]
