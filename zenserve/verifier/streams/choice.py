"""The choice of a sufficient model, among models of the same classes, by outputs for profiled samples."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from zenserve.verifier.streams.skew import Seen, Tables, cautious, filtered, frames, prior, shares


@dataclass(frozen=True)
class Candidate:
    """``bit``: 256 times the steps of its outputs that double the odds. ``margin``: the most steps that a
    prior takes off. ``outputs``: of each profiled sample, the integers that it computes without a prior."""

    bit: int
    margin: int
    outputs: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Choice:
    """``candidates``: each cheaper than the one before and less accurate; the first is the full model.
    ``labels``: of the profiled samples, of each class equally many. ``caution``: of ``skew.cautious``."""

    classes: int
    labels: Sequence[int]
    candidates: Sequence[Candidate]
    caution: int

    def choose(self, seen: Seen) -> tuple[int, list[int]]:
        """The place of the cheapest that is, at a run's shares and with its prior, as accurate as the full
        model without one, or with its own if that is less: found by halving, as accuracy falls with cost.
        With it, the prior in its steps.

        Of many classes, some that are not there have shares, too, and any prior hides them: where the full
        model is always right without one, no model with a prior would reach it."""
        found = shares(seen, self._tables, self.classes)
        likely = cautious(found, frames(seen), self.caution)
        priors = [prior(likely, candidate.bit, candidate.margin) for candidate in self.candidates]
        full = self._tables[0]
        without = sum(share * full.get(label, {}).get(label, 0) for label, share in enumerate(found))
        target = min(without, self._correct(0, found, priors[0]))

        def falls_short(place: int) -> bool:
            return self._correct(place, found, priors[place]) < target

        place = bisect_right(range(1, len(self.candidates)), False, key=falls_short)
        return place, priors[place]

    @cached_property
    def _tables(self) -> Tables:
        none = [0] * self.classes
        tables: list[defaultdict[int, Counter[int]]] = []
        for candidate in self.candidates:
            table: defaultdict[int, Counter[int]] = defaultdict(Counter)
            for label, outputs in zip(self.labels, candidate.outputs, strict=True):
                table[filtered(outputs, none)][label] += 1
            tables.append(table)
        return tables

    def _correct(self, place: int, found: Sequence[int], added: Sequence[int]) -> int:
        """The shares of the samples that it labels rightly."""
        outputs = self.candidates[place].outputs
        return sum(
            found[label]
            for label, each in zip(self.labels, outputs, strict=True)
            if filtered(each, added) == label
        )
