"""Errors as problem documents (RFC 9457), each with the stable ``code`` of ``zenserve.errors``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, Field
from sqlalchemy import exc
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from zenserve.codes import status_of
from zenserve.errors import NotFoundError, RequestError, ResourceError, ZenError
from zenserve.service import log
from zenserve.service.api.headers import HEADERS
from zenserve.verifier.documents import place, said

NO_DATABASE: Final = (exc.OperationalError, exc.TimeoutError)
"""The exceptions of a query that the database does not answer."""
MEDIA_TYPE = "application/problem+json"
_LONGEST = 500

_TITLES = {
    400: "The request is malformed",
    401: "The caller is not known",
    403: "The caller may not do this",
    404: "No such resource",
    405: "The method does not fit the resource",
    408: "The request takes too long",
    409: "The resource's state does not allow it",
    413: "The request is too large",
    415: "The content type is not supported",
    416: "There is no such part",
    422: "The input cannot be used",
    429: "Too much at once",
    431: "The request's head is too large",
    500: "The service failed",
    503: "The service is busy, or not ready",
    507: "There is no room for it",
}
_EXAMPLES = {
    400: ("request.invalid_json", "the body is not valid JSON: EOF while parsing a value"),
    401: ("auth.required", "send an API key: Authorization: Bearer zen_…"),
    403: ("auth.scope", "this takes a key with the scope prove"),
    404: ("not_found", "there is no model 'mdl_5d1f0c'"),
    409: ("conflict.model_not_ready", "the model is running; wait until it says succeeded"),
    413: ("request.too_large", "the body is larger than 67108864 bytes"),
    415: ("request.media_type", "send this request as application/json, not as text/plain"),
    416: ("request.range", "Range: ask for one part of these 1048576 bytes, as bytes=4096-"),
    422: ("input.shape", "the input has shape (63,), the model takes (64,)"),
    429: ("quota.rate", "more than 600 requests in a minute; go on in 10 seconds"),
    500: ("internal", "an unexpected error; quote req_5f0c1d2e to the operator"),
    503: ("resource.database", "the database does not answer; try again in a moment"),
    507: ("resource.storage", "there is no room left to store this"),
}
_FORMS = ("/v1/models", "/v1/datasets")
_RETRY_SECONDS: Final[Mapping[int | str, int]] = {429: 10, 503: 1, "quota.frames": 1}
"""By status, and of codes that differ from theirs."""


class Problem(BaseModel):
    """A problem document. ``code`` is stable; ``field`` names the offending part of the input."""

    type: str = Field(examples=["urn:zenserve:problem:input.shape"], description="A URN with the code.")
    title: str = Field(examples=["The input cannot be used"], description="What kind of problem it is.")
    status: int = Field(examples=[422], description="As the answer's.")
    code: str = Field(examples=["input.shape"], description="Stable: what programs may rely on.")
    detail: str = Field(
        examples=["the input has shape (63,), the model takes (64,)"],
        description="What exactly, and what helps; for people, and may change.",
    )
    field: str | None = Field(
        default=None, examples=["input"], description="The part of the request at fault, if one is."
    )
    request_id: str | None = Field(
        default=None, examples=["req_5f0c1d2e"], description="Quote it to the operator, whose logs have it."
    )


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error part of an operation's OpenAPI description."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        status: {
            "description": _TITLES[status],
            "content": {MEDIA_TYPE: {"schema": schema, "example": _example(status)}},
        }
        for status in statuses
    }


def _example(status: int) -> dict[str, Any]:
    code, detail = _EXAMPLES[status]
    shown = Problem(
        type=f"urn:zenserve:problem:{code}",
        title=_TITLES[status],
        status=status,
        code=code,
        detail=detail,
        request_id="req_5f0c1d2e",
    )
    return shown.model_dump(exclude_none=True)


def install(app: FastAPI) -> None:
    """Answer every error with a problem document."""
    app.add_exception_handler(ZenError, _on_zen_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_error)
    for absent in NO_DATABASE:
        app.add_exception_handler(absent, _on_no_database)
    app.add_exception_handler(Exception, _on_bug)


def answer(error: ZenError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer to an error, with the status that goes with its code."""
    status = status_of(error.code)
    return respond(status, error, _usual_headers(status, error.code) | dict(headers or {}))


