"""Skews, filters, choices, and the course that they make, beside floats where there are such."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise, product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zenserve.verifier.streams.choice import Candidate, Choice
from zenserve.verifier.streams.course import Course, Plan
from zenserve.verifier.streams.detector import Detection
from zenserve.verifier.streams.skew import ONE, ROUNDS, cautious, filtered, log2, prior, shares

STEP = 0.05
"""Of the outputs that these tests make: so much is one step worth, in natural logarithms."""
BIT = round(256 * math.log(2) / STEP)


@given(st.integers(1, 1 << 40))
def test_logarithms_are_rounded_down(number: int) -> None:
    assert 1 << log2(number) <= number**256 < 1 << log2(number) + 1
    assert log2(number) / 256 == pytest.approx(math.log2(number), abs=1 / 200)


CLASSES = 10
SAMPLES = 20
TRUE = {label: {label: SAMPLES} for label in range(CLASSES)}
"""What a model says that is always right."""
runs = st.dictionaries(st.integers(0, 9), st.integers(1, 500), min_size=1, max_size=10)


@given(runs)
def test_shares_of_a_model_that_is_right_are_those_of_its_labels(counts: dict[int, int]) -> None:
    total = sum(counts.values())
    expected = [counts.get(label, 0) / total for label in range(CLASSES)]
    found = shares([counts], [TRUE], CLASSES)
    assert [share / ONE for share in found] == pytest.approx(expected, abs=0.07)
    assert 0.999 < sum(found) / ONE <= 1


@given(st.lists(runs, min_size=2, max_size=2), st.randoms(use_true_random=False))
def test_shares_are_the_likeliest_in_floats_too(seen: list[dict[int, int]], random: Random) -> None:
    labels = [label for label in range(CLASSES) for _ in range(SAMPLES)]
    tables: list[dict[int, Counter[int]]] = [{}, {}]
    for table, label in product(tables, labels):
        said = label if random.random() < 0.6 else random.randrange(CLASSES)
        table.setdefault(said, Counter())[label] += 1
    likely = np.array(
        [
            [[table.get(said, Counter())[label] + 0.1 for said in range(CLASSES)] for label in range(CLASSES)]
            for table in tables
        ]
    )
    counts = np.array([[said.get(label, 0) for label in range(CLASSES)] for said in seen])
    p, total = np.full(CLASSES, 1 / CLASSES), counts.sum()
    for _ in range(ROUNDS):
        explained = p[None, :, None] * likely
        p = np.einsum("mjl,ml->j", explained / explained.sum(axis=1, keepdims=True), counts) / total
    found = shares(seen, tables, CLASSES)
    assert np.array(found) / ONE == pytest.approx(p, abs=1e-6)


def test_a_model_that_is_often_wrong_tells_shares_all_the_same() -> None:
    confused = {0: {0: 12, 1: 8}, 1: {1: 12, 0: 8}, 2: {2: 20}}
    found = [share / ONE for share in shares([{0: 600, 1: 400}], [confused], 3)]
    assert found[0] > 0.65, "what it says of class 0 is this"
    even = [share / ONE for share in shares([{0: 500, 1: 500}], [confused], 3)]
    assert even == pytest.approx([0.5, 0.5, 0], abs=0.01)


def test_caution_is_so_many_frames_more_of_any_class() -> None:
    assert cautious([ONE, 0], 1, 1) == [3 * ONE // 4, ONE // 4]
    assert cautious([ONE, 0, 0, 0], 5, 3) == [23 * ONE // 32, *[3 * ONE // 32] * 3]


@given(st.lists(st.integers(1, ONE), min_size=10, max_size=10))
def test_priors_are_the_logarithms_of_shares(found: list[int]) -> None:
    added = prior(found, BIT, 60)
    logarithms = [max(-60 * STEP, math.log(share / ONE)) for share in found]
    assert max(added) <= 0
    assert [value * STEP for value in added] == pytest.approx(logarithms, abs=2 * STEP)


@given(
    st.lists(st.integers(-100, 100), min_size=10, max_size=10),
    st.lists(st.integers(1, ONE), min_size=10, max_size=10),
)
def test_no_prior_hides_what_is_far_above_all_others(outputs: list[int], found: list[int]) -> None:
    added = prior(found, BIT, 60)
    label = filtered(outputs, added)
    posterior = [output + value for output, value in zip(outputs, added, strict=True)]
    assert posterior[label] == max(posterior)
    first, second = sorted(outputs)[:-3:-1]
    assert first - second <= 60 or label == outputs.index(first)


def test_of_several_largest_the_first_is_taken() -> None:
    assert filtered([4, 9, 9, 1], [0, 0, 0, 0]) == 1
    assert filtered([4, 6, 9, 9], [0, -1, -4, -4]) == 1
    assert filtered([7], [-3]) == 0


def bank(*wrong: set[int]) -> Choice:
    """Of four classes with ten samples each; candidates take the samples of ``wrong`` rather for class 0."""
    labels = [place // 10 for place in range(40)]

    def outputs(mistaken: set[int]) -> list[list[int]]:
        said = [0 if place in mistaken else label for place, label in enumerate(labels)]
        return [
            [20 * (label == own) + 10 * (label == truth) for label in range(4)]
            for own, truth in zip(said, labels, strict=True)
        ]

    return Choice(4, labels, [Candidate(BIT, 1000, outputs(mistaken)) for mistaken in wrong], 3)


def test_the_cheapest_model_that_is_accurate_on_the_classes_is_chosen() -> None:
    models = bank({25}, {25, 31}, {25, 26, 31, 32}, {11, 25, 26, 27, 31, 32, 33})
    assert models.choose([{0: 200, 2: 200}, {}, {}, {}])[0] == 1, "the next takes one sample more for class 0"
    assert models.choose([{}, {1: 200, 2: 200}, {}, {}])[0] == 3, "what the filter mends is no mistake"
    weak = Candidate(0, 1, models.candidates[3].outputs)
    hopeless = Choice(4, models.labels, [models.candidates[0], weak], 3)
    assert hopeless.choose([{1: 200, 2: 200}, {}])[0] == 0, "without a prior in its steps it is less accurate"


def test_a_course_waits_chooses_and_waits_again() -> None:
    course = Course(bank(set(), {5}), Detection(4, noise=20), 10)
    waits = Plan(0, [0] * 4)
    plans = []
    for label in [1, 2] * 20 + [3, 0] * 20:
        plans.append(course.plan)
        changed = bool(course.observe([label]))
        assert course.plan == waits or not changed
    waiting = [frame for frame, plan in enumerate(plans) if plan == waits]
    assert waiting[:10] == list(range(10))
    assert 40 < waiting[10] < 52
    assert {plan.model for plan in plans if plan != waits} == {1}
    assert all(len(plan.prior) == 4 for plan in plans)


def test_a_course_chooses_anew_when_its_run_is_twice_as_long() -> None:
    course = Course(bank(set(), set()), Detection(4), 20)
    plans = []
    for label in [1] * 20 + [1, 2] * 60:
        course.observe([label])
        plans.append(course.plan)
    chosen = [plan for before, plan in pairwise(plans) if plan is not before]
    assert 3 <= len(chosen) <= 6
    assert abs(chosen[-1].prior[1] - chosen[-1].prior[2]) < 30


def test_a_course_chooses_once_after_all_frames_of_a_proof() -> None:
    """Their labels are of the model that was asked for before; the change is of its frame all the same."""
    alone, together = (Course(bank(set(), {5}), Detection(4, noise=20), 10) for _ in range(2))
    labels = [1, 2] * 20 + [3, 0] * 20
    changes = [number for number, label in enumerate(labels) if alone.observe([label])]
    found, plans = [], []
    for number in range(0, len(labels), 16):
        plans.append(together.plan.model)
        found += [number + place for place in together.observe(labels[number : number + 16])]
    assert found == changes
    assert plans == [0, 1, 1, 0, 1], "four frames after the change are too few for a choice"
