"""The first page: how the service is doing."""

from __future__ import annotations

from datetime import timedelta

from fastapi import APIRouter, Request, Response

from service.api.routes.dependencies import RuntimeDep
from service.dashboard.pages import PageRoute, page
from service.dashboard.visitors import Reader
from service.jobs.lifecycle import now
from service.storage.repositories.overview import Overview

router = APIRouter(route_class=PageRoute)


@router.get("")
@router.get("/")
def show_overview(request: Request, runtime: RuntimeDep, visitor: Reader) -> Response:
    moment = now()
    yesterday = moment - timedelta(days=1)
    with runtime.database.read() as session:
        overview = Overview(session, visitor.principal.sight)
        return page(
            request,
            visitor,
            "overview.html",
            queues=overview.queues(),
            hours=overview.hours(moment),
            causes=overview.causes(yesterday),
            stages=overview.stages(yesterday),
            outbox=overview.outbox(),
            workers=overview.workers(),
        )
