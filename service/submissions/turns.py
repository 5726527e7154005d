"""Places for a few at a time, and a queue before them that no tenant can fill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import count
from threading import Lock
from typing import NamedTuple

from zenserve.errors import ResourceError


class _Turn(NamedTuple):
    tenant_id: str
    come: Future[None]


class Turns:
    """The next place is of the tenant that has the fewest, then of the one whose last turn is longest ago.
    Where the queue is full, whoever has the most in it makes room for one who has less.
    """

    def __init__(self, places: int, most_waiting: int) -> None:
        self._free = places
        self._most_waiting = most_waiting
        self._lock = Lock()
        self._waiting: list[_Turn] = []
        self._inside: Counter[str] = Counter()
        self._last: dict[str, int] = {}
        self._turns = count(1)

    @contextmanager
    def turn(self, tenant_id: str) -> Iterator[None]:
        """Wait for a place, in this thread, and have it. Raises ``ResourceError`` (``resource.busy``)."""
        turn = _Turn(tenant_id, Future())
        with self._lock:
            if not self._free and len(self._waiting) >= self._most_waiting:
                self._make_room(tenant_id)
            self._waiting.append(turn)
            self._admit()
        turn.come.result()
        try:
            yield
        finally:
            with self._lock:
                self._free += 1
                self._inside[tenant_id] -= 1
                self._inside += Counter()  # forgets those at zero
                self._admit()

    def _make_room(self, tenant_id: str) -> None:
        shares = Counter(turn.tenant_id for turn in self._waiting)
        largest, share = max(shares.items(), key=lambda item: item[1], default=("", 0))
        if share <= shares[tenant_id] + 1:
            raise _busy()
        latest = next(turn for turn in reversed(self._waiting) if turn.tenant_id == largest)
        self._waiting.remove(latest)
        latest.come.set_exception(_busy())

    def _admit(self) -> None:
        while self._free and self._waiting:
            turn = min(self._waiting, key=self._claim)
            self._waiting.remove(turn)
            self._free -= 1
            self._inside[turn.tenant_id] += 1
            self._last[turn.tenant_id] = next(self._turns)
            turn.come.set_result(None)
        if not self._inside:
            self._last.clear()

    def _claim(self, turn: _Turn) -> tuple[int, int]:
        return self._inside[turn.tenant_id], self._last.get(turn.tenant_id, 0)


def _busy() -> ResourceError:
    return ResourceError("resource.busy", "too many files wait to be read; try again soon")
