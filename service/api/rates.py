"""Token buckets: how many requests one caller may make.

All processes of the API have them in common where there is a Redis. Where there is none, and while it does
not answer, each process counts its own.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zenserve.verifier.recent import Recent

if TYPE_CHECKING:
    from zenserve.service.api.shelf import Shelf

_MOST = 20_000
"""Callers that are remembered at once. Those longest quiet are forgotten first: their buckets are full."""


@dataclass(frozen=True)
class Allowance:
    """The remaining allowance of a caller, and the seconds to wait if nothing remains."""

    policy: str
    limit: int
    left: int
    wait: int

    @property
    def headers(self) -> dict[str, str]:
        """RateLimit header fields (draft-ietf-httpapi-ratelimit-headers-10)."""
        reset = math.ceil((self.limit - self.left) * 60 / self.limit)
        return {
            "RateLimit-Policy": f'"{self.policy}";q={self.limit};w=60',
            "RateLimit": f'"{self.policy}";r={self.left};t={reset}',
        }


class Buckets:
    """A bucket of this process for each caller: what it may take in a minute, refilled evenly."""

    def __init__(self, policy: str, per_minute: int) -> None:
        self._policy = policy
        self._limit = per_minute
        self._buckets = Recent[str, tuple[float, float]](_MOST)

    def take(self, caller: str, wanted: int = 1) -> Allowance:
        """Take so many tokens, if there are as many, or all of a full bucket; less than none gives back."""
        wanted = min(wanted, self._limit)
        moment = time.monotonic()
        tokens, since = self._buckets.get(caller) or (float(self._limit), moment)
        tokens = min(self._limit, tokens + (moment - since) * self._limit / 60)
        wait = 0 if tokens >= wanted else math.ceil((wanted - tokens) * 60 / self._limit)
        tokens = tokens if wait else tokens - wanted
        self._buckets.keep(caller, (tokens, moment))
        return Allowance(self._policy, self._limit, int(tokens), wait)


class SharedBuckets:
    """``Buckets`` of all processes of the API together, as long as there is a ``shelf`` to keep them on."""

    def __init__(self, policy: str, per_minute: int, shelf: Shelf | None) -> None:
        self._policy = policy
        self._limit = per_minute
        self._shelf = shelf
        self._own = Buckets(policy, per_minute)

    async def take(self, caller: str, wanted: int = 1) -> Allowance:
        """As ``Buckets.take``."""
        wanted = min(wanted, self._limit)
        if self._shelf is not None:
            kept = await self._shelf.take(f"{self._policy}.{caller}", self._limit, wanted)
            if kept is not None:
                return Allowance(self._policy, self._limit, *kept)
        return self._own.take(caller, wanted)
