"""Range checks by lookups: exactly the range, at exactly the planned cost, whatever limbs are claimed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.circuits.support import R, accepted_lies, answered, first_violation
from tests.refusals import refuses
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import Linear
from zenserve.circuits.r1cs.lookups import Lookups
from zenserve.circuits.r1cs.program import Program
from zenserve.circuits.r1cs.ranges import Plan, RangeChecks
from zenserve.errors import StatementError


def ranged(requests: Sequence[tuple[int, int]], counts: Sequence[int]) -> Program:
    """A circuit whose wires ``v0``, ``v1``, .. have these (bits, lowest)."""
    builder = Builder()
    builder.segment("values")
    ranges = RangeChecks(Lookups(builder))
    for index, ((bits, lowest), count) in enumerate(zip(requests, counts, strict=True)):
        wires = builder.committed("values", f"v{index}", count)
        ranges.check(f"range{index}", Linear.wires(wires), bits, lowest)
    return builder.program()


def violation(program: Program, values: Mapping[str, Sequence[int]]) -> str | None:
    return first_violation(program.constraint_system, answered(program, program.assign(values)))


# Widths, and how many values of each make the plan use: digits, one limb, several, a table for the top limb,
# a top limb that is a digit, a top limb that is looked up twice.
PLANS: list[tuple[dict[int, int], int, set[int]]] = [
    ({1: 5}, 1, set()),
    ({2: 3}, 1, set()),
    ({3: 40}, 3, {3}),
    ({8: 50}, 4, {4}),
    ({10: 100}, 5, {5}),
    ({5: 40, 3: 40}, 5, {5, 3}),
    ({7: 10}, 3, {3}),
    ({7: 40, 5: 3}, 4, {4, 3}),
    ({6: 50, 5: 2}, 3, {3}),
]


@pytest.mark.parametrize(("counts", "limb", "tables"), PLANS)
def test_the_plan_is_the_cheapest_and_what_it_says(
    counts: dict[int, int], limb: int, tables: set[int]
) -> None:
    plan = Plan.cheapest(counts)
    assert plan == Plan(limb, frozenset(tables), plan.rows)
    program = ranged([(bits, 0) for bits in counts], list(counts.values()))
    assert program.constraint_system.constraints == plan.rows
    for limb in range(1, max(counts) + 1):
        assert slow_rows(counts, limb) >= plan.rows


def slow_rows(counts: Mapping[int, int], limb: int) -> int:
    """The fewest rows with this limb over every choice of tables for top limbs."""
    if limb == 1:
        return sum(bits * count for bits, count in counts.items())
    widths = sorted({bits % limb for bits in counts} - {0, 1})
    choices = itertools.product((False, True), repeat=len(widths))
    return min(_rows_with(counts, limb, dict(zip(widths, choice, strict=True))) for choice in choices)


def _rows_with(counts: Mapping[int, int], limb: int, own_table: Mapping[int, bool]) -> int:
    rows = (1 << limb) + 1 + sum((1 << width) + 1 for width, own in own_table.items() if own)
    for bits, count in counts.items():
        rest = bits % limb
        top = 0 if rest == 0 else 1 if rest == 1 or own_table[rest] else 2
        rows += count * (bits // limb + top)
    return rows


@given(st.dictionaries(st.integers(1, 24), st.integers(1, 10**6), min_size=1, max_size=4))
def test_no_other_plan_is_cheaper(counts: dict[int, int]) -> None:
    assert Plan.cheapest(counts).rows == min(slow_rows(counts, limb) for limb in range(1, 21))


@pytest.mark.parametrize("counts", [counts for counts, *_ in PLANS])
@pytest.mark.parametrize("lowest", [0, -5, 1000])
def test_exactly_the_range_is_taken(counts: dict[int, int], lowest: int) -> None:
    program = ranged([(bits, lowest) for bits in counts], list(counts.values()))
    honest = {f"v{i}": [lowest] * count for i, count in enumerate(counts.values())}
    for index, bits in enumerate(counts):
        top = lowest + 2**bits - 1
        for value in (lowest, top, (lowest + top) // 2, lowest - 1, top + 1, top + 2**bits, -(1 << 40)):
            values = {**honest, f"v{index}": [value, *honest[f"v{index}"][1:]]}
            assert (violation(program, values) is None) == (lowest <= value <= top), (bits, value)


@given(st.data())
def test_honest_values_pass(data: st.DataObject) -> None:
    requests = data.draw(
        st.lists(st.tuples(st.integers(1, 61), st.integers(-(2**40), 2**40)), min_size=1, max_size=4)
    )
    requests = [(bits, lowest if bits < 61 else 0) for bits, lowest in requests]
    values = {
        f"v{i}": data.draw(st.lists(st.integers(lowest, lowest + 2**bits - 1), min_size=1, max_size=30))
        for i, (bits, lowest) in enumerate(requests)
    }
    assert violation(ranged(requests, [len(v) for v in values.values()]), values) is None


@pytest.mark.parametrize("counts", [{3: 9}, {8: 50}, {6: 50, 5: 2}, {7: 40, 5: 3}, {9: 60}])
def test_every_wire_that_moves_is_noticed(counts: dict[int, int]) -> None:
    program = ranged([(bits, 0) for bits in counts], list(counts.values()))
    z = program.assign({f"v{i}": [2] * count for i, count in enumerate(counts.values())})
    assert accepted_lies(program, z) == []


def test_shifted_limbs_are_refused() -> None:
    """A limb one larger and the next one smaller by one, or by its weight, so that the sum stays."""
    program = ranged([(12, 0)], [30])
    layout = program.constraint_system.layout
    limbs = layout["range0/limbs"]
    assert limbs.shape == (30, 2)
    z = program.assign({"v0": [0x5A3] * 30})
    for changes in ((16, -1), (-16, 1), (1, 0), (0, 1), (0, -1), (-3, 16)):
        for recount in (False, True):
            lie = z.copy()
            lie[limbs[0]] += changes
            if recount:
                count_again(lie, layout["range4/multiplicity"], [*z[limbs[0]]], [*lie[limbs[0]]])
            assert first_violation(program.constraint_system, answered(program, lie)) == "range4/sum[0]"


def count_again(z: np.ndarray, multiplicity: np.ndarray, before: list[int], after: list[int]) -> None:
    for value, change in [*((v, -1) for v in before), *((v, 1) for v in after)]:
        if 0 <= value < len(multiplicity):
            z[multiplicity[value]] += change


def test_no_fraction_passes_for_a_top_limb_that_is_looked_up_twice() -> None:
    """5 = 3 + 2 bits: x = y / 2 is no integer, though 2 x = y is one in the table."""
    counts = {6: 50, 5: 2}
    program = ranged([(bits, 0) for bits in counts], list(counts.values()))
    layout = program.constraint_system.layout
    values = {"v0": [0] * 50, "v1": [0, 0]}
    z = program.assign(values).tolist()
    limbs, table = layout["range1/limbs"], layout["range3/multiplicity"]
    for y in (1, 3, 5, 7):
        half = y * pow(2, -1, R) % R
        for low in range(8):
            lie = list(z)
            lie[layout["v1"][0]] = (low + 8 * half) % R
            lie[limbs[0, 0]] = low
            lie[table[0]] -= 2
            lie[table[low]] += 1
            lie[table[y]] += 1
            assert first_violation(program.constraint_system, answered(program, lie)) == "range3/sum[0]"


def test_a_value_that_wraps_around_the_field_is_refused() -> None:
    program = ranged([(8, 0)], [50])
    wire = program.constraint_system.layout["v0"][7]
    z = program.assign({"v0": [1] * 50}).tolist()
    for value in (R - 1, (R + 1) // 2, R // 16, pow(16, -1, R), 1 << 200):
        lie = list(z)
        lie[wire] = value
        assert first_violation(program.constraint_system, answered(program, lie)) is not None


def test_a_private_value_is_refused_by_name_where_limbs_are_looked_up() -> None:
    builder = Builder()
    wires = builder.private("secret", 100)
    RangeChecks(Lookups(builder)).check("range", Linear.wires(wires), 8)
    with pytest.raises(StatementError, match=r"reads secret\[0\].*segment"):
        builder.program()


def test_few_private_values_are_checked_by_digits() -> None:
    builder = Builder()
    wires = builder.private("secret", 2)
    RangeChecks(Lookups(builder)).check("range", Linear.wires(wires), 2)
    system = builder.program().constraint_system
    assert (system.constraints, system.challenges, system.segments) == (4, 0, ())


@pytest.mark.parametrize(("bits", "lowest"), [(62, 0), (61, 1 << 61), (40, -(1 << 62))])
def test_ranges_beyond_62_bits_are_refused(bits: int, lowest: int) -> None:
    with refuses("statement.could_wrap"):
        ranged([(bits, lowest)], [1])


def test_an_empty_range_is_refused() -> None:
    with refuses("statement.range"):
        ranged([(0, 0)], [1])
