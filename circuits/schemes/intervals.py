"""Outputs that stay hidden, but for where they lie among public bounds.

Of a threshold t it is shown of each value whether it is at least t: ``reached``. Of a range with bounds in
increasing order, how many of these it is at least: ``interval``, 0 for what is below them all. Integers have
no other comparison: "at most t" is not to be at least the integer after t.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from zenserve.circuits.lowering import Cost, Level
from zenserve.circuits.lowering.arithmetic import Arithmetic
from zenserve.circuits.quantised.typed import TypedGraph
from zenserve.circuits.r1cs.builder import FR
from zenserve.circuits.r1cs.gadgets import decompose_cost
from zenserve.circuits.r1cs.linear import LinearCombinations
from zenserve.circuits.schemes.circuit import Values, public_group
from zenserve.errors import StatementError, TensorError
from zenserve.relations.bounds import Bound, slot_width
from zenserve.relations.integers import IntArray, Interval
from zenserve.relations.relation import AtLeast, Move, Relation, Tensor, Total
from zenserve.verifier.schemes import BOUNDED, Reveal

MOST_BOUNDS: Final = 32

Number = float | Mapping[str, float]
"""Of all outputs that are shown so, or by their names."""


@dataclass(frozen=True)
class Intervals:
    """One output of ``size`` values, which lie in ``reach``. ``bounds`` and ``found``: what statements call
    the bounds, and where among them the values lie; ``several``: how many bounds, 0 of a threshold."""

    bounds: str
    found: str
    several: int
    size: int
    reach: Interval

    @property
    def count(self) -> int:
        return self.several or 1

    @property
    def _bits(self) -> int:
        """Of a bound less the least value. It may be one more than the largest, which no value is."""
        low, high = self.reach
        return (high + 1 - low).bit_length()

    @property
    def _ends(self) -> Interval:
        """Of what a bound can be: what the circuit proves of it."""
        low, _ = self.reach
        return low, low + (1 << self._bits) - 1

    def groups(self, shape: tuple[int, ...], scale: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The public inputs. ``scale``: of the output's integers."""
        return [
            public_group(self.bounds, (self.several,) if self.several else (), *self._ends, scale),
            public_group(self.found, () if self.size == 1 else shape, 0, self.count),
        ]

    def given(self, bounds: Sequence[int]) -> dict[str, IntArray]:
        """Return the bounds that a witness takes. Raises ``TensorError`` (``input.out_of_range``) for invalid
        bounds."""
        low, high = self.reach
        inside = all(low <= bound <= high + 1 for bound in bounds)
        if len(bounds) != self.count or not inside or list(bounds) != sorted({*bounds}):
            raise TensorError(
                "input.out_of_range",
                f"{self.bounds}: {self.count} integers from {low} to {high + 1}, in increasing order",
                field="bounds",
            )
        return {self.bounds: np.array(bounds, np.int64)}

    def values(self, values: IntArray, bounds: Sequence[int]) -> Values:
        """Return the public values of a proof about ``values``, int64[size]. Raises as ``given``."""
        found = np.searchsorted(self.given(bounds)[self.bounds], values, side="right").tolist()
        shown = found if self.size > 1 else found[0]
        return {self.bounds: list(bounds) if self.several else bounds[0], self.found: shown}

    def relations(self, value: Tensor) -> tuple[list[Tensor], list[Relation]]:
        """The tensors that are given, bounds first, and what is to hold of them. Bounds are for ``check``."""
        count, size = self.count, self.size
        bounds = Tensor(self.bounds, (1, count), Bound.of(*self._ends, "range"))
        found = Tensor(self.found, (size,), Bound.of(0, count))
        shape = (1, count * size)
        left = Tensor(f"output/{self.found}/value", shape, Bound.of(*self.reach))
        right = Tensor(f"output/{self.found}/bound", shape, bounds.bound)
        moved = [
            Move(left.name, left, (value,), np.tile(np.arange(size), count)),
            Move(right.name, right, (bounds,), np.repeat(np.arange(count), size)),
        ]
        name = f"output/{self.found}"
        if not self.several:
            return [bounds, found], [*moved, AtLeast(name, found, left, right)]
        each = Tensor(f"{name}/each", (count, size), Bound.of(0, 1))
        return [bounds, found], [*moved, AtLeast(name, each, left, right), Total(name, found, each)]

    def check(self, tools: Arithmetic, bounds: LinearCombinations) -> None:
        """Range-check the bounds, so that each is as near to the values as the comparisons assume."""
        tools.ranged(f"output/{self.bounds}", bounds, self._bits, self.reach[0])

    def cost(self, level: Level) -> Cost:
        """Of ``relations`` and ``check``."""
        digits = slot_width(self.reach, self._ends) + 1
        comparisons = self.count * self.size * decompose_cost(digits, FR if level < 2 else None)
        return Cost(rows=comparisons + self.size) + Cost.range_checks(self._bits, self.count)


