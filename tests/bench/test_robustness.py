"""The benchmark of bounds runs, and its figures agree with each other."""

from __future__ import annotations

import pytest

from bench.certificates import certified_accuracies
from bench.curved import networks
from bench.robustness import cases, certified, integers, operators


@pytest.mark.large
def test_what_proofs_count_is_no_more_than_bounds_in_floats() -> None:
    *bounded, first, second = certified_accuracies(quick=True)
    by_method = {row.more["method"]: row.median for row in bounded if row.name == "integers"}
    for row in (first, second):
        assert 0 < 100 * row.more["certified"] / bounded[0].size <= by_method["crown-ibp"]
        assert row.more["shards"] == 2


def test_the_smallest_sizes() -> None:
    (case,) = cases(quick=True)
    by_intervals, *lines = certified(case, None)
    assert all(row.more["mean_radius"] >= by_intervals.more["mean_radius"] for row in lines)
    assert {row.more["method"] for row in integers(quick=True)} == {"executed", "ibp", "crown-ibp", "crown"}
    assert {row.name for row in operators(quick=True)} == {"dense", "relu", "tanh", "dot product"}


def test_networks_have_certificates_or_a_reason() -> None:
    assert all(bool(row.median) != bool(row.more["reason"]) for row in networks(quick=True))
