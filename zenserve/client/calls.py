"""The requests of endpoints: retries, pages, and waiting for the end of a job."""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Generator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote
from uuid import uuid4

import httpx

from zenserve.client import resources
from zenserve.client.errors import ApiError, UnreachableError
from zenserve.client.flows import Effect, Flow, Item, Listen, NextLine, Pause, Request, Stream
from zenserve.client.resources import Ceremony, Contribution, Dataset, Job, JobKind, Model, Proof, read
from zenserve.errors import RequestError

T = TypeVar("T")

_BUSY = frozenset({429, 502, 503, 504})
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_POLL_SECONDS = 0.2
_SLOWEST_POLL_SECONDS = 2.0
# The service sends a comment every 15 seconds where there is nothing else to say.
_SILENCE_SECONDS = 20.0
_AS_JSON = {"Content-Type": "application/json"}
_PATHS: dict[type[Job], str] = {
    Model: "models",
    Dataset: "datasets",
    Proof: "proofs",
    Ceremony: "ceremonies",
    Contribution: "contributions",
    resources.Stream: "streams",
}


def get(*parts: str, **params: Any) -> Request:
    """Parameters that are None are left out; a list is one for each."""
    return Request("GET", path(*parts), options={"params": _given(params)}, repeatable=True)


def delete(*parts: str) -> Request:
    return Request("DELETE", path(*parts), repeatable=True)


def post(
    *parts: str,
    body: Mapping[str, Any] | None = None,
    idempotency_key: str | None = None,
    prefer: str | None = None,
    repeatable: bool = False,
) -> Request:
    """Fields that are None are left out. With an ``Idempotency-Key`` it may be sent again."""
    headers = {
        name: value
        for name, value in (("Idempotency-Key", idempotency_key), ("Prefer", prefer))
        if value is not None
    }
    repeatable = repeatable or bool(idempotency_key)
    if body is None:
        return Request("POST", path(*parts), headers, repeatable=repeatable)
    return Request("POST", path(*parts), headers | _AS_JSON, _written(_given(body)), repeatable)


def patch(*parts: str, body: Mapping[str, Any]) -> Request:
    return Request("PATCH", path(*parts), _AS_JSON, _written(body))


def post_form(
    place: str, files: Mapping[str, bytes], fields: Mapping[str, Any], idempotency_key: str
) -> Request:
    # Fields as parts, too: without a file the form would be of another type.
    parts: list[tuple[str, tuple[str | None, Any]]] = [
        (name, (None, str(each)))
        for name, value in _given(fields).items()
        for each in (value if isinstance(value, list) else [value])
    ]
    parts += [(name, (name, content)) for name, content in files.items()]
    headers = {"Idempotency-Key": idempotency_key}
    return Request("POST", path(place), headers, {"files": parts}, repeatable=True)


def pairs(labels: Mapping[str, str] | Mapping[str, int] | None, field: str = "labels") -> list[str]:
    """As forms and addresses have them."""
    return [f"{name}={value}" for name, value in mapping_of(field, labels).items()]


def path(*parts: str) -> str:
    """Ids come from elsewhere: none of them leads to another place. Raises ``RequestError`` for no text."""
    for part in parts:
        if not isinstance(part, str):
            raise wrong_type("id", "an id, such as model.id", part)
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def new_key() -> str:
    """An ``Idempotency-Key`` for one request, however often it is sent."""
    return uuid4().hex


class Calls:
    """The base of all groups of endpoints."""

    _retry_seconds: float

    def _ask(self, request: Request) -> Flow[httpx.Response]:
        """The answer. While the service is away or busy, what is repeatable is sent again; not longer than
        the client's patience. Raises ``UnreachableError``.
        """
        deadline = time.monotonic() + (self._retry_seconds if request.repeatable else 0.0)
        pause = _FIRST_PAUSE
        while True:
            wanted = pause * random.uniform(0.5, 1.0)  # noqa: S311  so that not all come back at once
            try:
                response: httpx.Response = yield request
            except UnreachableError:
                if time.monotonic() + wanted > deadline:
                    raise
            else:
                wanted = max(wanted, _retry_after(response) or 0.0)
                if response.status_code not in _BUSY or time.monotonic() + wanted > deadline:
                    return response
            yield Pause(wanted)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _good(self, request: Request) -> Flow[httpx.Response]:
        """Raises ``ApiError`` for an answer that is a refusal."""
        response = yield from self._ask(request)
        if not response.is_success:
            raise refused(response)
        return response

    def _json(self, request: Request) -> Flow[dict[str, Any]]:
        response = yield from self._good(request)
        document = _object(response)
        if document is None:
            raise refused(response)
        return document

    def _read(self, kind: type[T], request: Request) -> Flow[T]:
        response = yield from self._good(request)
        try:
            return read(kind, response.json())
        except (KeyError, TypeError, ValueError):
            raise refused(response) from None

    def _done(self, request: Request) -> Flow[None]:
        """For answers without content."""
        yield from self._good(request)

    def _upload(self, content: bytes) -> Flow[str]:
        """Bring a file, unless it is there. Its SHA-256."""
        sha256 = hashlib.sha256(content).hexdigest()
        there = yield from self._ask(Request("HEAD", path("uploads", sha256), repeatable=True))
        if not there.is_success:
            request = Request("PUT", path("uploads", sha256), options={"content": content}, repeatable=True)
            yield from self._good(request)
        return sha256

    def _pages(self, kind: type[T], *parts: str, **filters: Any) -> Stream[T]:
        """The items of all pages. One page is asked for at a time, when it is needed."""
        cursor: str | None = None
        while True:
            items, cursor = yield from self._page(kind, get(*parts, **filters, cursor=cursor))
            for item in items:
                yield Item(item)
            if cursor is None:
                return

    def _page(self, kind: type[T], request: Request) -> Flow[tuple[list[T], str | None]]:
        response = yield from self._good(request)
        try:
            page = response.json()
            return [read(kind, item) for item in page["items"]], page["next_cursor"]
        except (KeyError, TypeError, ValueError):
            raise refused(response) from None

    def _cancel(self, kind: type[JobKind], job_id: str) -> Flow[JobKind]:
        return self._read(kind, post(_PATHS[kind], job_id, "cancel", repeatable=True))

    def _retry(self, kind: type[JobKind], job_id: str) -> Flow[JobKind]:
        return self._read(kind, post(_PATHS[kind], job_id, "retry"))

    def _follow(self, job: JobKind, timeout: float) -> Stream[JobKind]:
        """The job as it changes, until it is over. Raises ``TimeoutError``; the job goes on.

        The service tells of changes as they happen. Where it does not, or something between breaks the
        stream, it is asked again and again.
        """
        deadline = time.monotonic() + timeout
        where, streams, pause = (_PATHS[type(job)], job.id), True, _POLL_SECONDS
        yield Item(job)
        while not job.is_over:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{job.id} is still not over after {timeout:g} seconds")
            # A stream may be silent for as long, and only then is the deadline looked at.
            if streams and left > _SILENCE_SECONDS:
                streams, job = yield from _listen(job, get(*where, "events"), deadline)
                if job.is_over:
                    return
            yield Pause(min(pause, left))
            pause = min(1.2 * pause, _SLOWEST_POLL_SECONDS)
            seen = yield from self._read(type(job), get(*where))
            if seen != job:
                job = seen
                yield Item(job)


