"""The largest of windows, between two lines of one of their entries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zenserve.circuits.certificates.between import Between, Box, Line
from zenserve.circuits.certificates.draft import Draft
from zenserve.circuits.certificates.pools import FINE, Picking, Windows
from zenserve.relations.bounds import Bound
from zenserve.relations.relation import OneHot, Tensor, Term


@dataclass(frozen=True, eq=False)
class Largest(Between):
    """``read``: the box of all entries. ``picked``, one for each place in a window: whether lines are of the
    entry there, [batch, *shape]."""

    read: Box
    windows: Windows
    picked: tuple[Tensor, ...]
    slope: Tensor
    offset: Tensor

    @classmethod
    def of(cls, draft: Draft, name: str, box: Box, zero_point: int, read: Box, windows: Windows) -> Largest:
        shape, bits, ends = box.least.shape, read.least.bits or 0, (read.least, read.most)
        taps, whole = len(windows.entries), 1 << FINE

        def chosen(part: str, bound: Bound) -> Tensor:
            return draft.choose(Tensor(f"{name}/{part}", shape, bound), ends, Picking(windows, part))

        place = chosen("place", Bound.of(0, taps - 1))
        others = chosen("others", Bound.of(0, (1 << bits) - 1, "range"))
        slope = chosen("slope", Bound.of(0, 2 * whole - 1, "range"))
        offset = chosen("offset", Bound.of(0, (whole << bits) - 1, "range"))
        picked = _picked(draft, name, place, windows)
        leasts, mosts = (
            _entries(draft, f"{name}/{part}", end, shape, windows)
            for part, end in zip(("least", "most"), ends, strict=True)
        )
        low = _of_picked(draft, f"{name}/picked/least", picked, leasts)
        high = _of_picked(draft, f"{name}/picked/most", picked, mosts)
        # No other is larger.
        for tap, (one, most) in enumerate(zip(picked, mosts, strict=True)):
            part = f"{name}/others/{tap}"
            beyond = draft.sum(f"{part}/beyond", shape, 1 << bits, Term(others), Term(most, -1))
            lacking = draft.product(part, shape, 1 << bits, Term(one, -1, 1), Term(beyond))
            draft.within(f"{part}/least", shape, bits, Term(lacking))
        # The line above: at the least end above the others, and at the largest above the entry itself.
        draft.within(f"{name}/slope/least", shape, FINE + 1, Term(slope, -1), constant=whole)
        left = draft.product(f"{name}/left", shape, 2 * whole << bits, Term(slope), Term(low))
        right = draft.product(f"{name}/right", shape, whole << bits, Term(slope, 1, whole), Term(high))
        draft.within(
            f"{name}/above/least", shape, bits + FINE + 1, Term(left), Term(offset), Term(others, -whole)
        )
        draft.within(f"{name}/above/most", shape, bits + FINE, Term(right), Term(offset))
        return cls(name, box, zero_point, read, windows, picked, slope, offset)

    @property
    def scale(self) -> int:
        return FINE

    @property
    def fine(self) -> int:
        return FINE

    @property
    def steepest(self) -> int:
        return 1 << FINE

    @property
    def reach(self) -> int:
        bits = self.box.least.bits or 0
        return (1 << FINE + bits) + (2 * self.zero_point << FINE)

    def lines(self, draft: Draft) -> tuple[Line, Line]:
        """Below is the entry itself."""
        above = Term(self.offset), Term(self.slope, self.zero_point)
        return Line((), (), 1 << FINE), Line((Term(self.slope),), above, 0, -(self.zero_point << FINE))


def _picked(draft: Draft, name: str, place: Tensor, windows: Windows) -> tuple[Tensor, ...]:
    """Return a 0/1 tensor for each tap: 1 where the window's chosen ``place`` is that tap. The place is
    proven to be an entry that the window has."""
    taps, shape = len(windows.entries), place.shape
    hot = Tensor(f"{name}/picked", (*shape, taps), Bound.of(0, 1), 1)
    draft.relations.append(OneHot(hot.name, hot, place, closed=True))
    if windows.counts.min() < taps:
        last = (windows.counts - 1).reshape(shape[1:])
        draft.within(f"{name}/place/there", shape, taps.bit_length(), Term(place, -1), constant=last)
    places = np.arange(math.prod(hot.shape[1:])).reshape(hot.shape[1:])
    return tuple(draft.move(f"{name}/picked/{tap}", shape, hot, places[..., tap]) for tap in range(taps))


def _entries(draft: Draft, name: str, end: Tensor, shape: tuple[int, ...], windows: Windows) -> list[Tensor]:
    """Return a tensor for each tap: the entry of ``end`` at that place of each window, 0 where the window has
    none."""
    return [
        draft.move(f"{name}/{tap}", shape, end, places.reshape(shape[1:]), constant=0)
        for tap, places in enumerate(windows.entries)
    ]


def _of_picked(draft: Draft, name: str, picked: Sequence[Tensor], values: Sequence[Tensor]) -> Tensor:
    """The value of the entry that is picked."""
    shape, top = values[0].shape, values[0].bound.interval[1]
    products = [
        Term(draft.product(f"{name}/{tap}", shape, top, Term(one), Term(value)))
        for tap, (one, value) in enumerate(zip(picked, values, strict=True))
    ]
    return draft.sum(name, shape, len(products) * top, *products)
