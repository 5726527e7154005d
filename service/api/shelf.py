"""Token buckets in Redis, which all processes of the API have in common (``api.rates``)."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from zenserve.service import log

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

    async def take(self, name: str, limit: int, wanted: int) -> tuple[int, int] | None:
        """Take ``wanted`` tokens from this bucket; return the tokens left and the seconds to wait.

        None at once while Redis does not answer.
        """
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
