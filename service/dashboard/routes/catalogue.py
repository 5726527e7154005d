"""Models, and the circuits that they share."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from service.api.routes.dependencies import RuntimeDep, WindowDep
from service.dashboard.pages import PageRoute, page
from service.dashboard.visitors import Admin, Reader
from service.storage.repositories.browsing import Browsing

router = APIRouter(route_class=PageRoute)


@router.get("/models")
def list_models(request: Request, runtime: RuntimeDep, visitor: Reader, window: WindowDep) -> Response:
    with runtime.database.read() as session:
        browsing = Browsing(session, visitor.principal.sight)
        return page(
            request,
            visitor,
            "models.html",
            models=browsing.models(window),
            window=window,
            tenants=browsing.tenant_names(),
        )


@router.get("/circuits")
def list_circuits(
    request: Request,
    runtime: RuntimeDep,
    visitor: Admin,
    window: WindowDep,
) -> Response:
    with runtime.database.read() as session:
        circuits = Browsing(session, None).circuits(window)
        return page(request, visitor, "circuits.html", circuits=circuits, window=window)
