"""The HTTP application. Rooms: ``zenserve.service.api.routes``; errors: ``zenserve.service.api.problems``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi_offline import FastAPIOffline
from starlette import formparsers
from starlette.middleware.cors import CORSMiddleware

from zenserve.errors import RequestError
from zenserve.service import dashboard
from zenserve.service.api import openapi, problems
from zenserve.service.api.authentication import Authentication
from zenserve.service.api.body_limit import BodyLimit
from zenserve.service.api.drain import Drain
from zenserve.service.api.headers import BrowserHeaders
from zenserve.service.api.metrics import Requests
from zenserve.service.api.observation import Observation
from zenserve.service.api.rates import SharedBuckets
from zenserve.service.api.routes import (
    accounts,
    ceremonies,
    commitments,
    datasets,
    health,
    metrics,
    models,
    pages,
    proofs,
    streams,
    uploads,
    verification,
    webhooks,
)
from zenserve.service.api.verifier import Verifier
from zenserve.service.api.watcher import Watcher
from zenserve.service.runtime import Runtime
from zenserve.service.settings import Settings
from zenserve.service.spool import FormFile

if TYPE_CHECKING:
    from zenserve.service.access.issuer import Issuer
    from zenserve.service.api.shelf import Shelf

_DESCRIPTION = """\
Proofs, in zero knowledge, of what a neural network computed. Register a network, prove what it makes of an
input or how accurate it is on a dataset, hand the proof to anyone: verification takes milliseconds, needs no
account and no trust in this service.

Every error is a problem document (RFC 9457) with a stable `code`.
"""


_ASKED = ("Authorization", "Content-Type", "Idempotency-Key", "If-None-Match", "Last-Event-ID", "Prefer")
_ANSWERED = ("ETag", "Link", "Location", "RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-ID")
"""The response headers that pages of other sites may read. ``_ASKED``: the request headers they may send."""


def create_app(runtime: Runtime) -> FastAPI:
    """The application over an open runtime. It starts no threads and no processes."""
    shelf = _shelf(runtime.settings)
    issuer = _issuer(runtime.settings)

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        app.state.drain.listen()
        yield
        if shelf is not None:
            await shelf.close()
        if issuer is not None:
            await issuer.close()

    # Not FastAPI's telemetry, whose spans and logs could carry what callers want kept secret, but our own:
    # ``observation``.
    app = FastAPIOffline(  # what /docs is made of, without a CDN: it tells nobody who reads it
        docs_url=None,
        redoc_url=None,
        title="ZenServe",
        version="1",
        description=_DESCRIPTION,
        webhooks=webhooks.messages,
        generate_unique_id_function=openapi.operation_id,
        telemetry={"tracing": False, "metrics": False, "logs": False},
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        redirect_slashes=False,
        lifespan=living,
    )
    app.state.runtime = runtime
    app.state.issuer = issuer
    app.state.commit = metrics.commit_of(runtime.settings)
    app.state.verifier = Verifier(runtime)
    app.state.watcher = Watcher(runtime)
    app.state.drain = Drain(app.state.watcher, runtime.settings.api_drain_seconds)
    # Else large parts are spooled to a temporary file in the clear.
    formparsers.SpooledTemporaryFile = FormFile  # type: ignore[assignment, attr-defined]
    app.add_middleware(BodyLimit, limit=runtime.settings.max_body_bytes)
    app.state.verifications = SharedBuckets("verify", runtime.settings.verify_per_minute, shelf)
    app.add_middleware(
        Authentication,
        runtime=runtime,
        verifications=app.state.verifications,
        shelf=shelf,
        issuer=issuer,
    )
    if runtime.settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,  # around authentication: refusals are to be read, and a preflight shows no key
            allow_origins=runtime.settings.cors_origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=_ASKED,
            expose_headers=_ANSWERED,
        )
    app.state.requests = Requests()
    app.add_middleware(BrowserHeaders)
    app.add_middleware(
        Observation, requests=app.state.requests, drain=app.state.drain
    )  # the last one added is the outermost
    problems.install(app)
    everywhere = problems.responses(413, 422, 429, 500, 503)
    for room in (models, commitments, datasets, proofs, streams, ceremonies, uploads, accounts, webhooks):
        shut = problems.responses(401, 403)
        app.include_router(room.router, prefix="/v1", responses=everywhere | shut)
    app.include_router(verification.router, prefix="/v1", responses=everywhere)
    for room in (health, metrics, pages):
        app.include_router(room.router)
    dashboard.install(app)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _shelf(settings: Settings) -> Shelf | None:
    if settings.broker_url is None:
        return None
    from zenserve.service.api.shelf import (
        Shelf,  # it brings redis along, which brings OpenTelemetry's SDK along
    )

    return Shelf(settings.broker_url.get_secret_value())


def _issuer(settings: Settings) -> Issuer | None:
    if settings.oidc_issuer is None:
        return None
    if find_spec("joserfc") is None:
        raise RequestError(
            "request.settings",
            "ZENSERVE_OIDC_ISSUER: OpenID Connect needs pip install joserfc",
            field="ZENSERVE_OIDC_ISSUER",
        )
    from zenserve.service.access.issuer import Issuer

    return Issuer(settings)


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        app.openapi_schema = openapi.describe(app)
    return app.openapi_schema
