"""Operations on tenants and their API keys, shared by the HTTP API and the command line."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from zenserve.errors import ConflictError
from zenserve.service.access import audit, keys
from zenserve.service.access.principal import Principal, Scope
from zenserve.service.storage.database import clock, now
from zenserve.service.storage.records.accounts import ApiKey, Tenant
from zenserve.service.storage.records.base import LOCAL_TENANT, new_id
from zenserve.service.storage.repositories.accounts import Keys, Tenants

LIMITS = ("max_queued", "max_running", "retention_days")


def add_tenant(session: Session, by: Principal, name: str, limits: dict[str, int | None]) -> Tenant:
    """Raises ``ConflictError`` (``conflict.name``)."""
    tenant = Tenant(id=new_id("tnt"), name=name, created_at=now(), **limits)
    Tenants(session).add(tenant)
    audit.note(session, by, "tenant.create", tenant.id, tenant_id=tenant.id)
    return tenant


def change_tenant(
    session: Session, by: Principal, tenant_id: str, changes: dict[str, str | int | None]
) -> Tenant:
    """Raises ``NotFoundError``, ``ConflictError`` (``conflict.name``)."""
    tenant = Tenants(session).get(tenant_id)
    for name, value in changes.items():
        setattr(tenant, name, value)
    Tenants(session).check_name()
    audit.note(session, by, "tenant.change", tenant_id, tenant_id=tenant_id)
    return tenant


def suspend_tenant(session: Session, by: Principal, tenant_id: str) -> Tenant:
    """Refuse its keys and take none of its jobs, until it is resumed. To suspend it again is no error.

    Raises ``NotFoundError``, ``ConflictError`` (``conflict.own_tenant``).
    """
    tenant = _other(session, by, tenant_id)
    if tenant.suspended_at is None:
        tenant.suspended_at = clock(session)
        audit.note(session, by, "tenant.suspend", tenant_id, tenant_id=tenant_id)
    return tenant


def resume_tenant(session: Session, by: Principal, tenant_id: str) -> Tenant:
    """Raises ``NotFoundError``, ``ConflictError`` (``conflict.deleted``)."""
    tenant = Tenants(session).get(tenant_id)
    if tenant.deleted_at is not None:
        raise ConflictError("conflict.deleted", "the tenant is being deleted; there is no way back")
    if tenant.suspended_at is not None:
        tenant.suspended_at = None
        audit.note(session, by, "tenant.resume", tenant_id, tenant_id=tenant_id)
    return tenant


def delete_tenant(session: Session, by: Principal, tenant_id: str) -> Tenant:
    """Have the scheduler delete the tenant and all that it has. To ask again is no error.

    Raises ``NotFoundError``, ``ConflictError`` (``conflict.own_tenant``).
    """
    tenant = _other(session, by, tenant_id)
    if tenant.deleted_at is None:
        tenant.deleted_at = clock(session)
        tenant.suspended_at = tenant.suspended_at or tenant.deleted_at
        audit.note(session, by, "tenant.delete", tenant_id, tenant_id=tenant_id)
    return tenant


def comma_separated(lines: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """RFC 4180, with the names at the top."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names)
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def add_key(
    session: Session,
    by: Principal,
    tenant_id: str,
    name: str,
    scopes: list[Scope],
    expires_in_days: int | None,
) -> tuple[ApiKey, str]:
    """The key's row, and the key, which cannot be shown again.

    Raises ``AccessError`` (``auth.scope``) for a scope that one may not give, ``NotFoundError``, and
    ``ConflictError`` (``conflict.keys``) where there are enough.
    """
    _require_all(by, scopes)
    if not by.sees(tenant_id):
        raise Tenants.unknown(tenant_id)
    Tenants(session).get(tenant_id)
    row, key = keys.make_key(tenant_id, name, scopes, expires_in_days, clock(session))
    Keys(session).add(row)
    audit.note(session, by, "key.create", row.id, tenant_id=tenant_id)
    return row, key


def revoke_key(session: Session, by: Principal, key_id: str) -> None:
    """Raises ``NotFoundError``, ``AccessError`` (``auth.scope``) for a key that may do more than oneself."""
    row = Keys(session, by.sight).get(key_id)
    _require_all(by, row.scopes)
    if row.revoked_at is None:
        row.revoked_at = now()
        audit.note(session, by, "key.revoke", key_id, tenant_id=row.tenant_id)


def _other(session: Session, by: Principal, tenant_id: str) -> Tenant:
    """A tenant that one may shut out: not oneself's, nor the one that is there without keys."""
    tenant = Tenants(session).get(tenant_id)
    if tenant_id in (by.tenant_id, LOCAL_TENANT):
        raise ConflictError(
            "conflict.own_tenant", f"{tenant_id} is your own tenant, or the service's: it stays"
        )
    return tenant


def _require_all(by: Principal, scopes: list[Scope]) -> None:
    for scope in scopes:
        if not by.may("admin"):
            by.require(scope)
