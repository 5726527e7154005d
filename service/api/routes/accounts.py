"""Who one is, tenants, API keys, and the audit log."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from service.api import accounts, problems
from service.api.access import SCOPES
from service.api.account_schemas import (
    AuditView,
    CallerView,
    KeyRequest,
    KeyView,
    NewKeyView,
    TenantChange,
    TenantRequest,
    TenantView,
)
from service.api.routes.dependencies import Admin, Id, JsonRoute, Known, Manager, RuntimeDep, WindowDep
from service.api.schemas import Listing, listing
from service.storage.repositories.accounts import AuditLog, Keys, Tenants

router = APIRouter(tags=["accounts"], route_class=JsonRoute)


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


@router.post("/tenants", status_code=201, responses=problems.responses(400, 409, 415))
def create_tenant(
    runtime: RuntimeDep, principal: Admin, body: TenantRequest, request: Request, response: Response
) -> TenantView:
    """Add a tenant."""
    limits = body.model_dump(include=set(accounts.LIMITS))
    with runtime.database.write() as session:
        tenant = accounts.add_tenant(session, principal, body.name, limits, request)
    response.headers["Location"] = f"/v1/tenants/{tenant.id}"
    return TenantView.model_validate(tenant)


@router.patch("/tenants/{tenant_id}", responses=problems.responses(400, 404, 409, 415))
def change_tenant(
    runtime: RuntimeDep, principal: Admin, body: TenantChange, request: Request, tenant_id: Id
) -> TenantView:
    """Change a tenant's name or limits. What is left out stays as it is; null is the service's own limit."""
    changes = body.model_dump(exclude_unset=True)
    if body.name is None:
        changes.pop("name", None)
    with runtime.database.write() as session:
        tenant = accounts.change_tenant(session, principal, tenant_id, changes, request)
    return TenantView.model_validate(tenant)


@router.get("/keys", responses=problems.responses())
def list_keys(runtime: RuntimeDep, principal: Manager, window: WindowDep) -> Listing[KeyView]:
    """The tenant's keys, revoked ones too, newest first; with the scope `admin`, all tenants'."""
    with runtime.database.read() as session:
        page = Keys(session, principal.sight).page(window)
    return listing(page, KeyView.model_validate)


@router.post("/keys", status_code=201, responses=problems.responses(400, 404, 415))
def create_key(
    runtime: RuntimeDep, principal: Manager, body: KeyRequest, request: Request, response: Response
) -> NewKeyView:
    """Make a key, with no more scopes than your own. It is shown in this answer, and never again."""
    tenant_id = body.tenant_id or principal.tenant_id
    with runtime.database.write() as session:
        row, key = accounts.add_key(
            session, principal, tenant_id, body.name, body.scopes, body.expires_in_days, request
        )
    response.headers["Cache-Control"] = "no-store"
    return NewKeyView(**KeyView.model_validate(row).model_dump(), key=key)


@router.delete("/keys/{key_id}", status_code=204, responses=problems.responses(404))
def revoke_key(runtime: RuntimeDep, principal: Manager, request: Request, key_id: Id) -> None:
    """Revoke a key: within seconds, nothing accepts it. To revoke it again is no error."""
    with runtime.database.write() as session:
        accounts.revoke_key(session, principal, key_id, request)


@router.get("/audit", responses=problems.responses())
def list_audit(runtime: RuntimeDep, principal: Manager, window: WindowDep) -> Listing[AuditView]:
    """Who did what, newest first: every change, every opening that was fetched, every key refused."""
    with runtime.database.read() as session:
        page = AuditLog(session, principal.sight).page(window)
    return listing(page, AuditView.model_validate)
