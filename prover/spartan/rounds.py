"""Rounds of a proof's sum-checks on the host: what is said of each, and the transcript's answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from zenserve.kernels import FrArray, fr
from zenserve.verifier.spartan.field import FR
from zenserve.verifier.spartan.transcript import Transcript

_P: Final = FR.modulus
LABEL: Final = "round"


class Tables(Protocol):
    """A sum over the Boolean cube, of which rounds bind the first variable."""

    def round(self) -> tuple[int, int]:
        """Of the sum over the other variables a polynomial of degree 2: its value at 0, its coefficient of
        X^2."""

    def bind(self, r: int) -> None:
        """The first variable becomes ``r``."""

    def values(self) -> list[int]:
        """Return the tables' values after all variables are bound."""


@dataclass(frozen=True)
class Rounds:
    """The rounds of a sum-check: the messages that were ``said``, the ``point`` that was drawn, and the
    ``values`` of the tables there."""

    said: list[list[int]]
    point: list[int]
    values: list[int]


def outer_rounds(tables: Tables, zero: Sequence[int], pads: FrArray, transcript: Transcript) -> Rounds:
    """0 = the sum over x of eq(zero, x) (a b - c)(x), rounds of the ``tables`` without eq's factor of their
    own variable and of those before. Said are the coefficients of X and X^2 (``Form.zero_rounds``).
    """
    point, said, claim = list[int](), list[list[int]](), 0
    for index, weight in enumerate(zero):
        constant, leading = tables.round()
        # t(X) = constant + linear X + leading X^2, and claim = (1 - weight) t(0) + weight t(1).
        linear = ((claim - constant) * pow(weight, -1, _P) - leading) % _P
        said.append(say(transcript, LABEL, [linear, leading], pads[2 * index :]))
        r = transcript.challenge(LABEL)
        claim = (constant + r * (linear + r * leading)) % _P
        tables.bind(r)
        point.append(r)
    return Rounds(said, point, tables.values())


def inner_rounds(tables: Tables, variables: int, pads: FrArray, transcript: Transcript) -> Rounds:
    """The sum of a product of two tables of so many variables. Said are the coefficients of 1 and X^2."""
    point, said = list[int](), list[list[int]]()
    for index in range(variables):
        said.append(say(transcript, LABEL, tables.round(), pads[2 * index :]))
        point.append(transcript.challenge(LABEL))
        tables.bind(point[-1])
    return Rounds(said, point, tables.values())


def say(transcript: Transcript, label: str, truth: Sequence[int], pads: FrArray) -> list[int]:
    """Numbers that follow from the witness, behind the first of the ``pads``, Montgomery."""
    said = [(value + pad) % _P for value, pad in zip(truth, fr.to_ints(pads[: len(truth)]), strict=True)]
    transcript.say(label, said)
    return said
