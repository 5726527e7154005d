"""How many processors there are to use."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Those that this process may use: fewer than the host has, where its affinity says so."""
    return len(os.sched_getaffinity(0))
