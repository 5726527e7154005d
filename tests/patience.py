"""Waiting for what has to happen, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_SECONDS = 120.0
"""For what has to happen, on however slow a machine."""


def until(
    condition: Callable[[], object], what: str = "what has to happen", seconds: float = PATIENCE_SECONDS
) -> None:
    """Wait for it: long enough for the busiest of machines. What takes long is asked for less often."""
    deadline, pause = time.monotonic() + seconds, 0.01
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(pause)
        pause = min(1.1 * pause, 0.1)
