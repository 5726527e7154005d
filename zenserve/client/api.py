"""The clients proper: one blocks, one awaits. What they can do: ``proving``, ``streaming``, ``verifying``,
``managing``, ``ceremonies``."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import AsyncExitStack, ExitStack, aclosing, closing, contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from zenserve.client import local
from zenserve.client.ceremonies import Holding
from zenserve.client.errors import ClientError, JobError, UnreachableError
from zenserve.client.flows import Effect, Flow, Item, Listen, NextLine, Pause, Request, Stream, once
from zenserve.client.managing import Managing
from zenserve.client.proving import Proving
from zenserve.client.resources import JobKind
from zenserve.client.streaming import Streaming
from zenserve.client.verifying import Verifying

T = TypeVar("T")

HERE = "http://127.0.0.1:8000"
_KEY_VARIABLE = "ZENSERVE_API_KEY"


class Client(Proving, Streaming, Verifying, Managing, Holding):
    """Talks to the service at ``base_url``, and waits for its answers.

    Raises ``ApiError`` and ``UnreachableError`` throughout. ``api_key`` is taken from ``ZENSERVE_API_KEY``
    unless given; a service of this host that the same user started needs none. While the service is away or
    busy, requests that may be repeated are, for up to ``retry_seconds``; those that make something carry an
    ``Idempotency-Key``, so that it is made once.
    """

    def __init__(
        self,
        base_url: str = HERE,
        timeout: float = 60.0,
        *,
        api_key: str | None = None,
        retry_seconds: float = 10.0,
    ) -> None:
        self._retry_seconds = retry_seconds
        with _reaching():
            self._http = httpx.Client(base_url=_address(base_url), timeout=timeout, **_shown(api_key))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def wait(
        self, job: JobKind, timeout: float = 600.0, *, on_progress: Callable[[JobKind], object] | None = None
    ) -> JobKind:
        """The model, dataset or proof once it is over. ``on_progress`` is called with it whenever it changes.
        Raises ``JobError``, ``TimeoutError``; the job goes on.
        """
        for seen in self.follow(job, timeout):
            job = seen
            if on_progress is not None:
                on_progress(job)
        return succeeded(job)

    def follow(self, job: JobKind, timeout: float = float("inf")) -> Iterator[JobKind]:
        """The model, dataset or proof as it changes, until it is over. Raises ``TimeoutError``."""
        return self.each(self._follow(job, timeout))

    def run(self, flow: Flow[T]) -> T:
        """The result of a flow."""
        with closing(self.each(once(flow))) as results:
            return next(results)

    def each(self, stream: Stream[T]) -> Generator[T, None, None]:
        """The results of a stream, as they come."""
        with ExitStack() as listening:
            hands = _Hands(self._http, listening)
            move = partial(next, stream)
            while True:
                try:
                    step = move()
                except StopIteration:
                    return
                if isinstance(step, Item):
                    yield step.value
                    move = partial(next, stream)
                    continue
                try:
                    move = partial(stream.send, hands.do(step))
                except UnreachableError as error:
                    move = partial(stream.throw, error)


class AsyncClient(Proving, Streaming, Verifying, Managing, Holding):
    """``Client`` for programs that await: the same methods, and ``async for`` over what comes in numbers."""

    def __init__(
        self,
        base_url: str = HERE,
        timeout: float = 60.0,
        *,
        api_key: str | None = None,
        retry_seconds: float = 10.0,
    ) -> None:
        self._retry_seconds = retry_seconds
        with _reaching():
            self._http = httpx.AsyncClient(base_url=_address(base_url), timeout=timeout, **_shown(api_key))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Give the connections back."""
        await self._http.aclose()

    async def wait(
        self, job: JobKind, timeout: float = 600.0, *, on_progress: Callable[[JobKind], object] | None = None
    ) -> JobKind:
        """As ``Client.wait``."""
        async for seen in self.follow(job, timeout):
            job = seen
            if on_progress is not None:
                on_progress(job)
        return succeeded(job)

    def follow(self, job: JobKind, timeout: float = float("inf")) -> AsyncIterator[JobKind]:
        """As ``Client.follow``."""
        return self.each(self._follow(job, timeout))

    async def run(self, flow: Flow[T]) -> T:
        """The result of a flow."""
        async with aclosing(self.each(once(flow))) as results:
            return await anext(results)

    async def each(self, stream: Stream[T]) -> AsyncGenerator[T, None]:
        """The results of a stream, as they come."""
        async with AsyncExitStack() as listening:
            hands = _AsyncHands(self._http, listening)
            move = partial(next, stream)
            while True:
                try:
                    step = move()
                except StopIteration:
                    return
                if isinstance(step, Item):
                    yield step.value
                    move = partial(next, stream)
                    continue
                try:
                    move = partial(stream.send, await hands.do(step))
                except UnreachableError as error:
                    move = partial(stream.throw, error)


