"""Change points: what exact numbers believe, and no more."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from zenserve.verifier.streams.detector import Detection, Detector


def labels_of(rng: random.Random, classes: list[int], frames: int, noise: float, among: int) -> list[int]:
    return [rng.randrange(among) if rng.random() < noise else rng.choice(classes) for _ in range(frames)]


def likeliest(labels: list[int], detection: Detection) -> list[int]:
    """The start of the likeliest run after each label, by exact numbers over all runs."""
    d, noise, hazard = detection.classes, Fraction(1, detection.noise), Fraction(1, detection.hazard)
    weights: list[Fraction] = []
    starts = []
    for frame, label in enumerate(labels):
        total = sum(weights, Fraction(0)) if weights else Fraction(1)
        for start, weight in enumerate(weights):
            seen = labels[start:frame].count(label)
            own = Fraction(d * seen + 1, d * (frame - start + 1))
            weights[start] = weight * (1 - hazard) * ((1 - noise) * own + noise / d)
        weights.append(total * hazard / d)
        starts.append(max(range(len(weights)), key=weights.__getitem__))
    return starts


@pytest.mark.parametrize("seed", range(3))
def test_it_believes_what_exact_numbers_over_all_runs_do(seed: int) -> None:
    rng = random.Random(seed)
    labels = labels_of(rng, [1, 2], 45, 0.1, 10) + labels_of(rng, [5, 7], 45, 0.1, 10)
    detection = Detection(10, dominance=1)
    detector = Detector(detection)
    believed = [(detector.observe(label), detector.run.start)[1] for label in labels]
    assert believed == likeliest(labels, detection)


def test_it_finds_changes_and_no_others() -> None:
    rng = random.Random(7)
    parts = [[0, 3], [5, 8], [1, 2, 9], [0, 4]]
    labels = [label for part in parts for label in labels_of(rng, part, 150, 0.1, 10)]
    detector = Detector(Detection(10))
    found = [frame for frame, label in enumerate(labels) if detector.observe(label)]
    assert [frame // 150 for frame in found] == [1, 2, 3]
    assert all(frame % 150 < 10 for frame in found)
    assert detector.run.start in range(445, 456)
    assert sum(detector.run.counts.values()) == len(labels) - detector.run.start


def test_one_wrong_label_ends_no_run() -> None:
    detector = Detector(Detection(40))
    assert not any(detector.observe(label) for label in [3] * 100 + [17] + [3] * 100)
    assert detector.run.start == 0


def test_the_counts_of_what_it_believes_are_of_its_labels() -> None:
    rng = random.Random(3)
    labels = [label for part in ([1], [2, 3], [4]) for label in labels_of(rng, part, 60, 0.2, 6)]
    detector = Detector(Detection(6))
    for frame, label in enumerate(labels):
        detector.observe(label)
        own = labels[detector.run.start : frame + 1]
        assert detector.run.counts == {kind: own.count(kind) for kind in own}


def test_it_keeps_a_bounded_number_of_runs_and_of_bits() -> None:
    rng = random.Random(5)
    detector = Detector(Detection(1000))
    for label in labels_of(rng, list(range(100)), 3000, 0.1, 1000):
        detector.observe(label)
    assert len(detector._runs) == 30
    assert 48 <= max(run.weight.bit_length() for run in detector._runs) <= 65


def test_fewer_runs_flag_what_all_do() -> None:
    rng = random.Random(9)
    labels = [
        label
        for _ in range(6)
        for label in labels_of(rng, rng.sample(range(10), 3), rng.randint(40, 120), 0.15, 10)
    ]
    few, every = Detector(Detection(10)), Detector(Detection(10, runs=10_000))
    assert [few.observe(label) for label in labels] == [every.observe(label) for label in labels]
