"""Spartan beside Groth16 on the digits: both prove, and the rows say what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import spartan
from bench.schemes import QUICK


@pytest.mark.large
def test_both_systems_prove_the_same(tmp_path: Path) -> None:
    ours, theirs = spartan.rows(QUICK, 1, tmp_path)
    assert (ours.name, theirs.name) == ("spartan", "groth16")
    assert ours.size == theirs.size
    assert theirs.ratio is not None
    assert 100_000 < ours.more["proof_bytes"] < 300_000
    assert min(ours.more["witness_s"], ours.more["verify_s"], ours.peak_mb or 0, theirs.peak_mb or 0) > 0
