"""The first page: how the service is doing."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from zenserve.service.api.routes.dependencies import RuntimeDep
from zenserve.service.dashboard.pages import PageRoute, page
from zenserve.service.dashboard.visitors import Reader
from zenserve.service.storage.database import now
from zenserve.service.storage.repositories.overview import MOST_ENDED, RANGES, Overview, RangeName

router = APIRouter(route_class=PageRoute)


@router.get("")
@router.get("/")
def show_overview(
    request: Request,
    runtime: RuntimeDep,
    visitor: Reader,
    name: Annotated[RangeName, Query(alias="range")] = "day",
) -> Response:
    moment, period = now(), RANGES[name]
    with runtime.database.read() as session:
        overview = Overview(session, visitor.principal.sight)
        slots = overview.slots(period, moment)
        return page(
            request,
            visitor,
            "overview.html",
            queues=overview.queues(),
            period=period,
            periods=RANGES,
            slots=slots,
            truncated=sum(slot.total for slot in slots) >= MOST_ENDED,
            paces=overview.paces(slots[0].start),
            causes=overview.causes(slots[0].start),
            stages=overview.stages(slots[0].start),
            outbox=overview.outbox(),
            workers=overview.workers(),
        )
