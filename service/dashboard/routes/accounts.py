"""Tenants with their limits, and keys."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response

from zenserve.errors import RequestError
from zenserve.service.access import accounts, keys
from zenserve.service.access.principal import SCOPES, Scope
from zenserve.service.api.routes.dependencies import Id, RuntimeDep, WindowDep
from zenserve.service.dashboard.pages import PageRoute, page, see
from zenserve.service.dashboard.visitors import Admin, Manager, SendingAdmin, SendingManager, Visitor
from zenserve.service.storage.database import clock, now
from zenserve.service.storage.repositories.accounts import Keys, Tenants
from zenserve.service.storage.repositories.browsing import Browsing
from zenserve.service.storage.repositories.overview import RANGES, RangeName
from zenserve.service.storage.repositories.usage import Books
from zenserve.service.submissions.requests import MOST, MOST_DAYS, PRINTABLE

router = APIRouter(route_class=PageRoute)

Name = Annotated[str, Form(min_length=1, max_length=200, pattern=PRINTABLE)]
Limit = Annotated[int | None, Form(ge=1, le=MOST)]
Days = Annotated[int | None, Form(ge=1, le=MOST_DAYS)]


@router.get("/tenants")
def list_tenants(
    request: Request,
    runtime: RuntimeDep,
    visitor: Admin,
    window: WindowDep,
    name: Annotated[RangeName, Query(alias="range")] = "month",
) -> Response:
    moment, period = now(), RANGES[name]
    with runtime.database.read() as session:
        return page(
            request,
            visitor,
            "tenants.html",
            tenants=Tenants(session).page(window),
            jobs=Browsing(session, None).unfinished(),
            used=Books(session, None).between(moment - period.count * period.slot, moment),
            period=period,
            periods=RANGES,
            window=window,
            limits=runtime.settings,
        )


@router.post("/tenants")
def create_tenant(runtime: RuntimeDep, visitor: SendingAdmin, name: Name) -> Response:
    with runtime.database.write() as session:
        accounts.add_tenant(session, visitor.principal, name, {})
    return see("/admin/tenants")


@router.post("/tenants/{tenant_id}")
def change_tenant(
    request: Request,
    runtime: RuntimeDep,
    visitor: SendingAdmin,
    tenant_id: Id,
    max_queued: Limit = None,
    max_running: Limit = None,
    retention_days: Days = None,
) -> Response:
    given = zip(accounts.LIMITS, (max_queued, max_running, retention_days), strict=True)
    with runtime.database.write() as session:
        accounts.change_tenant(session, visitor.principal, tenant_id, dict(given))
    return see("/admin/tenants")


@router.get("/keys")
def list_keys(request: Request, runtime: RuntimeDep, visitor: Manager, window: WindowDep) -> Response:
    return _keys_page(request, runtime, visitor, window, fresh=None)


@router.post("/keys")
def create_key(
    request: Request,
    runtime: RuntimeDep,
    visitor: SendingManager,
    window: WindowDep,
    name: Name,
    tenant: Annotated[str, Form(max_length=64, pattern=PRINTABLE)] = "",
    scope: Annotated[list[Scope] | None, Form()] = None,
    days: Days = None,
) -> Response:
    """The page that follows shows the key, once."""
    if not scope:
        raise RequestError("request.invalid", "scope: choose at least one", field="scope")
    by = visitor.principal
    with runtime.database.write() as session:
        _, key = accounts.add_key(session, by, tenant or by.tenant_id, name, scope, days)
    return _keys_page(request, runtime, visitor, window, fresh=key)


@router.post("/keys/{key_id}/revoke")
def revoke_key(runtime: RuntimeDep, visitor: SendingManager, key_id: Id) -> Response:
    with runtime.database.write() as session:
        accounts.revoke_key(session, visitor.principal, key_id)
    return see("/admin/keys")


def _keys_page(
    request: Request, runtime: RuntimeDep, visitor: Visitor, window: WindowDep, fresh: str | None
) -> Response:
    by = visitor.principal
    with runtime.database.read() as session:
        return page(
            request,
            visitor,
            "keys.html",
            keys=Keys(session, by.sight).page(window),
            is_live=partial(keys.is_live, moment=clock(session)),
            scopes=[scope for scope in SCOPES if by.may(scope) or by.may("admin")],
            tenants=Browsing(session, by.sight).tenant_names(),
            window=window,
            fresh=fresh,
        )
