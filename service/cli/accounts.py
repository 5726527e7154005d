"""``zenserve tenants`` and ``zenserve keys``: on the database itself, for operators, who have no key yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from zenserve.client.resources import Key, Tenant, Usage, read
from zenserve.service.cli import deployment, terminal
from zenserve.service.cli.answers import Answer, answering

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from zenserve.service.access.principal import Principal

tenants = typer.Typer(help="Add tenants and set their limits.", no_args_is_help=True)
keys = typer.Typer(help="Make and revoke API keys.", no_args_is_help=True)

TenantId = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant's id, tnt_…")]
MaxQueued = Annotated[int | None, typer.Option(min=1, help="Jobs that wait or run.")]
MaxRunning = Annotated[int | None, typer.Option(min=1, help="Jobs that run; more wait.")]
RetentionDays = Annotated[int | None, typer.Option(min=1, max=3650, help="So long proofs are kept.")]


@tenants.command("add")
@answering
def add_tenant(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who it is.")],
    max_queued: MaxQueued = None,
    max_running: MaxRunning = None,
    retention_days: RetentionDays = None,
) -> Answer:
    """Add a tenant, and print its id."""
    from zenserve.service.access import accounts

    limits = {"max_queued": max_queued, "max_running": max_running, "retention_days": retention_days}
    with _operator() as (session, operator):
        made = _tenant(accounts.add_tenant(session, operator, name, limits))
    return Answer(vars(made), (made.id,))


@tenants.command("list")
@answering
def list_tenants() -> list[Tenant]:
    """List the tenants."""
    from zenserve.service.storage.repositories.accounts import Tenants

    with _operator() as (session, _):
        return [_tenant(row) for row in Tenants(session).all()]


@tenants.command("limit")
@answering
def limit_tenant(
    tenant_id: TenantId,
    max_queued: MaxQueued = None,
    max_running: MaxRunning = None,
    retention_days: RetentionDays = None,
) -> Tenant:
    """Set a tenant's limits; those that are left out become the service's own."""
    from zenserve.service.access import accounts

    limits = {"max_queued": max_queued, "max_running": max_running, "retention_days": retention_days}
    with _operator() as (session, operator):
        return _tenant(accounts.change_tenant(session, operator, tenant_id, {**limits}))


@tenants.command("suspend")
@answering
def suspend_tenant(tenant_id: TenantId) -> Tenant:
    """Refuse a tenant's keys and take none of its jobs, until it is resumed."""
    from zenserve.service.access import accounts

    with _operator() as (session, operator):
        return _tenant(accounts.suspend_tenant(session, operator, tenant_id))


@tenants.command("resume")
@answering
def resume_tenant(tenant_id: TenantId) -> Tenant:
    """Let a suspended tenant in again."""
    from zenserve.service.access import accounts

    with _operator() as (session, operator):
        return _tenant(accounts.resume_tenant(session, operator, tenant_id))


@tenants.command("delete")
@answering
def delete_tenant(tenant_id: TenantId) -> Tenant:
    """Have the scheduler delete a tenant and all that it has. There is no way back."""
    from zenserve.service.access import accounts

    with _operator() as (session, operator):
        return _tenant(accounts.delete_tenant(session, operator, tenant_id))


@tenants.command("usage")
@answering
def show_usage(
    since: Annotated[datetime | None, typer.Option(help="From then on (UTC); 30 days unless given.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Before then (UTC); now unless given.")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="As comma-separated values.")] = False,
) -> Answer | list[Usage]:
    """Show what each tenant's jobs took that ended in a range of time, deleted ones too."""
    from zenserve.service.access import accounts
    from zenserve.service.storage.repositories.usage import Books

    end = until.replace(tzinfo=UTC) if until else datetime.now(UTC)
    begin = since.replace(tzinfo=UTC) if since else end - timedelta(days=30)
    with _operator() as (session, _):
        used = [Usage(**row._mapping) for row in Books(session, None).between(begin, end)]
    if not as_csv:
        return used
    lines = [vars(each) for each in used]
    names = [each.name for each in fields(Usage)]
    return Answer(lines, (accounts.comma_separated(lines, names).rstrip(),))


@keys.command("add")
@answering
def add_key(
    tenant_id: TenantId,
    scopes: Annotated[
        list[str],
        typer.Argument(
            metavar="SCOPE", help="Of read, prove, register, reveal, contribute, manage, admin; or all."
        ),
    ],
    name: Annotated[str, typer.Option(help="What it is for.")] = "unnamed",
    days: Annotated[int | None, typer.Option(min=1, max=3650, help="Days until the key expires.")] = None,
) -> Answer:
    """Make a key, and print it: this once."""
    from zenserve.service.access import accounts
    from zenserve.service.access.principal import read_scopes

    given = read_scopes(scopes)
    with _operator() as (session, operator):
        row, key = accounts.add_key(session, operator, tenant_id, name, given, days)
        return Answer(vars(_key(row)) | {"key": key}, (key,))


@keys.command("list")
@answering
def list_keys() -> list[Key]:
    """List all keys, without what they are shown by."""
    from zenserve.service.storage.repositories.accounts import Keys

    with _operator() as (session, _):
        return [_key(row) for row in Keys(session).all()]


@keys.command("revoke")
@answering
def revoke_key(key_id: Annotated[str, typer.Argument(metavar="KEY", help="The key's id, key_…")]) -> Answer:
    """Revoke a key: within seconds, nothing accepts it."""
    from zenserve.service.access import accounts

    with _operator() as (session, operator):
        accounts.revoke_key(session, operator, key_id)
    return Answer({"id": key_id, "revoked": True}, (f"[dim]revoked[/]  {terminal.escape(key_id)}",))


def _tenant(row: object) -> Tenant:
    """As the API shows it."""
    from zenserve.service.api.account_schemas import TenantView

    return read(Tenant, TenantView.model_validate(row).model_dump(mode="json"))


def _key(row: object) -> Key:
    from zenserve.service.api.account_schemas import KeyView

    return read(Key, KeyView.model_validate(row).model_dump(mode="json"))


@contextmanager
def _operator() -> Iterator[tuple[Session, Principal]]:
    """A transaction on the database that the settings name, as somebody who may do everything."""
    from dataclasses import replace

    from zenserve.service.access.principal import LOCAL

    with deployment.opened() as runtime, runtime.database.write() as session:
        yield session, replace(LOCAL, actor="command line")
