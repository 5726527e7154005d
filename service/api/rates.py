"""Token buckets: how many requests one caller may make.

All processes of the API have them in common where there is a Redis. Where there is none, and while it does
not answer, each process counts its own.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final, Self

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from service import log
from service.settings import Settings

_MOST = 20_000
"""Callers that are remembered at once. Those longest quiet are forgotten first: their buckets are full."""
_LONGEST_SECONDS: Final = 0.25
"""A request waits no longer for Redis; while that is down, none waits at all."""
_REST_SECONDS: Final = 2.0

_TAKE: Final = """
local limit, wanted = tonumber(ARGV[1]), tonumber(ARGV[2])
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
-- What is kept is when the bucket will be full.
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
local taken = (full - now) * limit / 60
local wait = math.max(math.ceil((taken + wanted - limit) * 60 / limit), 0)
if wait == 0 then
  taken = math.max(taken + wanted, 0)
  local seconds = taken * 60 / limit
  redis.call('SET', KEYS[1], string.format('%.6f', now + seconds), 'PX', math.ceil(seconds * 1000) + 1)
end
return {math.floor(limit - taken), wait}
"""


@dataclass(frozen=True)
class Allowance:
    """What is left to a caller; how many seconds it is to wait if nothing is."""

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
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, wanted: int = 1) -> Allowance:
        """Take so many tokens, if there are as many, or all of a full bucket; less than none gives back."""
        wanted = min(wanted, self._limit)
        moment = time.monotonic()
        tokens, since = self._buckets.pop(caller, (float(self._limit), moment))
        tokens = min(self._limit, tokens + (moment - since) * self._limit / 60)
        wait = 0 if tokens >= wanted else math.ceil((wanted - tokens) * 60 / self._limit)
        tokens = tokens if wait else tokens - wanted
        self._buckets[caller] = (tokens, moment)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        return Allowance(self._policy, self._limit, int(tokens), wait)


class Shelf:
    """The Redis that buckets are kept in. One that does not answer is left alone for a while."""

    def __init__(self, url: str) -> None:
        self._redis = Redis.from_url(
            url,
            socket_timeout=_LONGEST_SECONDS,
            socket_connect_timeout=_LONGEST_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        self._script = self._redis.register_script(_TAKE)
        self._is_down = False
        self._quiet_until = 0.0
        self._look: asyncio.Task[None] | None = None

    @classmethod
    def from_settings(cls, settings: Settings) -> Self | None:
        return cls(settings.broker_url.get_secret_value()) if settings.broker_url else None

    async def take(self, name: str, limit: int, wanted: int) -> tuple[int, int] | None:
        """What is left in this bucket and how long to wait; None at once while Redis does not answer."""
        if self._is_down:
            if time.monotonic() >= self._quiet_until and (self._look is None or self._look.done()):
                self._look = asyncio.create_task(self._look_again())  # no request waits for it
            return None
        try:
            left, wait = await self._ask(self._script(keys=[f"zenserve.rate.{name}"], args=[limit, wanted]))
        except (RedisError, OSError):
            self._found(down=True)
            return None
        return int(left), int(wait)

    async def close(self) -> None:
        if self._look is not None:
            self._look.cancel()
        await self._redis.aclose()

    async def _look_again(self) -> None:
        try:
            await self._ask(self._redis.ping())
        except (RedisError, OSError):
            self._found(down=True)
        else:
            self._found(down=False)

    async def _ask(self, question: Any) -> Any:
        async with asyncio.timeout(_LONGEST_SECONDS):
            return await question

    def _found(self, *, down: bool) -> None:
        if down != self._is_down:
            log.event("rates.apart" if down else "rates.together", level=30 if down else 20)
        self._is_down, self._quiet_until = down, time.monotonic() + _REST_SECONDS


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
