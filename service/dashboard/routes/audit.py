"""The audit log."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from service.dashboard.pages import PageRoute, page
from service.dashboard.visitors import Manager
from service.repositories.accounts import AuditLog
from service.repositories.browsing import Browsing
from service.routes.dependencies import RuntimeDep, WindowDep

router = APIRouter(route_class=PageRoute)


@router.get("/audit")
def list_entries(
    request: Request,
    runtime: RuntimeDep,
    visitor: Manager,
    window: WindowDep,
) -> Response:
    with runtime.database.read() as session:
        return page(
            request,
            visitor,
            "audit.html",
            entries=AuditLog(session, visitor.principal.sight).page(window),
            window=window,
            tenants=Browsing(session, visitor.principal.sight).tenant_names(),
        )
