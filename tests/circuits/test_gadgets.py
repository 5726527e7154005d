"""Each gadget against honest values at the ends of its range, and against every way to cheat it.

Where the gadget is small enough the attack is exhaustive: all digit vectors, all claimed outputs.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.circuits.support import R, fill, first_violation, satisfied
from tests.refusals import refuses
from zenserve.circuits.graphs.types import Affine, Rescale
from zenserve.circuits.lowering import argmax
from zenserve.circuits.lowering.digits import Digits
from zenserve.circuits.r1cs import execution
from zenserve.circuits.r1cs.builder import Builder
from zenserve.circuits.r1cs.gadgets import (
    chosen,
    clamp,
    decompose,
    decompose_fully,
    divide,
    range_check,
    requantise,
)
from zenserve.circuits.r1cs.linear import Linear
from zenserve.circuits.r1cs.sources import Known
from zenserve.errors import StatementError
from zenserve.prover.groth16.reference import check
from zenserve.relations.bounds import Bound
from zenserve.relations.functions import Requantisation
from zenserve.relations.integers import IntArray

BITS = 2
TOP = 3


def range_checked(bits: int, lowest: int, count: int = 1) -> tuple[Builder, IntArray]:
    builder = Builder()
    wires = builder.private("v", count)
    range_check(builder, "test/v", Linear.wires(wires), bits, lowest)
    return builder, wires


@pytest.mark.parametrize(
    ("bits", "lowest"), [(1, 0), (1, -1), (3, 0), (8, 0), (8, -255), (8, -100), (12, -2048)]
)
def test_range_check_takes_exactly_the_range(bits: int, lowest: int) -> None:
    builder, wires = range_checked(bits, lowest)
    system = builder.program().constraint_system
    assert system.constraints == bits
    assert system.private == 1 + bits - 1
    for value in (lowest, lowest + 1, lowest + (1 << bits) - 1):
        assert first_violation(system, fill(builder, wires, [value])) is None
    for value in (lowest - 1, lowest + (1 << bits), lowest + (2 << bits), -(1 << 40)):
        assert first_violation(system, fill(builder, wires, [value])) is not None


def test_range_check_refuses_every_digit_vector_for_a_value_outside() -> None:
    builder, _ = range_checked(3, -2)
    digits = list(itertools.product((0, 1), repeat=2))
    candidates = np.array([[1, value, *low] for value in range(-20, 20) for low in digits])
    accepted = candidates[satisfied(builder.program().constraint_system, candidates)]
    assert accepted[:, 1].tolist() == list(range(-2, 6))


@pytest.mark.parametrize("digit", [2, -1, R - 1, (R + 1) // 2])
def test_range_check_refuses_digits_that_are_no_bits(digit: int) -> None:
    builder, wires = range_checked(4, 0)
    z = fill(builder, wires, [0]).tolist()
    z[builder.layout["test/v/bits"][0, 0]] = digit
    z[wires[0]] = digit
    assert check(builder.program().constraint_system, z) == "test/v_bits[0]"


@pytest.mark.parametrize("value", [256, -1, R - 1, (R - 1) // 2, 1 << 200])
def test_range_check_refuses_field_elements_outside_whatever_the_digits(value: int) -> None:
    builder, wires = range_checked(8, 0)
    for low in (0, value % 128, 127, R - 1):
        z = fill(builder, wires, [0]).tolist()
        z[wires[0]] = value
        z[builder.layout["test/v/bits"][0, 0] : builder.layout["test/v/bits"][0, -1] + 1] = [
            (low >> i) & 1 for i in range(7)
        ]
        assert check(builder.program().constraint_system, z) == "test/v_range[0]"


def test_decompose_digits_are_unique() -> None:
    builder = Builder()
    wires = builder.private("v", 1)
    decompose(builder, "test/v", Linear.wires(wires), 4)
    digits = list(itertools.product((0, 1), repeat=4))
    vectors = np.array([[1, value, *vector] for value in range(-4, 36) for vector in digits])
    accepted = vectors[satisfied(builder.program().constraint_system, vectors)]
    assert accepted[:, 1].tolist() == list(range(16))
    assert (accepted[:, 2:] @ [1, 2, 4, 8] == accepted[:, 1]).all()
    # v + r has no digits of its own: the low digits of v + r sum to something else.
    for value in (3, 15):
        z = [1, value, *(((value + R) >> i) & 1 for i in range(4))]
        assert check(builder.program().constraint_system, z) == "test/v_sum[0]"


def rescaling(
    multiplier: int, shift: int, zero_point: int = 0, bits: int = BITS, low: int = 0, high: int | None = None
) -> Requantisation:
    output = Affine(1.0, zero_point, bits)
    high = output.top if high is None else high
    return Rescale(np.array([multiplier]), shift, output, low, high).function


SMALL = rescaling(3, 2, 1)
ACC = (-6, 7)


def requantised(
    rescale: Requantisation = SMALL, bounds: tuple[int, int] = ACC, count: int = 1, *, full: bool = False
) -> tuple[Builder, IntArray, IntArray]:
    builder = Builder()
    acc = builder.private("acc", count)
    total = Linear.wires(acc).scale(int(rescale.multiplier[0])).shift(rescale.offset)
    scaled = rescale.scaled(Bound.of(*bounds))
    out = requantise(builder, "test", Known(builder, total, scaled), rescale, full=full)
    return builder, acc, out


def clamped(acc: int, rescale: Requantisation) -> int:
    unit = 1 << rescale.shift
    scaled = int(rescale.multiplier[0]) * acc + rescale.offset
    return min(max(scaled // unit, rescale.low), rescale.high)


@pytest.mark.parametrize("zero_point", [0, 1, 3])
@pytest.mark.parametrize("shift", [1, 2])
@pytest.mark.parametrize("bounds", [(-6, 7), (-9, -1), (0, 9), (-9, 0)])
def test_requantise_refuses_every_wrong_output_under_every_digit_vector(
    shift: int, zero_point: int, bounds: tuple[int, int]
) -> None:
    rescale = rescaling(3, shift, zero_point)
    builder, acc, out = requantised(rescale, bounds)
    system = builder.program().constraint_system
    digits = builder.layout["test/requantise/bits"][0]
    vectors = np.array(list(itertools.product((0, 1), repeat=len(digits))))
    quotient, sign = vectors[:, shift:-1], vectors[:, -1]
    low = quotient[:, :BITS] @ (1 << np.arange(quotient[:, :BITS].shape[1]))
    outside = (1 - sign) + quotient[:, BITS:].sum(axis=1)
    multiple = math.lcm(*range(1, quotient[:, BITS:].shape[1] + 2))
    for value in range(bounds[0], bounds[1] + 1):
        accepted = set()
        for claim in range(-2, TOP + 4):
            z = np.zeros((len(vectors), system.variables), dtype=np.int64)
            z[:, 0], z[:, acc[0]], z[:, out[0]], z[:, digits] = 1, value, claim, vectors
            # The slack that solves its row, where one does: an integer, since the count divides L.
            z[:, builder.layout["test/slack"][0]] = multiple // np.maximum(outside, 1) * (claim - low)
            if satisfied(system, z).any():
                accepted.add(claim)
        assert accepted == {clamped(value, rescale)}


@pytest.mark.parametrize(("shift", "low", "high"), [(1, 0, 3), (2, 0, 3), (2, 1, 3), (0, 0, 3), (3, 0, 6)])
def test_divide_refuses_every_wrong_quotient_under_every_digit_vector(
    shift: int, low: int, high: int
) -> None:
    """Averages: the remainder is below 2^k, and the quotient lies where the bounds say."""
    builder = Builder()
    total = builder.private("total", 1)
    out = divide(builder, "test", Linear.wires(total), shift, (low, high))
    system = builder.program().constraint_system
    groups = [
        builder.layout.get(f"test/{name}/bits", np.zeros((1, 0), int))[0]
        for name in ("quotient", "remainder")
    ]
    digits = np.concatenate(groups)
    vectors = np.array(list(itertools.product((0, 1), repeat=len(digits))))
    for value in range(low << shift, (high + 1) << shift):
        accepted = set()
        for claim in range(low - 2, high + 4):
            z = np.zeros((len(vectors), system.variables), dtype=np.int64)
            z[:, 0], z[:, total[0]], z[:, out[0]], z[:, digits] = 1, value, claim, vectors
            if satisfied(system, z).any():
                accepted.add(claim)
        assert accepted == {value >> shift}


@pytest.mark.parametrize("claim", [pow(4, -1, R), (7 + R) // 4, (R + 1) // 2, R - 1, 2 + R // 4])
def test_divide_refuses_quotients_that_only_the_field_knows(claim: int) -> None:
    builder = Builder()
    total = builder.private("total", 1)
    out = divide(builder, "test", Linear.wires(total), 2, (0, 3))
    system = builder.program().constraint_system
    for value, low in itertools.product(range(16), range(4)):
        z = fill(builder, total, [value]).tolist()
        z[out[0]] = claim
        z[builder.layout["test/remainder/bits"][0, 0]] = low & 1
        z[builder.layout["test/quotient/bits"][0, 0]] = low >> 1
        assert check(system, z) is not None


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("larger", [False, True])
def test_maximum_and_minimum_are_one_of_the_two_and_the_right_one(larger: bool, full: bool) -> None:
    pairs = list(itertools.product(range(4), repeat=2))
    builder = Builder()
    left, right = builder.private("left", len(pairs)), builder.private("right", len(pairs))
    out = chosen(builder, "test", Linear.wires(left), Linear.wires(right), 2, larger=larger, full=full)
    z = fill(builder, np.append(left, right), np.array(pairs).T.ravel())
    system = builder.program().constraint_system
    assert z[out].tolist() == [max(pair) if larger else min(pair) for pair in pairs]
    assert first_violation(system, z) is None
    bits = builder.layout["test/bits"]
    for row, pair in enumerate(pairs):
        for claim in {*range(-1, 5), *pair} - {int(z[out[row]])}:
            lie = z.copy()
            lie[out[row]] = claim
            assert first_violation(system, lie) is not None
            lie[bits[row, 2]] = 1 - lie[bits[row, 2]]
            assert first_violation(system, lie) is not None


def test_full_decomposition_has_254_digits_and_one_solution() -> None:
    builder = Builder()
    wires = builder.private("v", 1)
    used = decompose_fully(builder, "test/v", Linear.wires(wires), 4)
    system = builder.program().constraint_system
    assert used.shape == (1, 4)
    assert (system.constraints, system.private) == (259, 1 + 258)
    for value in (0, 11, (1 << 62) - 1):
        z = fill(builder, wires, [value])
        assert first_violation(system, z) is None
        digits = z[builder.layout["test/v/bits"][0]].tolist()
        assert sum(digit << i for i, digit in enumerate(digits)) == value
    honest = fill(builder, wires, [11]).tolist()
    bits, rests = builder.layout["test/v/bits"][0], builder.layout["test/v/rests"][0]
    # 11 + r needs 255 digits: cut to 254 they are those of another number, whatever the rests say.
    lie = list(honest)
    for i, wire in enumerate(bits):
        lie[wire] = ((11 + R) >> i) & 1
    for i, wire in enumerate(rests):
        lie[wire] = (11 + R) >> 51 * (i + 1)
    assert check(system, lie) is not None
    for wire in (*bits.tolist(), *rests.tolist()):
        for change in (1, -1):
            moved = list(honest)
            moved[wire] += change
            assert check(system, moved) is not None


def test_full_decomposition_alone_does_not_bound_a_value() -> None:
    """What callers must know: 16 has four lowest digits too. Only a proven interval makes them all of it."""
    builder = Builder()
    wires = builder.private("v", 1)
    used = decompose_fully(builder, "test/v", Linear.wires(wires), 4)
    z = fill(builder, wires, [16])
    assert first_violation(builder.program().constraint_system, z) is None
    assert not z[used].any()


@given(st.data())
@settings(max_examples=60)
def test_requantise_passes_honest_accumulators_up_to_its_bounds(data: st.DataObject) -> None:
    bits = data.draw(st.integers(2, 8))
    levels = st.integers(0, 2**bits - 1)
    least, most = sorted(data.draw(st.lists(levels, min_size=2, max_size=2, unique=True)))
    rescale = rescaling(
        data.draw(st.integers(1, 63)), data.draw(st.integers(0, 20)), data.draw(levels), bits, least, most
    )
    low, high = sorted(data.draw(st.tuples(st.integers(-(2**25), 2**25), st.integers(-(2**25), 2**25))))
    bounds = low, high
    values = [*bounds, *data.draw(st.lists(st.integers(*bounds), min_size=1, max_size=6))]
    builder, acc, out = requantised(rescale, bounds, len(values), full=data.draw(st.booleans()))
    z = fill(builder, acc, values)
    assert z[out].tolist() == [clamped(value, rescale) for value in values]
    assert first_violation(builder.program().constraint_system, z) is None


def test_requantise_costs_what_it_says() -> None:
    builder, *_ = requantised(rescaling(7, 12, bits=8), (-282180, 314613))
    magnitude = ((7 * 314613 + 2048) >> 12).bit_length()
    assert builder.program().constraint_system.constraints == 12 + magnitude + 4
    assert builder.program().constraint_system.private == 1 + 12 + magnitude + 3


def test_clamp_sees_the_sign_and_every_overflow_digit() -> None:
    """t = 5·2^i overflows through one digit at a time; t < 0 with no digit set at all."""
    builder = Builder()
    quotient, sign = builder.private("quotient", 6, 6), builder.private("sign", 6)
    out = clamp(builder, "test", quotient, sign, 2)
    digits = np.vstack([np.eye(6, dtype=np.int64)[2:], np.zeros((2, 6), dtype=np.int64)])
    wires = np.append(quotient.ravel(), sign)
    z = fill(builder, wires, np.append(digits.ravel(), [1, 1, 1, 1, 1, 0]))
    assert z[out].tolist() == [TOP] * 4 + [0, 0]
    assert first_violation(builder.program().constraint_system, z) is None
    for row, wrong in itertools.product(range(6), range(-1, 6)):
        if wrong != z[out[row]]:
            cheat = z.tolist()
            cheat[out[row]] = wrong
            assert check(builder.program().constraint_system, cheat) is not None


def compared(bounds: tuple[int, int], count: int) -> tuple[Builder, IntArray, IntArray]:
    builder = Builder()
    label = builder.public("label", 1)
    values = builder.private("values", count)
    argmax(Digits(builder, full=False), "test/argmax", Linear.wires(values), bounds, label[np.newaxis])
    return builder, values, label


def stepped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few values are compared as very many are."""
    monkeypatch.setitem(argmax.__globals__, "_MOST_SELECTED", 0)


