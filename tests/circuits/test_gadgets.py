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

from circuits.builder import Builder
from circuits.gadgets import argmax, clamp, decompose, range_check, requantise
from circuits.integers import IntArray
from circuits.linear import Linear
from circuits.quantlayer import Affine, Rescale
from prover.reference import check
from tests.circuits.support import R, fill, first_violation, satisfied
from zenerrors import StatementError

BITS = 2
TOP = 3


def range_checked(bits: int, lowest: int, count: int = 1) -> tuple[Builder, IntArray]:
    builder = Builder()
    wires = builder.private("v", count)
    range_check(builder, "test/v", wires, bits, lowest)
    return builder, wires


@pytest.mark.parametrize(
    ("bits", "lowest"), [(1, 0), (1, -1), (3, 0), (8, 0), (8, -255), (8, -100), (12, -2048)]
)
def test_range_check_takes_exactly_the_range(bits: int, lowest: int) -> None:
    builder, wires = range_checked(bits, lowest)
    statement = builder.program().statement
    assert statement.constraints == bits
    assert statement.private == 1 + bits - 1
    for value in (lowest, lowest + 1, lowest + (1 << bits) - 1):
        assert first_violation(statement, fill(builder, wires, [value])) is None
    for value in (lowest - 1, lowest + (1 << bits), lowest + (2 << bits), -(1 << 40)):
        assert first_violation(statement, fill(builder, wires, [value])) is not None


def test_range_check_refuses_every_digit_vector_for_a_value_outside() -> None:
    builder, _ = range_checked(3, -2)
    digits = list(itertools.product((0, 1), repeat=2))
    candidates = np.array([[1, value, *low] for value in range(-20, 20) for low in digits])
    accepted = candidates[satisfied(builder.program().statement, candidates)]
    assert accepted[:, 1].tolist() == list(range(-2, 6))


