"""The benchmark of bounds runs, and its figures agree with each other."""

from __future__ import annotations

from bench.robustness import cases, certified, integers, operators


def test_the_smallest_sizes() -> None:
    (case,) = cases(quick=True)
    by_intervals, *lines = certified(case, None)
    assert all(row.more["mean_radius"] >= by_intervals.more["mean_radius"] for row in lines)
    assert {row.more["method"] for row in integers(quick=True)} == {"executed", "ibp", "crown-ibp", "crown"}
    assert {row.name for row in operators(quick=True)} == {"dense", "relu", "tanh", "dot product"}
