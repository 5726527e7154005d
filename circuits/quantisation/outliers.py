"""Constants that are huge, such as masks, beside numbers that are not: what no type has both of."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from zenserve.circuits.graphs.calibration import OUTLYING, Interval, Seen
from zenserve.errors import ModelError

# Numbers beside an outlier have so many steps at least.
_FEWEST_STEPS: Final = 64
_HUGE: Final = 1e3


def require_told_apart(name: str, seen: Seen, span: Interval, bits: int) -> None:
    """``ModelError`` (``model.scale``) for a tensor whose type, of so many bits over ``span``, one constant
    takes so much of that the other values are hardly told apart."""
    furthest = span.low if -span.low > span.high else span.high
    step = (span.high - span.low) / ((1 << bits) - 1)
    constant = seen.sample == (seen.ends.low if furthest < 0 else seen.ends.high)
    others = seen.sample[~constant]
    if abs(furthest) < _HUGE or np.count_nonzero(constant) < 2 or not others.any():
        return
    low, high = min(0.0, float(others.min())), max(0.0, float(others.max()))
    reach = high - low
    if reach >= _FEWEST_STEPS * step or abs(furthest) < OUTLYING**2 * reach:
        return
    nearer = math.copysign(10.0 ** math.ceil(math.log10(4 * reach)), furthest)
    raise ModelError(
        "model.scale",
        f"the tensor {name[:80]!r} holds {furthest:.3g} beside numbers in [{low:.3g}, {high:.3g}], and all "
        f"of it is asked for: {bits} bits do not have both; mask with a number that is nearer, such as "
        f"{nearer:.3g}, or ask for the label alone",
    )
