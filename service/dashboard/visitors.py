"""Who looks at the dashboard, and whether what they send is theirs.

A visitor shows an API key once, and is known by a cookie for half a day. The database has the cookie's digest
alone, and asks the key each time: where it is revoked, the visit is over. Forms carry a token that derives
from the cookie, and are taken from pages of this very host alone.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Form, Request

from service.access import audit, keys
from service.access.principal import LOCAL, Principal, Scope
from service.api.authentication import address_of, network_of
from service.api.rates import Buckets
from service.api.routes.dependencies import RuntimeDep
from service.runtime import Runtime
from service.storage.database import clock
from service.storage.records.accounts import Login
from service.storage.repositories.accounts import Logins
from zenerrors import AccessError, ResourceError

COOKIE = "zenserve_login"
LIFETIME = timedelta(hours=12)
ATTEMPTS_PER_MINUTE = 10


@dataclass(frozen=True)
class Visitor:
    """``name``: of the key that they showed. ``token``: what their forms must carry."""

    principal: Principal
    name: str
    token: str


def log_in(runtime: Runtime, request: Request, key: str) -> str:
    """Let a visitor in. Their cookie. Raises ``AccessError`` (``auth.invalid``, ``auth.scope``) and
    ``ResourceError`` (``quota.rate``).
    """
    attempts: Buckets = request.app.state.login_attempts
    if wait := attempts.take(network_of(request)).wait:
        raise ResourceError("quota.rate", f"too many attempts from your address; try again in {wait} seconds")
    principal = keys.authenticate(runtime, key, address_of(request))
    principal.require("read", "admin")
    cookie = secrets.token_urlsafe(32)
    with runtime.database.write() as session:
        moment = clock(session)
        Logins(session).remove_old(moment)
        row = Login(
            digest=_digest(cookie), key_id=principal.actor, created_at=moment, expires_at=moment + LIFETIME
        )
        Logins(session).add(row)
        audit.note(session, principal, "login.create", principal.actor)
    return cookie


def log_out(runtime: Runtime, request: Request, visitor: Visitor) -> None:
    with runtime.database.write() as session:
        Logins(session).remove(_digest(request.cookies.get(COOKIE, "")))
        audit.note(session, visitor.principal, "login.delete", visitor.principal.actor)


def visitor_of(request: Request, runtime: RuntimeDep) -> Visitor:
    """Raises ``AccessError`` (``auth.required``)."""
    cookie = request.cookies.get(COOKIE, "")
    token = runtime.vault.mac(b"dashboard", cookie.encode()).hex()
    if runtime.settings.auth == "off":
        return Visitor(replace(LOCAL, address=address_of(request)), "this host", token)
    with runtime.database.read() as session:
        login = Logins(session).find(_digest(cookie)) if cookie else None
        moment = clock(session)
    if login is None or login.expires_at <= moment or not keys.is_live(login.key, moment):
        raise AccessError("auth.required", "log in with an API key")
    return Visitor(keys.principal_of(login.key, address_of(request)), login.key.name, token)


def from_this_host(request: Request) -> None:
    """Raises ``AccessError`` (``auth.origin``) for a form of another site's page."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise AccessError("auth.origin", "this form comes from a page of another site")


def reads(*scopes: Scope) -> Callable[..., Visitor]:
    """A page that takes one of these scopes. Raises ``AccessError`` (``auth.required``, ``auth.scope``)."""

    def reader(visitor: Annotated[Visitor, Depends(visitor_of)]) -> Visitor:
        visitor.principal.require(*scopes)
        return visitor

    return reader


def sends(*scopes: Scope) -> Callable[..., Visitor]:
    """A form that takes one of these scopes. Raises ``AccessError`` as ``reads`` does, and ``auth.origin``,
    ``auth.form``.
    """
    reader = reads(*scopes)

    def sender(
        request: Request, visitor: Annotated[Visitor, Depends(visitor_of)], token: Annotated[str, Form()] = ""
    ) -> Visitor:
        from_this_host(request)
        if not hmac.compare_digest(token.encode(), visitor.token.encode()):
            raise AccessError(
                "auth.form", "this form is of an earlier visit: go back, reload, and send again"
            )
        return reader(visitor)

    return sender


Reader = Annotated[Visitor, Depends(reads("read", "admin"))]
Manager = Annotated[Visitor, Depends(reads("manage", "admin"))]
Admin = Annotated[Visitor, Depends(reads("admin"))]
Registrar = Annotated[Visitor, Depends(reads("register"))]
Prover = Annotated[Visitor, Depends(reads("prove"))]
SendingRegistrar = Annotated[Visitor, Depends(sends("register"))]
SendingProver = Annotated[Visitor, Depends(sends("prove"))]
SendingKeeper = Annotated[Visitor, Depends(sends("prove", "register", "admin"))]
SendingManager = Annotated[Visitor, Depends(sends("manage", "admin"))]
SendingAdmin = Annotated[Visitor, Depends(sends("admin"))]
Leaving = Annotated[Visitor, Depends(sends("read", "admin"))]


def _digest(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode()).digest()
