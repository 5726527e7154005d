"""Rates in a Redis that all processes of the API share, and without it."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.programs import Find
from tests.servers import Redis, fresh_broker
from zenserve.service.api import shelf as kept
from zenserve.service.api.rates import Allowance, SharedBuckets
from zenserve.service.api.shelf import Shelf


async def take(buckets: SharedBuckets, caller: str, times: int, wanted: int = 1) -> list[Allowance]:
    return [await buckets.take(caller, wanted) for _ in range(times)]


def test_processes_count_together(redis_url: str) -> None:
    url = fresh_broker(redis_url)

    async def both() -> None:
        shelves = Shelf(url), Shelf(url)
        one, two = (SharedBuckets("tenant", 60, shelf) for shelf in shelves)
        other = SharedBuckets("address", 60, shelves[0])
        # A minute is long enough for none to come back on the way, but for one or two.
        told = await asyncio.gather(*(take(buckets, "a", 40) for buckets in (one, two)))
        let_in = [allowance for allowance in told[0] + told[1] if not allowance.wait]
        assert 60 <= len(let_in) < 70
        assert {type(allowance.left) for allowance in let_in} == {int}
        assert (await two.take("a", 60)).wait in range(50, 61)
        assert not (await two.take("b")).wait
        assert not (await other.take("a")).wait
        for shelf in shelves:
            await shelf.close()

    asyncio.run(both())


def test_a_full_bucket_serves_whoever_wants_more_and_takes_back(redis_url: str) -> None:
    url = fresh_broker(redis_url)

    async def one() -> None:
        shelf = Shelf(url)
        buckets = SharedBuckets("verify", 10, shelf)
        assert not (await buckets.take("a", 640)).wait
        assert (await buckets.take("a")).wait
        await buckets.take("a", -1)
        assert not (await buckets.take("a")).wait
        await buckets.take("b", -5)  # no bucket is more than full
        assert (await buckets.take("b", 10)).left == 0
        await shelf.close()

    asyncio.run(one())


def test_without_redis_each_process_counts_its_own(program: Find) -> None:
    server = Redis(program)

    async def outage() -> None:
        shelf = Shelf(server.url)
        buckets = SharedBuckets("tenant", 4, shelf)
        assert [bool(each.wait) for each in await take(buckets, "a", 5)] == [False] * 4 + [True]
        server.kill()
        assert [bool(each.wait) for each in await take(buckets, "a", 5)] == [False] * 4 + [True]
        server.start()
        shelf._quiet_until = 0.0
        await buckets.take("a")  # has it looked for, and does not wait
        assert shelf._look is not None
        await shelf._look
        assert not (await buckets.take("b")).wait
        assert buckets._own._buckets.get("b") is None
        await shelf.close()

    try:
        asyncio.run(outage())
    finally:
        server.close()


@contextmanager
def deaf() -> Iterator[tuple[str, list[socket.socket]]]:
    """A Redis that takes connections and says nothing: its address, and who came."""
    came: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            try:
                while True:
                    came.append(listener.accept()[0])
            except OSError:
                return

        thread = threading.Thread(target=accept)
        thread.start()
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0", came
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    for connection in came:
        connection.close()


def test_one_that_hangs_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_REST_SECONDS", 3600.0)

    async def hang(url: str) -> None:
        shelf = Shelf(url)
        told = await take(SharedBuckets("tenant", 1000, shelf), "a", 500)
        assert not any(allowance.wait for allowance in told)
        await shelf.close()

    with deaf() as (url, came):
        asyncio.run(hang(url))
    assert len(came) == 1