def _listen(
    job: JobKind, request: Request, deadline: float
) -> Generator[Effect | Item[JobKind], Any, tuple[bool, JobKind]]:
    """Read the events of one connection. Return whether to listen again, and the job's latest state."""
    try:
        is_stream: bool = yield listen(request, job.revision)
        while is_stream and time.monotonic() < deadline:
            event = yield from next_event()
            if event is None:
                break
            if event.name in ("progress", "end"):
                seen = read(type(job), json.loads(event.data))
                if seen != job:
                    job = seen
                    yield Item(job)
                if job.is_over:
                    break
    except UnreachableError:
        return True, job
    except (KeyError, TypeError, ValueError):  # events of something else
        return False, job
    return is_stream, job


class Event(NamedTuple):
    """Of an event stream; one without a name is a sign of life."""

    name: str
    data: str


def next_event() -> Flow[Event | None]:
    """Of what is listened to; None at its end. Raises ``UnreachableError``."""
    event = ""
    while True:
        line: str | None = yield NextLine()
        if line is None:
            return None
        name, _, value = line.partition(":")
        if name == "event":
            event = value.strip()
        elif name == "data":
            return Event(event, value)
        elif line.startswith(":"):
            return Event("", "")


def listen(request: Request, last_event_id: int | None) -> Listen:
    """For events after that one."""
    last = {} if last_event_id is None else {"Last-Event-ID": str(last_event_id)}
    headers = {"Accept": "text/event-stream", **last}
    return Listen(replace(request, headers=headers), _SILENCE_SECONDS)


def refused(response: httpx.Response) -> ApiError:
    return ApiError(response.status_code, _object(response) or {}, _retry_after(response))


def _object(response: httpx.Response) -> dict[str, Any] | None:
    try:
        document = response.json()
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _retry_after(response: httpx.Response) -> float | None:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else None


def _written(body: Mapping[str, Any]) -> dict[str, str]:
    """Arrays and tensors as nested lists. Raises ``RequestError`` for what JSON has not."""
    # Not httpx's own JSON: it refuses NaN, which the service answers with the place.
    fields = []
    for name, value in body.items():
        try:
            fields.append(f"{json.dumps(name)}: {json.dumps(value, default=_as_lists)}")
        except (TypeError, ValueError, RecursionError):
            raise wrong_type(name, "nested lists of numbers, or an array", value) from None
    return {"content": f"{{{', '.join(fields)}}}"}


def _as_lists(value: Any) -> Any:
    if not hasattr(value, "tolist"):
        raise TypeError
    return value.tolist()


def wrong_type(field: str, wanted: str, given: Any) -> RequestError:
    """The error of an argument that is of another type than ``wanted``."""
    reason = f"{field}: give {wanted}, not an object of type {type(given).__name__}"
    return RequestError("request.invalid", reason, field=field)


def content_of(name: str, file: Any) -> bytes:
    """The bytes of a file that is sent. Raises ``RequestError`` for its path."""
    if not isinstance(file, bytes | bytearray | memoryview):
        raise wrong_type(name, "the file's bytes, such as Path(…).read_bytes()", file)
    return bytes(file)


def mapping_of(name: str, value: Mapping[str, Any] | None) -> dict[str, Any]:
    """Raises ``RequestError`` for what is no mapping; of None none."""
    if not isinstance(value, Mapping | None):
        raise wrong_type(name, "a mapping from names to values", value)
    return dict(value or {})


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in values.items()
        if value is not None
    }
