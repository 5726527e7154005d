"""Ceremonies: who contributed to a model's keys, and what is next."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from zenserve.service.api.routes.dependencies import Id, RuntimeDep, WindowDep
from zenserve.service.dashboard.pages import PageRoute, page
from zenserve.service.dashboard.visitors import Reader
from zenserve.service.storage.repositories import Ceremonies
from zenserve.service.storage.repositories.browsing import Browsing
from zenserve.service.storage.repositories.lists import Filters, Lists
from zenserve.service.submissions.ceremonies import phase_of

router = APIRouter(prefix="/ceremonies", route_class=PageRoute)


@router.get("")
def list_ceremonies(request: Request, runtime: RuntimeDep, visitor: Reader, window: WindowDep) -> Response:
    sight = visitor.principal.sight
    with runtime.database.read() as session:
        return page(
            request,
            visitor,
            "ceremonies.html",
            ceremonies=Lists(session, sight).ceremonies(Filters(), window),
            phase_of=phase_of,
            window=window,
            tenants=Browsing(session, sight).tenant_names(),
        )


@router.get("/{ceremony_id}")
def show_ceremony(request: Request, runtime: RuntimeDep, visitor: Reader, ceremony_id: Id) -> Response:
    sight = visitor.principal.sight
    with runtime.database.read() as session:
        ceremonies = Ceremonies(session, sight)
        ceremony = ceremonies.get(ceremony_id)
        return page(
            request,
            visitor,
            "ceremony.html",
            ceremony=ceremony,
            job=ceremony.job,
            phase=phase_of(ceremony),
            circuits=ceremonies.circuits(ceremony_id),
            contributions=ceremonies.contributions(ceremony_id),
            pending=ceremonies.pending(ceremony_id),
            tenants=Browsing(session, sight).tenant_names(),
        )