@pytest.mark.parametrize("digit", [2, -1, R - 1, (R + 1) // 2])
def test_range_check_refuses_digits_that_are_no_bits(digit: int) -> None:
    builder, wires = range_checked(4, 0)
    z = fill(builder, wires, [0]).tolist()
    z[builder.layout["test/v/bits"][0, 0]] = digit
    z[wires[0]] = digit
    assert check(builder.program().statement, z) == "test/v_bits[0]"


@pytest.mark.parametrize("value", [256, -1, R - 1, (R - 1) // 2, 1 << 200])
def test_range_check_refuses_field_elements_outside_whatever_the_digits(value: int) -> None:
    builder, wires = range_checked(8, 0)
    for low in (0, value % 128, 127, R - 1):
        z = fill(builder, wires, [0]).tolist()
        z[wires[0]] = value
        z[builder.layout["test/v/bits"][0, 0] : builder.layout["test/v/bits"][0, -1] + 1] = [
            (low >> i) & 1 for i in range(7)
        ]
        assert check(builder.program().statement, z) == "test/v_range[0]"


def test_decompose_digits_are_unique() -> None:
    builder = Builder()
    wires = builder.private("v", 1)
    decompose(builder, "test/v", Linear.wires(wires), 4)
    digits = list(itertools.product((0, 1), repeat=4))
    vectors = np.array([[1, value, *vector] for value in range(-4, 36) for vector in digits])
    accepted = vectors[satisfied(builder.program().statement, vectors)]
    assert accepted[:, 1].tolist() == list(range(16))
    assert (accepted[:, 2:] @ [1, 2, 4, 8] == accepted[:, 1]).all()
    # v + r has no digits of its own: the low digits of v + r sum to something else.
    for value in (3, 15):
        z = [1, value, *(((value + R) >> i) & 1 for i in range(4))]
        assert check(builder.program().statement, z) == "test/v_sum[0]"


SMALL = Rescale(multiplier=3, shift=2, output=Affine(1.0, 1))
ACC = (-6, 7)


def requantised(
    rescale: Rescale = SMALL, bounds: tuple[int, int] = ACC, bits: int = BITS, count: int = 1
) -> tuple[Builder, IntArray, IntArray]:
    builder = Builder()
    acc = builder.private("acc", count)
    out = requantise(builder, "test", Linear.wires(acc), bounds, rescale, bits)
    return builder, acc, out


def clamped(acc: int, rescale: Rescale, bits: int) -> int:
    unit = 1 << rescale.shift
    scaled = rescale.multiplier * acc + rescale.output.zero_point * unit + unit // 2
    return min(max(scaled // unit, 0), (1 << bits) - 1)


@pytest.mark.parametrize("zero_point", [0, 1, 3])
@pytest.mark.parametrize("shift", [1, 2])
@pytest.mark.parametrize("bounds", [(-6, 7), (-9, -1), (0, 4), (-1, 0), (0, 0)])
def test_requantise_refuses_every_wrong_output_under_every_digit_vector(
    shift: int, zero_point: int, bounds: tuple[int, int]
) -> None:
    rescale = Rescale(3, shift, Affine(1.0, zero_point))
    builder, acc, out = requantised(rescale, bounds)
    statement = builder.program().statement
    digits = builder.layout["test/requantise/bits"][0]
    vectors = np.array(list(itertools.product((0, 1), repeat=len(digits))))
    quotient, sign = vectors[:, shift:-1], vectors[:, -1]
    low = quotient[:, :BITS] @ (1 << np.arange(quotient[:, :BITS].shape[1]))
    outside = (1 - sign) + quotient[:, BITS:].sum(axis=1)
    multiple = math.lcm(*range(1, quotient[:, BITS:].shape[1] + 2))
    for value in range(bounds[0], bounds[1] + 1):
        accepted = set()
        for claim in range(-2, TOP + 4):
            z = np.zeros((len(vectors), statement.variables), dtype=np.int64)
            z[:, 0], z[:, acc[0]], z[:, out[0]], z[:, digits] = 1, value, claim, vectors
            # The slack that solves its row, where one does: an integer, since the count divides L.
            z[:, builder.layout["test/slack"][0]] = multiple // np.maximum(outside, 1) * (claim - low)
            if satisfied(statement, z).any():
                accepted.add(claim)
        assert accepted == {clamped(value, rescale, BITS)}


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_requantise_passes_honest_accumulators_up_to_its_bounds(data: st.DataObject) -> None:
    bits = data.draw(st.integers(2, 8))
    rescale = Rescale(
        data.draw(st.integers(1, 63)),
        data.draw(st.integers(1, 20)),
        Affine(1.0, data.draw(st.integers(0, 2**bits - 1))),
    )
    low, high = sorted(data.draw(st.tuples(st.integers(-(2**25), 2**25), st.integers(-(2**25), 2**25))))
    bounds = low, high
    values = [*bounds, *data.draw(st.lists(st.integers(*bounds), min_size=1, max_size=6))]
    builder, acc, out = requantised(rescale, bounds, bits, len(values))
    z = fill(builder, acc, values)
    assert z[out].tolist() == [clamped(value, rescale, bits) for value in values]
    assert first_violation(builder.program().statement, z) is None


def test_requantise_costs_what_it_says() -> None:
    builder, *_ = requantised(Rescale(7, 12, Affine(1.0, 0)), (-282180, 314613), 8)
    magnitude = ((7 * 314613 + 2048) >> 12).bit_length()
    assert builder.program().statement.constraints == 12 + magnitude + 4
    assert builder.program().statement.private == 1 + 12 + magnitude + 3


def forged(builder: Builder, acc: IntArray, value: int, digits: list[int], out: int, slack: int) -> list[int]:
    z: list[int] = fill(builder, acc, [value]).tolist()
    for wire, digit in zip(builder.layout["test/requantise/bits"][0], digits, strict=True):
        z[wire] = digit
    z[builder.layout["test/out"][0]], z[builder.layout["test/slack"][0]] = out, slack
    return z


def test_requantise_refuses_a_remainder_moved_into_the_quotient() -> None:
    # T = 3·2 + 4 + 2 = 12 = 3·2² + 0; claim the quotient 2 and the remainder 4, carried by one digit.
    builder, acc, _ = requantised()
    width = builder.layout["test/requantise/bits"].shape[1]
    moved = [0, 2, 0, 1, *[0] * (width - 5), 1]
    z = forged(builder, acc, 2, moved, 2, 0)
    assert check(builder.program().statement, z) == "test/requantise_bits[1]"


@pytest.mark.parametrize("claim", range(-1, 9))
def test_requantise_refuses_a_quotient_that_wraps_to_another(claim: int) -> None:
    # t = 6 overflows: only 3 may come out, whichever slack, a field element or none, tries to explain it.
    builder, acc, _ = requantised()
    honest = fill(builder, acc, [7])
    digits = honest[builder.layout["test/requantise/bits"][0]].tolist()
    for slack in (0, 1, 2 * (claim - 2), R - 1, 2 * (claim - 2) * pow(3, -1, R) % R):
        violation = check(builder.program().statement, forged(builder, acc, 7, digits, claim, slack))
        assert (violation is None) == (claim == TOP and slack == 2 * (claim - 2))


def test_clamp_sees_the_sign_and_every_overflow_digit() -> None:
    """t = 5·2^i overflows through one digit at a time; t < 0 with no digit set at all."""
    builder = Builder()
    quotient, sign = builder.private("quotient", 6, 6), builder.private("sign", 6)
    out = clamp(builder, "test", quotient, sign, 2)
    digits = np.vstack([np.eye(6, dtype=np.int64)[2:], np.zeros((2, 6), dtype=np.int64)])
    wires = np.append(quotient.ravel(), sign)
    z = fill(builder, wires, np.append(digits.ravel(), [1, 1, 1, 1, 1, 0]))
    assert z[out].tolist() == [TOP] * 4 + [0, 0]
    assert first_violation(builder.program().statement, z) is None
    for row, wrong in itertools.product(range(6), range(-1, 6)):
        if wrong != z[out[row]]:
            cheat = z.tolist()
            cheat[out[row]] = wrong
            assert check(builder.program().statement, cheat) is not None


def compared(bounds: tuple[int, int], count: int) -> tuple[Builder, IntArray, IntArray]:
    builder = Builder()
    label = builder.public("label", 1)
    values = builder.private("values", count)
    argmax(builder, "test/argmax", Linear.wires(values), bounds, label)
    return builder, values, label


def test_argmax_refuses_every_wrong_label_under_every_selector_and_maximum() -> None:
    bounds, count = (-1, 2), 3
    builder, values, label = compared(bounds, count)
    statement = builder.program().statement
    margins = builder.layout["test/argmax_margin/bits"]
    free = np.array(list(itertools.product((0, 1), (0, 1), (0, 1), range(-4, 7), range(-1, 5))))
    selector, largest, claim = free[:, :3], free[:, 3], free[:, 4]
    later = selector @ np.tril(np.ones((3, 3), dtype=np.int64), -1)
    for logits in itertools.product(range(bounds[0], bounds[1] + 1), repeat=count):
        z = np.zeros((len(free), statement.variables), dtype=np.int64)
        z[:, 0], z[:, label[0]], z[:, values] = 1, claim, logits
        z[:, builder.layout["test/argmax/selector"]] = selector
        z[:, builder.layout["test/argmax/max"][0]] = largest
        # Margins have at most one digit vector: their own digits, cut to the width.
        margin = largest[:, None] - np.array(logits) - later
        z[:, margins] = (margin[:, :, None] >> np.arange(margins.shape[1])) & 1
        accepted = set(claim[satisfied(statement, z)].tolist())
        assert accepted == {int(np.argmax(logits))}


@given(st.lists(st.integers(-(2**40), 2**40), min_size=2, max_size=6), st.booleans())
@settings(deadline=None, max_examples=60)
def test_argmax_passes_honest_values_and_takes_the_first_of_equals(values: list[int], tie: bool) -> None:
    if tie:
        values = [*values, max(values)]
    builder, wires, label = compared((min(values), max(values)), len(values))
    z = fill(builder, wires, values)
    assert z[label[0]] == int(np.argmax(values))
    assert first_violation(builder.program().statement, z) is None


def test_argmax_refuses_selectors_that_are_no_bits() -> None:
    # 2·e_1 - e_0 has the right sum, and any label is some combination.
    builder, values, label = compared((0, 7), 3)
    z = fill(builder, values, [5, 3, 1]).tolist()
    for selector, claim in (((-1, 2, 0), 2), ((0, 2, -1), 0), ((R - 1, 1, 1), 3)):
        cheat = list(z)
        cheat[label[0]] = claim
        for wire, value in zip(builder.layout["test/argmax/selector"], selector, strict=True):
            cheat[wire] = value
        violation = check(builder.program().statement, cheat)
        assert violation is not None
        assert violation.startswith("test/argmax_one_hot")


def test_gadgets_refuse_intervals_that_could_wrap() -> None:
    wide = Rescale(1 << 40, 3, Affine(1.0, 0))
    with pytest.raises(StatementError, match="exceed the 62 bits") as caught:
        requantised(wide, (-(1 << 30), 1 << 30), 8)
    assert caught.value.code == "statement.could_wrap"
    with pytest.raises(StatementError, match="exceed the 62 bits"):
        compared((-(1 << 61), 1 << 61), 3)
    with pytest.raises(StatementError, match="exceed the 62 bits"):
        range_checked(63, 0)
    with pytest.raises(StatementError, match="exceed the 62 bits"):
        # So many overflow digits that L Q would leave the bound.
        requantised(Rescale(1, 1, Affine(1.0, 0)), (-(1 << 55), 1 << 55), 8)