def integer_bounds(
    typed: TypedGraph,
    shown: Mapping[str, Reveal],
    *,
    at_least: Number | None = None,
    at_most: Number | None = None,
    bounds: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
) -> dict[str, list[int]]:
    """The bounds of the outputs that are ``shown`` with any, as their integers, by their names.

    A threshold is given as ``at_least`` or ``at_most``, a range as ``bounds``, in the outputs' own units: of
    all that are shown so, or by their names. A bound becomes the first integer that is not below it; what is
    ``at_most`` a number is below the first integer that is above it.

    Raises ``StatementError``: ``statement.reveal`` where one is missing or of nothing that is shown so, and
    for outputs without one scale; ``TensorError`` (``input.out_of_range``) for bounds that no output can
    reach or that do not increase.
    """
    limited = [name for name, reveal in shown.items() if reveal in BOUNDED]
    found: dict[str, list[int]] = {}
    for field, given in {"at_least": at_least, "at_most": at_most, "bounds": bounds}.items():
        if given is None:
            continue
        kind = "range" if field == "bounds" else "threshold"
        wanted = [name for name in limited if shown[name] == kind]
        named = given if isinstance(given, Mapping) else dict.fromkeys(wanted, given)
        if not named or not {*named} <= {*wanted} or found.keys() & named.keys():
            raise StatementError(
                "statement.reveal",
                f"{field}: give it where an output shows a {kind}, of each once (reveal)",
                field=field,
            )
        for name, numbers in named.items():
            listed = [numbers] if isinstance(numbers, int | float) else numbers
            found[name] = _integers(typed, name, listed, field)
    if len({len(found[name]) for name in found if shown[name] == "range"}) > 1:
        raise StatementError("statement.reveal", "bounds: as many of each output", field="bounds")
    for name in limited:
        if name not in found:
            field = "bounds" if shown[name] == "range" else "at_least"
            wanted_fields = "bounds" if shown[name] == "range" else "at_least or at_most"
            raise StatementError("statement.reveal", f"the output {name} takes {wanted_fields}", field=field)
    return {name: found[name] for name in limited}


def _integers(typed: TypedGraph, name: str, numbers: Sequence[float], field: str) -> list[int]:
    reads = typed.qgraph.scale_of(typed.qgraph.outputs[name])
    if reads is None:
        raise StatementError(
            "statement.reveal",
            f"{field}: the outputs have no one scale, so that no number is one of theirs: end the network in"
            " an activation, or show the values",
            field=field,
        )
    scale, zero_point = reads
    low, high = (scale * (end - zero_point) for end in typed.outputs[name].bound.interval)
    if not numbers or not all(low <= number <= high for number in numbers):
        raise TensorError(
            "input.out_of_range", f"{field}: the output lies from {low:g} to {high:g}", field=field
        )
    found = [_first(scale, zero_point, number, above=field == "at_most") for number in numbers]
    if any(one >= other for one, other in itertools.pairwise(found)):
        reason = f"{field}: each must be above the one before, by {scale:g}, a step, at least"
        raise TensorError("input.out_of_range", reason, field=field)
    return found


def _first(scale: float, zero_point: int, number: float, *, above: bool) -> int:
    """The first integer that stands for ``number`` or more; or for more. In doubles, as words have it."""
    q = math.ceil(number / scale) + zero_point - 1
    while scale * (q - zero_point) < number or (above and scale * (q - zero_point) == number):
        q += 1
    return q
