"""The audit log."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from zenserve.service.api.routes.dependencies import RuntimeDep, WindowDep
from zenserve.service.dashboard.pages import PageRoute, page
from zenserve.service.dashboard.visitors import Manager
from zenserve.service.storage.repositories.accounts import AuditLog
from zenserve.service.storage.repositories.browsing import Browsing

router = APIRouter(route_class=PageRoute)


@router.get("/audit")
def list_entries(request: Request, runtime: RuntimeDep, visitor: Manager, window: WindowDep) -> Response:
    with runtime.database.read() as session:
        return page(
            request,
            visitor,
            "audit.html",
            entries=AuditLog(session, visitor.principal.sight).page(window),
            window=window,
            tenants=Browsing(session, visitor.principal.sight).tenant_names(),
        )
