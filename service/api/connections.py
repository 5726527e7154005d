"""Connections, before there is a request: how many there may be, and how long each may take over what.

uvicorn waits for ever for whoever has begun to send, and keeps whatever is in a head. Here a connection is
given up, with an answer where HTTP has one, that

- has a head that is too large: 431;
- takes too long over its head, or sends a body too slowly: 408;
- is one too many: 429 where its address has too many, 503 where all have and none of them only waits;
- does not take its answer.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from uvicorn.config import Config
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from zenserve.errors import RequestError, ResourceError, ZenError
from zenserve.service.api import problems

_SHARE = 8
"""Of all connections, one address may have this part: enough for an office, and not all."""


def network_of(host: str) -> str:
    """An address; of IPv6 the half that a network is given, since its hosts choose the other."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.version == 6:
        return str(ipaddress.IPv6Network((address, 64), strict=False))
    return host


class Room:
    """The connections of one server: how many each address has, and which of them only wait."""

    def __init__(self, config: Config) -> None:
        self._most = config.limit_concurrency or 0
        # They speak for many, and count those themselves.
        self._proxies = ProxyHeadersMiddleware(config.loaded_app, config.forwarded_allow_ips).trusted_hosts
        self._networks: dict[Connection, str] = {}
        self._of: Counter[str] = Counter()
        self._waiting: dict[Connection, None] = {}

    def enter(self, connection: Connection) -> None:
        """Raises ``ResourceError`` (``quota.connections``, ``resource.connections``)."""
        host = connection.client[0] if connection.client else ""
        network = network_of(host)
        if host not in self._proxies and self._of[network] >= max(1, self._most // _SHARE):
            raise ResourceError("quota.connections", "there are too many connections from your address")
        if len(self._networks) >= self._most:
            if not self._waiting:
                raise ResourceError("resource.connections", "there are too many connections; try again soon")
            longest = next(iter(self._waiting))
            self.leave(longest)
            longest.transport.close()
        self._networks[connection] = network
        self._of[network] += 1
        self.wait(connection)

    def wait(self, connection: Connection) -> None:
        """It has no request under way; of those, the last to go."""
        if connection in self._networks:
            self._waiting[connection] = None

    def work(self, connection: Connection) -> None:
        self._waiting.pop(connection, None)

    def leave(self, connection: Connection) -> None:
        self._waiting.pop(connection, None)
        network = self._networks.pop(connection, None)
        if network is not None:
            self._of[network] -= 1
            if not self._of[network]:
                del self._of[network]


_ROOMS: WeakKeyDictionary[ServerState, Room] = WeakKeyDictionary()


class Connection(HttpToolsProtocol):
    """One connection; ``limit_concurrency`` of the server's configuration is how many there may be."""

    HEAD_BYTES: ClassVar = 32 << 10
    HEAD_FIELDS: ClassVar = 100
    HEAD_SECONDS: ClassVar = 10.0
    BODY_SECONDS: ClassVar = 30.0
    BODY_BYTES: ClassVar = 16 << 10
    """In as many seconds at least so much of a body comes: half a kilobyte a second."""
    ANSWER_SECONDS: ClassVar = 60.0
    """So long an answer may stand still."""
    LINGER_SECONDS: ClassVar = 2.0
    """So long what still comes is thrown away, that the caller comes to read why."""

    def __init__(self, config: Config, server_state: ServerState, *args: Any, **options: Any) -> None:
        super().__init__(config, server_state, *args, **options)
        self.limit_concurrency = None  # seen to here, when they connect
        self._room = _ROOMS.get(server_state) or _ROOMS.setdefault(server_state, Room(config))
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._complaint: ZenError | None = None
        self._parsed = False
        self._unparsed_bytes = 0
        self._body_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        try:
            self._room.enter(self)
        except ResourceError as error:
            self._answer(error)
            transport.close()
        else:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._room.leave(self)
        self._expect(None)
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._complaint or self.transport.is_closing():
            return
        if self._reading is None and self.cycle and self.cycle.response_complete:
            self._expect_head()
        self._parsed = False
        super().data_received(data)
        # A head that is not complete yet, trailers, or what belongs to nothing at all.
        self._unparsed_bytes = 0 if self._parsed else self._unparsed_bytes + len(data)
        if self._unparsed_bytes > self.HEAD_BYTES:
            self._refuse(self._too_large())

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._parsed = True
        self._expect_head()

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > self.HEAD_BYTES or len(self.headers) > self.HEAD_FIELDS:
            self._complaint = self._too_large()
            raise self._complaint  # the parser stops, and ``send_400_response`` is called
        self._parsed = True
        self._room.work(self)
        self._body_bytes = 0
        self._expect(self._body_is_due, self.BODY_SECONDS)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._parsed = True
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._parsed = True
        if self.cycle.response_complete:  # before the whole body was here: nobody will say when it is
            self._expect_head()
        else:
            self._expect(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # and no other request waits
            self._room.wait(self)

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that the parser cannot read."""
        self._refuse(
            self._complaint or RequestError("request.malformed", "this is not a request of HTTP/1.1")
        )

    def pause_writing(self) -> None:
        super().pause_writing()
        self._writing = self.loop.call_later(self.ANSWER_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def _expect_head(self) -> None:
        self._expect(self._head_is_late, self.HEAD_SECONDS)

    def _expect(self, otherwise: Callable[[], None] | None, seconds: float = 0.0) -> None:
        """Replace the timer for what comes next: call ``otherwise`` after so many seconds.

        None: nothing is to come, so there is no timer.
        """
        if self._reading is not None:
            self._reading.cancel()
        self._reading = self.loop.call_later(seconds, otherwise) if otherwise else None

    def _head_is_late(self) -> None:
        if self._unparsed_bytes or self.headers is not None:
            self._refuse(_too_slow("the head of the request was", self.HEAD_SECONDS))
        else:  # it never said a word
            self.transport.close()

    def _body_is_due(self) -> None:
        waits_for_us = self.flow.read_paused or self.cycle.waiting_for_100_continue
        if waits_for_us or self._body_bytes >= self.BODY_BYTES:
            self._body_bytes = 0
            self._expect(self._body_is_due, self.BODY_SECONDS)
        elif self.cycle.response_started:
            self.transport.close()
        else:
            self._refuse(_too_slow(f"{self.BODY_BYTES} bytes of the body were", self.BODY_SECONDS))

    def _refuse(self, error: ZenError) -> None:
        """Answer, if nothing else is being answered, and close."""
        self._complaint = error
        under_way = self.cycle is not None and not self.cycle.response_complete
        if under_way and self.cycle.response_started:
            self.transport.close()
            return
        if under_way:  # nobody will hear what the application answers
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._answer(error)
        self.transport.write_eof()
        self._expect(self.transport.close, self.LINGER_SECONDS)

    def _answer(self, error: ZenError) -> None:
        problem = problems.problem(error)
        content = problem.model_dump_json(exclude_none=True).encode()
        fields = {"content-type": problems.MEDIA_TYPE, "content-length": len(content), "connection": "close"}
        head = b"".join(f"{name}: {value}\r\n".encode() for name, value in fields.items())
        self.transport.write(STATUS_LINE[problem.status] + head + b"\r\n" + content)

    def _too_large(self) -> RequestError:
        return RequestError(
            "request.headers",
            f"address and headers are more than {self.HEAD_BYTES} bytes, or {self.HEAD_FIELDS} fields",
        )


def _too_slow(what: str, seconds: float) -> RequestError:
    return RequestError("request.timeout", f"{what} not here within {seconds:g} seconds")
