"""Routes that all resources made by jobs have in common: show, follow, cancel, retry."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Generic, TypeVar

from fastapi import APIRouter, Depends, Path, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from zenserve.service.access.principal import Principal, Scope
from zenserve.service.api import openapi, problems
from zenserve.service.api.routes.dependencies import Patience, RuntimeDep, SeatDep, needs
from zenserve.service.api.routes.following import LastEventId, follow, settled
from zenserve.service.api.schemas import JobView
from zenserve.service.runtime import Runtime
from zenserve.service.submissions import jobs
from zenserve.service.submissions.requests import MOST_REFERENCE, PRINTABLE

View = TypeVar("View", bound=JobView)


@dataclass(frozen=True)
class JobRoutes(Generic[View]):
    """Endpoints of a ``kind`` of resource at its ``place`` in the API, each declared by what it is for."""

    # FastAPI reads the annotations of the endpoints below as they are evaluated here: no future import.

    router: APIRouter
    kind: str
    place: str
    view: type[View]
    show: Callable[[Runtime, Principal, str], View]
    readers: Sequence[Scope] = ("read", "admin")

    def asked(self, finished: str, *statuses: int) -> dict[int | str, dict[str, Any]]:
        """The answers to a request that makes one; ``finished``: what 201 means."""
        headers = openapi.headers("Location", "Preference-Applied")
        return problems.responses(400, 404, 409, 415, *statuses) | {
            201: {"model": self.view, "description": finished} | headers,
            202: {"description": "It was asked for, and is not over yet"} | headers,
        }

    async def answer(
        self,
        runtime: Runtime,
        principal: Principal,
        ask: Callable[[], str],
        patience: Patience,
        response: Response,
    ) -> View:
        """Submit with ``ask``, which returns an id, and return the resource.

        The answer comes once the job is over or the caller's wait ends.
        """

        def asked() -> View:
            return self.show(runtime, principal, ask())

        seen = await run_in_threadpool(asked)
        response.headers["Location"] = f"/v1/{self.place}/{seen.id}"
        view = partial(self.show, runtime, principal, seen.id)
        return await settled(seen, view, patience, response)

    def add_get(self, description: str) -> None:
        self._add("get", "", self.shown(), description, problems.responses(404))

    def add_cancel(self, description: str) -> None:
        self._add_change("cancel", jobs.cancel, description)

    def add_retry(self, description: str) -> None:
        self._add_change("retry", jobs.retry, description)

    def add_events(self, description: str) -> None:
        """Server-sent events."""

        async def endpoint(
            runtime: RuntimeDep,
            principal: Annotated[Principal, Depends(needs(*self.readers))],
            seat: SeatDep,
            seen: Annotated[JobView, Depends(self.shown())],
            last_event_id: LastEventId = None,
        ) -> AsyncIterator[ServerSentEvent]:
            view = partial(self.show, runtime, principal, seen.id)
            async for event in follow(runtime, seat, seen, view, last_event_id):
                yield event

        stream: dict[str, Any] = {"response_class": EventSourceResponse, "response_model": None}
        self._add("follow", "events", endpoint, description, problems.responses(404), **stream)

    def shown(self) -> Callable[..., View]:
        """A dependency: the resource that the path names, of a caller who may see it."""

        def endpoint(
            runtime: RuntimeDep,
            principal: Annotated[Principal, Depends(needs(*self.readers))],
            job_id: Annotated[str, self._id],
        ) -> View:
            return self.show(runtime, principal, job_id)

        return endpoint

    def _add_change(self, verb: str, change: Callable[..., None], description: str) -> None:
        def endpoint(
            runtime: RuntimeDep,
            principal: Annotated[Principal, Depends(needs(*jobs.KEEPERS[self.kind]))],
            job_id: Annotated[str, self._id],
        ) -> View:
            change(runtime, principal, self.kind, job_id)
            return self.show(runtime, principal, job_id)

        self._add(verb, verb, endpoint, description, problems.responses(404, 409), methods=["POST"])

    def _add(
        self,
        verb: str,
        part: str,
        endpoint: Callable[..., Any],
        description: str,
        responses: dict[int | str, dict[str, Any]],
        **options: Any,
    ) -> None:
        path = f"/{self.place}/{{{self.kind}_id}}" + (f"/{part}" if part else "")
        named = {"name": f"{verb}_{self.kind}", "description": description, "responses": responses}
        self.router.add_api_route(path, endpoint, **{"response_model": self.view} | named | options)

    @property
    def _id(self) -> Any:
        return Path(
            alias=f"{self.kind}_id", max_length=MOST_REFERENCE, pattern=PRINTABLE, description="Its id."
        )
