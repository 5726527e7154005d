"""The course of a stream: the model of the next frames, and what is added to its outputs, by what was seen
before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from zenserve.verifier.streams.choice import Choice
from zenserve.verifier.streams.detector import Detection, Detector


@dataclass(frozen=True)
class Plan:
    """``model``: its place in the bank. ``prior``: of each class; zeros while the full model waits."""

    model: int
    prior: Sequence[int]


class Course:
    """The state of a stream between two proofs: it follows from the choice, the numbers and the labels that
    were seen. The choice is made when a run has ``patience`` labels, and whenever it is twice as long, but
    once at most after all frames of a proof."""

    def __init__(self, choice: Choice, detection: Detection, patience: int) -> None:
        self._choice = choice
        self._detector = Detector(detection)
        self._patience = self._due = patience
        self._seen: list[tuple[int, int]] = []
        self.plan = self._waiting = Plan(0, [0] * choice.classes)

    def observe(self, labels: Sequence[int]) -> list[int]:
        """Takes what was seen in the frames that ``plan`` was for, in order. At which of them, from 0, the
        classes changed."""
        self._seen += [(self.plan.model, label) for label in labels]
        changed = [place for place, label in enumerate(labels) if self._detector.observe(label)]
        length = len(self._seen) - self._detector.run.start
        if changed:
            self.plan, self._due = self._waiting, self._patience
        if length >= self._due:
            self.plan, self._due = Plan(*self._choice.choose(self._counts())), 2 * length
        return changed

    def _counts(self) -> list[Counter[int]]:
        """Of each model, how often it said which label in the run."""
        counts = [Counter[int]() for _ in self._choice.candidates]
        for model, label in self._seen[self._detector.run.start :]:
            counts[model][label] += 1
        return counts
