"""Errors as problem documents (RFC 9457), each with the stable ``code`` of ``zenerrors``."""

from __future__ import annotations

import secrets
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from service import log
from zenerrors import ConflictError, InputError, NotFoundError, RequestError, ResourceError, ZenError

MEDIA_TYPE = "application/problem+json"
_LONGEST = 500

_TITLES = {
    400: "The request is malformed",
    404: "No such resource",
    405: "The method does not fit the resource",
    409: "The resource's state does not allow it",
    413: "The request is too large",
    415: "The content type is not supported",
    422: "The input cannot be used",
    500: "The service failed",
    503: "The service is not ready",
}
_FORMS = ("/v1/models", "/v1/datasets")
_BY_CODE = {
    "request.invalid_json": 400,
    "request.malformed": 400,
    "request.method": 405,
    "request.too_large": 413,
    "request.media_type": 415,
}
_BY_KIND: list[tuple[type[ZenError], int]] = [
    (NotFoundError, 404),
    (ConflictError, 409),
    (InputError, 422),
    (ResourceError, 422),
]


class Problem(BaseModel):
    """A problem document. ``code`` is stable; ``field`` names the offending part of the input."""

    type: str = Field(examples=["urn:zenserve:problem:input.shape"])
    title: str = Field(examples=["The input cannot be used"])
    status: int = Field(examples=[422])
    code: str = Field(examples=["input.shape"])
    detail: str = Field(examples=["the input has shape (63,), the model takes (64,)"])
    field: str | None = Field(default=None, examples=["input"])
    request_id: str | None = Field(default=None, examples=["req_5f0c1d2e"])


def problem_of(error: ZenError) -> dict[str, Any]:
    """What a job keeps of an error."""
    return {"code": error.code, "detail": error.message, "field": error.field}


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error part of an operation's OpenAPI description."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _TITLES[status], "content": content} for status in statuses}


def install(app: FastAPI) -> None:
    """Answer every error with a problem document."""
    app.add_exception_handler(ZenError, _on_zen_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(Exception, _on_bug)


def respond(status: int, error: ZenError, headers: dict[str, str] | None = None) -> JSONResponse:
    problem = Problem(
        type=f"urn:zenserve:problem:{error.code}",
        title=_TITLES.get(status, _TITLES[400]),
        status=status,
        code=error.code,
        # Messages quote names, never values; a caller's name may still be of any length.
        detail=_cut(error.message),
        field=error.field and _cut(error.field),
        request_id=error.request_id if isinstance(error, _BugError) else None,
    )
    return JSONResponse(
        problem.model_dump(exclude_none=True), status_code=status, media_type=MEDIA_TYPE, headers=headers
    )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


class _BugError(ZenError):
    """An error nobody foresaw: the caller learns an id, the log has the rest."""

    def __init__(self) -> None:
        self.request_id = f"req_{secrets.token_hex(6)}"
        super().__init__("internal", f"an unexpected error; quote {self.request_id} to the operator")


async def _on_zen_error(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ZenError)  # noqa: S101  registered for nothing else
    status = _BY_CODE.get(error.code) or next((s for kind, s in _BY_KIND if isinstance(error, kind)), 500)
    return respond(status, error)


async def _on_validation_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    # The first complaint names field and reason; the offending value is never echoed.
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        reason = f"the body is not valid JSON: {first['ctx']['error']}"
        return respond(400, RequestError("request.invalid_json", reason, field="body"))
    if wrong := _wrong_media_type(request):
        return respond(415, wrong)
    place = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    message = "send a file (curl: -F name=@FILE)" if "UploadFile" in first["msg"] else first["msg"]
    return respond(422, RequestError("request.invalid", f"{place}: {message}", field=place))


def _wrong_media_type(request: Request) -> RequestError | None:
    expected = "multipart/form-data" if request.url.path in _FORMS else "application/json"
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method != "POST" or given == expected:
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
        413: too_large(request.app.state.runtime.settings.max_body_bytes),
    }
    malformed = RequestError("request.malformed", "the body could not be read", field="body")
    if error.status_code >= 500:
        return await _on_bug(request, error)
    return respond(
        error.status_code, known.get(error.status_code, malformed), headers=dict(error.headers or {})
    )


def too_large(limit: int) -> RequestError:
    return RequestError("request.too_large", f"the body is larger than {limit} bytes", field="body")


async def _on_bug(_request: Request, error: Exception) -> JSONResponse:
    bug = _BugError()
    log.event("request.failed", level=40, request_id=bug.request_id, error=type(error).__name__, failed=True)
    return respond(500, bug)
