"""The integers that the compiler computes with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
# The least and the largest value, both included.
Interval = tuple[int, int]

# Every intermediate integer stays below this in absolute value: inside int64, and so far below r that the
# product of two of them cannot wrap around the field either.
INTEGER_LIMIT = 1 << 62

# What is in a circuit's description or in a statement stays below this in absolute value: JSON's integers are
# exact up to here, and canonical (RFC 8785).
JSON_LIMIT = 1 << 53
