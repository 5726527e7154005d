"""Visitors of the dashboard, and checks that the forms they send are their own.

A visitor shows an API key once, or signs in at the OpenID provider, and is known by a cookie for half a day.
The database has the cookie's digest alone. The key, the tenant and the rules for the user's groups are
checked at each request: where they no longer admit the visitor, the visit is over. Forms carry a token that
derives from the cookie, and are accepted from pages of this very host alone.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Form, Request
from sqlalchemy.orm import Session

from zenserve.errors import AccessError, ResourceError
from zenserve.service.access import audit, identities, keys
from zenserve.service.access.identities import Identity
from zenserve.service.access.principal import LOCAL, Principal, Scope
from zenserve.service.api.authentication import address_of, network_of
from zenserve.service.api.rates import Buckets
from zenserve.service.api.routes.dependencies import RuntimeDep
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.accounts import IdentityLogin, Login
from zenserve.service.storage.repositories.accounts import Logins

if TYPE_CHECKING:
    from zenserve.service.access.issuer import Issuer

COOKIE = "zenserve_login"
LIFETIME = timedelta(hours=12)
ATTEMPTS_PER_MINUTE = 10


@dataclass(frozen=True)
class Visitor:
    """``name``: of the key that they showed, or their own at the OpenID provider. ``token``: what their forms
    must carry.
    """

    principal: Principal
    name: str
    token: str


def count_attempt(request: Request) -> None:
    """Raises ``ResourceError`` (``quota.rate``)."""
    attempts: Buckets = request.app.state.login_attempts
    if wait := attempts.take(network_of(request)).wait:
        raise ResourceError("quota.rate", f"too many attempts from your address; try again in {wait} seconds")


def log_in(runtime: Runtime, request: Request, key: str) -> str:
    """Let a visitor in. Their cookie. Raises ``AccessError`` (``auth.invalid``, ``auth.scope``) and
    ``ResourceError`` (``quota.rate``).
    """
    count_attempt(request)
    principal = keys.authenticate(runtime, key, address_of(request))
    return _let_in(runtime, principal, Login(key_id=principal.actor))


def log_in_as(runtime: Runtime, request: Request, issuer: Issuer, identity: Identity | None) -> str:
    """Let in whom the OpenID provider vouches for. Their cookie. Raises ``AccessError`` (``auth.invalid``,
    ``auth.groups``, ``auth.suspended``, ``auth.scope``).
    """
    principal = identities.authenticate(runtime, issuer.rules, identity, address_of(request))
    assert identity is not None  # noqa: S101  else it was refused
    user = {"subject": identity.subject, "name": identity.name, "groups": identity.groups}
    return _let_in(runtime, principal, IdentityLogin(issuer=issuer.url, **user))


def _let_in(runtime: Runtime, principal: Principal, login: Login | IdentityLogin) -> str:
    principal.require("read", "admin")
    cookie = secrets.token_urlsafe(32)
    with runtime.database.write() as session:
        moment = clock(session)
        Logins(session).remove_old(moment)
        login.digest, login.created_at, login.expires_at = _digest(cookie), moment, moment + LIFETIME
        Logins(session).add(login)
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
        known = _who(session, request, login) if login else None
    if known is None:
        raise AccessError("auth.required", "log in with an API key")
    return Visitor(*known, token)


def _who(session: Session, request: Request, login: Login | IdentityLogin) -> tuple[Principal, str] | None:
    """The visitor's principal and name; None where the visit is over."""
    moment, address = clock(session), address_of(request)
    if login.expires_at <= moment:
        return None
    if isinstance(login, Login):
        live = keys.is_live(login.key, moment)
        return (keys.principal_of(login.key, address), login.key.name) if live else None
    issuer: Issuer | None = request.app.state.issuer
    if issuer is None or login.issuer != issuer.url:
        return None
    identity = Identity(login.subject, login.name, login.groups, login.expires_at.timestamp())
    try:
        return identities.principal_of(session, issuer.rules, identity, address), login.name
    except AccessError:
        return None


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
