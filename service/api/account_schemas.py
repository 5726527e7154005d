"""The JSON of tenants, API keys and the audit log."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from zenserve.service.access.principal import SCOPES, Scope
from zenserve.service.submissions.requests import MOST, MOST_DAYS, Name, ResourceId


class Limits(BaseModel):
    """The limits of a tenant. Null: the service's own limit."""

    model_config = ConfigDict(extra="forbid")

    max_queued: int | None = Field(default=None, ge=1, le=MOST, description="Jobs that wait or run.")
    max_running: int | None = Field(default=None, ge=1, le=MOST, description="Jobs that run; more wait.")
    retention_days: int | None = Field(
        default=None, ge=1, le=MOST_DAYS, description="Proofs that are over are deleted after as many."
    )


class TenantRequest(Limits):
    """A tenant to be added."""

    name: Name = Field(description="What to call it; no two have one name.", examples=["Acme Diagnostics"])


class TenantChange(Limits):
    """The changes to a tenant. A field that is left out stays as it is."""

    name: Name | None = Field(
        default=None, description="What to call it from now on.", examples=["Acme Diagnostics"]
    )


class TenantView(BaseModel):
    """A tenant: the owner of resources, with limits on its use of the service."""

    model_config = ConfigDict(from_attributes=True)

    id: str = Field(description="Names it.", examples=["tnt_5d1f0c"])
    name: str = Field(description="What it is called.", examples=["Acme Diagnostics"])
    max_queued: int | None = Field(
        description="Jobs that wait or run; null: the service's own limit.", examples=[1000]
    )
    max_running: int | None = Field(description="Jobs that run, more wait; null: no limit.", examples=[8])
    retention_days: int | None = Field(
        description="Proofs that are over are deleted after as many; null: the service's own rule.",
        examples=[30],
    )
    suspended_at: datetime | None = Field(
        description="Since when its keys are refused (`auth.suspended`) and its jobs not taken.",
        examples=[None],
    )
    deleted_at: datetime | None = Field(
        description="When its end was asked for: it goes when all that it has is deleted.", examples=[None]
    )
    created_at: datetime = Field(description="When it was added.", examples=["2026-11-22T10:00:00Z"])


class KeyRequest(BaseModel):
    """An API key to be made."""

    model_config = ConfigDict(extra="forbid")

    name: Name = Field(
        description="What to call it: who holds it, or what for.", examples=["the nightly run"]
    )
    scopes: list[Scope] = Field(
        min_length=1,
        max_length=len(SCOPES),
        description="What its holder may do.",
        examples=[["read", "prove"]],
    )
    expires_in_days: int | None = Field(
        default=None,
        ge=1,
        le=MOST_DAYS,
        description="It is no good after as many; for ever unless given.",
        examples=[90],
    )
    tenant_id: ResourceId | None = Field(
        default=None, description="With the scope admin: whose it is to be. Your own tenant's unless given."
    )


class KeyView(BaseModel):
    """An API key, without what it is shown by."""

    model_config = ConfigDict(from_attributes=True)

    id: str = Field(description="Names it, to revoke it and in the audit log.", examples=["key_5d1f0c"])
    tenant_id: str = Field(description="Whose it is.", examples=["tnt_5d1f0c"])
    name: str = Field(description="What it is called.", examples=["the nightly run"])
    scopes: list[Scope] = Field(description="What its holder may do.", examples=[["read", "prove"]])
    created_at: datetime = Field(description="When it was made.", examples=["2026-11-22T10:00:00Z"])
    expires_at: datetime | None = Field(
        description="It is no good from then on; null: no end.", examples=["2027-02-20T10:00:00Z"]
    )
    revoked_at: datetime | None = Field(
        description="When it was revoked; null: it is good.", examples=["2026-11-22T10:00:00Z"]
    )
    last_used_at: datetime | None = Field(description="Within five minutes.")


class NewKeyView(KeyView):
    """An API key that was just made."""

    key: str = Field(
        description="Send it as `Authorization: Bearer …`. It is not shown again.",
        examples=["zen_0123456789ab_…"],
    )


class AuditView(BaseModel):
    """An entry of the audit log: the actor, the action and its target."""

    model_config = ConfigDict(from_attributes=True)

    id: int = Field(description="Grows with every entry.", examples=[4711])
    at: datetime = Field(description="When it was done.", examples=["2026-11-22T10:00:00Z"])
    tenant_id: str = Field(description="Whose things it was done to.", examples=["tnt_5d1f0c"])
    actor: str = Field(
        description="A key's id, `local`, `command line`, or `nobody` for an unknown key.",
        examples=["key_5d1f0c"],
    )
    action: str = Field(examples=["proof.create"], description="What was done.")
    target: str | None = Field(description="The id of what it was done to.", examples=["prf_5d1f0c"])
    request_id: str | None = Field(description="Of the request that did it.", examples=["req_5f0c1d2e"])
    address: str | None = Field(description="Where the request came from.", examples=["192.0.2.7"])


class UsageView(BaseModel):
    """The resource use of a tenant's jobs that ended in a range of time, deleted jobs included."""

    model_config = ConfigDict(from_attributes=True)

    tenant_id: str = Field(description="Whose they were.", examples=["tnt_5d1f0c"])
    name: str | None = Field(description="Its name; null: it is gone.", examples=["Acme Diagnostics"])
    jobs: int = Field(description="That ended, in whatever state; shards are not counted.", examples=[120])
    seconds: float = Field(description="Of workers, for what succeeded.", examples=[312.5])
    rows: int = Field(description="Constraints that were proven.", examples=[2400000])
    bytes: int = Field(
        description="Networks, samples and inputs, as they were stored for them.", examples=[786432]
    )


class CallerView(BaseModel):
    """Whom the service takes you for."""

    tenant_id: str = Field(description="Whose things you work with.", examples=["tnt_5d1f0c"])
    actor: str = Field(
        description="The id of your key; `local` where no keys are asked for.", examples=["key_5d1f0c"]
    )
    scopes: list[Scope] = Field(description="What you may do.", examples=[["read", "prove"]])
