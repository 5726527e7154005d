"""Observation of every request: its id, one line in the log, one count, one span.

The route's template is kept, never the path; of the caller, only its tenant.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zenserve.service import log, telemetry
from zenserve.service.api import problems
from zenserve.service.api.drain import Drain, stopping
from zenserve.service.api.metrics import Requests

_FIT = re.compile(r"[A-Za-z0-9_-]{1,40}", re.ASCII)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
"""Asked every few seconds by machines."""


class Observation:
    """ASGI middleware, around all others."""

    def __init__(self, app: ASGIApp, requests: Requests, drain: Drain) -> None:
        self._app = app
        self._requests = requests
        self._drain = drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if _FIT.fullmatch(given) else f"req_{secrets.token_hex(8)}"
        scope.setdefault("state", {})["request_id"] = request_id
        started = time.perf_counter()
        status, answered = 500, None

        async def sending(message: Message) -> None:
            nonlocal status, answered
            if message["type"] == "http.response.start":
                status, answered = message["status"], time.perf_counter()
                MutableHeaders(scope=message)["X-Request-ID"] = request_id
                if self._drain.has_begun:  # the next request is for another process
                    MutableHeaders(scope=message)["Connection"] = "close"
            await send(message)

        with log.context(request_id=request_id), telemetry.request_span(headers) as span:
            try:
                await self._app(scope, receive, sending)
            except asyncio.CancelledError:
                if not self._drain.has_begun or answered is not None:
                    raise
                await problems.answer(stopping())(scope, receive, sending)
            finally:
                ended = time.perf_counter()
                method = scope["method"] if scope["method"] in _METHODS else "other"
                route = template(scope)
                # A stream may go on for hours: what counts is when the answer began.
                self._requests.count(method, route, status, (answered or ended) - started)
                span.end(f"{method} {route}", route, status, request_id)
                _write(method, route, status, ended - started, scope["state"])


def _write(method: str, route: str, status: int, seconds: float, state: dict[str, Any]) -> None:
    principal = state.get("principal")
    log.event(
        "request",
        level=logging.DEBUG if route in _QUIET else logging.INFO,
        method=method,
        route=route,
        status=status,
        ms=round(1000 * seconds, 1),
        tenant=principal.tenant_id if principal else None,
    )


def template(scope: Scope) -> str:
    """The template of the route that was taken; ``none`` where nothing was found."""
    # Routes know their path only from their own router on; FastAPI keeps the whole here.
    context = scope.get("fastapi", {}).get("effective_route_context") or scope.get("route")
    path = getattr(context, "path_format", None) or getattr(context, "path", None)
    return path if isinstance(path, str) else "none"
