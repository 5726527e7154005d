"""A cache in memory of the values that were used last, bounded by their sizes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Values by their keys, those that were used last: what ``size`` says of them together is at most
    ``room``, but for the last ``least``, which stay whatever they take. Threads may share it.
    """

    def __init__(self, room: int, size: Callable[[Value], int] = lambda value: 1, least: int = 1) -> None:
        self._room, self._size, self._least = room, size, least
        self._kept = OrderedDict[Key, tuple[Value, int]]()
        self._taken = 0
        self._turn = Lock()

    def get(self, key: Key) -> Value | None:
        with self._turn:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def keep(self, key: Key, value: Value) -> None:
        size = self._size(value)
        with self._turn:
            self._taken += size - self._kept.pop(key, (value, 0))[1]
            self._kept[key] = value, size
            self._forget(self._room)

    def take(self, key: Key) -> Value | None:
        """Remove the value of this key and return it; None if there was none."""
        with self._turn:
            value, size = self._kept.pop(key, (None, 0))
            self._taken -= size
            return value

    def clear(self) -> None:
        """Let go of all."""
        with self._turn:
            self._kept.clear()
            self._taken = 0

    def __iter__(self) -> Iterator[Key]:
        """Over the keys that there are now."""
        with self._turn:
            return iter(list(self._kept))

    def shrink(self, room: int) -> None:
        """Let go of what was used longest ago, until the others are at most ``room``."""
        with self._turn:
            self._forget(room)

    @property
    def taken(self) -> int:
        return self._taken

    def _forget(self, room: int) -> None:
        while self._taken > room and len(self._kept) > self._least:
            self._taken -= self._kept.popitem(last=False)[1][1]
