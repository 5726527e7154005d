"""Spartan beside Groth16 on the smallest statements: both prove, and the rows say what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import large, spartan


@pytest.mark.large
@pytest.mark.parametrize("index", range(5))
def test_both_systems_prove_the_same(index: int, tmp_path: Path) -> None:
    _, name, made = list(spartan.subjects(True, tmp_path))[index]
    ours, theirs = spartan.rows(name, made(), 1)
    assert (ours.name, theirs.name) == (name, name)
    assert (ours.more["system"], theirs.more["system"]) == ("spartan", "groth16")
    assert ours.size == theirs.size
    assert theirs.ratio is not None
    assert 50_000 < ours.more["proof_bytes"] < 500_000
    assert theirs.more["proof_bytes"] < 1_000
    assert min(ours.more["witness_s"], ours.more["verify_s"], ours.more["plain_s"]) > 0
    assert min(ours.peak_mb or 0, theirs.peak_mb or 0, theirs.more["after"]) > 0


def test_what_is_compared() -> None:
    names = [name for _, name, _ in spartan.subjects(False, Path())]
    assert len(set(names)) == len(names) == 6 + 8 + 1


@pytest.mark.large
def test_networks_and_renewals_alone() -> None:
    found = [measured() for _, _, _, measured in large.subjects(True)]
    assert [row.name for row in found] == ["shallownet, registration", "shallownet, inference", "renewal"]
    for row in found:
        assert min(row.median, row.peak_mb or 0, row.more["commit_s"], row.more["verify_s"]) > 0
        assert 250_000 < row.more["proof_bytes"] < 1_000_000
    assert len(list(large.subjects(False))) == 2 * len(large.NETS) + len(large.RENEWED)
