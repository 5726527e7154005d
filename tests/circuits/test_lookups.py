"""Lookups: honest ones pass, and each way to look up what is not in the table is refused."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from tests.circuits.support import R, accepted_lies, answered, challenged, first_violation
from tests.refusals import refuses
from zenserve import kernels
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import Linear
from zenserve.circuits.r1cs.lookups import Lookups
from zenserve.circuits.r1cs.program import Program
from zenserve.circuits.r1cs.steps import Product
from zenserve.circuits.r1cs.table import Table
from zenserve.prover import groth16
from zenserve.prover.groth16.reference import check

SQUARES = np.array([[value, value * value] for value in range(-2, 3)])
TRIPLES = np.array([[0, 1, 5], [1, 0, 5], [1, 1, 5], [0, 0, 7]])


def looked_up(columns: np.ndarray, batches: list[int], scale: int = 1) -> tuple[Program, Table]:
    """A circuit whose wires ``v0``, ``v1``, .. are looked up in one table of two or more columns."""
    builder = Builder()
    builder.segment("values")
    table = Table("table", columns)
    lookups = Lookups(builder)
    for index, count in enumerate(batches):
        wires = builder.committed("values", f"v{index}", columns.shape[1], count)
        values = [Linear.wires(row) for row in wires]
        lookups.look_up(f"look{index}", table, values, scale)
    return builder.program(), table


def forged(program: Program, values: Mapping[str, ArrayLike], multiplicity: dict[int, int]) -> str | None:
    """What refuses these values, with multiplicities changed by this much and all else honest."""
    z = program.assign(values)
    for row, change in multiplicity.items():
        z[program.constraint_system.layout["table/multiplicity"][row]] += change
    return first_violation(program.constraint_system, answered(program, z))


@given(
    st.integers(1, 4),
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), min_size=1, max_size=3),
    st.integers(0, 2**32),
)
def test_honest_lookups_pass(width: int, picks: list[list[int]], seed: int) -> None:
    columns = np.random.default_rng(seed).integers(-(2**40), 2**40, (10, width))
    program, _ = looked_up(columns, [len(pick) for pick in picks])
    values = {f"v{index}": columns[pick].T for index, pick in enumerate(picks)}
    z = challenged(program, program.assign(values), seed)
    assert first_violation(program.constraint_system, z) is None
    assert check(program.constraint_system, z) is None


@pytest.mark.parametrize("width", [1, 2, 3])
def test_costs_what_it_says(width: int) -> None:
    columns = np.arange(10 * width).reshape(10, width)
    program, _ = looked_up(columns, [4, 3])
    powers = max(0, width - 2)
    assert program.constraint_system.constraints == 7 * width + 10 + 1 + powers
    assert program.degree == (7 + 20) * max(1, width - 1)
    assert program.soundness_bits > 240
    assert [segment.name for segment in program.constraint_system.segments] == ["values", "auxiliary"]


def test_an_unused_table_costs_nothing() -> None:
    builder = Builder()
    Lookups(builder)
    Table("table", SQUARES)
    assert builder.program().constraint_system.variables == 1


@pytest.mark.parametrize(
    ("columns", "picks"), [(SQUARES[:, :1], [0, 0, 3]), (SQUARES, [4, 0, 4]), (TRIPLES, [3, 1, 1])]
)
def test_every_wire_that_moves_is_noticed(columns: np.ndarray, picks: list[int]) -> None:
    program, _ = looked_up(columns, [2, 1])
    z = program.assign({"v0": columns[picks[:2]].T, "v1": columns[picks[2:]].T})
    assert accepted_lies(program, z) == []


def test_a_value_outside_the_table_is_refused_whatever_the_multiplicities() -> None:
    program, _ = looked_up(np.array([[3], [5], [7]]), [2])
    inside = {"v0": [[3, 7]]}
    assert forged(program, inside, {}) is None
    for value in (0, 4, 6, 8, -3, 1 << 40):
        for change in ({}, {0: 1}, {1: 1}, {2: 1}, {0: -1}, {0: 1, 1: 1, 2: -1}):
            assert forged(program, {"v0": [[3, value]]}, change) == "table/sum[0]"


def test_wrong_multiplicities_are_refused() -> None:
    program, _ = looked_up(np.array([[3], [5], [7]]), [4])
    values = {"v0": [[3, 3, 5, 3]]}
    assert program.assign(values)[program.constraint_system.layout["table/multiplicity"]].tolist() == [
        3,
        1,
        0,
    ]
    for change in ({0: -1, 1: 1}, {0: 1}, {2: 1}, {0: -3, 1: 3}, {1: 1, 2: -1}):
        assert forged(program, values, change) == "table/sum[0]"


def test_tuples_that_mix_rows_are_refused() -> None:
    program, _ = looked_up(TRIPLES, [1])
    rows = {tuple(row) for row in TRIPLES.tolist()}
    for a in (0, 1):
        for b in (0, 1):
            for c in (5, 7):
                expected = None if (a, b, c) in rows else "table/sum[0]"
                assert forged(program, {"v0": [[a], [b], [c]]}, {}) == expected
                if expected:
                    assert forged(program, {"v0": [[a], [b], [c]]}, {0: 1}) == expected


def test_two_tuples_that_swap_a_column_are_refused() -> None:
    """Each column alone is looked up as often as it should be."""
    program, _ = looked_up(SQUARES, [2])
    assert forged(program, {"v0": [[1, 2], [1, 4]]}, {}) is None
    assert forged(program, {"v0": [[1, 2], [4, 1]]}, {3: 1, 4: 1}) == "table/sum[0]"


def test_a_fraction_is_in_no_table() -> None:
    program, _ = looked_up(np.arange(4)[:, np.newaxis], [1], scale=4)
    assert forged(program, {"v0": [[8]]}, {}) is None
    for value in (1, 2, 9, 16):
        assert forged(program, {"v0": [[value]]}, {}) == "table/sum[0]"


def test_helpers_forged_after_the_challenge_are_refused() -> None:
    """A zero inverse, a quotient that makes up the difference, a pair that cancels in the sum."""
    program, _ = looked_up(np.array([[3], [5], [7]]), [2])
    system, layout = program.constraint_system, program.constraint_system.layout
    z = challenged(program, program.assign({"v0": [[3, 4]]}))
    inverse, quotient = layout["look0/inverse"], layout["table/quotient"]
    missing = (sum(z[w] for w in inverse) - sum(z[w] for w in quotient)) % R
    assert missing
    for changes, row in (
        ({inverse[1]: 0}, "look0/lookup[1]"),
        ({inverse[1]: z[inverse[1]] - missing}, "look0/lookup[1]"),
        ({quotient[1]: z[quotient[1]] + missing}, "table/table[1]"),
        ({inverse[0]: z[inverse[0]] + 1, inverse[1]: z[inverse[1]] - 1 - missing}, "look0/lookup[0]"),
    ):
        lie = list(z)
        for wire, value in changes.items():
            lie[wire] = value % R
        assert first_violation(system, lie) == row


def test_a_challenge_known_beforehand_would_break_it() -> None:
    """What the segment is for: with multiplicities chosen after c, a value outside the table passes."""
    program, _ = looked_up(np.array([[3], [5]]), [1])
    system = program.constraint_system
    z = challenged(program, program.assign({"v0": [[4]]}))
    c = z[system.layout["challenge0"][0]]
    z[system.layout["table/multiplicity"][0]] = (c - 3) * pow(c - 4, -1, R) % R
    assert first_violation(system, answered(program, z)) is None


@pytest.mark.parametrize("width", [1, 3])
def test_a_value_left_out_of_the_segment_is_refused_by_name(width: int) -> None:
    builder = Builder()
    builder.segment("values")
    inside = builder.committed("values", "inside", width, 3)
    outside = builder.private("outside", 3)
    values = [Linear.wires(row) for row in inside]
    values[-1] += Linear.wires(outside)
    Lookups(builder).look_up("look", Table("table", TRIPLES[:, :width]), values)
    with refuses("statement.adaptive", match=r"reads outside\[0\]"):
        builder.program()


def test_a_value_that_committed_ones_determine_may_be_private() -> None:
    builder = Builder()
    builder.segment("values")
    x = builder.committed("values", "x", 3)
    square = builder.private("square", 3)
    builder.product("square", x, x, square)
    Lookups(builder).look_up("look", Table("table", SQUARES), [Linear.wires(x), Linear.wires(square)])
    builder.fill(Product("square", square, x, x))
    program = builder.program()
    # The step for the squares comes after the lookup's, but the multiplicities come last.
    assert (
        first_violation(program.constraint_system, answered(program, program.assign({"x": [-2, 0, 2]})))
        is None
    )
    assert first_violation(program.constraint_system, answered(program, program.assign({"x": [-2, 0, 3]})))


def test_another_width_is_refused() -> None:
    builder = Builder()
    with refuses("statement.table_width"):
        Lookups(builder).look_up("look", Table("t", SQUARES), [Linear.constant(np.array([1]))])


def test_columns_of_unequal_length_are_refused() -> None:
    builder = Builder()
    builder.segment("values")
    wires = builder.committed("values", "v", 5)
    for split in (2, 3):
        with pytest.raises(ValueError, match="do not add up"):
            Lookups(builder).look_up(
                f"look{split}",
                Table("t", SQUARES),
                [Linear.wires(wires[:split]), Linear.wires(wires[split:])],
            )


def test_a_lookup_after_its_table_was_closed_is_not_forgotten() -> None:
    builder = Builder()
    builder.segment("values")
    first, second = (builder.committed("values", name, 1) for name in ("first", "second"))
    lookups, table = Lookups(builder), Table("table", SQUARES[:, :1])
    lookups.look_up("first", table, [Linear.wires(first)])
    builder.program()
    lookups.look_up("second", table, [Linear.wires(second)])
    with refuses("statement.duplicate_wires"):
        builder.program()


def test_find_agrees_with_a_search() -> None:
    rng = np.random.default_rng(3)
    columns = rng.integers(-3, 4, (40, 3))
    values = rng.integers(-4, 5, (300, 3))
    rows = [tuple(row) for row in columns.tolist()]
    expected = [rows.index(tuple(value)) if tuple(value) in rows else -1 for value in values.tolist()]
    assert Table("t", columns).find(list(values.T)).tolist() == expected


def test_a_proof_of_lookups_verifies() -> None:
    program, _ = looked_up(TRIPLES, [3])
    system = program.constraint_system
    key = groth16.setup(system)
    witness = program.witness({"v0": TRIPLES[[0, 3, 0]].T})
    proof = groth16.prove(key, system, witness, post_challenge=program.post_challenge)
    assert groth16.verify(key.verifying_key, [], proof.to_bytes()).valid
    witness[system.layout["v0"][0, 0]] = kernels.fr.from_ints([1])[0]
    with refuses("statement.unsatisfied", match=r"table/sum\[0\]"):
        groth16.prove(key, system, witness, post_challenge=program.post_challenge)


def test_a_table_serves_several_circuits_each_on_its_own() -> None:
    """A circuit that was begun and left must not take the table's rows away from the next one."""
    table = Table("table", np.arange(4)[:, np.newaxis])

    def circuit() -> Builder:
        builder = Builder()
        builder.segment("values")
        Lookups(builder).look_up("look", table, [Linear.wires(builder.committed("values", "v", 1))])
        return builder

    circuit()
    for _ in range(2):
        program = circuit().program()
        assert program.constraint_system.constraints == 1 + 4 + 1
        assert (
            first_violation(program.constraint_system, answered(program, program.assign({"v": [3]}))) is None
        )
        assert forged(program, {"v": [99]}, {}) is not None


def test_a_value_that_depends_on_the_challenge_is_refused() -> None:
    """5 c passes as one of 0 .. 3 at m_0 = 1 / (1 - 5), whatever the challenge c."""
    builder = Builder()
    builder.segment("values")
    factor = builder.committed("values", "factor", 1)
    product = builder.private("product", 1)
    builder.product("by_challenge", np.array([builder.challenge(0)]), factor, product)
    table = Table("table", np.arange(4)[:, np.newaxis])
    Lookups(builder).look_up("look", table, [Linear.wires(product)])
    with refuses("statement.adaptive", match=r"look reads product\[0\]"):
        builder.program()
