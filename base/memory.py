"""Memory that this machine, or the container that it is, has to spare, and what is kept in it meanwhile."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol

from verifier.recent import Recent

_GROUPS: Final = Path("/sys/fs/cgroup")
_MOST_KEPT: Final = 1 << 31


class Sized(Protocol):
    @property
    def nbytes(self) -> int: ...


class Kept:
    """Secrets that are dear to make, kept by last use where nobody needs the memory: ``most`` bytes of
    it, which has ``free()`` bytes to spare. Who uses a value holds it; it is erased when nobody does.
    """

    def __init__(self, most: int, free: Callable[[], int]) -> None:
        self._most, self._unused = most, free
        self._recent = Recent[Hashable, Any](most, lambda value: int(value.nbytes), least=0)

    def free(self) -> int:
        """Bytes that work can have if all this makes way."""
        return self._unused() + self._recent.taken

    @property
    def taken(self) -> int:
        return self._recent.taken

    def make_room(self, count: int) -> None:
        """Have what was used longest ago make way, until ``count`` bytes are free or nothing is kept."""
        lacking = count - self._unused()
        if lacking > 0:
            self._recent.shrink(max(0, self._recent.taken - lacking))

    def admits(self, size: int, beside: int) -> bool:
        """Whether a value of ``size`` bytes can be kept, ``beside`` bytes left free for other work. Others
        make way for it."""
        if size > min(self._most, self.free() - beside):
            return False
        self.make_room(size + beside)
        return True

    def get(self, key: Hashable) -> Any:
        """What was kept by this key; None where there is nothing."""
        return self._recent.get(key)

    def keep(self, key: Hashable, value: Sized, erase: Callable[[], None]) -> None:
        """Keep ``value``, of which nobody else erases anything."""
        weakref.finalize(value, erase)
        self._recent.keep(key, value)


def free_memory() -> int:
    """Bytes that new work can have without swapping, and without being killed for a container's limit: once
    ``KEPT`` has made room."""
    return KEPT.free()


def _unused() -> int:
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


KEPT: Final = Kept(_MOST_KEPT, _unused)
"""In this process's memory."""
