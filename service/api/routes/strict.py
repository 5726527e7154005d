"""Endpoints that read what callers send strictly, and away from the event loop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine
from typing import Any, Final, cast

from fastapi import Request, Response
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Form, Query
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool

from zenserve.errors import RequestError
from zenserve.service.api import problems
from zenserve.verifier.document import parse_json
from zenserve.verifier.documents import first_fault

_SMALL_BYTES: Final = 1 << 13
"""So many are read sooner than a thread is reached."""


class ApiRoute(APIRoute):
    """Refuses query parameters that nothing reads, and reads JSON in a thread, at once into what the endpoint
    takes: its depth, its values and its complaints are bounded.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        fields = get_flat_params(self.dependant)
        known = [field.alias for field in fields if isinstance(field.field_info, Query)]
        kind = self._json()

        async def check_and_handle(request: Request) -> Response:
            _check_query(request, known)
            return await handle(_Request(request, kind) if kind else request)

        return check_and_handle

    def _json(self) -> TypeAdapter[Any] | None:
        body = self.body_field.field_info if self.body_field else None
        return None if body is None or isinstance(body, Form) else TypeAdapter(cast(Any, body.annotation))


class _Request(Request):
    def __init__(self, request: Request, kind: TypeAdapter[Any]) -> None:
        super().__init__(request.scope, request.receive)
        self._kind = kind

    async def json(self) -> Any:
        """The body as what the endpoint takes. What is wrong with it is told once its caller is let in, which
        is decided later: see ``problems``.
        """
        body, most = await self.body(), self.state.most_values
        try:
            if len(body) <= _SMALL_BYTES:
                return _read(body, self._kind, most)
            return await run_in_threadpool(_read, body, self._kind, most)
        except RequestError as error:
            self.state.refusal = error
            return None


def _check_query(request: Request, known: Collection[str]) -> None:
    for name in request.query_params:
        if name not in known:
            raise problems.invalid(
                name, f"there is no such query parameter; there are {', '.join(known) or 'none'}"
            )


def _read(content: bytes, kind: TypeAdapter[Any], most: int) -> Any:
    if sum(map(content.count, (b",", b"[", b"{"))) > most:
        raise RequestError("request.too_large", f"the body has more than {most} values", field="body")
    try:
        return kind.validate_python(parse_json(content))
    except ValidationError as error:
        raise problems.invalid(*first_fault(error)) from None
    except ValueError as error:
        raise RequestError(
            "request.invalid_json", f"the body is not valid JSON: {error}", field="body"
        ) from None
