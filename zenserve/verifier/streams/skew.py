"""The shares of the classes, estimated from a run, and the prior that they add to a model's outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import add
from typing import Final

ONE: Final = 1 << 32
"""A share of all."""
ROUNDS: Final = 10
PARTS: Final = 256
"""Of a bit, in logarithms and in what one is worth to a model."""

Seen = Sequence[Mapping[int, int]]
"""Of each model, how often it said which label."""
Tables = Sequence[Mapping[int, Mapping[int, int]]]
"""Of each model and label, of how many profiled samples of which class the model says it."""


def shares(seen: Seen, tables: Tables, classes: int) -> list[int]:
    """Of each class, in parts of ``ONE``, where labels are as often wrong as those of profiled samples are
    (of each class equally many): by expectation-maximisation (Saerens, Latinne and Decaestecker, 2002), as if
    one sample more of each class had a label by chance. ``seen`` has one label or more."""
    total = frames(seen)
    found = [ONE // classes] * classes
    for _ in range(ROUNDS):
        weights = _weights(seen, tables, found)
        found = [each * weight // (total << 32) for each, weight in zip(found, weights, strict=True)]
    return found


def frames(seen: Seen) -> int:
    return sum(sum(said.values()) for said in seen)


def _weights(seen: Seen, tables: Tables, found: Sequence[int]) -> list[int]:
    """Return each class's weight: the factor by which a step of expectation-maximisation multiplies its
    share. The weights, times the shares, add up to ``ONE << 32`` a label."""
    classes, whole, common = len(found), sum(found), 0
    own = [0] * classes
    for said, table in zip(seen, tables, strict=True):
        for label, count in said.items():
            samples = table.get(label, {})
            likely = whole + classes * sum(found[each] * number for each, number in samples.items())
            part = (count << 64) // likely
            common += part
            for each, number in samples.items():
                own[each] += classes * number * part
    return [common + each for each in own]


@lru_cache(maxsize=1 << 12)
def log2(number: int) -> int:
    """``floor(256 log2(number))``, exactly, of a positive integer."""
    return int(number**PARTS).bit_length() - 1


def cautious(found: Sequence[int], total: int, caution: int) -> list[int]:
    """These shares of ``total`` frames as if ``caution`` frames more were of any class."""
    classes = len(found)
    return [(classes * total * each + caution * ONE) // (classes * (total + caution)) for each in found]


def prior(found: Sequence[int], bit: int, margin: int) -> list[int]:
    """Return the prior of each class, to be added to a model's outputs so that they are of the posterior:
    ``log2`` of the shares in the outputs' steps, of which a factor of two in the odds is worth ``bit / 256``.
    Rounded down, from ``-margin`` to 0: an output that is ``margin`` above all others stays the largest with
    any prior, so that a class not seen yet is not hidden."""
    logs = {share: log2(max(1, share)) - log2(ONE) for share in {*found}}
    return [max(-margin, logs[share] * bit // (PARTS * PARTS)) for share in found]


def filtered(outputs: Sequence[int], added: Sequence[int]) -> int:
    """The label of the posterior: the first of the largest sums."""
    sums = [*map(add, outputs, added)]
    return sums.index(max(sums))