def _usual_headers(status: int, code: str) -> dict[str, str]:
    if status == 401:
        return {"WWW-Authenticate": "Bearer"}
    seconds = _RETRY_SECONDS.get(code) or _RETRY_SECONDS.get(status)
    return {"Retry-After": str(seconds)} if seconds else {}


def problem(error: ZenError, status: int | None = None) -> Problem:
    """Return the problem document of an error; ``status`` replaces the status of the error's code."""
    status = status or status_of(error.code)
    return Problem(
        type=f"urn:zenserve:problem:{error.code}",
        title=_TITLES.get(status, _TITLES[400]),
        status=status,
        code=error.code,
        # Messages quote names, never values; a caller's name may still be of any length.
        detail=_cut(error.message),
        field=error.field and _cut(error.field),
        request_id=log.request_id(),
    )


def respond(status: int, error: ZenError, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(
        problem(error, status).model_dump(exclude_none=True),
        status_code=status,
        media_type=MEDIA_TYPE,
        headers=headers,
    )


def invalid(place: str, reason: str) -> RequestError:
    """The error for what is wrong at a place of the input, "" for all of it. No value is ever quoted."""
    place = place or "body"
    return RequestError("request.invalid", f"{place}: {reason}", field=place)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


async def _on_zen_error(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ZenError)  # noqa: S101  registered for nothing else
    if status_of(error.code) == 500:
        log.event("request.failed", level=40, code=error.code, failed=True)
    return answer(error)


async def _on_validation_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    if refusal := getattr(request.state, "refusal", None):  # of the body: see ``routes.strict``
        return answer(refusal)
    if wrong := wrong_media_type(request):
        return respond(415, wrong)
    first = error.errors()[0]
    where = first["loc"][1:] or first["loc"][:1]  # without saying that it is of the body
    message = "send a file (curl: -F name=@FILE)" if "UploadFile" in first["msg"] else said(first["msg"])
    return answer(invalid(place(where), message))


def wrong_media_type(request: Request) -> RequestError | None:
    """Return the error of the request's content type; None if the type is correct."""
    expected = "multipart/form-data" if request.url.path in _FORMS else "application/json"
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method not in ("POST", "PATCH") or given == expected:
        return None
    return RequestError(
        "request.media_type",
        f"send this request as {expected}, not as {given or 'an unnamed type'}",
        field="Content-Type",
    )


async def _on_http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101
    path = request.url.path
    known: dict[int, ZenError] = {
        404: NotFoundError("not_found", f"there is nothing at {path}; see /docs"),
        405: RequestError("request.method", f"{request.method} does not work on {path}; see /docs"),
        413: too_large(getattr(error, "limit", request.app.state.runtime.settings.max_body_bytes)),
    }
    malformed = RequestError("request.malformed", "the body could not be read", field="body")
    if error.status_code >= 500:
        return await _on_bug(request, error)
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods(request))
    return respond(error.status_code, known.get(error.status_code, malformed), headers=headers)


def _methods(request: Request) -> list[str]:
    """Return the methods of all routes at this path, sorted: the router names those of the first alone."""
    methods: set[str] = set()
    for route in iter_route_contexts(request.app.routes):
        if route.path and route.methods and compile_path(route.path)[0].match(request.url.path):
            methods |= route.methods
    return sorted(methods)


def no_database(error: Exception) -> JSONResponse:
    """The answer where the database is down, starts, or has too much to do."""
    log.event("database.absent", level=30, error=type(error).__name__)
    return answer(ResourceError("resource.database", "the database does not answer; try again in a moment"))


def too_large(limit: int) -> RequestError:
    return RequestError("request.too_large", f"the body is larger than {limit} bytes", field="body")


async def _on_no_database(_request: Request, error: Exception) -> JSONResponse:
    return no_database(error)


async def _on_bug(request: Request, error: Exception) -> JSONResponse:
    """An error nobody foresaw: the caller learns the request's id, the log has the rest."""
    request_id: str = request.state.request_id
    # This is called from outside of everything else, where the log knows of no request.
    with log.context(request_id=request_id):
        return respond(500, told(error), HEADERS | {"X-Request-ID": request_id})


def told(error: Exception) -> ZenError:
    """The error that a caller is told of; one that nobody foresaw is logged."""
    if isinstance(error, ZenError):
        return error
    log.event("request.failed", level=40, error=type(error).__name__, failed=True)
    return ZenError("internal", f"an unexpected error; quote {log.request_id()} to the operator")
