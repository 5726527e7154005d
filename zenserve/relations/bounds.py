"""The bounds of values, and the proofs of bounds.

An equation of integers is one of the field only while both sides stay small, and a packed sum decodes only if
each slot does: so every tensor carries the bounds of its integers, and names what proves them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from zenserve.relations.integers import IntArray, Interval

# ``range``: a range check in this proof. ``registration``: one in the proof that registered the model, which
# this proof is linked to. ``relation``: the relation that makes the tensor: a table holds nothing else, or
# the bounds of what it reads leave nothing else.
Proof = Literal["range", "registration", "relation"]


@dataclass(frozen=True, eq=False)
class Bound:
    """``low <= value <= high``, int64 arrays that broadcast to the shape of one sample, in steps of ``step``
    from ``low``."""

    low: IntArray
    high: IntArray
    proof: Proof = "relation"
    step: int = 1

    @classmethod
    def of(cls, low: int, high: int, proof: Proof = "relation", *, step: int = 1) -> Bound:
        """The same for all entries."""
        return cls(np.array(low), np.array(high), proof, step)

    @property
    def interval(self) -> Interval:
        """The least and the largest of all entries."""
        return int(self.low.min()), int(self.high.max())

    @property
    def reach(self) -> IntArray:
        """The largest absolute values."""
        return np.maximum(-self.low, self.high)

    @property
    def bits(self) -> int:
        """The least b >= 1 for which a range of 2^b values holds every entry's."""
        return max(1, int((self.high - self.low).max()).bit_length())


@dataclass(frozen=True)
class Capacity:
    """The capacity of a field element for packed integers; the field has ``modulus`` elements."""

    modulus: int

    @property
    def bits(self) -> int:
        """Sums below 2^bits in absolute value are 0 in the field only if they are 0: so many bits have the
        slots that an element holds together, and the digits that it is decomposed into where nothing is known
        of it. 2^bits is below the modulus."""
        return self.modulus.bit_length() - 1

    def slots(self, width: int) -> int:
        """Return the number of slots of ``width`` bits that fit."""
        return self.bits // width


def slot_width(left: Interval, right: Interval) -> int:
    """A w with ``|l - r| < 2^w`` for all l and r of these intervals."""
    return max(1, left[1] - right[0], right[1] - left[0]).bit_length()
