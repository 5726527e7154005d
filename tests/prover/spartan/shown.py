"""What proofs show, number by number, and which random numbers it follows from."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from tests.prover.spartan.reference import Noise, Proof
from zenserve.verifier.spartan.field import Field
from zenserve.verifier.spartan.proof import Opening
from zenserve.verifier.spartan.renewal import Renewal


def told(over: Field, proof: Proof) -> Iterator[tuple[str, int]]:
    """By their places, but for the sum-check about the row, which follows from that."""
    said, body = proof.body.said, proof.body
    flat = itertools.chain(*said.outer, said.claims, *said.inner, [said.mask], said.opened)
    yield from ((f"said {i}", value) for i, value in enumerate(flat))
    yield from ((f"row {i}", value) for i, value in enumerate(over.from_bytes(body.row.messages[-1])))
    yield from ((f"pad row {i}", value) for i, value in enumerate(over.from_bytes(body.pad_row)))


def columns(over: Field, openings: Sequence[Opening]) -> Iterator[tuple[str, int]]:
    for matrix, opening in enumerate(openings):
        for place, column in enumerate(opening.columns):
            values = over.from_bytes(column)
            yield from ((f"column {matrix}.{place}.{row}", value) for row, value in enumerate(values))


def numbers(over: Field, proof: Proof) -> dict[str, int]:
    """All of a proof."""
    return dict([*told(over, proof), *columns(over, proof.openings)])


def of_renewal(over: Field, made: tuple[Renewal, Sequence[Opening]]) -> dict[str, int]:
    """All of a renewal whose rows are told."""
    renewal, openings = made
    rows = {f"row {i}": value for i, value in enumerate(over.from_bytes(renewal.rows.messages[-1]))}
    return rows | dict(columns(over, openings))


Show = Callable[[Noise], dict[str, int]]


@dataclass(frozen=True)
class Shown:
    """All that is shown, which at given challenges is an affine function of random numbers. ``over``: a field
    of less than 2^31 elements; ``base``: what some show; ``moves``: by number, what one more of it adds.
    """

    over: Field
    base: NDArray[np.int64]
    moves: dict[str, NDArray[np.int64]]

    @classmethod
    def by(cls, over: Field, show: Show) -> Shown:
        first = _Moved(over)
        base = _vector(show(first))
        moved = {name: _vector(show(_Moved(over, name))) - base for name in first.drawn}
        return cls(over, base, {name: move % over.modulus for name, move in moved.items()})

    @classmethod
    def instead(cls, over: Field, show: Show) -> NDArray[np.int64]:
        """What these same numbers show where something else is true."""
        return _vector(show(_Moved(over)))

    @property
    def rank(self) -> int:
        """The dimension of all that can be shown."""
        return len(self._reduced()[0])

    def can_be(self, other: NDArray[np.int64]) -> bool:
        """Whether other random numbers show that."""
        rows, pivots = self._reduced()
        left = (other - self.base) % self.over.modulus
        for row, pivot in zip(rows, pivots, strict=True):
            left = (left - left[pivot] * row) % self.over.modulus
        return not left.any()

    def without(self, name: str) -> Shown:
        """The numbers of this name are zero, or always the same."""
        moves = {each: move for each, move in self.moves.items() if not is_of(each, name)}
        return Shown(self.over, self.base, moves)

    def of(self, kept: NDArray[np.bool_]) -> Shown:
        """What else is shown is not looked at."""
        return Shown(self.over, self.base[kept], {name: move[kept] for name, move in self.moves.items()})

    def _reduced(self) -> tuple[list[NDArray[np.int64]], list[int]]:
        return reduced(self.over, np.array([*self.moves.values()]))


def reduced(over: Field, rows: NDArray[np.int64]) -> tuple[list[NDArray[np.int64]], list[int]]:
    """A basis of the rows, each one at its pivot and zero at those before, and the pivots."""
    found, pivots = list[NDArray[np.int64]](), list[int]()
    for column in range(rows.shape[1]):
        own = np.flatnonzero(rows[:, column])
        if not len(own):
            continue
        pivot = rows[own[0]] * pow(int(rows[own[0], column]), -1, over.modulus) % over.modulus
        rows = np.delete(rows, own[0], axis=0)
        rows = (rows - rows[:, column, np.newaxis] * pivot) % over.modulus
        found.append(pivot)
        pivots.append(column)
    return found, pivots


def together(each: Sequence[Shown], *shared: str) -> Shown:
    """Of all that is shown. The numbers of the names ``shared`` are the same ones, others fresh."""
    over, base = each[0].over, np.concatenate([one.base for one in each])
    ends = np.cumsum([len(one.base) for one in each])
    moves = dict[str, NDArray[np.int64]]()
    for index, (one, end) in enumerate(zip(each, ends, strict=True)):
        for name, move in one.moves.items():
            same = any(is_of(name, other) for other in shared)
            known = name if same else f"{index}: {name}"
            moves.setdefault(known, np.zeros(len(base), np.int64))[end - len(move) : end] = move
    return Shown(over, base, moves)


def is_of(number: str, name: str) -> bool:
    """Whether a number's name is this one, or that of one of those that have it together."""
    return number == name or number.rpartition(" ")[0] == name


class _Moved(Noise):
    """Always the same, but for one number, which is one more."""

    def __init__(self, over: Field, name: str | None = None) -> None:
        super().__init__(over, random=Random(7))
        self.drawn, self._name, self._counts = list[str](), name, Counter[str]()

    def draw(self, what: str, count: int) -> list[int]:
        start = self._counts[what]
        self._counts[what] += count
        names = [f"{what} {start + i}" for i in range(count)]
        self.drawn += names
        values = zip(names, super().draw(what, count), strict=True)
        return [(value + (name == self._name)) % self.over.modulus for name, value in values]


def _vector(numbers: dict[str, int]) -> NDArray[np.int64]:
    return np.array([*numbers.values()], np.int64)
