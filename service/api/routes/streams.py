"""Streams: frames in order, each proven by the cheapest model that is accurate on the classes of late."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Response
from fastapi.responses import StreamingResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from zenserve.errors import AccessError, ConflictError, NotFoundError
from zenserve.service.access.principal import Principal
from zenserve.service.api import openapi, problems
from zenserve.service.api.problems import NO_DATABASE
from zenserve.service.api.routes.dependencies import (
    CreatedDep,
    Id,
    IdempotencyKey,
    LabelFilter,
    Prover,
    Reader,
    RuntimeDep,
    SeatDep,
    StateFilter,
    WindowDep,
)
from zenserve.service.api.routes.following import COME_BACK, number_of
from zenserve.service.api.routes.jobs import JobRoutes
from zenserve.service.api.routes.strict import ApiRoute
from zenserve.service.api.schemas import FrameView, Listing, StreamView, frame_view, listing, stream_view
from zenserve.service.api.watcher import StoppingError
from zenserve.service.runtime import Runtime
from zenserve.service.storage.paging import Place, page
from zenserve.service.storage.records.jobs import TERMINAL
from zenserve.service.storage.repositories import Streams
from zenserve.service.storage.repositories.lists import Lists
from zenserve.service.submissions import streams
from zenserve.service.submissions.requests import FrameRequest, StreamRequest
from zenserve.verifier.stream import StreamFile

router = APIRouter(tags=["streams"], route_class=ApiRoute)


def _view(runtime: Runtime, principal: Principal, stream_id: str) -> StreamView:
    with runtime.database.read() as session:
        return stream_view(Streams(session, principal.sight).get(stream_id))


def _frame(runtime: Runtime, principal: Principal, stream_id: str, number: int) -> FrameView:
    with runtime.database.read() as session:
        stream = Streams(session, principal.sight).get(stream_id)
        ((frame, job),) = Streams(session).frames(stream_id, number, number + 1)
        return frame_view(stream, frame, job)


_jobs = JobRoutes(router, "stream", "streams", StreamView, _view)
_jobs.add_get("A stream, and how far it is.")
_jobs.add_cancel("""\
Cancel a stream, and whichever of its frames wait or are being proven: these are missed. To let them be
proven, end it.""")
_jobs.add_retry("Try to make the keys of a stream's bank once more, after that failed.")


@router.post(
    "/streams",
    status_code=202,
    responses=problems.responses(400, 404, 409, 415, 507)
    | {202: {"description": "It was asked for"} | openapi.headers("Location")},
)
def create_stream(
    runtime: RuntimeDep,
    principal: Prover,
    body: StreamRequest,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> StreamView:
    """Open a stream over a bank of registered models. Keys that are not there yet are made as a job; once its
    stage is `frames`, it takes frames. Its course, which model each frame is for, follows from the labels
    before: anybody recomputes it.
    """
    stream_id = streams.open_stream(runtime, principal, body, idempotency_key)
    response.headers["Location"] = f"/v1/streams/{stream_id}"
    return _view(runtime, principal, stream_id)


@router.get("/streams", responses=problems.responses())
def list_streams(
    runtime: RuntimeDep,
    principal: Reader,
    window: WindowDep,
    created: CreatedDep,
    labels: LabelFilter,
    state: StateFilter = None,
) -> Listing[StreamView]:
    """The streams, newest first."""
    filters = replace(created, state=state, labels=labels)
    with runtime.database.read() as session:
        return listing(Lists(session, principal.sight).streams(filters, window), stream_view)


@router.post(
    "/streams/{stream_id}/frames", status_code=202, responses=problems.responses(400, 404, 409, 415, 507)
)
def create_frame(runtime: RuntimeDep, principal: Prover, stream_id: Id, body: FrameRequest) -> FrameView:
    """Hand in the next frame. Its proof is a job like any other, whose turn comes when those of all frames
    before it are over. The same number with the same input gives the same frame, once.

    Where the backlog is full, the answer is 429: the same frame is to be sent again then. One that is not
    proven by its deadline, or not at all, is missed, and stands in the stream's chain as that.
    """
    streams.add_frame(runtime, principal, stream_id, body)
    return _frame(runtime, principal, stream_id, body.number)


@router.get("/streams/{stream_id}/frames", responses=problems.responses(404))
def list_frames(
    runtime: RuntimeDep, principal: Reader, stream_id: Id, window: WindowDep
) -> Listing[FrameView]:
    """The frames, newest first."""
    with runtime.database.read() as session:
        stream = Streams(session, principal.sight).get(stream_id)
        before = stream.count if window.after is None else window.after.number
        rows = Streams(session).newest_frames(stream_id, before, window.limit + 1)
        shown = page(rows, window, lambda row: Place(row[1].created_at, str(row[0].number)))
        return listing(shown, lambda row: frame_view(stream, *row))


@router.get(
    "/streams/{stream_id}/events", response_class=EventSourceResponse, responses=problems.responses(404)
)
async def follow_stream(
    runtime: RuntimeDep,
    principal: Reader,
    seat: SeatDep,
    seen: Annotated[StreamView, Depends(_jobs.shown())],
    last_event_id: Annotated[
        str | None,
        Header(
            alias="Last-Event-ID", description="The number of the frame that was seen last.", examples=["7"]
        ),
    ] = None,
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events: `frame` for each frame that is over, in order and from the first on, whose `id` is
    its number; `progress` with the stream whenever it changes; `end` when it is over.

    With `Last-Event-ID` it goes on after that frame.
    """
    view = partial(_view, runtime, principal, seen.id)
    last = number_of(last_event_id)
    number = 0 if last is None else last + 1
    try:
        while True:
            while number < seen.frames_over:
                for frame in await run_in_threadpool(_frames, runtime, seen, number):
                    yield ServerSentEvent(event="frame", data=frame, id=str(frame.number))
                number = frame.number + 1
            if seen.state in TERMINAL:
                break
            yield ServerSentEvent(event="progress", data=seen)
            seen = await seat.changed(seen, view)
    except StoppingError:
        yield COME_BACK
        return
    except (NotFoundError, AccessError, *NO_DATABASE):  # whoever follows finds out by asking again
        return
    yield ServerSentEvent(event="end", data=seen)


