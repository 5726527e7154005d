"""What operators and their machines ask: metrics, and which version this is."""

from __future__ import annotations

import importlib.metadata
import ipaddress

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from pydantic import BaseModel, Field
from sqlalchemy.exc import SQLAlchemyError

from prover.preamble import PROOF
from service.api import problems
from service.api.access import Principal, key_required
from service.api.metrics import exposition
from service.api.routes.dependencies import RuntimeDep
from service.storage import schema
from zenerrors import ResourceError

router = APIRouter(tags=["operation"])


class Version(BaseModel):
    """What is running here."""

    version: str = Field(description="Of the package, and so of its compiler.", examples=["0.1.0"])
    api: str = Field(description="The first part of the API's paths.", examples=["v1"])
    proof_format: int = Field(description="Of the proofs that it makes and reads.")
    schema_revision: str | None = Field(description="Of the database, as it is.", examples=["0003"])
    commit: str | None = Field(description="Of the source, if known.")


@router.get(
    "/metrics",
    response_class=Response,
    responses=problems.responses(401, 403, 503)
    | {200: {"description": "Prometheus' text format", "content": {"text/plain": {}}}},
)
def metrics(runtime: RuntimeDep, request: Request) -> Response:
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


@router.get("/version")
def version(runtime: RuntimeDep) -> Version:
    """Which version this is."""
    return Version(
        version=_package_version(),
        api="v1",
        proof_format=PROOF.version,
        schema_revision=schema.revision_of(runtime.database),
        commit=runtime.settings.commit,
    )


def _package_version() -> str:
    try:
        return importlib.metadata.version("zenserve")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"  # run from a checkout that is not installed


def _is_loopback(request: Request) -> bool:
    if "x-forwarded-for" in request.headers:  # a proxy of this host asks, for somebody
        return False
    try:
        return request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
