"""Routes of the caller's identity, tenants, API keys, usage, and the audit log."""

from __future__ import annotations

from fastapi import APIRouter, Response

from zenserve.service.access import accounts
from zenserve.service.access.principal import SCOPES
from zenserve.service.api import openapi, problems
from zenserve.service.api.account_schemas import (
    AuditView,
    CallerView,
    KeyRequest,
    KeyView,
    NewKeyView,
    TenantChange,
    TenantRequest,
    TenantView,
    UsageView,
)
from zenserve.service.api.routes.dependencies import (
    Admin,
    Id,
    Known,
    Manager,
    PeriodDep,
    RuntimeDep,
    WindowDep,
)
from zenserve.service.api.routes.strict import ApiRoute
from zenserve.service.api.schemas import Listing, listing
from zenserve.service.storage.repositories.accounts import AuditLog, Keys, Tenants
from zenserve.service.storage.repositories.usage import Books

router = APIRouter(tags=["accounts"], route_class=ApiRoute)


@router.get("/whoami", responses=problems.responses())
async def whoami(principal: Known) -> CallerView:
    """Whom the service takes you for, and what you may do."""
    scopes = [scope for scope in SCOPES if principal.may(scope)]
    return CallerView(tenant_id=principal.tenant_id, actor=principal.actor, scopes=scopes)


@router.get("/tenants", responses=problems.responses())
def list_tenants(runtime: RuntimeDep, _principal: Admin, window: WindowDep) -> Listing[TenantView]:
    """The tenants, newest first."""
    with runtime.database.read() as session:
        page = Tenants(session).page(window)
    return listing(page, TenantView.model_validate)


@router.post(
    "/tenants",
    status_code=201,
    responses=problems.responses(400, 409, 415) | {201: openapi.headers("Location")},
)
def create_tenant(
    runtime: RuntimeDep, principal: Admin, body: TenantRequest, response: Response
) -> TenantView:
    """Add a tenant."""
    limits = body.model_dump(include=set(accounts.LIMITS))
    with runtime.database.write() as session:
        tenant = accounts.add_tenant(session, principal, body.name, limits)
    response.headers["Location"] = f"/v1/tenants/{tenant.id}"
    return TenantView.model_validate(tenant)


@router.patch("/tenants/{tenant_id}", responses=problems.responses(400, 404, 409, 415))
def change_tenant(runtime: RuntimeDep, principal: Admin, body: TenantChange, tenant_id: Id) -> TenantView:
    """Change a tenant's name or limits. What is left out stays as it is; null is the service's own limit."""
    changes = body.model_dump(exclude_unset=True)
    if body.name is None:
        changes.pop("name", None)
    with runtime.database.write() as session:
        tenant = accounts.change_tenant(session, principal, tenant_id, changes)
    return TenantView.model_validate(tenant)


@router.get("/tenants/{tenant_id}", responses=problems.responses(404))
def get_tenant(runtime: RuntimeDep, _principal: Admin, tenant_id: Id) -> TenantView:
    """A tenant. One that was deleted is there until all that it had is gone."""
    with runtime.database.read() as session:
        return TenantView.model_validate(Tenants(session).get(tenant_id))


@router.post("/tenants/{tenant_id}/suspend", responses=problems.responses(404, 409))
def suspend_tenant(runtime: RuntimeDep, principal: Admin, tenant_id: Id) -> TenantView:
    """Refuse a tenant's keys within seconds, and take none of its jobs; what runs goes on."""
    with runtime.database.write() as session:
        tenant = accounts.suspend_tenant(session, principal, tenant_id)
    return TenantView.model_validate(tenant)


@router.post("/tenants/{tenant_id}/resume", responses=problems.responses(404, 409))
def resume_tenant(runtime: RuntimeDep, principal: Admin, tenant_id: Id) -> TenantView:
    """Let a suspended tenant in again, and take its jobs."""
    with runtime.database.write() as session:
        tenant = accounts.resume_tenant(session, principal, tenant_id)
    return TenantView.model_validate(tenant)


@router.delete("/tenants/{tenant_id}", status_code=202, responses=problems.responses(404, 409))
def delete_tenant(runtime: RuntimeDep, principal: Admin, tenant_id: Id) -> TenantView:
    """Suspend a tenant for good, and delete what it has: keys, webhooks, uploads, jobs, proofs, datasets,
    commitments, models, with their files, and at last the tenant. It takes a while, and there is no way back.
    The audit log stays, and so does what it used.
    """
    with runtime.database.write() as session:
        tenant = accounts.delete_tenant(session, principal, tenant_id)
    return TenantView.model_validate(tenant)


@router.get("/keys", responses=problems.responses())
def list_keys(runtime: RuntimeDep, principal: Manager, window: WindowDep) -> Listing[KeyView]:
    """The tenant's keys, revoked ones too, newest first; with the scope `admin`, all tenants'."""
    with runtime.database.read() as session:
        page = Keys(session, principal.sight).page(window)
    return listing(page, KeyView.model_validate)


@router.post(
    "/keys",
    status_code=201,
    responses=problems.responses(400, 404, 409, 415) | {201: openapi.headers("Cache-Control")},
)
def create_key(runtime: RuntimeDep, principal: Manager, body: KeyRequest, response: Response) -> NewKeyView:
    """Make a key, with no more scopes than your own. It is shown in this answer, and never again."""
    tenant_id = body.tenant_id or principal.tenant_id
    with runtime.database.write() as session:
        row, key = accounts.add_key(
            session, principal, tenant_id, body.name, body.scopes, body.expires_in_days
        )
    response.headers["Cache-Control"] = "no-store"
    return NewKeyView(**KeyView.model_validate(row).model_dump(), key=key)


@router.delete("/keys/{key_id}", status_code=204, responses=problems.responses(404))
def revoke_key(runtime: RuntimeDep, principal: Manager, key_id: Id) -> None:
    """Revoke a key: within seconds, nothing accepts it. To revoke it again is no error."""
    with runtime.database.write() as session:
        accounts.revoke_key(session, principal, key_id)


@router.get("/usage", responses=problems.responses())
def list_usage(runtime: RuntimeDep, principal: Manager, period: PeriodDep) -> Listing[UsageView]:
    """List the resource use of the tenant's jobs that ended in this time, deleted jobs included.

    With the scope `admin`, list that of all tenants.
    """
    with runtime.database.read() as session:
        used = Books(session, principal.sight).between(period.since, period.until)
    return Listing(items=[UsageView.model_validate(row) for row in used], next_cursor=None)


@router.get(
    "/usage.csv",
    response_class=Response,
    responses=problems.responses()
    | {200: {"content": {"text/csv": {"example": "tenant_id,name,jobs,seconds,rows,bytes\r\n"}}}},
)
def export_usage(runtime: RuntimeDep, principal: Manager, period: PeriodDep) -> Response:
    """`/v1/usage` as comma-separated values, with a line of names at the top."""
    lines = list_usage(runtime, principal, period).items
    text = accounts.comma_separated([line.model_dump() for line in lines], list(UsageView.model_fields))
    return Response(text, media_type="text/csv")


@router.get("/audit", responses=problems.responses())
def list_audit(runtime: RuntimeDep, principal: Manager, window: WindowDep) -> Listing[AuditView]:
    """List the audit log, newest first: every change, every opening that was fetched, every key refused."""
    with runtime.database.read() as session:
        page = AuditLog(session, principal.sight).page(window)
    return listing(page, AuditView.model_validate)
