"""Detection of changes in the classes of a stream: online change points over run lengths.

Adams and MacKay, Bayesian Online Changepoint Detection (arXiv 0710.3742), algorithm 1, for labels. A *run* is
a hypothesis: the classes have been the same since its start. After ``n`` labels of a run, ``n_j`` of them of
class ``j``, the next label is ``j`` with probability

    (1 - 1/noise) (n_j + 1/d) / (n + 1)  +  (1/noise) 1/d

by a Dirichlet prior of ``1/d`` a class, if one label in ``noise`` is of any class: without this term, one
wrong label would end a run. A run that begins now has seen nothing, so that every label has probability
``1/d``. If it had the evidence of the runs before it, as in the paper of Palleon, a change would never be
likelier than none.

Weights are integers, rounded down: the same in every language.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Final

_UNIT: Final = 1 << 64
_LOW: Final = 48
"""Bits below which the heaviest weight is shifted up to 64."""
_weight: Final = attrgetter("weight")


@dataclass(frozen=True)
class Detection:
    """``classes``: of the models, ``d``. ``hazard``: frames between changes, in the mean. ``noise``: one
    label of so many is at random. ``runs``: how many are kept; the ``young`` last ones always, as every run
    begins light. ``dominance``: how many times heavier a later run has to be until it is believed."""

    classes: int
    hazard: int = 600
    noise: int = 10
    runs: int = 30
    young: int = 12
    dominance: int = 2


@dataclass(slots=True, eq=False)
class Run:
    """``counts``: of the labels since ``start`` (a frame's number), by class."""

    start: int
    weight: int
    counts: dict[int, int]


class Detector:
    """Takes labels in order, each in O(``runs``), the millionth too; ``run`` is the one that it believes."""

    def __init__(self, detection: Detection) -> None:
        self._detection = detection
        self._runs: list[Run] = []
        self._frame = 0
        self.run = Run(0, 0, {})

    def observe(self, label: int) -> bool:
        """Take a frame's label and return whether the classes changed: from this frame on, a later run, at
        most half as long, is believed."""
        total = sum(map(_weight, self._runs)) if self._runs else _UNIT
        self._grow(label)
        self._runs.append(
            Run(self._frame, total // (self._detection.hazard * self._detection.classes), {label: 1})
        )
        self._frame += 1
        self._prune()
        return self._believe()

    def _grow(self, label: int) -> None:
        classes, noise, hazard = self._detection.classes, self._detection.noise, self._detection.hazard
        whole, stays = hazard * classes * noise, hazard - 1
        for run in self._runs:
            seen = run.counts.get(label, 0)
            rest = self._frame - run.start + 1
            likely = (noise - 1) * (classes * seen + 1) + rest
            run.weight = run.weight * (stays * likely) // (whole * rest)
            run.counts[label] = seen + 1

    def _prune(self) -> None:
        """The heaviest are kept, and the earlier of two that weigh the same."""
        runs = self._runs
        if len(runs) > self._detection.runs:
            old = len(runs) - self._detection.young
            lightest = min(_weight(run) for run in runs[:old])
            del runs[max(place for place in range(old) if runs[place].weight == lightest)]
        bits = max(map(_weight, runs)).bit_length()
        if bits < _LOW:
            for run in runs:
                run.weight <<= 64 - bits

    def _believe(self) -> bool:
        before, likeliest = self.run, max(self._runs, key=_weight)
        later = likeliest.start > before.start
        if later and before in self._runs and likeliest.weight < self._detection.dominance * before.weight:
            return False
        self.run = likeliest
        return later and 2 * (self._frame - likeliest.start) <= self._frame - before.start
