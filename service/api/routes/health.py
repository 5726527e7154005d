"""Routes for liveness (the process runs) and readiness (the service can do its work)."""

from __future__ import annotations

import shutil
from typing import Final, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field
from sqlalchemy.exc import SQLAlchemyError

from zenserve.service.api.routes.dependencies import RuntimeDep
from zenserve.service.api.routes.strict import ApiRoute
from zenserve.service.runtime import Runtime
from zenserve.service.storage import schema
from zenserve.service.storage.repositories.workers import Workers

router = APIRouter(tags=["health"], route_class=ApiRoute)

LEAST_FREE_BYTES: Final = 256 << 20
"""The free bytes that a database, messages and a few proving keys need to go on."""


class Health(BaseModel):
    status: Literal["ok"] = Field(
        default="ok", description="There is no other: a process that is not well does not answer."
    )


class Readiness(BaseModel):
    """``ready`` if nothing fails; ``failing`` says what does and why."""

    ready: bool = Field(description="Whether it can do its work.", examples=[True])
    failing: dict[str, str] = Field(
        description="By part, what fails and why; empty where nothing does.", examples=[{}]
    )


@router.get("/healthz")
async def get_health() -> Health:
    """The process is alive."""
    return Health()


@router.get("/readyz", responses={503: {"model": Readiness}})
def get_readiness(request: Request, runtime: RuntimeDep, response: Response) -> Readiness:
    """The database answers, its schema is the newest, the disks of the data directory and of the store have
    room, a worker has lately shown life, and this process was not told to stop.
    """
    failing = _full(runtime) | _failing(runtime)
    if request.app.state.drain.has_begun:
        failing["stopping"] = "this process was told to stop"
    response.status_code = 503 if failing else 200
    return Readiness(ready=not failing, failing=failing)


def _full(runtime: Runtime) -> dict[str, str]:
    free = min(shutil.disk_usage(runtime.settings.data_dir).free, runtime.store.free_bytes())
    if free >= LEAST_FREE_BYTES:
        return {}
    return {"disk": f"{free >> 20} MiB are free, of {LEAST_FREE_BYTES >> 20} that there should be: make room"}


def _failing(runtime: Runtime) -> dict[str, str]:
    try:
        if not schema.at_head(runtime.database):
            return {"migrations": "the schema is not the one this version needs; restart zenserve serve"}
        with runtime.database.read() as session:
            lives, last = Workers(session).live(), Workers(session).last_heartbeat()
    except SQLAlchemyError as error:
        return {"database": f"the database does not answer ({type(error).__name__})"}
    if lives:
        return {}
    since = f" since {last.isoformat(timespec='seconds')}" if last else ""
    return {"worker": f"no worker has shown life{since}"}
