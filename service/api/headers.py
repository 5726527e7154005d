"""Response headers for browsers: no content from elsewhere, no framing, no guessing of types."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS: Final = {
    # Scripts and styles are files, nothing is inline. The pictures of /docs are within its style. /verify has
    # another: that within its file, which lets it load nothing, from here neither.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # Not less: a form would be sent with no origin, by which the dashboard knows its own.
    "Referrer-Policy": "same-origin",
}

REPORT_HEADERS: Final = {
    # A page whose style is within it, and which is to load and send nothing.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'none';"
    " base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


class BrowserHeaders:
    """ASGI middleware: adds ``HEADERS`` to whatever is answered, but for those that an answer has already."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, sending)