class _Hands:
    """Does what a flow needs done."""

    def __init__(self, http: httpx.Client, listening: ExitStack) -> None:
        self._http = http
        self._listening = listening
        self._lines: Iterator[str] = iter(())

    def do(self, effect: Effect) -> Any:
        with _reaching():
            match effect:
                case Request():
                    return self._http.request(**_sent(effect))
                case Pause():
                    return time.sleep(effect.seconds)
                case Listen():
                    self._listening.close()
                    response = self._listening.enter_context(self._http.stream(**_heard(effect)))
                    self._lines = response.iter_lines()
                    return _is_stream(response)
                case NextLine():
                    return next(self._lines, None)


class _AsyncHands:
    """``_Hands`` for ``AsyncClient``."""

    def __init__(self, http: httpx.AsyncClient, listening: AsyncExitStack) -> None:
        self._http = http
        self._listening = listening
        self._lines: AsyncIterator[str]

    async def do(self, effect: Effect) -> Any:
        with _reaching():
            match effect:
                case Request():
                    return await self._http.request(**_sent(effect))
                case Pause():
                    return await asyncio.sleep(effect.seconds)
                case Listen():
                    await self._listening.aclose()
                    response = await self._listening.enter_async_context(self._http.stream(**_heard(effect)))
                    self._lines = response.aiter_lines()
                    return _is_stream(response)
                case NextLine():
                    return await anext(self._lines, None)


def succeeded(job: JobKind) -> JobKind:
    """The job itself. Raises ``JobError`` if it ended otherwise."""
    if job.state != "succeeded":
        raise JobError(job.id, job.state, job.problem)
    return job


def _sent(request: Request) -> dict[str, Any]:
    options = {"method": request.method, "url": request.path, "headers": request.headers}
    return options | dict(request.options)


def _heard(listen: Listen) -> dict[str, Any]:
    return _sent(listen.request) | {"timeout": listen.silence}


def _is_stream(response: httpx.Response) -> bool:
    return response.is_success and response.headers.get("Content-Type", "").startswith("text/event-stream")


def _address(base_url: str) -> httpx.URL:
    """Raises ``UnreachableError``, at once: to ask again and again would not help."""
    url = httpx.URL(base_url)
    if url.scheme not in ("http", "https") or not url.host:
        raise UnreachableError("the service cannot be reached: its address is http:// or https:// and a host")
    return url


def _shown(api_key: str | None) -> dict[str, Any]:
    """Return the options of httpx's clients that identify the caller to the service.

    Raises ``ClientError`` for text that cannot be a key: httpx would quote it in an error.
    """
    key = api_key or os.environ.get(_KEY_VARIABLE)
    if not key:
        return {"auth": local.Token()}
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise ClientError(f"the API key (api_key, {_KEY_VARIABLE}) has spaces or signs that no key has")
    return {"headers": {"Authorization": f"Bearer {key}"}}


@contextmanager
def _reaching() -> Iterator[None]:
    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        where = error.request.url.copy_with(raw_path=b"/", userinfo=b"")
        raise UnreachableError(f"no service answers at {where}") from None
    except (httpx.RequestError, httpx.InvalidURL) as error:
        raise UnreachableError(f"the service cannot be reached: {error}") from None