@pytest.mark.parametrize("many", [False, True])
def test_the_second_of_the_largest_is_no_other_and_not_the_first_again(
    many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if many:
        stepped(monkeypatch)
    bounds, count = (-1, 1), 3
    builder = Builder()
    labels = builder.public("labels", 2)
    values = builder.private("values", count)
    argmax(Digits(builder, full=False), "test/argmax", Linear.wires(values), bounds, labels[np.newaxis])
    program, layout = builder.program(), builder.layout
    margins = layout["test/argmax2_margin/bits"]
    own = [range(-2, 4)] * (2 if many else 3)
    free = np.array(list(itertools.product(*own, range(-5, 6), range(-1, 5))))
    wires, largest, claim = free[:, :-2], free[:, -2], free[:, -1]
    before = wires if many else wires[:, ::-1].cumsum(axis=1)[:, -2::-1]
    for logits in itertools.product(range(bounds[0], bounds[1] + 1), repeat=count):
        honest = np.zeros(program.constraint_system.variables, dtype=np.int64)
        honest[0], honest[values] = 1, logits
        execution.fill(program.steps.integer, honest)
        order = np.argsort(-np.array(logits), kind="stable")
        assert honest[labels].tolist() == order[:2].tolist()
        assert first_violation(program.constraint_system, honest) is None
        z = np.tile(honest, (len(free), 1))
        z[:, labels[1]] = claim
        z[:, layout[f"test/argmax2/{'before' if many else 'selector'}"].ravel()] = wires
        z[:, layout["test/argmax2/max"][0]] = largest
        raised = 3 * (np.arange(count) == order[0])
        margin = largest[:, None] - np.array(logits) - np.pad(before, ((0, 0), (0, 1))) + raised
        z[:, margins] = (margin[:, :, None] >> np.arange(margins.shape[1])) & 1
        accepted = set(claim[satisfied(program.constraint_system, z)].tolist())
        assert accepted == {int(order[1])}


def test_many_values_take_coefficients_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    stepped(monkeypatch)

    def size(count: int) -> tuple[int, int]:
        builder, _, _ = compared((0, 1), count)
        system = builder.program().constraint_system
        entries = sum(len(matrix.columns) for block in system.blocks for matrix in block.matrices())
        return system.constraints, entries

    (few, less), (many, more) = size(100), size(200)
    assert (few, many) == (3 * 100 + 1, 3 * 200 + 1)
    assert more < 2.1 * less


@given(st.lists(st.integers(-(2**40), 2**40), min_size=2, max_size=6), st.booleans(), st.booleans())
@settings(max_examples=60)
def test_argmax_passes_honest_values_and_takes_the_first_of_equals(
    values: list[int], tie: bool, many: bool
) -> None:
    if tie:
        values = [*values, max(values)]
    with pytest.MonkeyPatch.context() as patch:
        if many:
            stepped(patch)
        builder, wires, label = compared((min(values), max(values)), len(values))
    z = fill(builder, wires, values)
    assert z[label[0]] == int(np.argmax(values))
    assert first_violation(builder.program().constraint_system, z) is None


def test_gadgets_refuse_intervals_that_could_wrap() -> None:
    wide = rescaling(1 << 40, 3, bits=8)
    with refuses("statement.could_wrap", match="exceed the 62 bits"):
        requantised(wide, (-(1 << 30), 1 << 30))
    with pytest.raises(StatementError, match="exceed the 62 bits"):
        compared((-(1 << 61), 1 << 61), 3)
    with pytest.raises(StatementError, match="exceed the 62 bits"):
        range_checked(63, 0)
    with pytest.raises(StatementError, match="exceed the 62 bits"):
        # So many overflow digits that L Q would leave the bound.
        requantised(rescaling(1, 1, bits=8), (-(1 << 55), 1 << 55))
