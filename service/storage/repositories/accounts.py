"""Queries on tenants, API keys, logins and the audit log. ``owner``: of this tenant only; None: of all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Select, delete, func, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from zenserve.errors import AccessError, ConflictError, NotFoundError
from zenserve.service.storage.paging import Page, Place, Window, page
from zenserve.service.storage.records.accounts import ApiKey, AuditEntry, IdentityLogin, Login, Tenant

Listed = TypeVar("Listed", Tenant, ApiKey)
MOST_KEYS = 200
"""Of a tenant, neither revoked nor expired."""


class Tenants:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, tenant: Tenant) -> None:
        """Raises ``ConflictError`` (``conflict.name``)."""
        self._session.add(tenant)
        self.check_name()

    def check_name(self) -> None:
        """Raises ``ConflictError`` (``conflict.name``) where a tenant was given the name of another."""
        try:
            self._session.flush()
        except IntegrityError:
            raise ConflictError("conflict.name", "another tenant has this name", field="name") from None

    def get(self, tenant_id: str) -> Tenant:
        """Raises ``NotFoundError``."""
        if tenant := self._session.get(Tenant, tenant_id):
            return tenant
        raise self.unknown(tenant_id)

    def is_live(self, tenant_id: str) -> bool:
        """Return whether the tenant exists and is not suspended."""
        tenant = self._session.get(Tenant, tenant_id)
        return tenant is not None and tenant.suspended_at is None

    @staticmethod
    def unknown(tenant_id: str) -> NotFoundError:
        return NotFoundError("not_found", f"there is no tenant {tenant_id!r}", field="tenant_id")

    def hold(self, tenant_id: str) -> None:
        """Let no other transaction that holds it go on until this one is over. Raises ``AccessError``
        (``auth.suspended``) where the tenant is suspended or gone.
        """
        active = select(Tenant.id).where(Tenant.id == tenant_id, Tenant.suspended_at.is_(None))
        if self._session.scalar(active.with_for_update()) is None:
            raise suspended()

    def all(self) -> Sequence[Tenant]:
        return self._session.scalars(select(Tenant).order_by(Tenant.created_at, Tenant.id)).all()

    def page(self, window: Window) -> Page[Tenant]:
        return _page(self._session, select(Tenant), Tenant, window)


class Keys:
    def __init__(self, session: Session, owner: str | None = None) -> None:
        self._session = session
        self._owner = owner

    def add(self, key: ApiKey) -> None:
        """Raises ``ConflictError`` (``conflict.keys``) where the tenant has enough."""
        live = (ApiKey.tenant_id == key.tenant_id) & ApiKey.revoked_at.is_(None)
        live &= or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > key.created_at)
        # Of two at once the later one counts the other.
        self._session.execute(select(Tenant.id).where(Tenant.id == key.tenant_id).with_for_update())
        if (self._session.scalar(select(func.count()).where(live)) or 0) >= MOST_KEYS:
            raise ConflictError(
                "conflict.keys",
                f"the tenant has {MOST_KEYS} keys that are neither revoked nor expired, which is the most;"
                " revoke one first",
            )
        self._session.add(key)
        self._session.flush()

    def replace(self, key: ApiKey) -> None:
        """Put this row in place of the one with its id, if there is one."""
        if (old := self.find(key.id)) is not None:
            self._session.delete(old)
            self._session.flush()
        self.add(key)

    def find(self, key_id: str) -> ApiKey | None:
        return self._session.scalar(self._mine().where(ApiKey.id == key_id))

    def get(self, key_id: str) -> ApiKey:
        """Raises ``NotFoundError``."""
        if key := self.find(key_id):
            return key
        raise NotFoundError("not_found", f"there is no key {key_id!r}", field="key_id")

    def all(self) -> Sequence[ApiKey]:
        return self._session.scalars(self._mine().order_by(ApiKey.created_at, ApiKey.id)).all()

    def page(self, window: Window) -> Page[ApiKey]:
        return _page(self._session, self._mine(), ApiKey, window)

    def used(self, key_id: str, at: datetime) -> None:
        self._session.execute(update(ApiKey).where(ApiKey.id == key_id).values(last_used_at=at))

    def _mine(self) -> Select[ApiKey]:
        keys = select(ApiKey)
        return keys if self._owner is None else keys.where(ApiKey.tenant_id == self._owner)


class Logins:
    """Browsers that showed a key, or that an OpenID provider vouches for."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, login: Login | IdentityLogin) -> None:
        self._session.add(login)

    def find(self, digest: bytes) -> Login | IdentityLogin | None:
        return self._session.get(Login, digest) or self._session.get(IdentityLogin, digest)

    def remove(self, digest: bytes) -> None:
        for table in (Login, IdentityLogin):
            self._session.execute(delete(table).where(table.digest == digest))

    def remove_of(self, key_id: str) -> None:
        self._session.execute(delete(Login).where(Login.key_id == key_id))

    def remove_old(self, before: datetime) -> None:
        for table in (Login, IdentityLogin):
            self._session.execute(delete(table).where(table.expires_at < before))


class AuditLog:
    def __init__(self, session: Session, owner: str | None = None) -> None:
        self._session = session
        self._owner = owner

    def add(self, entry: AuditEntry) -> None:
        self._session.add(entry)

    def page(self, window: Window) -> Page[AuditEntry]:
        """Newest first; entries are numbered in their order."""
        entries = select(AuditEntry).order_by(AuditEntry.id.desc()).limit(window.limit + 1)
        if self._owner is not None:
            entries = entries.where(AuditEntry.tenant_id == self._owner)
        if window.after is not None:
            entries = entries.where(AuditEntry.id < window.after.number)
        rows = self._session.scalars(entries).all()
        return page(rows, window, lambda row: Place(row.at, str(row.id)))


def suspended() -> AccessError:
    return AccessError("auth.suspended", "this tenant is suspended: ask whoever runs the service")


def _page(session: Session, rows: Select[Listed], table: type[Listed], window: Window) -> Page[Listed]:
    after = window.condition(table.created_at, table.id)
    if after is not None:
        rows = rows.where(after)
    ordered = rows.order_by(table.created_at.desc(), table.id.desc()).limit(window.limit + 1)
    return page(session.scalars(ordered).all(), window, _place)


def _place(row: Any) -> Place:
    return Place(row.created_at, row.id)
