"""Refuses request bodies that are too large, by what arrives and not only by what is announced.

Starlette has a limit of its own, but it answers an announced size in plain text, and it breaks the
connection while the client is still sending, which then never sees the answer.
"""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api import problems

DRAIN_SECONDS: Final = 2.0
STRANGERS: Final = "/v1/verify"
STRANGERS_BYTES: Final = 8 << 20
"""Of those who need no key. JSON takes many times as much memory once it is read."""


class TooLargeError(HTTPException):
    """More than ``limit`` bytes came."""

    def __init__(self, limit: int) -> None:
        super().__init__(413, headers={"Connection": "close"})
        self.limit = limit


class BodyLimit:
    """ASGI middleware: more than ``limit`` bytes, or a stranger's share, are answered with 413."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = min(self._limit, STRANGERS_BYTES) if scope["path"].startswith(STRANGERS) else self._limit
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced) > limit:
            await drain(receive)
            response = problems.respond(413, problems.too_large(limit), {"Connection": "close"})
            await response(scope, receive, send)
            return
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > limit:
                if message.get("more_body"):
                    await drain(receive)
                raise TooLargeError(limit)
            return message

        await self._app(scope, counted, send)


async def drain(receive: Receive) -> None:
    """Discard what the client still sends, for a moment, so that it comes to read the answer."""
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            while (message := await receive())["type"] == "http.request" and message.get("more_body"):
                pass
    except TimeoutError:
        pass
