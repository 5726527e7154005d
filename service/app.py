"""The HTTP application. Rooms: ``service.api.routes``; errors: ``service.api.problems``."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi_offline import FastAPIOffline
from starlette.formparsers import MultiPartParser

from service import dashboard
from service.api import problems
from service.api.body_limit import BodyLimit
from service.api.door import Door
from service.api.metrics import Requests
from service.api.observation import Observation
from service.api.rates import Buckets
from service.api.routes import (
    accounts,
    commitments,
    datasets,
    health,
    metrics,
    models,
    pages,
    proofs,
    uploads,
    verification,
    webhooks,
)
from service.api.verifier import Verifier
from service.runtime import Runtime

_DESCRIPTION = """\
Proofs, in zero knowledge, of what a neural network computed. Register a network, prove what it makes of an
input or how accurate it is on a dataset, hand the proof to anyone: verification takes milliseconds, needs no
account and no trust in this service.

Every error is a problem document (RFC 9457) with a stable `code`.
"""

_EVENTS = """\
event: progress
data: {"id": "prf_5d1f…", "state": "running", "stage": "msm_a", "percent": 62.5, …}
id: 7

event: end
data: {"id": "prf_5d1f…", "state": "succeeded", "label": 7, …}
id: 9
"""


def create_app(runtime: Runtime) -> FastAPI:
    """The application over an open runtime. It starts no threads and no processes."""
    # Not FastAPI's telemetry, whose spans and logs could carry what callers want kept secret, but our own:
    # ``observation``.
    app = FastAPIOffline(  # /docs without a CDN: it works on any network, and tells nobody who reads it
        redoc_url=None,
        title="ZenServe",
        version="1",
        description=_DESCRIPTION,
        webhooks=webhooks.messages,
        telemetry={"tracing": False, "metrics": False, "logs": False},
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        redirect_slashes=False,
    )
    app.state.runtime = runtime
    app.state.verifier = Verifier(runtime)
    # Larger parts would be spooled to a temporary file in the clear.
    MultiPartParser.spool_max_size = runtime.settings.max_body_bytes
    app.add_middleware(BodyLimit, limit=runtime.settings.max_body_bytes)
    app.state.verifications = Buckets("verify", runtime.settings.verify_per_minute)
    app.add_middleware(Door, runtime=runtime, verifications=app.state.verifications)
    app.state.requests = Requests()
    app.add_middleware(Observation, requests=app.state.requests)  # the last one added is the outermost
    problems.install(app)
    everywhere = problems.responses(413, 422, 429, 500, 503)
    for room in (models, commitments, datasets, proofs, uploads, accounts, webhooks):
        shut = problems.responses(401, 403)
        app.include_router(room.router, prefix="/v1", responses=everywhere | shut)
    app.include_router(verification.router, prefix="/v1", responses=everywhere)
    for room in (health, metrics, pages):
        app.include_router(room.router)
    dashboard.install(app)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            license_info=app.license_info,
            routes=app.routes,
            webhooks=app.webhooks.routes,
        )
        schema["components"]["schemas"]["Problem"] = problems.Problem.model_json_schema()
        # FastAPI describes event streams in words of OpenAPI 3.2, under the heading of 3.1. Without a schema
        # it is right by both: 3.1 applies one to the stream, 3.2 to each event.
        for path in (path for path in schema["paths"] if path.endswith("/events")):
            stream = schema["paths"][path]["get"]["responses"]["200"]["content"]
            stream["text/event-stream"] = {"example": _EVENTS}
        app.openapi_schema = schema
    return app.openapi_schema
