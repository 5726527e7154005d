"""The place where ``zenserve serve`` leaves its token for other programs of the same user.

The token itself is a file of the service's, for its owner alone. This folder has a link to that file, named
by the port that the service listens on, as long as the service runs.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import httpx

_THIS_HOST = ("127.0.0.1", "::1", "localhost")


def link(port: int) -> Path:
    """Return the path of the link to the token of a service at this port, which need not exist."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state, "zenserve", f"{port}.token")


def token_of(url: httpx.URL) -> str | None:
    """The token of the service there; None unless it runs on this host, and for this user."""
    if url.host not in _THIS_HOST:
        return None
    try:
        return link(url.port or 80).read_text()
    except (OSError, RuntimeError):  # nobody's home is known
        return None


class Token(httpx.Auth):
    """Shows a service of this host its token, read each time: when it starts again it has another."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        token = token_of(request.url)
        response = yield _with(request, token)
        # It was just starting: its port is open before its token is there.
        if response.status_code == httpx.codes.UNAUTHORIZED and (later := token_of(request.url)) != token:
            yield _with(request, later)


def _with(request: httpx.Request, token: str | None) -> httpx.Request:
    if token is not None:
        request.headers["Authorization"] = f"Bearer {token}"
    return request
