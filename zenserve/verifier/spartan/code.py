"""The Reed-Solomon code that matrices are committed under, and how many columns show what."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from zenserve.verifier.spartan.field import Field

# A proof rests on the columns of up to 66 roots: its own two, and those of four renewals of each of sixteen
# commitments. Renewals get seven bits more than the 128 that are asked for: a proof's own columns can do with
# two or three, and the other terms fit beside them.
QUERY_BITS: Final = 135
_FEW_LINKED: Final = 8
_OWN_BITS: Final = (130, 131)
"""By whether there are more."""
LOG_BLOWUP: Final = 2
"""A word has 2^2 times as many entries as a polynomial coefficients. It is no parameter of keys: to verify
takes as long as a proof is, not as long as somebody says."""
MOST_LOG_DEGREE: Final = 16
"""Of rows longer than all variables together, as commitments may have them: whoever verifies has tables of a
row's length, and a proof does not grow with that."""


@dataclass(frozen=True)
class Code:
    """Over ``field`` polynomials of 2^log_degree coefficients, at the 2^log_length-th roots of unity.

    Unique decoding only: a word that is further than ``radius`` from all code words is taken for one, or two
    different words for the same, with probability ``2^-query_bits`` at most over ``queries`` different
    random places.
    """

    field: Field
    log_degree: int
    log_length: int
    query_bits: int = QUERY_BITS

    def of_proofs(self, linked: int) -> Code:
        """As proofs about so many commitments open it. Renewals open it as it is."""
        bits = _OWN_BITS[linked > _FEW_LINKED]
        return replace(self, query_bits=min(self.query_bits, bits))

    @property
    def degree(self) -> int:
        """The number of coefficients of a row, its tail included."""
        return 1 << self.log_degree

    @property
    def length(self) -> int:
        return 1 << self.log_length

    @property
    def radius(self) -> int:
        """The number of wrong entries up to which decoding is unique."""
        return (self.length - self.degree) // 2

    @property
    def queries(self) -> int:
        """The fewest places with an error below 2^-query_bits, drawn without replacement."""
        return _queries(self.length, self.radius, self.query_bits)


@lru_cache(maxsize=256)
def _queries(length: int, radius: int, query_bits: int) -> int:
    bits, right = 0.0, length - radius - 1
    for drawn in range(right):
        if bits >= query_bits:
            return drawn
        bits -= math.log2((right - drawn) / (length - drawn))
    return right
