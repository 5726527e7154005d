"""The flows of endpoints, each written once and driven by either client.

A flow is a generator: it yields the effects that it needs and is sent their results. It never touches the
network itself, so the same flow serves ``Client``, which blocks, and ``AsyncClient``, which awaits.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import wraps
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """To be sent: an ``httpx.Response`` comes back, or ``UnreachableError``.

    ``repeatable``: to send it twice does what sending it once does.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """As ``httpx`` takes them: ``params``, ``content``, ``files``, ``data``."""
    repeatable: bool = False


@dataclass(frozen=True)
class Pause:
    """Some seconds in which nothing is to happen."""

    seconds: float


@dataclass(frozen=True)
class Listen:
    """To be sent, and its answer read line by line: whether it is an event stream. ``silence``: seconds
    without a line after which the stream counts as broken.
    """

    request: Request
    silence: float


@dataclass(frozen=True)
class NextLine:
    """Of what is listened to: text, or None at its end. ``UnreachableError`` where it breaks."""


@dataclass(frozen=True)
class Item(Generic[T]):
    """For the caller: what a flow that has several results yields them as."""

    value: T


Effect = Request | Pause | Listen | NextLine
Flow = Generator[Effect, Any, T]
"""Has one result."""
Stream = Generator[Effect | Item[T], Any, None]
"""Has any number of them."""


def once(flow: Flow[T]) -> Stream[T]:
    """A flow as a stream of its one result."""
    result = yield from flow
    yield Item(result)


class Blocking(Protocol):
    """A client that waits."""

    def run(self, flow: Flow[T]) -> T: ...
    def each(self, stream: Stream[T]) -> Iterator[T]: ...


class Awaiting(Protocol):
    """A client that is awaited."""

    def run(self, flow: Flow[T]) -> Coroutine[Any, Any, T]: ...
    def each(self, stream: Stream[T]) -> AsyncIterator[T]: ...


class endpoint(Generic[P, T]):  # noqa: N801  used as a decorator
    """A method whose flow a ``Client`` runs to its result, and an ``AsyncClient`` when it is awaited."""

    def __init__(self, flow: Callable[Concatenate[Any, P], Flow[T]]) -> None:
        self._flow = flow
        self.__doc__ = flow.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Awaiting, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Blocking | Awaiting | None, owner: type) -> Any:
        return self if client is None else _bound(client, self._flow, client.run)


class listing(Generic[P, T]):  # noqa: N801  used as a decorator
    """A method whose stream a ``Client`` gives as an iterator, an ``AsyncClient`` as an asynchronous one."""

    def __init__(self, stream: Callable[Concatenate[Any, P], Stream[T]]) -> None:
        self._stream = stream
        self.__doc__ = stream.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: Awaiting, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Blocking | Awaiting | None, owner: type) -> Any:
        return self if client is None else _bound(client, self._stream, client.each)


def _bound(client: object, method: Callable[..., Any], run: Callable[[Any], Any]) -> Callable[..., Any]:
    """The method of this client, with its own name, signature and documentation."""
    start = MethodType(method, client)

    @wraps(start)
    def call(*args: Any, **kwargs: Any) -> Any:
        return run(start(*args, **kwargs))

    return call
