"""A made-up service, and clients of it that block or await."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from zenserve.client import AsyncClient, Client

Answer = httpx.Response | Exception
MADE_AT = "2026-11-21T14:00:00Z"


def proof(state: str = "running", **changes: Any) -> dict[str, Any]:
    fields = {
        "id": "prf_1",
        "state": state,
        "revision": 1,
        "stage": "msm_a",
        "percent": 50.0,
        "attempt": 1,
        "cancel_requested": False,
        "created_at": MADE_AT,
        "started_at": MADE_AT,
        "finished_at": None,
        "timings": {},
        "problem": None,
        "failures": [],
        "model_id": "mdl_1",
        "scheme": "inference",
        "dataset_id": None,
        "challenge": None,
        "verification_key_id": None,
        "label": None,
        "values": None,
        "a_field_of_a_newer_service": 1,
    }
    return fields | changes


def model(state: str = "queued", **changes: Any) -> dict[str, Any]:
    fields = {
        "id": "mdl_1",
        "name": "digits",
        "weight_privacy": "public",
        "bits": 8,
        "parent_id": None,
        "network": None,
        "commitment": None,
        "setup": "development",
        "verification_key_id": None,
        "registration_key_id": None,
        "description": None,
    }
    return proof(state) | fields | changes


def problem(status: int, code: str, **headers: str) -> httpx.Response:
    document = {"code": code, "detail": f"it is {code}", "field": "input", "request_id": "req_1"}
    return httpx.Response(status, json=document, headers=headers)


def page(*items: dict[str, Any], cursor: str | None = None) -> httpx.Response:
    return httpx.Response(200, json={"items": items, "next_cursor": cursor})


class Broken(httpx.SyncByteStream, httpx.AsyncByteStream):
    """An answer that breaks off after these bytes."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __iter__(self) -> Iterator[bytes]:
        yield self._content
        raise httpx.ReadError("reset")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content
        raise httpx.ReadError("reset")


def stream(*proofs: dict[str, Any], breaks: bool = False) -> httpx.Response:
    events = (
        f"event: {'progress' if p['state'] in ('queued', 'running') else 'end'}\n"
        f"data: {json.dumps(p)}\nid: {p['revision']}\n\n"
        for p in proofs
    )
    text = ": ping\n\nevent: milestone\ndata: {}\n\n" + "".join(events)
    headers = {"Content-Type": "text/event-stream; charset=utf-8"}
    if breaks:
        return httpx.Response(200, stream=Broken(text.encode()), headers=headers)
    return httpx.Response(200, text=text, headers=headers)


class Clock:
    """Time that passes only where somebody waits for it to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def pass_(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)

    async def pass_while_awaited(self, seconds: float) -> None:
        self.pass_(seconds)

    def install(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr("zenserve.client.calls.time", SimpleNamespace(monotonic=lambda: self.now))
        patch.setattr("zenserve.client.api.time", SimpleNamespace(sleep=self.pass_))
        patch.setattr("zenserve.client.api.asyncio", SimpleNamespace(sleep=self.pass_while_awaited))


class Service:
    """Gives these answers, one after the other, the last one for ever; and keeps what it was asked."""

    def __init__(self, kind: str, clock: Clock) -> None:
        self.clock = clock
        self.asked: list[httpx.Request] = []
        self._kind = kind
        self._answers: list[Answer] = []

    def answers(self, *answers: Answer) -> Service:
        self._answers = list(answers)
        self.asked.clear()
        self.clock.pauses.clear()
        return self

    @property
    def paths(self) -> list[str]:
        return [f"{request.method} {request.url.raw_path.decode()}" for request in self.asked]

    def sees(self, use: Callable[[Any], Any], **options: Any) -> Any:
        """What ``use`` of a client comes to: of what comes in numbers, a list."""
        if self._kind == "sync":
            with Client("http://service", **options) as client:
                client._http = self._opened(httpx.Client, client._http)
                result = use(client)
                return list(result) if isinstance(result, Iterator) else result
        return asyncio.run(self._awaited(use, options))

    async def _awaited(self, use: Callable[[Any], Any], options: dict[str, Any]) -> Any:
        async with AsyncClient("http://service", **options) as client:
            client._http = self._opened(httpx.AsyncClient, client._http)
            result = use(client)
            if isinstance(result, AsyncIterator):
                return [item async for item in result]
            return await result if asyncio.iscoroutine(result) else result

    def _opened(self, kind: Callable[..., Any], http: Any) -> Any:
        return kind(base_url=http.base_url, headers=http.headers, transport=httpx.MockTransport(self.answer))

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer.stream, Broken):
            return answer
        # A new one each time: a response belongs to the client that read it.
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)
