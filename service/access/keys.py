"""API keys: how they are made, and who shows one.

A key is ``zen_<id>_<secret>``: 12 hex digits that say which row, and 256 random bits of which the row has the
SHA-256. Nobody who reads the database can call with what is there.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy.orm import Session

from zenserve.errors import AccessError
from zenserve.service.access import audit
from zenserve.service.access.principal import LOCAL, SCOPES, Principal, Scope
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import clock, now
from zenserve.service.storage.records.accounts import ApiKey
from zenserve.service.storage.repositories.accounts import Keys, Tenants, suspended

_KEY = re.compile(r"zen_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
_USED_SECONDS = 300
"""The precision of a key's last use, in seconds: a write for every request would be too many."""


LOCAL_NUMBER: Final = "0" * 12
LOCAL_KEY: Final = f"key_{LOCAL_NUMBER}"
"""The token's row (``local_token``)."""


def make_key(
    tenant_id: str,
    name: str,
    scopes: list[Scope],
    expires_in_days: int | None = None,
    moment: datetime | None = None,
    number: str | None = None,
) -> tuple[ApiKey, str]:
    """A row for a new key, and the key itself: it cannot be shown again."""
    moment = moment or now()
    number, secret = number or secrets.token_hex(6), secrets.token_urlsafe(32)
    row = ApiKey(
        id=f"key_{number}",
        tenant_id=tenant_id,
        name=name,
        digest=_digest(secret),
        scopes=[scope for scope in SCOPES if scope in scopes],
        created_at=moment,
        expires_at=moment + timedelta(days=expires_in_days) if expires_in_days else None,
    )
    return row, f"zen_{number}_{secret}"


def authenticate(
    runtime: Runtime, key: str, address: str | None, to_note: Callable[[], bool] = lambda: True
) -> Principal:
    """Return the principal of this key.

    Raises ``AccessError``: ``auth.invalid`` for a key that is unknown, expired or revoked, without telling
    which; ``auth.suspended`` for a key of a suspended tenant. The audit log notes a refusal if ``to_note``
    returns true.
    """
    found = _KEY.fullmatch(key)
    with runtime.database.read() as session:
        row = Keys(session).find(f"key_{found[1]}") if found else None
        moment = clock(session)
    # Compared in any case: how long it takes does not tell which ids there are.
    digest = row.digest if row else bytes(hashlib.sha256().digest_size)
    matches = hmac.compare_digest(digest, _digest(found[2] if found else ""))
    if row is None or not matches or not is_live(row, moment):
        if to_note():
            whose = (row.tenant_id, row.id) if row and matches else ("", "nobody")
            with runtime.database.write() as session:
                audit.note(session, Principal(*whose, frozenset(), address), "key.refuse", None)
        if row and matches and row.tenant.suspended_at:
            raise suspended()
        raise AccessError("auth.invalid", "this key is not known, expired or was revoked")
    _note_use(runtime, row)
    return principal_of(row, address)


def is_local(key: str) -> bool:
    """Return whether this key would be the token of a service that runs for one user."""
    return key.startswith(f"zen_{LOCAL_NUMBER}_")


def principal_of(row: ApiKey, address: str | None) -> Principal:
    return Principal(row.tenant_id, row.id, frozenset(row.scopes), address)


def is_live(row: ApiKey, moment: datetime) -> bool:
    """Return whether the key is neither revoked nor expired, and its tenant not suspended.

    ``moment``: the present, by the database's clock.
    """
    expired = row.expires_at is not None and row.expires_at <= moment
    return row.revoked_at is None and not expired and row.tenant.suspended_at is None


def is_still_good(session: Session, principal: Principal) -> bool:
    """Return whether the caller's key or token is still valid.

    The local principal, which shows none, always is.
    """
    if row := Keys(session).find(principal.actor):
        return is_live(row, clock(session))
    if principal.expires_at is None:
        return principal.actor == LOCAL.actor
    return principal.expires_at > clock(session).timestamp() and Tenants(session).is_live(principal.tenant_id)


def key_required() -> AccessError:
    return AccessError(
        "auth.required",
        "send an API key: Authorization: Bearer zen_…; `zenserve token` prints that of your own service",
        field="Authorization",
    )


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _note_use(runtime: Runtime, row: ApiKey) -> None:
    moment: datetime = now()
    if row.last_used_at is None or (moment - row.last_used_at).total_seconds() > _USED_SECONDS:
        with runtime.database.write() as session:
            Keys(session).used(row.id, moment)
