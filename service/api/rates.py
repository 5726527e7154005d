"""Token buckets: how many requests one caller may make. Each API process counts its own."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from dataclasses import dataclass

_MOST = 20_000
"""Callers that are remembered at once. Those longest quiet are forgotten first: their buckets are full."""


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
    """A bucket for each caller: as many tokens as it may take in a minute, refilled evenly."""

    def __init__(self, policy: str, per_minute: int) -> None:
        self._policy = policy
        self._limit = per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, wanted: int = 1) -> Allowance:
        """Take so many tokens, if there are as many, or all of a full bucket."""
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

    def give_back(self, caller: str) -> None:
        """Put a token back that should not have been taken."""
        if found := self._buckets.get(caller):
            self._buckets[caller] = (found[0] + 1, found[1])
