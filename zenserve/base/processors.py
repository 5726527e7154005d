"""The number of usable processors."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Return the number of processors this process may use: its affinity may exclude some of the host's."""
    return len(os.sched_getaffinity(0))
