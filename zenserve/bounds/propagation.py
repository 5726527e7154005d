"""Through a network: intervals, lines backwards from what is asked, and forms forwards from the input.

What rounding does to a line on its way back is added up beside it: an operation that multiplies a line
``a`` by numbers of which each entry needs a sum of absolute values ``scale`` is off by at most
``gamma sum |a| scale``, since every entry that is read is at most the magnitude that ``scale`` counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from zenserve.bounds.arrays import Array, Interval, Sums, dot, gamma, namespace, room, times, together
from zenserve.bounds.ball import Region
from zenserve.bounds.elementwise import Elementwise, Function
from zenserve.bounds.linear import Linear
from zenserve.bounds.network import Forms, Network, Operation, Relaxed

Method = Literal["crown", "crown-ibp", "forward", "ibp"]


@dataclass
class Bounds:
    """Of a batch of samples, each in its part of ``region``, by ``method``.

    ``crown``: intervals of what is curved come from lines that go back to the input; ``crown-ibp``: from
    intervals; ``forward``: from forms; ``ibp``: there are intervals alone, and lines go back no further than
    sums of these. ``intervals`` has those of every tensor.
    """

    network: Network
    region: Region
    method: Method
    intervals: dict[str, Interval] = field(default_factory=dict)
    _relaxed: dict[str, Relaxed] = field(default_factory=dict)
    # Of ``forward``: forms that are still read, how far those are off that were made, and what absolute
    # values of all tensors are no more than.
    _forms: dict[str, Forms] = field(default_factory=dict)
    _rests: dict[str, Array] = field(default_factory=dict)
    _sizes: dict[str, Array] = field(default_factory=dict)
    _direct: set[str] = field(default_factory=set)
    _whole: set[str] = field(default_factory=set)
    # The last sum that all later tensors are made of, whose forms are kept.
    _neck: Linear | None = None
    # Of sums whose forms wait for the function that alone reads them it, and of how many terms rounding is to
    # be counted; what lines need and was not made yet.
    _held: dict[str, tuple[Function, int]] = field(default_factory=dict)
    _later: list[Callable[[], object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.intervals[self.network.input] = self.region.interval()
        # Where interval arithmetic loses nothing: one sum of entries that are independent.
        independent = {self.network.input} if self.region.independent else set[str]()
        self._direct |= independent
        if self.method == "forward":
            self._start()
        ahead = self.network.read_after
        for operation in self.network.operations:
            if self.method == "crown":
                self._tighten(operation)
            if self.method == "forward" and isinstance(operation, Linear):
                self._sum(operation, independent)
            elif operation.inputs[0] in self._held:
                self._bend_held(operation)
            else:
                read = [self.intervals[name] for name in operation.inputs]
                if self.method != "ibp" or operation.linear:
                    self._relaxed[operation.name] = operation.relaxed(*read)
                if self.method == "forward":
                    self._bend(operation, read)
                else:
                    self.intervals[operation.name] = operation.image(*read)
            if operation.whole:
                self._whole.add(operation.name)
            for name in {*operation.inputs} - ahead[operation.name]:
                if self._neck is None or name != self._neck.name:
                    self._forms.pop(name, None)
            if set(operation.inputs) <= independent and len(operation.inputs) == 1:
                self._direct.add(operation.name)
                if operation.keeps():
                    independent.add(operation.name)

    def least(self, lines: Array) -> Array:
        """[n, s]: no more than ``lines`` [n, s, outputs] times the network's output."""
        output = self.network.output
        lines = lines.reshape(*lines.shape[:2], *self.network.shapes[output])
        if output in self._direct:
            return self._at(lines, output)
        if self.method == "forward":
            return self._back(lines, output)[0]
        # Where intervals are wide they may say more than lines.
        by_intervals, _ = self._back(lines, output, short=True)
        if self.method == "ibp":
            return by_intervals
        return namespace(lines).maximum(by_intervals, self._back(lines, output)[0])  # type: ignore[no-any-return]

    def slopes(self, lines: Array) -> Array:
        """Return the lines at the input, [n, s, *input shape], that result from ``lines`` [n, s, outputs] at
        the output. For methods with lines."""
        output = self.network.output
        return self._back(lines.reshape(*lines.shape[:2], *self.network.shapes[output]), output)[1]

    def _at(self, lines: Array, tensor: str) -> Array:
        """By the intervals of a tensor alone."""
        xp, known = namespace(lines), self.intervals[tensor]
        exact = dot(xp.maximum(lines, 0), known.low) + dot(xp.minimum(lines, 0), known.high)
        size = dot(lines, known.magnitude, absolute=True)
        return exact - gamma(math.prod(lines.shape[2:]) + 4) * size

    def _tighten(self, operation: Operation) -> None:
        """The intervals of what it reads, where that makes its lines tighter."""
        for name, wanted in zip(
            operation.inputs,
            operation.curved(*(self.intervals[name] for name in operation.inputs)),
            strict=True,
        ):
            if wanted is None or name in self._direct or not wanted.any():
                continue
            old = self.intervals[name]
            xp = namespace(old.low)
            shape, (places,) = old.low.shape, xp.nonzero(wanted.reshape(len(wanted), -1).any(axis=0))
            size = math.prod(shape[1:])
            low, high = (each.reshape(len(each), -1).copy() for each in old)
            widest = max(math.prod(each) for each in self.network.shapes.values())
            step = max(1, room(xp) // (2 * widest * len(low)))
            for start in range(0, len(places), step):
                some = places[start : start + step]
                lines = xp.zeros((1, len(some), size))
                lines[0, xp.arange(len(some)), some] = 1.0
                lines = xp.broadcast_to(
                    xp.concatenate([lines, -lines], axis=1), (len(low), 2 * len(some), size)
                )
                found, _ = self._back(lines.reshape(len(low), -1, *shape[1:]), name)
                low[:, some], high[:, some] = found[:, : len(some)], -found[:, len(some) :]
            if name in self._whole:
                low, high = xp.ceil(low), xp.floor(high)
            found_interval = Interval(low.reshape(shape), high.reshape(shape))
            self.intervals[name] = old.within(found_interval)

    def _back(self, lines: Array, tensor: str, *, short: bool = False) -> tuple[Array, Array]:
        """``least`` of any tensor, by lines that go back to the input, and what they are there. ``short``:
        no further than through sums, whose terms' intervals are known."""
        xp = namespace(lines)
        waiting, total, size = {tensor: lines}, Sums(lines), Sums(lines)
        known, terms = xp.zeros(lines.shape[:2]), 64
        found = None
        for operation in reversed(self.network.operations):
            if operation.name not in waiting:
                continue
            here = waiting.pop(operation.name)
            if short and not operation.linear:
                known = known + self._at(here, operation.name)
                continue
            relaxed = self._relaxed[operation.name]
            if operation is self._neck and tensor == self.network.output:
                paid = total.total - gamma(terms) * size.total * (1 + 2.0**-20)
                found = self._by_forms(operation, here) + paid
            made = relaxed.back(here, total)
            if not operation.moves:
                size.add(here, relaxed.scale, absolute=True)
            terms = max(terms, 4 * operation.terms, 4 * math.prod(operation.shape))
            for name, each in zip(operation.inputs, made, strict=True):
                waiting[name] = waiting[name] + each if name in waiting else each
        ends = waiting.get(self.network.input)
        if ends is None:
            ends = xp.zeros((*lines.shape[:2], *self.network.input_shape))
        bound = total.total + known + self.region.least(ends) - gamma(terms) * size.total * (1 + 2.0**-20)
        bound = xp.where(xp.isnan(bound), -np.inf, bound)
        return bound if found is None else xp.fmax(bound, found), ends

    def _by_forms(self, neck: Linear, lines: Array) -> Array:
        """``least`` of a sum whose forms there are: how far these may be off by what its lines are, once they
        have come to the sources of its chain."""
        forms, flat = self._forms[neck.name], lines.reshape(*lines.shape[:2], -1)
        slope = times(flat, forms.slope.reshape(len(flat), flat.shape[2], -1))
        rest, unused, waiting = Sums(lines), Sums(lines), {neck.name: lines}
        sources = {*neck.rests_on}
        for operation in reversed(self.network.operations):
            if operation.name in waiting and operation.name not in sources:
                made = self._relaxed[operation.name].back(waiting.pop(operation.name), unused)
                for name, each in zip(operation.inputs, made, strict=True):
                    waiting[name] = waiting[name] + each if name in waiting else each
        for name, each in waiting.items():
            rest.add(each, self._rests[name], absolute=True)
        ends = Forms(slope, dot(lines, forms.offset), rest.total, dot(lines, forms.size, absolute=True))
        return self.region.reach(ends, 2 * neck.rounds + 8 * flat.shape[2] + 64)[0].low

    def _start(self) -> None:
        name, self._neck = self.network.input, _neck(self.network)
        self._forms[name] = made = self.region.forms()
        self._rests[name], self._sizes[name] = made.rest, made.size

    def _sum(self, operation: Linear, independent: set[str]) -> None:
        """Forms of a sum where any are needed, and its interval where that is: of what curves read."""
        name, asked = operation.name, operation.name in self.network.read_by_curves
        relaxed = operation.through([self._sizes[each] for each in operation.inputs])
        self._relaxed[name] = relaxed

        def known() -> Array | None:
            self._sizes[name] = relaxed.scale
            while self._later:
                self._later.pop()()
            if (asked or {*operation.inputs} <= independent) and self.intervals.keys() >= {*operation.inputs}:
                self.intervals[name] = operation.image(*(self.intervals[each] for each in operation.inputs))
            return self._rest(operation)

        if name not in self.network.formed:
            known()
            return
        made = relaxed.forward([self._forms[each] for each in operation.inputs], known)
        function = self._alone(operation) if asked and not operation.moves else None
        if function is not None and namespace(made.offset) is not np:
            self._held[name] = function, operation.rounds
        elif asked and not operation.moves:
            # What follows in a chain counts rounding by sizes as they are.
            found, most = self.region.reach(made._replace(size=made.size.copy()), operation.rounds)
            made = made._replace(most=most)
            self.intervals[name] = self.intervals[name].within(found) if name in self.intervals else found
        elif name in self.network.rested and not operation.moves:
            made.rest[...] += gamma(operation.rounds) * made.size
        self._forms[name], self._rests[name] = made, made.rest

    def _alone(self, operation: Linear) -> Function | None:
        """Return the function of numbers alone that is the only reader of a sum, if there are forms of its
        result; else None."""
        readers = [each for each in self.network.operations if operation.name in each.inputs]
        if operation is self._neck or operation.name == self.network.output or len(readers) > 1:
            return None
        (reader,) = readers
        if not isinstance(reader, Elementwise) or reader.name not in self.network.formed:
            return None
        return reader.function if reader.function.of_numbers else None

    def _bend_held(self, operation: Operation) -> None:
        """``_bend`` of what waits, of which nobody asked how far it reaches, at once."""
        name, (read,) = operation.name, operation.inputs
        (function, rounds), forms, known = self._held[read], self._forms[read], self.intervals.get(read)
        self.intervals[read], self.intervals[name], made = self.region.bend(
            forms, rounds, known, function, 8 * operation.terms + 32
        )
        relaxed = operation.relaxed(self.intervals[read])
        self._later.append(lambda: relaxed.scale)
        self._relaxed[name], self._forms[name] = relaxed, made
        self._rests[name], self._sizes[name] = made.rest, made.size

    def _rest(self, operation: Linear) -> Array | None:
        """By the sources of its chain; where nobody asks for it no number, which would certify nothing."""
        if operation.name not in self.network.rested:
            some = self._sizes[operation.name]
            xp = namespace(some)
            return xp.broadcast_to(xp.full((), np.nan), some.shape)  # type: ignore[no-any-return]
        return operation.chain.rest(self._rests) if operation.chain else None

    def _bend(self, operation: Operation, read: Sequence[Interval]) -> None:
        """Forms of what is no sum, where any are needed, whose ``rest`` takes what rounding did to them.
        Meanwhile what lines need on their way back."""
        name, relaxed = operation.name, self._relaxed[operation.name]
        if name not in self.network.formed:
            self.intervals[name] = operation.image(*read)
            self._sizes[name] = self.intervals[name].magnitude
            return
        made, (image, _) = together(
            lambda: relaxed.forward([self._forms[each] for each in operation.inputs]),
            lambda: (operation.image(*read), relaxed.scale),
            read[0].low,
        )
        self.intervals[name], most = self.region.reach(made, 8 * operation.terms + 32, image)
        self._forms[name] = made._replace(most=most)
        self._rests[name], self._sizes[name] = made.rest, made.size


def _neck(network: Network) -> Linear | None:
    waiting = {network.output}
    for operation in reversed(network.operations):
        if operation.name not in waiting:
            continue
        alone = waiting == {operation.name} and operation.name in network.formed
        if alone and isinstance(operation, Linear) and operation.chain:
            return operation
        waiting = waiting - {operation.name} | {*operation.inputs}
    return None
