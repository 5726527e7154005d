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

from zenserve.service.api import problems

DRAIN_SECONDS: Final = 2.0
JSON_BYTES: Final = 8 << 20
"""Of a body that is read as a whole: an input of a million numbers, many times as large in memory."""
STRANGERS_BYTES: Final = 8 << 20
"""Of those who need no key: a transparent proof of 4 MB, in hex. The largest key and proof of Groth16 that
``effort`` lets pass take less.
"""
STRANGERS_VALUES: Final = 1 << 17
"""In such a body: proofs have few."""
BYTES_OF_A_VALUE: Final = 8
"""So many bytes of any other body may hold one value, at least on an average: two are enough to make a list,
which takes a hundred in memory.
"""
LOGIN_BYTES: Final = 64 << 10
_VERIFY: Final = "/v1/verify"
_LIMITS: Final = (
    (_VERIFY, STRANGERS_BYTES),
    ("/admin/login", LOGIN_BYTES),
    *((path, None) for path in ("/v1/models", "/v1/datasets", "/v1/uploads", "/admin")),
    ("", JSON_BYTES),
)
"""By the first beginning of a path that fits. None where files may come: what the operator allows."""


class TooLargeError(HTTPException):
    """More than ``limit`` bytes came."""

    def __init__(self, limit: int) -> None:
        super().__init__(413, headers={"Connection": "close"})
        self.limit = limit


class BodyLimit:
    """ASGI middleware: more bytes than a path may be sent, of ``limit`` at most, are answered with 413."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        own = next(own for path, own in _LIMITS if scope["path"].startswith(path))
        limit = min(self._limit, own or self._limit)
        most = STRANGERS_VALUES if scope["path"].startswith(_VERIFY) else limit
        scope["state"]["most_values"] = min(most, limit // BYTES_OF_A_VALUE)
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
