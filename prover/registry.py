"""The proof systems that this installation proves with, by their ids."""

from __future__ import annotations

from typing import Final

from prover.groth16.native import NATIVE
from verifier.groth16.system import Groth16Verifier
from verifier.registry import Systems

SYSTEMS: Final[Systems] = {Groth16Verifier.id: Groth16Verifier(NATIVE)}
