"""Memory that this machine has to spare."""

from __future__ import annotations

from pathlib import Path


def free_memory() -> int:
    """Bytes that new work can have without swapping."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))) << 10
