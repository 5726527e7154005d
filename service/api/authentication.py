"""Authentication of callers, before any of the body is read. For permissions see ``access``."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zenserve.errors import AccessError, ResourceError, ZenError
from zenserve.service.access import identities, keys
from zenserve.service.access.principal import LOCAL, Principal
from zenserve.service.api import connections, problems
from zenserve.service.api.body_limit import drain
from zenserve.service.api.rates import Allowance, Buckets, SharedBuckets
from zenserve.service.runtime import Runtime
from zenserve.verifier.recent import Recent

if TYPE_CHECKING:
    from zenserve.service.access.issuer import Issuer
    from zenserve.service.api.shelf import Shelf

_VERIFICATION = ("/v1/verify", "/v1/verification-keys/", "/v1/issuers")
"""Public: no key is asked for, and none is looked at."""
_UNCOUNTED = ("/healthz", "/readyz", "/metrics", "/static/")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_KNOWN_SECONDS = 2.0
"""So long a revoked key may go on."""
_MOST_KNOWN = 10_000
_REFUSALS_PER_MINUTE = 10
"""Of one address, as many are noted: the audit log is kept for ever, and not for strangers to fill."""


class Authentication:
    """ASGI middleware: knows the caller (``request.state.principal``, None where nobody shows a key), counts
    its tenant's requests, or its address's, and turns away those who need a key and have none that is good.

    Where no keys are asked for, everybody on this host is let in, and so is every web page that its browsers
    show: those are turned away by their ``Origin``, and by the ``Host`` of names that were bent to here.
    """

    def __init__(
        self,
        app: ASGIApp,
        runtime: Runtime,
        verifications: SharedBuckets,
        shelf: Shelf | None,
        issuer: Issuer | None,
    ) -> None:
        settings = runtime.settings
        self._app = app
        self._runtime = runtime
        self._issuer = issuer
        self._tenants = SharedBuckets("tenant", settings.rate_per_minute, shelf)
        self._addresses = SharedBuckets("address", settings.rate_per_minute, shelf)
        self._refusals = Buckets("refusals", _REFUSALS_PER_MINUTE)
        self._verifications = verifications
        self._known = Recent[bytes, tuple[Principal, float]](_MOST_KNOWN)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        connection.state.principal = None
        allowance: Allowance | None = None
        try:
            if self._runtime.settings.auth == "off":
                self._check_local(connection)
                connection.state.principal = replace(LOCAL, address=address_of(connection))
            else:
                allowance = await self._let_in(connection)
        except ZenError as error:
            await _refuse(problems.answer(error), scope, receive, send)
            return
        except problems.NO_DATABASE as error:
            await _refuse(problems.no_database(error), scope, receive, send)
            return
        if allowance is None:
            await self._app(scope, receive, send)
        elif allowance.wait:
            await _refuse(_slow_down(allowance), scope, receive, send)
        else:
            await self._app(scope, receive, _with_headers(send, allowance.headers))

    def _check_local(self, connection: HTTPConnection) -> None:
        host = connection.headers.get("host", "")
        if not names_this_host(connection):
            raise AccessError(
                "auth.host",
                "without keys, the service answers to this host's own names only;"
                " set ZENSERVE_AUTH=keys for others",
                field="Host",
            )
        origin = connection.headers.get("origin")
        if origin not in (None, f"http://{host}", f"https://{host}"):
            raise AccessError("auth.origin", "without keys, no other web site is answered", field="Origin")

    async def _let_in(self, connection: HTTPConnection) -> Allowance | None:
        """Find out who it is and take a token. Raises ``AccessError``."""
        # Not the path of the URL, which the caller's Host header is a part of.
        path, address = connection.scope["path"], network_of(connection)
        if path.startswith(_VERIFICATION):
            return await self._verifications.take(address)
        shown = connection.headers.get("authorization")
        if shown is None and path.startswith(_UNCOUNTED):
            return None
        if principal := self._recall(shown):
            connection.state.principal = replace(principal, address=address_of(connection))
            return await self._counted(principal)
        allowance = await self._addresses.take(address)  # before the database is asked: guessing is slow, too
        if allowance.wait:
            return allowance
        if shown is not None:
            connection.state.principal = await self._authenticate(shown, connection)
            await self._addresses.take(address, -1)  # many good keys may come from one address: a proxy's
            return await self._counted(connection.state.principal)
        if path.startswith("/v1/"):
            raise keys.key_required()
        return allowance

    async def _counted(self, principal: Principal) -> Allowance | None:
        """Count the request against its tenant's rate limit and return the allowance.

        None for the key of a service that runs for one user: it has no limit.
        """
        if principal.actor == keys.LOCAL_KEY:
            return None
        return await self._tenants.take(principal.tenant_id)

    def _recall(self, shown: str | None) -> Principal | None:
        principal, until = self._known.get(_fingerprint(shown or "")) or (None, 0.0)
        return principal if time.monotonic() < until else None

    async def _authenticate(self, shown: str, connection: HTTPConnection) -> Principal:
        scheme, _, key = shown.partition(" ")
        key = key.strip() if scheme.lower() == "bearer" else ""
        address = address_of(connection)

        def is_to_note() -> bool:
            return not self._refusals.take(network_of(connection)).wait

        if self._issuer is not None and self._issuer.accepts(key):
            rules, identity = self._issuer.rules, await self._issuer.identify(key)
            principal = await run_in_threadpool(
                identities.authenticate, self._runtime, rules, identity, address, is_to_note
            )
        else:
            principal = await run_in_threadpool(keys.authenticate, self._runtime, key, address, is_to_note)
        self._known.keep(_fingerprint(shown), (principal, time.monotonic() + _KNOWN_SECONDS))
        return principal


def _fingerprint(shown: str) -> bytes:
    """Keys themselves are not kept in memory."""
    return hashlib.sha256(shown.encode()).digest()


def _hostname(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def names_this_host(connection: HTTPConnection) -> bool:
    """Return whether the request's ``Host`` is a loopback name: others can be rebound to this host in DNS."""
    return _hostname(connection.headers.get("host", "")) in _LOOPBACK


def address_of(connection: HTTPConnection) -> str | None:
    """Return the caller's address, as the audit log records it; None where it is not known."""
    return connection.client.host if connection.client else None


def network_of(connection: HTTPConnection) -> str:
    """Return the caller's network, by which its connections are counted."""
    return connections.network_of(address_of(connection) or "")


async def charge_for(request: HTTPConnection, verifications: int) -> None:
    """Have a stranger's request count as so many, now that they are known: one was counted before.

    Raises ``ResourceError`` (``quota.rate``).
    """
    state = request.app.state
    if state.runtime.settings.auth == "keys":
        allowance = await state.verifications.take(network_of(request), max(verifications - 1, 0))
        if allowance.wait:
            raise _too_many(allowance)


def _too_many(allowance: Allowance) -> ResourceError:
    return ResourceError(
        "quota.rate", f"more than {allowance.limit} requests in a minute; go on in {allowance.wait} seconds"
    )


def _slow_down(allowance: Allowance) -> Response:
    headers = allowance.headers | {"Retry-After": str(allowance.wait)}
    return problems.answer(_too_many(allowance), headers)


async def _refuse(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    await drain(receive)
    await response(scope, receive, send)


def _with_headers(send: Send, headers: dict[str, str]) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(headers)
        await send(message)

    return sending
