"""What endpoints ask FastAPI for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, cast

from fastapi import Depends, Header, Path, Query, Request, Response
from fastapi.routing import APIRoute
from pydantic import AwareDatetime, Field
from pydantic_core import from_json

from service.api.access import Principal, needs
from service.api.schemas import PRINTABLE, ResourceId, State
from service.runtime import Runtime
from service.storage.paging import LONGEST, Place, Window
from service.storage.repositories.lists import Filters
from service.storage.tables import Scheme

LONGEST_WAIT_SECONDS = 60


class JsonRoute(APIRoute):
    """Reads JSON with a parser whose depth is bounded.

    Python's own is bounded by the recursion limit only, which some libraries raise (py_ecc: to 100 000), and
    then a body of nothing but brackets overflows the stack and kills the process.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def read_and_handle(request: Request) -> Response:
            return await handle(_JsonRequest(request.scope, request.receive))

        return read_and_handle


class _JsonRequest(Request):
    async def json(self) -> Any:
        try:
            return from_json(await self.body())
        except ValueError as error:
            raise json.JSONDecodeError(str(error), "", 0) from None


async def _runtime(request: Request) -> Runtime:
    return cast(Runtime, request.app.state.runtime)


def _wait_seconds(prefer: Annotated[str | None, Header(description="`wait=N` seconds")] = None) -> int:
    """How long the caller will wait for the result (RFC 7240), at most a minute."""
    wanted = re.search(r"\bwait=(\d{1,6})", prefer or "")
    return min(int(wanted[1]), LONGEST_WAIT_SECONDS) if wanted else 0


def _window(
    limit: Annotated[int, Query(ge=1, le=LONGEST)] = 50,
    cursor: Annotated[
        str | None, Query(max_length=200, description="The `next_cursor` of the page before.")
    ] = None,
) -> Window:
    return Window(limit, Place.read(cursor) if cursor is not None else None)


# Far enough from the ends of the calendar for any time zone.
_Moment = Annotated[AwareDatetime, Field(ge="1970-01-02T00:00:00Z", le="9000-01-01T00:00:00Z")]


def _created(created_after: _Moment | None = None, created_before: _Moment | None = None) -> Filters:
    return Filters(created_after=created_after, created_before=created_before)


RuntimeDep = Annotated[Runtime, Depends(_runtime)]
WaitDep = Annotated[int, Depends(_wait_seconds)]
WindowDep = Annotated[Window, Depends(_window)]
CreatedDep = Annotated[Filters, Depends(_created)]
StateFilter = Annotated[State | None, Query()]
ModelFilter = Annotated[ResourceId | None, Query()]
SchemeFilter = Annotated[Scheme | None, Query()]
Id = Annotated[str, Path(max_length=64, pattern=PRINTABLE)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="The same key with the same request gives the same resource, once.",
    ),
]
Known = Annotated[Principal, Depends(needs())]
Reader = Annotated[Principal, Depends(needs("read", "admin"))]
Prover = Annotated[Principal, Depends(needs("prove"))]
Registrar = Annotated[Principal, Depends(needs("register"))]
Revealer = Annotated[Principal, Depends(needs("reveal"))]
Uploader = Annotated[Principal, Depends(needs("prove", "register"))]
Manager = Annotated[Principal, Depends(needs("manage", "admin"))]
Admin = Annotated[Principal, Depends(needs("admin"))]
ProofKeeper = Annotated[Principal, Depends(needs("prove", "admin"))]
ModelKeeper = Annotated[Principal, Depends(needs("register", "admin"))]
