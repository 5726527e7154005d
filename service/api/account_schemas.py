"""The JSON of tenants, API keys and the audit log."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from service.api.access import SCOPES, Scope
from service.api.schemas import MOST, MOST_DAYS, Name, ResourceId


class Limits(BaseModel):
    """What a tenant may have. Null: the service's own limit."""

    model_config = ConfigDict(extra="forbid")

    max_queued: int | None = Field(default=None, ge=1, le=MOST, description="Jobs that wait or run.")
    max_running: int | None = Field(default=None, ge=1, le=MOST, description="Jobs that run; more wait.")
    retention_days: int | None = Field(
        default=None, ge=1, le=MOST_DAYS, description="Proofs that are over are deleted after as many."
    )


class TenantRequest(Limits):
    """A tenant to be added."""

    name: Name


class TenantChange(Limits):
    """What is to change of a tenant; what is left out stays as it is."""

    name: Name | None = None


class TenantView(BaseModel):
    """Whose things are whose, and how much of the service they may have."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str
    max_queued: int | None
    max_running: int | None
    retention_days: int | None
    created_at: datetime


class KeyRequest(BaseModel):
    """An API key to be made."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    scopes: list[Scope] = Field(min_length=1, max_length=len(SCOPES))
    expires_in_days: int | None = Field(default=None, ge=1, le=MOST_DAYS)
    tenant_id: ResourceId | None = Field(
        default=None, description="With the scope admin: whose it is to be. Your own tenant's unless given."
    )


class KeyView(BaseModel):
    """An API key, without what it is shown by."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    tenant_id: str
    name: str
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="Within five minutes.")


class NewKeyView(KeyView):
    """An API key that was just made."""

    key: str = Field(description="Send it as `Authorization: Bearer …`. It is not shown again.")


class AuditView(BaseModel):
    """Who did what, to what."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    at: datetime
    tenant_id: str
    actor: str = Field(description="A key's id, `local`, `command line`, or `nobody` for an unknown key.")
    action: str = Field(examples=["proof.create"])
    target: str | None
    request_id: str | None
    address: str | None


class CallerView(BaseModel):
    """Whom the service takes you for."""

    tenant_id: str
    actor: str
    scopes: list[Scope]