@router.post("/streams/{stream_id}/end", responses=problems.responses(404, 409))
def end_stream(runtime: RuntimeDep, principal: Prover, stream_id: Id) -> StreamView:
    """Take no more frames. The stream is over once those that it has are; ending it again is no error."""
    streams.end(runtime, principal, stream_id)
    return _view(runtime, principal, stream_id)


@router.get("/streams/{stream_id}/file", response_model=StreamFile, responses=problems.responses(404, 409))
def get_stream_file(runtime: RuntimeDep, principal: Reader, stream_id: Id) -> StreamingResponse:
    """The whole stream as far as its frames are over, in one portable file: with the verification keys that
    it names, anybody judges it.
    """
    with runtime.database.read() as session:
        stream = Streams(session, principal.sight).get(stream_id)
        head = Streams(session).head(stream_id)
    if head is None:
        raise ConflictError("conflict.stream", f"{stream_id} has not begun, so there is nothing to fetch")
    return StreamingResponse(streams.pieces(runtime, stream, head), media_type="application/json")


@router.delete("/streams/{stream_id}", status_code=204, responses=problems.responses(404, 409))
def delete_stream(runtime: RuntimeDep, principal: Prover, stream_id: Id) -> None:
    """Forget a stream that is over, with the proofs of its frames. Files that were handed on stay as good as
    they are.
    """
    streams.delete(runtime, principal, stream_id)


def _frames(runtime: Runtime, seen: StreamView, number: int) -> list[FrameView]:
    """Some of those that are over, from this number on. Raises ``NotFoundError`` where there is no stream
    any more.
    """
    with runtime.database.read() as session:
        stream = Streams(session).get(seen.id)
        found = Streams(session).frames(stream.id, number, seen.frames_over)
        return [frame_view(stream, frame, job) for frame, job in found]
