"""Tenants, their keys, what they brought, what they used, and the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from zenserve.service.storage.records.base import Base


class Tenant(Base):
    """An owner of resources, with limits on its use of the service. None: no limit of its own.

    SQLite adds no column that refers to another table and has a default: hence ``tenant_id`` is a foreign key
    in new tables only.
    """

    __tablename__ = "tenants"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    max_queued: Mapped[int | None]
    """Jobs that wait or run, shards not counted: more are refused."""
    max_running: Mapped[int | None]
    """Jobs that run, shards counted: more wait."""
    retention_days: Mapped[int | None]
    """Proofs that are over are deleted after as many days."""
    served_at: Mapped[datetime | None]
    """The time when a worker last took a job of this tenant."""
    suspended_at: Mapped[datetime | None]
    """Since when its keys are refused and its jobs not taken."""
    deleted_at: Mapped[datetime | None]
    """The time when the tenant's deletion was requested: the scheduler deletes its data, then this row."""
    created_at: Mapped[datetime]


class ApiKey(Base):
    """A caller's API key. Only a digest of its secret half is kept."""

    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    tenant_id: Mapped[str] = mapped_column(ForeignKey("tenants.id"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    digest: Mapped[bytes] = mapped_column(LargeBinary(32))
    """SHA-256 of the secret half, which is random: no salt, nothing to guess."""
    scopes: Mapped[list[Any]]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    tenant: Mapped[Tenant] = relationship(lazy="joined")


class Login(Base):
    """A browser that showed a key to the dashboard."""

    __tablename__ = "logins"

    digest: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    """SHA-256 of the cookie."""
    key_id: Mapped[str] = mapped_column(ForeignKey("api_keys.id", ondelete="CASCADE"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    key: Mapped[ApiKey] = relationship(lazy="joined")


class IdentityLogin(Base):
    """A browser whose user an OpenID provider vouched for."""

    __tablename__ = "identity_logins"

    digest: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    """SHA-256 of the cookie."""
    issuer: Mapped[str] = mapped_column(String(500))
    subject: Mapped[str] = mapped_column(String(255))
    name: Mapped[str] = mapped_column(String(200))
    groups: Mapped[list[Any]]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class AuditEntry(Base):
    """An entry of the audit log: the actor, the action and its target. Never changed."""

    __tablename__ = "audit_log"
    __table_args__ = (Index("audit_by_tenant", "tenant_id", "id"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    at: Mapped[datetime]
    tenant_id: Mapped[str] = mapped_column(String(40))
    actor: Mapped[str] = mapped_column(String(300))
    """A key's id, ``oidc:`` and a subject, ``local`` or ``command line``."""
    action: Mapped[str] = mapped_column(String(60))
    target: Mapped[str | None] = mapped_column(String(300))
    request_id: Mapped[str | None] = mapped_column(String(40))
    address: Mapped[str | None] = mapped_column(String(64))


class Upload(Base):
    """A file that was brought ahead of the request that names it by its hash."""

    __tablename__ = "uploads"

    tenant_id: Mapped[str] = mapped_column(ForeignKey("tenants.id"), primary_key=True)
    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger)
    content: Mapped[str] = mapped_column(String(64))
    """Sealed, in the store."""
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class Usage(Base):
    """The resource use of a job, written when the job ended, and kept when it is deleted. Never changed."""

    __tablename__ = "usage"
    __table_args__ = (Index("usage_by_tenant", "tenant_id", "ended_at"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    tenant_id: Mapped[str] = mapped_column(String(40))
    kind: Mapped[str] = mapped_column(String(16))
    ended_at: Mapped[datetime]
    seconds: Mapped[float]
    """Of a worker, for what succeeded."""
    rows: Mapped[int] = mapped_column(BigInteger)
    """Constraints that were proven."""
    bytes: Mapped[int] = mapped_column(BigInteger)
    """Stored for it when it was asked for."""
