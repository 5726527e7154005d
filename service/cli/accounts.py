"""``zenserve tenants`` and ``zenserve keys``: on the database itself, for operators, who have no key yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from service.api.access import Principal

tenants = typer.Typer(help="Add tenants and set their limits.", no_args_is_help=True)
keys = typer.Typer(help="Make and revoke API keys.", no_args_is_help=True)
out = Console()

TenantId = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant's id, tnt_…")]
MaxQueued = Annotated[int | None, typer.Option(min=1, help="Jobs that wait or run.")]
MaxRunning = Annotated[int | None, typer.Option(min=1, help="Jobs that run; more wait.")]
RetentionDays = Annotated[int | None, typer.Option(min=1, max=3650, help="So long proofs are kept.")]


@tenants.command("add")
def add_tenant(
    name: str,
    max_queued: MaxQueued = None,
    max_running: MaxRunning = None,
    retention_days: RetentionDays = None,
) -> None:
    """Add a tenant, and print its id."""
    from service.api import accounts

    limits = {"max_queued": max_queued, "max_running": max_running, "retention_days": retention_days}
    with _operator() as (session, operator):
        print(accounts.add_tenant(session, operator, name, limits, None).id)


@tenants.command("list")
def list_tenants() -> None:
    """List the tenants."""
    from service.storage.repositories.accounts import Tenants

    table = Table("id", "name", "queued", "running", "days kept")
    with _operator() as (session, _):
        for row in Tenants(session).all():
            limits = (row.max_queued, row.max_running, row.retention_days)
            table.add_row(row.id, row.name, *("" if limit is None else str(limit) for limit in limits))
    out.print(table)


@tenants.command("limit")
def limit_tenant(
    tenant: TenantId,
    max_queued: MaxQueued = None,
    max_running: MaxRunning = None,
    retention_days: RetentionDays = None,
) -> None:
    """Set a tenant's limits; those that are left out become the service's own."""
    from service.api import accounts

    limits = {"max_queued": max_queued, "max_running": max_running, "retention_days": retention_days}
    with _operator() as (session, operator):
        accounts.change_tenant(session, operator, tenant, {**limits}, None)


@keys.command("add")
def add_key(
    tenant: TenantId,
    scopes: Annotated[
        list[str], typer.Argument(help="Of read, prove, register, reveal, manage, admin; or all.")
    ],
    name: Annotated[str, typer.Option(help="What it is for.")] = "unnamed",
    days: Annotated[int | None, typer.Option(min=1, max=3650, help="It expires after as many.")] = None,
) -> None:
    """Make a key, and print it: this once."""
    from service.api import access, accounts

    given = access.read_scopes(scopes)
    with _operator() as (session, operator):
        print(accounts.add_key(session, operator, tenant, name, given, days, None)[1])


@keys.command("list")
def list_keys() -> None:
    """List all keys, without what they are shown by."""
    from service.storage.repositories.accounts import Keys

    table = Table("id", "tenant", "name", "scopes", "expires", "revoked", "last used")
    with _operator() as (session, _):
        for row in Keys(session).all():
            moments = (row.expires_at, row.revoked_at, row.last_used_at)
            shown = (moment.isoformat(" ", "seconds") if moment else "" for moment in moments)
            table.add_row(row.id, row.tenant_id, row.name, " ".join(row.scopes), *shown)
    out.print(table)


@keys.command("revoke")
def revoke_key(key: Annotated[str, typer.Argument(metavar="KEY", help="The key's id, key_…")]) -> None:
    """Revoke a key: within seconds, nothing accepts it."""
    from service.api import accounts

    with _operator() as (session, operator):
        accounts.revoke_key(session, operator, key, None)


@contextmanager
def _operator() -> Iterator[tuple[Session, Principal]]:
    """A transaction on the database that the settings name, as somebody who may do everything."""
    from dataclasses import replace

    from service.api.access import LOCAL
    from service.runtime import Runtime
    from service.settings import Settings
    from service.storage import schema

    runtime = Runtime.open(Settings.read())
    try:
        schema.migrate(runtime.database)
        with runtime.database.write() as session:
            yield session, replace(LOCAL, actor="command line")
    finally:
        runtime.close()
