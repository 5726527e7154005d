"""Signing in at the OpenID provider: what the browser brings back is held against what it was sent off with.

That is sealed in a cookie of its own, so that a link or a page of somebody else cannot sign a browser in.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
import time
from dataclasses import asdict, dataclass
from typing import Final, Self

from zenserve.errors import AccessError, FileFormatError
from zenserve.service.runtime import Runtime

COOKIE: Final = "zenserve_sign_in"
SECONDS: Final = 600
_PLACE: Final = "sign-in"
_MAX_NEXT: Final = 1000
"""A cookie has four kilobytes."""


@dataclass(frozen=True)
class SignIn:
    """``next``: the page that the browser wanted. The rest is OpenID Connect's."""

    state: str
    nonce: str
    verifier: str
    next: str
    until: float

    @classmethod
    def begin(cls, wanted: str) -> Self:
        state, nonce, verifier = (secrets.token_urlsafe(48) for _ in range(3))
        until = time.time() + SECONDS
        return cls(state, nonce, verifier, wanted if len(wanted) <= _MAX_NEXT else "", until)

    def seal(self, runtime: Runtime) -> str:
        """The cookie."""
        sealed = runtime.vault.seal(json.dumps(asdict(self)).encode(), _PLACE)
        return base64.urlsafe_b64encode(sealed).decode()

    @classmethod
    def open(cls, runtime: Runtime, cookie: str, state: str) -> Self:
        """Raises ``AccessError`` (``auth.form``) where this browser was not sent off with this state."""
        try:
            begun = cls(**json.loads(runtime.vault.open(base64.urlsafe_b64decode(cookie), _PLACE)))
        except (FileFormatError, ValueError):
            begun = None
        if (
            begun is None
            or begun.until < time.time()
            or not hmac.compare_digest(begun.state.encode(), state.encode())
        ):
            raise AccessError(
                "auth.form", "this browser did not begin this sign-in, or too long ago: try again"
            )
        return begun
