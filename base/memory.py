"""Memory that this machine, or the container that it is, has to spare."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

_GROUPS: Final = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Bytes that new work can have without swapping, and without being killed for a container's limit."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = int(next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))) << 10
    own = Path("/proc/self/cgroup").read_text().rpartition("0::/")[2].strip()
    return min([free, *left_of_limits(_GROUPS, own)])


def left_of_limits(groups: Path, own: str) -> Iterator[int]:
    """What is left of the limit of the control group ``own`` (version 2) and of those that it is in. Pages of
    files count as free, as far as they are not in use: they go when others need the room.
    """
    for group in (groups / own, *(groups / own).parents):
        if not group.is_relative_to(groups) or not (group / "memory.max").exists():
            continue
        limit = (group / "memory.max").read_text().strip()
        if limit != "max":
            told = (group / "memory.stat").read_text().split()
            files = int(dict(zip(told[::2], told[1::2], strict=True)).get("inactive_file", 0))
            yield max(0, int(limit) - int((group / "memory.current").read_text()) + files)
