"""The deployment's health, seen from the host of the API process that answers."""

from __future__ import annotations

import shutil

from fastapi import APIRouter, Request, Response

from zenserve.errors import ZenError
from zenserve.service import doctor
from zenserve.service.api.metrics import Requests
from zenserve.service.api.routes.dependencies import RuntimeDep
from zenserve.service.dashboard.pages import PageRoute, page
from zenserve.service.dashboard.visitors import Admin
from zenserve.service.runtime import Runtime
from zenserve.service.storage.repositories.deployment import Deployment

router = APIRouter(prefix="/health", route_class=PageRoute)


@router.get("")
def show_health(request: Request, runtime: RuntimeDep, visitor: Admin) -> Response:
    requests: Requests = request.app.state.requests
    with runtime.database.read() as session:
        database = Deployment(session).database_bytes()
    return page(
        request,
        visitor,
        "health.html",
        findings=[*doctor.examine_beside_work(runtime)],
        disk=shutil.disk_usage(runtime.settings.data_dir),
        database=database,
        artifacts=_artifacts(runtime),
        settings=runtime.settings,
        since=requests.since,
        routes=requests.by_route(),
    )


def _artifacts(runtime: Runtime) -> list[int] | None:
    """The bytes of each artifact; None where the store does not answer: the findings say why."""
    try:
        return runtime.store.sizes()
    except ZenError:
        return None
