"""Networks as bounds see them: operations in order, each of which bounds and linearises what it makes.

An operation is one of few kinds, each in a file of its own: ``linear``, ``elementwise``, ``product`` and
``maximum``. ``reading`` makes them of float networks and of networks of integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, Protocol, Self

from zenserve.bounds.arrays import Array, Interval, Mask, Namespace, Sums
from zenserve.circuits.graphs.types import Shape


class Forms(NamedTuple):
    """For each entry two functions of the input's ``delta``, of one slope, which it lies between:

        slope delta + offset - rest   and   slope delta + offset + rest

    slope float64[n, *shape, d], for the d coordinates of ``delta``. offset, rest, and ``size``, no less than
    what the absolute values of all terms add up to: [n, *shape]. ``most``, where it is known: what slope
    delta comes to at most, but for rounding a sum of d terms.
    """

    slope: Array
    offset: Array
    rest: Array
    size: Array
    most: Array | None = None


class Relaxed(Protocol):
    """An operation bounded by linear functions of its inputs, for a batch of intervals."""

    def back(self, lines: Array, added: Sums) -> list[Array]:
        """Of what is bounded from below by ``lines`` [n, s, *shape] times what is made: the lines of what is
        read, [n, s, *input shape] each. What comes besides is ``added`` in place, [n, s]."""
        ...

    @property
    def scale(self) -> Array:
        """Of each entry the largest sum of absolute values that ``back`` adds up for a line of 1."""
        ...

    def forward(self, read: Sequence[Forms]) -> Forms:
        """The forms of what is made, rounding left aside, but for its ``size``."""
        ...


@dataclass(frozen=True, eq=False)
class Operation:
    """Makes the tensor ``name`` of ``shape`` from the tensors ``inputs``. ``whole``: it makes integers.
    ``linear``: its lines are itself, over any intervals."""

    linear: ClassVar[bool] = False

    name: str
    inputs: tuple[str, ...]
    shape: Shape
    whole: bool

    def value(self, *read: Array) -> Array:
        """float64[n, *shape]: what floats make of values."""
        raise NotImplementedError

    def image(self, *read: Interval) -> Interval:
        """Return bounds of the operation's result for any values within the intervals."""
        raise NotImplementedError

    def relaxed(self, *read: Interval) -> Relaxed:
        """Its lines over the intervals."""
        raise NotImplementedError

    def tangent(self, *read: Array) -> Relaxed:
        """Its slopes at values."""
        return self.relaxed(*(Interval(each, each) for each in read))

    def curved(self, *read: Interval) -> Sequence[Mask | None]:
        """Return the places at which tighter intervals of the inputs would make tighter lines: booleans [n,
        *input shape] for each input, or None for nowhere."""
        return [None] * len(read)

    def keeps(self) -> bool:
        """Return whether entries of the result are as independent as those of the inputs."""
        return False

    def on(self, xp: Namespace) -> Self:
        """The same with its arrays in another namespace."""
        return self

    @property
    def moves(self) -> bool:
        """True if each entry is one of the inputs' entries, or zero."""
        return False

    @property
    def terms(self) -> int:
        """Of the longest sum in it."""
        return 1

    @property
    def rests_on(self) -> Sequence[str]:
        """By the rests of which tensors' forms that of its own is known."""
        return self.inputs


@dataclass(frozen=True, eq=False)
class Network:
    """``operations`` in topological order over one ``input``; the tensor ``output`` is what is bounded."""

    input: str
    input_shape: Shape
    operations: tuple[Operation, ...]
    output: str

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """The shape of every tensor."""
        return {self.input: self.input_shape, **{each.name: each.shape for each in self.operations}}

    @cached_property
    def read_after(self) -> Mapping[str, set[str]]:
        """By each operation's name what is still read by later ones."""
        names, read = dict[str, set[str]](), set[str]()
        for operation in reversed(self.operations):
            names[operation.name] = set(read)
            read |= {*operation.inputs}
        return names

    @cached_property
    def read_by_curves(self) -> set[str]:
        """Tensors of which what is not linear reads entries, wherever they moved."""
        names = set[str]()
        for operation in reversed(self.operations):
            if not operation.linear or (operation.moves and operation.name in names):
                names |= {*operation.inputs}
        return names

    @cached_property
    def formed(self) -> set[str]:
        """Tensors whose forms are needed, so that those of what is not linear reads are known."""
        names = set[str]()
        for operation in reversed(self.operations):
            if not operation.linear or operation.name in names:
                names |= {*operation.inputs}
        return names

    @cached_property
    def rested(self) -> set[str]:
        """Of these the ones whose rests are needed: not inside a chain, which goes by its sources'."""
        names = set[str]()
        for operation in reversed(self.operations):
            if not operation.linear:
                names |= {*operation.inputs}
            elif operation.name in names:
                names |= {*operation.rests_on}
        return names

    def on(self, xp: Namespace) -> Network:
        """The same with its arrays in another namespace."""
        return replace(self, operations=tuple(each.on(xp) for each in self.operations))

    def values(self, x: Array) -> dict[str, Array]:
        """Every tensor for inputs x[n, *input shape]."""
        values = {self.input: x}
        for operation in self.operations:
            values[operation.name] = operation.value(*(values[name] for name in operation.inputs))
        return values

    def run(self, x: Array) -> Array:
        """The output, float64[n, outputs]."""
        return self.values(x)[self.output].reshape(len(x), -1)
