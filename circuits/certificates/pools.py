"""Windows of max pools, and lines over the largest of their entries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from zenserve.circuits.certificates.places import readers
from zenserve.relations import planes
from zenserve.relations.integers import IntArray
from zenserve.relations.planes import Sliding

FINE = 8
"""Bits of slopes and offsets behind the point."""


@dataclass(frozen=True, eq=False)
class Windows:
    """``entries`` int64[n, windows]: the entries of one sample that each window has, those beyond the edge,
    -1, behind all others."""

    sliding: Sliding

    @cached_property
    def entries(self) -> IntArray:
        own, size = self.sliding, int(np.prod(self.sliding.image))
        index = np.arange(size).reshape(1, *own.image)
        seen = planes.slide(index, own.kernel, own.stride, own.padding, size, own.dilation)
        flat = np.sort(seen.reshape(-1, int(np.prod(own.kernel))), axis=1).T
        entries: IntArray = np.where(flat == size, -1, flat)
        return entries

    @property
    def counts(self) -> IntArray:
        """The number of entries of each window, int64[windows]."""
        counts: IntArray = (self.entries >= 0).sum(axis=0)
        return counts

    @cached_property
    def readers(self) -> list[IntArray]:
        """The places of each entry of a sample in ``entries``, flattened (``places.readers``)."""
        return readers(self.entries, int(np.prod(self.sliding.image)))


class Picked(NamedTuple):
    """For each window, int64[batch, windows]. ``place``: the entry that lines are of, by its place in the
    window. ``others``: no other is larger. ``slope``, ``offset``: of the line above, in steps of 2^-FINE."""

    place: IntArray
    others: IntArray
    slope: IntArray
    offset: IntArray


@dataclass(frozen=True, eq=False)
class Picking:
    """The rule that finds one ``part`` of these, of the ends of all entries."""

    windows: Windows
    part: str

    def choose(self, *ends: IntArray) -> IntArray:
        found: IntArray = getattr(picked(self.windows, *ends), self.part).ravel()
        return found


def picked(windows: Windows, least: IntArray, most: IntArray) -> Picked:
    """The entry that is highest in the middle; of lines above the one that is lowest there."""
    entries = windows.entries
    least, most = (
        np.where(entries < 0, -1, end.reshape(-1, int(np.prod(windows.sliding.image)))[:, entries])
        for end in (least, most)
    )
    place = (least + most).argmax(axis=1)
    low, high = (np.take_along_axis(end, place[:, None], 1)[:, 0] for end in (least, most))
    np.put_along_axis(most, place[:, None], 0, 1)
    others = most.max(axis=1)
    # From (low, the larger of both) to (high, the larger of both): no line is lower in the middle.
    left, right = np.maximum(low, others) << FINE, np.maximum(high, others) << FINE
    slope = (right - left) // np.maximum(high - low, 1)
    offset = np.maximum((others << FINE) - slope * low, (high << FINE) - slope * high)
    return Picked(place, others, slope, offset)
