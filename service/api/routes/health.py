"""Whether the process lives, and whether the service can do its work."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel
from sqlalchemy.exc import SQLAlchemyError

from service.api.routes.dependencies import RuntimeDep
from service.runtime import Runtime
from service.storage import schema
from service.storage.repositories.workers import Workers

router = APIRouter(tags=["health"])


class Health(BaseModel):
    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """``ready`` if nothing fails; ``failing`` says what does and why."""

    ready: bool
    failing: dict[str, str]


@router.get("/healthz")
def healthz() -> Health:
    """The process is alive."""
    return Health()


@router.get("/readyz", responses={503: {"model": Readiness}})
def readyz(runtime: RuntimeDep, response: Response) -> Readiness:
    """The database answers, its schema is the newest, and a worker has lately shown life."""
    failing = _failing(runtime)
    response.status_code = 503 if failing else 200
    return Readiness(ready=not failing, failing=failing)


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
