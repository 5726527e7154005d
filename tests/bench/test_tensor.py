"""The benchmark of the tensor system has a row for each unit cost that its design asks for."""

from __future__ import annotations

from bench.tensor import WANTED, fractions, units
from zenserve import kernels


def test_there_are_rows_on_the_slowest_target() -> None:
    target = kernels.available_targets()[-1]
    rows = {row.name: row for each in (units, fractions) for row in each(target, quick=True)}
    assert all(row.unit == "ns" and row.median > 0 for row in rows.values())
    told = {name: row.more["wanted"] for name, row in rows.items() if row.more["wanted"]}
    assert told == {name: wanted for name, wanted in WANTED.items() if name != "fraction tree of 2^22"}
