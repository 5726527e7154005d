"""The operators' pages under ``/admin``: rendered here, from the database, with a little script to keep them
fresh. Its style and script are among ``zenserve.service.api.pages``.
"""

from __future__ import annotations

from fastapi import APIRouter, FastAPI

from zenserve.errors import NotFoundError
from zenserve.service.api.rates import Buckets
from zenserve.service.dashboard.pages import PageRoute, compile_templates
from zenserve.service.dashboard.routes import (
    accounts,
    audit,
    catalogue,
    ceremonies,
    health,
    jobs,
    overview,
    submissions,
    visits,
    webhooks,
)
from zenserve.service.dashboard.visitors import ATTEMPTS_PER_MINUTE


def install(app: FastAPI) -> None:
    """Add the pages to the application. They are no part of the API and of its description."""
    compile_templates()
    app.state.login_attempts = Buckets("login", ATTEMPTS_PER_MINUTE)
    rooms = visits, overview, jobs, submissions, catalogue, ceremonies, accounts, webhooks, audit, health
    for room in rooms:
        app.include_router(room.router, prefix="/admin", include_in_schema=False)
    app.include_router(_rest, prefix="/admin", include_in_schema=False)


_rest = APIRouter(route_class=PageRoute)


@_rest.get("/{rest:path}")
def nothing(rest: str) -> None:
    raise NotFoundError("not_found", f"there is no page /admin/{rest}")
