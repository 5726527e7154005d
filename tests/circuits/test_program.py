"""Wires taken in any order, segments, challenges, and steps before and after these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.circuits.support import answered, first_violation
from tests.refusals import refuses
from zenserve import kernels
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.linear import Linear
from zenserve.circuits.r1cs.program import Program
from zenserve.circuits.r1cs.steps import Product, Sum
from zenserve.errors import StatementError
from zenserve.prover.constraint_system import Segment


def mixed() -> tuple[Builder, Program]:
    """y = x c for the challenge c, with wires of every kind in a wild order."""
    builder = Builder()
    scaled = builder.private("scaled", 2)
    builder.segment("first")
    builder.segment("second", linked=True)
    late = builder.committed("second", "late", 1)
    label = builder.public("label", 2)
    challenge = builder.challenge(0)
    x = builder.committed("first", "x", 2)
    builder.zero("label", Linear.wires(label) - Linear.wires(x).scale(3))
    builder.zero("late", Linear.wires(late) - Linear.ones(x[np.newaxis]))
    builder.product("scaled", x, np.full(2, challenge), scaled)
    builder.fill(Sum("label", label, Linear.wires(x).scale(3)))
    builder.fill(Sum("late", late, Linear.ones(x[np.newaxis])))
    builder.post_challenge(Product("scaled", scaled, x, np.full(2, challenge)))
    return builder, builder.program()


def test_wires_taken_in_any_order_land_in_the_statements_order() -> None:
    _, program = mixed()
    system = program.constraint_system
    assert (system.public, system.challenges, system.private) == (2, 1, 2)
    assert system.segments == (Segment("first", 2), Segment("second", 1, linked=True))
    # 1 | label | challenge | x, blinding | late, blinding | scaled
    where = {name: wires.tolist() for name, wires in system.layout.items()}
    assert where == {"label": [1, 2], "challenge0": [3], "x": [4, 5], "late": [7], "scaled": [9, 10]}
    z = program.assign({"x": [5, -7]})
    assert z.tolist() == [1, 15, -21, 0, 5, -7, 0, -2, 0, 0, 0]
    assert first_violation(system, answered(program, z)) is None
    assert kernels.fr.to_ints(program.witness({"x": [5, 7]}))[:6] == [1, 15, 21, 0, 5, 7]


def test_a_witness_is_held_against_every_row_without_a_proof() -> None:
    _, program = mixed()
    program.check(program.witness({"x": [5, -7]}))
    for name in ("label", "late"):
        z = program.witness({"x": [5, -7]})
        z[program.constraint_system.layout[name]] = kernels.fr.from_ints([4])
        with pytest.raises(StatementError, match=rf"does not satisfy constraint {name}\[0\]"):
            program.check(z)


def test_post_challenge_steps_leave_blinding_and_challenges_alone() -> None:
    _, program = mixed()
    witness = program.witness({"x": [5, 7]})
    marks = kernels.fr.from_ints([11, 12, 13])
    witness[[3, 6, 8]] = marks
    for threads in (1, 3):
        witness[9:] = 0
        program.post_challenge(witness, witness[3:4], threads)
        assert np.array_equal(witness[[3, 6, 8]], marks)
        assert kernels.fr.to_ints(witness[9:]) == [55, 77]


def test_a_group_or_segment_has_one_name() -> None:
    builder, _ = mixed()
    with refuses("statement.duplicate_wires"):
        builder.public("x", 1)
    with refuses("statement.duplicate_segment"):
        builder.segment("first")


def test_a_challenge_is_shared() -> None:
    builder = Builder()
    assert builder.challenge(1) == builder.challenge(1) != builder.challenge(0)
    assert sorted(builder.layout) == ["challenge0", "challenge1"]


def test_what_is_deferred_runs_once_and_may_defer_more() -> None:
    builder = Builder()
    ran: list[str] = []
    builder.defer(lambda: ran.append("first"))
    builder.defer(lambda: builder.defer(lambda: ran.append("third")))
    builder.program()
    builder.program()
    assert ran == ["third", "first"]


def test_values_are_exact_though_partial_sums_overflow() -> None:
    big = 1 << 61
    value = Linear.weighted(np.arange(6), np.array([big, big, big, -big, -big, -big]))
    assert value.evaluate(np.array([1, 3, 3, 3, 3, 0])).tolist() == [big]
    rows = Linear(4, np.array([2, 0, 2]), np.array([1, 2, 2]), np.array([5, 7, -1]))
    assert rows.evaluate(np.array([1, 10, 100, 0])).tolist() == [700, 0, -50, 0]
    assert kernels.fr.to_ints(rows.csr.multiply(kernels.fr.from_ints([1, 10, 100]))) == [
        700, 0, kernels.fr.modulus - 50, 0
    ]  # fmt: skip
    assert rows.take(np.array([2, 1])).evaluate(np.array([1, 10, 100])).tolist() == [-50, 0]


def test_coefficients_beyond_their_bound_are_refused() -> None:
    with refuses("statement.could_wrap"):
        Linear.wires(np.array([1])).scale(1 << 40).scale(-(1 << 22))


def test_challenges_that_would_miss_too_much_are_refused() -> None:
    program = Builder().program()
    assert replace(program, degree=1 << 126).soundness_bits > 128
    with refuses("statement.soundness"):
        replace(program, degree=1 << 127)
