"""Whoever has no witness, and chooses what the oracle answers, makes proofs that nobody tells from others."""

from __future__ import annotations

from tests.prover.spartan.test_hiding import (
    SIZE,
)

ZEROS = [0] * SIZE
