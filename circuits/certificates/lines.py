"""Lines of integers through a rescaling, which inequalities alone make valid (docs/robustness.md)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from zenserve.relations.functions import Requantisation
from zenserve.relations.integers import IntArray

_FINE: Final = 5
"""Of offsets: bits beyond whole steps of what is rescaled. More would gain next to nothing, and leave lines
that come through several layers as many fewer."""
_SLOPES: Final = 9
"""Of slopes: the bits that the steepest has at least."""


class Chosen(NamedTuple):
    """The prover's choices for each entry, int64 of one shape.

    ``rises``: 1 where the line below has the steepest slope, 0 where it is constant. ``flat``: 1 where the
    line above lies above the largest value, 0 where it lies above the rescaling's two pieces. ``slope``,
    ``offset``: of the line above.
    """

    rises: IntArray
    flat: IntArray
    slope: IntArray
    offset: IntArray


@dataclass(frozen=True, eq=False)
class Rescaling:
    """``q = clamp(floor((M a + offset) / 2^k), low, high)`` between lines

        slope a + 2^``coarse`` offset <= 2^``scale`` q

    whose slopes are at most ``steepest``, int64 that broadcasts to one sample.
    """

    function: Requantisation

    @cached_property
    def _finer(self) -> int:
        return max(0, _SLOPES - int(self.function.multiplier.max()).bit_length())

    @property
    def scale(self) -> int:
        return self.function.shift + self._finer

    @property
    def fine(self) -> int:
        """Offsets are in steps of ``2^-fine``."""
        return min(_FINE, self.scale)

    @property
    def coarse(self) -> int:
        return self.scale - self.fine

    @property
    def steepest(self) -> IntArray:
        return self.function.multiplier << self._finer

    @property
    def most(self) -> int:
        """The largest of ``steepest``."""
        return int(self.steepest.max())

    @property
    def above(self) -> int:
        """``steepest a + above`` is no less than ``2^scale q`` where nothing is clamped."""
        return self.function.offset << self._finer

    @property
    def below(self) -> int:
        """``steepest a + 2^coarse below`` is no more than that: the rescaling rounds by less than a step."""
        lowest = self.function.offset - (1 << self.function.shift) + 1
        return (lowest << self._finer) >> self.coarse

    @property
    def reach(self) -> int:
        """Offsets of lines above lie in [-reach, reach)."""
        ends = abs(self.function.low), abs(self.function.high) + 1, abs(self.below)
        return 1 << (max(ends) << self.fine).bit_length() + 1

    def chosen(self, least: IntArray, most: IntArray) -> Chosen:
        """For sums from ``least`` to ``most``: of the lines that there are those lowest in the middle, or
        highest."""
        function, middle = self.function, (least + most) // 2
        low, high = function.apply(least), function.apply(most)
        steepest = np.broadcast_to(self.steepest, least.shape)
        rises = (high < function.high) & (steepest * middle + (self.below << self.coarse) > low << self.scale)
        floor = function.low << self.scale
        left = np.maximum(floor, steepest * least + self.above)
        right = np.maximum(floor, steepest * most + self.above)
        slope = (right - left) // np.maximum(most - least, 1)
        needed = np.maximum(left - slope * least, right - slope * most)
        offset = -(-needed >> self.coarse)
        level = high << self.fine
        lower = slope * middle + (offset << self.coarse) < level << self.coarse
        chord = lower & (high < function.high) & (np.abs(offset) < self.reach)
        return Chosen(
            rises.astype(np.int64),
            1 - chord.astype(np.int64),
            np.where(chord, slope, 0),
            np.where(chord, offset, level),
        )


@dataclass(frozen=True, eq=False)
class Choice:
    """One ``part`` of what ``rescaling`` has chosen, as a rule that finds it of the sums' ends, doubled:
    int64 of ``shape``, flattened."""

    rescaling: Rescaling
    part: str
    shape: tuple[int, ...]

    def choose(self, *ends: IntArray) -> IntArray:
        least, most = (end.reshape(self.shape) for end in ends)
        found: IntArray = getattr(self.rescaling.chosen(least // 2, -(-most // 2)), self.part).ravel()
        return found
