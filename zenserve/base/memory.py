"""Memory that this machine, or the container that it is, has to spare, and what is kept in it meanwhile."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable, Collection, Hashable, Iterator
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple, Protocol

from zenserve.verifier.recent import Recent

_GROUPS: Final = Path("/sys/fs/cgroup")
_MOST_KEPT: Final = 1 << 31
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_TRIM_THRESHOLD: Final = -1
_MMAP_MAX: Final = -4
_MOST_FREED: Final = (1 << 31) - 1
"""Bytes at the heap's end: what is more goes back at once."""


class Sized(Protocol):
    @property
    def nbytes(self) -> int: ...


class About(NamedTuple):
    """The key of a kept secret about a commitment. The secret is forgotten together with the commitment."""

    commitment: bytes
    kind: tuple[Hashable, ...] = ()


class Kept:
    """Secrets that are dear to make, kept by last use where nobody needs the memory: ``most`` bytes of
    it, which has ``free()`` bytes to spare. Who uses a value holds it; it is erased when nobody does.
    """

    def __init__(self, most: int, free: Callable[[], int]) -> None:
        self._most, self._unused = most, free
        self._recent = Recent[Hashable, Any](most, lambda value: int(value.nbytes), least=0)
        _ALL.add(self)

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
        """Return whether a value of ``size`` bytes can be kept while ``beside`` bytes stay free for other
        work. Other values are dropped to make room for it."""
        if size > min(self._most, self.free() - beside):
            return False
        self.make_room(size + beside)
        return True

    def get(self, key: Hashable) -> Any:
        """Return the value that is kept by this key; None if there is none."""
        return self._recent.get(key)

    def commitments(self) -> set[bytes]:
        """Return the commitments that kept secrets are about."""
        return {key.commitment for key in self._recent if isinstance(key, About)}

    def forget(self, commitments: Collection[bytes]) -> None:
        """Have all make way that is about these."""
        for key in self._recent:
            if isinstance(key, About) and key.commitment in commitments:
                self._recent.take(key)

    def keep(self, key: Hashable, value: Sized, erase: Callable[[], None] | None = None) -> None:
        """Keep ``value``, of which nobody else erases anything; or which is no secret."""
        if erase is not None:
            weakref.finalize(value, erase)
        self._recent.keep(key, value)

    def take(self, key: Hashable) -> Any:
        """Remove the value that is kept by this key and return it; None if there is none."""
        return self._recent.take(key)


_ALL: Final = weakref.WeakSet[Kept]()


class _Arenas(ctypes.Structure):
    """The C library's ``struct mallinfo2``."""

    _names = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks")
    _fields_ = tuple((name, ctypes.c_size_t) for name in (*_names, "fordblks", "keepcost"))


class Freed:
    """Memory that this process has freed and not handed back to the system: its next work has it without a
    fault for each page, which takes a proof as long as some of its sums do. What is secret is erased before
    it is freed (``zenserve.base.randomness.Secrets``).

    The C library has it, where that is glibc; elsewhere nothing is held.
    """

    def __init__(self) -> None:
        self._library, self._turn = ctypes.CDLL(None), Lock()
        self._unheld: int | None = None
        """Bytes that are resident and not in use, when nothing is held."""

    def hold(self) -> None:
        """From now on: of a process that does such work again and again."""
        if hasattr(self._library, "mallinfo2"):
            self._library.mallinfo2.restype = _Arenas
            self._library.mallopt(_MMAP_MAX, 0)
            self._library.mallopt(_TRIM_THRESHOLD, _MOST_FREED)
            self._unheld = self._not_in_use()

    @property
    def taken(self) -> int:
        """About how many bytes."""
        return 0 if self._unheld is None else max(0, self._not_in_use() - self._unheld)

    def give_back(self) -> None:
        """All of it, to the system."""
        if self._unheld is not None:
            with self._turn:
                self._library.malloc_trim(0)
                self._unheld = self._not_in_use()

    def _not_in_use(self) -> int:
        _, resident, shared, *_ = map(int, Path("/proc/self/statm").read_text().split())
        arenas = self._library.mallinfo2()
        return (resident - shared) * _PAGE_BYTES - int(arenas.uordblks + arenas.hblkhd)


def free_memory() -> int:
    """Bytes that new work can have without swapping, and without being killed for a container's limit: once
    ``make_room`` was called."""
    return KEPT.free()


def kept_commitments() -> set[bytes]:
    """Return the commitments that this process keeps secrets about, in its own memory and in cards'."""
    return {commitment for kept in list(_ALL) for commitment in kept.commitments()}


def forget(commitments: Collection[bytes]) -> None:
    """Keep nothing about these. What is in use is erased when it is no more."""
    for kept in list(_ALL):
        kept.forget(commitments)


def make_room(count: int) -> None:
    """For work of this process that takes so many bytes."""
    KEPT.make_room(count)
    if count > _spare():  # what is freed may lie in pieces that are too small
        FREED.give_back()


def _unused() -> int:
    return _spare() + FREED.taken


def _spare() -> int:
    """Of the system's."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = int(next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))) << 10
    own = Path("/proc/self/cgroup").read_text().rpartition("0::/")[2].strip()
    return min([free, *left_of_limits(_GROUPS, own)])


def left_of_limits(groups: Path, own: str) -> Iterator[int]:
    """Yield the bytes left below the limits of the control group ``own`` (version 2) and of the groups that
    contain it. Pages of files that are not in use count as free: the system drops them when memory is
    needed."""
    for group in (groups / own, *(groups / own).parents):
        if not group.is_relative_to(groups) or not (group / "memory.max").exists():
            continue
        limit = (group / "memory.max").read_text().strip()
        if limit != "max":
            told = (group / "memory.stat").read_text().split()
            files = int(dict(zip(told[::2], told[1::2], strict=True)).get("inactive_file", 0))
            yield max(0, int(limit) - int((group / "memory.current").read_text()) + files)


FREED: Final = Freed()
KEPT: Final = Kept(_MOST_KEPT, _unused)
"""In this process's memory."""
