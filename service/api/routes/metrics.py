"""Routes for operators and their monitoring: metrics and the version."""

from __future__ import annotations

import importlib.metadata
import ipaddress
import shutil
import subprocess
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from pydantic import BaseModel, Field
from sqlalchemy.exc import SQLAlchemyError

from zenserve import service
from zenserve.errors import ResourceError
from zenserve.kernels.target import available_targets
from zenserve.service.access.keys import key_required
from zenserve.service.access.principal import Principal
from zenserve.service.api import problems
from zenserve.service.api.authentication import names_this_host
from zenserve.service.api.metrics import exposition
from zenserve.service.api.routes.dependencies import RuntimeDep
from zenserve.service.api.routes.strict import ApiRoute
from zenserve.service.settings import Settings
from zenserve.service.storage import schema
from zenserve.service.storage.repositories.workers import Workers
from zenserve.verifier.preamble import PROOF

router = APIRouter(tags=["operation"], route_class=ApiRoute)


class Version(BaseModel):
    """The versions, the kernels and the backends of the running service."""

    version: str = Field(description="Of the package, and so of its compiler.", examples=["0.1.0"])
    api: str = Field(description="The first part of the API's paths.", examples=["v1"])
    proof_format: int = Field(description="Of the proofs that it makes and reads.", examples=[2])
    schema_revision: str | None = Field(description="Of the database, as it is.", examples=["0003"])
    commit: str | None = Field(
        description="Of the source that runs, `-dirty` where it was changed since; if known."
    )
    kernels: str = Field(description="What this process computes with.", examples=["x86_ifma"])
    backends: list[str] = Field(description="What the workers prove with.", examples=[["cpu"]])


@router.get(
    "/metrics",
    response_class=Response,
    responses=problems.responses(401, 403, 503)
    | {
        200: {
            "description": "Prometheus' text format",
            "content": {"text/plain": {"example": "zenserve_jobs_running 1\n"}},
        }
    },
)
def get_metrics(runtime: RuntimeDep, request: Request) -> Response:
    """For Prometheus: from this host, or with a key whose scope is `admin`."""
    principal: Principal | None = request.state.principal
    if principal is not None:
        principal.require("admin")
    elif not _is_loopback(request):
        raise key_required()
    try:
        text = exposition(runtime, request.app.state.requests)
    except SQLAlchemyError as error:
        raise ResourceError(
            "resource.database", f"the database does not answer ({type(error).__name__})"
        ) from None
    return Response(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)


@router.get("/version", responses=problems.responses(429, 500, 503))
def get_version(runtime: RuntimeDep, request: Request) -> Version:
    """Return the versions, the kernels and the backends of the running service."""
    with runtime.database.read() as session:
        backends = sorted({worker.backend for worker in Workers(session).live() if worker.backend})
    return Version(
        version=_package_version(),
        api="v1",
        proof_format=PROOF.version,
        schema_revision=schema.revision_of(runtime.database),
        commit=request.app.state.commit,
        kernels=available_targets()[0],
        backends=backends,
    )


def commit_of(settings: Settings) -> str | None:
    """Of the source that was built, or that this process was started from."""
    return settings.commit or _checked_out()


@cache
def _checked_out() -> str | None:
    git, checkout = shutil.which("git"), Path(service.__file__).parents[2]
    if git is None or not (checkout / ".git").exists():
        return None
    command = [git, "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  a fixed one
    return answer.stdout.strip() or None


def _package_version() -> str:
    try:
        return importlib.metadata.version("zenserve")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"  # run from a checkout that is not installed


def _is_loopback(request: Request) -> bool:
    # A proxy of this host asks for somebody, and a web page under a name that was bent to here.
    if "x-forwarded-for" in request.headers or not names_this_host(request):
        return False
    try:
        return request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
