"""What a stranger can hold open: heads, bodies, answers and connections, each given up in time."""

from __future__ import annotations

import json
import os
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any, ClassVar

import httpx
import pytest

from tests.patience import PATIENCE_SECONDS, until
from tests.service.support import serving
from zenserve.service.api.connections import Connection
from zenserve.service.runtime import Runtime

MOST = 16
HEAD = b"POST /v1/verify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


class Hasty(Connection):
    """One that loses its patience at once, but not with what arrives as a whole."""

    HEAD_SECONDS: ClassVar = 0.3
    BODY_SECONDS: ClassVar = 0.3
    BODY_BYTES: ClassVar = 1000
    ANSWER_SECONDS: ClassVar = 0.3
    LINGER_SECONDS: ClassVar = 0.3


@pytest.fixture
def hasty(runtime: Runtime) -> Iterator[str]:
    with serving(runtime, http=Hasty, limit_concurrency=MOST) as url:
        yield url


@pytest.fixture
def strict(runtime: Runtime) -> Iterator[str]:
    """One that trusts no proxy, and has all the patience it has."""
    with serving(runtime, http=Connection, limit_concurrency=MOST, forwarded_allow_ips=[]) as url:
        yield url


def connect(url: str, source: str = "127.0.0.1") -> socket.socket:
    where = httpx.URL(url)
    assert where.port
    return socket.create_connection((where.host, where.port), PATIENCE_SECONDS, source_address=(source, 0))


def answer(connection: socket.socket) -> tuple[int, dict[str, Any]]:
    """All that comes until the end: a problem, with its status."""
    received = b""
    with suppress(ConnectionResetError):
        while more := connection.recv(1 << 16):
            received += more
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"connection: close" in head
    assert b"application/problem+json" in head
    return int(head.split()[1]), json.loads(body)


def is_closed(connection: socket.socket) -> bool:
    """Without a word."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize(
    "start",
    [
        b"GET /healthz HTTP/1.1\r\nX-Long: ",
        b"GET /",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: ",
    ],
    ids=["header", "address", "trailer"],
)
def test_a_head_without_end_is_refused_and_not_kept(strict: str, start: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with connect(strict) as connection:
        connection.sendall(start)
        with suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(100):
                connection.sendall(b"x" * (1 << 20))
        status, problem = answer(connection)
    assert (status, problem["code"]) == (431, "request.headers")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000


def test_a_head_of_many_fields_is_refused(strict: str) -> None:
    with connect(strict) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\n" + b"a:\r\n" * 101 + b"\r\n")
        assert answer(connection)[0] == 431
    assert httpx.get(f"{strict}/healthz", headers=[(f"x-{n}", "y") for n in range(90)]).status_code == 200


@pytest.mark.parametrize("start", [b"G", b"GET /healthz HTTP/1.1\r\nHost: loc", b"\r\n"])
def test_a_head_that_is_not_ended_is_given_up(hasty: str, start: bytes) -> None:
    with connect(hasty) as connection:
        connection.sendall(start)
        status, problem = answer(connection)
    assert (status, problem["code"]) == (408, "request.timeout")


def test_who_says_nothing_is_told_nothing(hasty: str) -> None:
    with connect(hasty) as connection:
        assert is_closed(connection)


def test_a_kept_connection_is_given_up_whatever_trickles(hasty: str) -> None:
    with connect(hasty) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
        connection.sendall(b"\r\n")  # belongs to no request, and stops uvicorn's own clock
        assert answer(connection)[0] == 408


@pytest.mark.parametrize("how", [b"Content-Length: 100000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"])
def test_a_body_that_trickles_is_given_up(hasty: str, how: bytes) -> None:
    byte = b"1\r\n \r\n" if b"chunked" in how else b" "
    with connect(hasty) as connection:
        connection.sendall(HEAD + how)
        with suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(1000):
                connection.sendall(byte)
                time.sleep(0.002)
        status, problem = answer(connection)
    assert (status, problem["code"]) == (408, "request.timeout")


def test_a_body_in_haste_and_one_that_is_asked_for_late_are_read(hasty: str) -> None:
    answers = [httpx.post(f"{hasty}/v1/verify", content=bytes(n)).status_code for n in (10, 100_000)]
    assert 408 not in answers
    with connect(hasty) as connection:
        connection.sendall(HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 100")
        connection.sendall(b"{}")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 4")


def test_what_is_not_http_is_a_problem_too(strict: str) -> None:
    with connect(strict) as connection:
        connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert answer(connection)[1]["code"] == "request.malformed"


def test_an_address_has_a_share_of_the_connections(strict: str) -> None:
    with ExitStack() as stack:
        for _ in range(MOST // 8):
            stack.enter_context(connect(strict))
        status, problem = answer(stack.enter_context(connect(strict)))
        assert (status, problem["code"]) == (429, "quota.connections")
        with httpx.Client(transport=httpx.HTTPTransport(local_address="127.0.0.2")) as other:
            assert other.get(f"{strict}/healthz").status_code == 200


def test_who_only_waits_makes_room_and_who_works_does_not(strict: str) -> None:
    with ExitStack() as stack:
        waiting = [stack.enter_context(connect(strict, f"127.0.1.{n}")) for n in range(1, MOST + 1)]
        with httpx.Client() as other:
            assert other.get(f"{strict}/healthz").status_code == 200
        assert is_closed(waiting[0])
        for n in range(1, MOST + 1):
            working = stack.enter_context(connect(strict, f"127.0.2.{n}"))
            working.sendall(HEAD + b"Content-Length: 10\r\n\r\n")
            working.sendall(b"{")
        status, problem = answer(stack.enter_context(connect(strict)))
        assert (status, problem["code"]) == (503, "resource.connections")
    until(lambda: httpx.get(f"{strict}/healthz").status_code == 200, "room again")


def test_a_proxy_has_no_share(hasty: str) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(httpx.Client()) for _ in range(MOST)]
        assert [client.get(f"{hasty}/healthz").status_code for client in clients] == [200] * MOST


def test_an_answer_that_nobody_takes_is_given_up(hasty: str) -> None:
    with connect(hasty) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

        def is_given_up() -> bool:
            try:
                connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
            except (BrokenPipeError, ConnectionResetError):
                return True
            return False

        until(is_given_up)


def test_strangers_that_hold_on_cost_nothing(runtime: Runtime) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with serving(runtime, http=Connection, limit_concurrency=400) as url, ExitStack() as stack:
        for n in range(400):
            held = stack.enter_context(connect(url))
            held.sendall((b"", b"GET / HT", HEAD + b"Content-Length: 9\r\n\r\n{")[n % 3])
        caller = stack.enter_context(httpx.Client())  # to make one takes longer than to ask
        started = time.process_time()
        for _ in range(20):
            assert caller.get(f"{url}/healthz", headers={"Connection": "close"}).status_code == 200
        assert time.process_time() - started < 1.0
        assert len(os.listdir("/proc/self/fd")) < before + 1000
