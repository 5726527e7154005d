"""What endpoints ask FastAPI for."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Header, Request, Response
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.concurrency import run_in_threadpool

from service.runtime import Runtime
from service.schemas import JobView
from service.tables import TERMINAL

POLL_SECONDS = 0.1
LONGEST_WAIT_SECONDS = 60

View = TypeVar("View", bound=JobView)


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


def _runtime(request: Request) -> Runtime:
    return cast(Runtime, request.app.state.runtime)


def _wait_seconds(prefer: Annotated[str | None, Header(description="`wait=N` seconds")] = None) -> int:
    """How long the caller will wait for the result (RFC 7240), at most a minute."""
    wanted = re.search(r"\bwait=(\d{1,6})", prefer or "")
    return min(int(wanted[1]), LONGEST_WAIT_SECONDS) if wanted else 0


RuntimeDep = Annotated[Runtime, Depends(_runtime)]
WaitDep = Annotated[int, Depends(_wait_seconds)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="The same key with the same request gives the same resource, once.",
    ),
]


async def settled(view: Callable[[], View], seconds: int) -> View:
    """What ``view`` shows once the job is over, or after ``seconds``."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        seen = await run_in_threadpool(view)
        if seen.state in TERMINAL or asyncio.get_running_loop().time() >= deadline:
            return seen
        await asyncio.sleep(POLL_SECONDS)
