"""What endpoints do, and what becomes of a message then."""

from __future__ import annotations

import contextlib
import threading
import time
from datetime import timedelta
from http.server import BaseHTTPRequestHandler

import pytest
from sqlalchemy import select, update

from tests.patience import PATIENCE_SECONDS, until
from tests.service.webhooks.receiver import Answer, attempts, courier, deliveries, end, hook, receiver, status
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler import outbound, webhooks
from zenserve.service.storage.database import now
from zenserve.service.storage.records.webhooks import Delivery, Webhook
from zenserve.service.storage.repositories import webhooks as repository
from zenserve.service.storage.repositories.webhooks import BACKOFF, LEASE, Deliveries, Webhooks


def test_a_message_that_is_refused_comes_again_as_the_same_one(
    open_networks: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "BACKOFF", (timedelta(0),) * 7)
    with receiver(status(500), status(302, Location="http://127.0.0.1:1/"), status(200)) as endpoint:
        hook(open_networks, endpoint.url)
        end(open_networks)
        with courier(open_networks):
            until(lambda: deliveries(open_networks)[0].state == "delivered")
    assert attempts(open_networks) == [[500, 302, 200]]
    assert len({headers["webhook-id"] for headers, _ in endpoint.came}) == 1
    assert len({body for _, body in endpoint.came}) == 1


def hang(handler: BaseHTTPRequestHandler) -> None:
    handler.rfile.read(1)  # until the other side gives up


def trickle_headers(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        handler.wfile.write(b"X-More: 1\r\n")
        time.sleep(0.05)


def trickle_body(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        handler.wfile.write(b"x")
        time.sleep(0.05)


def flood(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n")
    with contextlib.suppress(OSError):
        while True:
            handler.wfile.write(b"x" * 65536)


@pytest.mark.parametrize(
    ("answer", "seconds", "expected"),
    [
        (hang, 0.2, "no answer in time"),
        (trickle_headers, 0.2, "no answer in time"),
        (trickle_body, 0.2, "no answer in time"),
        (flood, 20.0, 200),
    ],
)
def test_an_endpoint_has_so_long_all_in_all(
    open_networks: Runtime,
    monkeypatch: pytest.MonkeyPatch,
    answer: Answer,
    seconds: float,
    expected: int | str,
) -> None:
    monkeypatch.setattr(outbound, "LONGEST_SECONDS", seconds)
    with receiver(answer) as endpoint:
        hook(open_networks, endpoint.url)
        end(open_networks)
        with courier(open_networks):
            until(lambda: deliveries(open_networks)[0].attempts)
    assert attempts(open_networks) == [[expected]]


def test_an_endpoint_that_hangs_delays_no_other(
    open_networks: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbound, "LONGEST_SECONDS", 10 * PATIENCE_SECONDS)
    with receiver(hang) as bad, receiver() as good:
        hook(open_networks, bad.url, 1)
        hook(open_networks, good.url, 2)
        for number in range(12):
            end(open_networks, f"prf_{number}")
        with courier(open_networks):
            until(lambda: len(good.came) == 12)
            until(lambda: len(bad.came) >= webhooks.AT_ONCE_PER_WEBHOOK)
            assert len(bad.came) == webhooks.AT_ONCE_PER_WEBHOOK


def test_two_couriers_never_send_the_same_at_once(each_open: Runtime) -> None:
    with receiver() as endpoint:
        hook(each_open, endpoint.url)
        for number in range(12):
            end(each_open, f"prf_{number}")
        with courier(each_open), courier(each_open):
            until(lambda: all(row.state == "delivered" for row in deliveries(each_open)))
    assert len(endpoint.came) == 12
    assert len({headers["webhook-id"] for headers, _ in endpoint.came}) == 12


def test_a_webhook_that_is_deleted_takes_no_end_of_a_job_down_with_it(each_runtime: Runtime) -> None:
    hook(each_runtime, "https://example.com/")
    deleted = threading.Event()

    def delete() -> None:
        with each_runtime.database.write() as session:
            Webhooks(session).delete("whk_1", "tnt_local")
            deleted.set()
            time.sleep(0.3)

    thread = threading.Thread(target=delete)
    thread.start()
    assert deleted.wait(PATIENCE_SECONDS)
    end(each_runtime)
    thread.join()
    assert deliveries(each_runtime) == []


def test_what_a_crash_interrupts_is_sent_after_the_lease(open_networks: Runtime) -> None:
    hook(open_networks, "https://example.com/")
    end(open_networks)
    with open_networks.database.write() as session:
        [claimed] = Deliveries(session).claim(10, 10, ())
    with open_networks.database.write() as session:
        assert Deliveries(session).claim(10, 10, ()) == []
        session.execute(update(Delivery).values(next_at=claimed.next_at - LEASE))
        assert [row.id for row in Deliveries(session).claim(10, 10, ())] == [claimed.id]


def test_what_never_arrives_is_given_up(runtime: Runtime) -> None:
    hook(runtime, "https://example.com/")
    end(runtime)
    [row] = deliveries(runtime)
    for wait in (*BACKOFF, None):
        assert deliveries(runtime)[0].state == "waiting"
        before = now()
        with runtime.database.write() as session:
            Deliveries(session).record(row.id, {"at": before.isoformat(), "status": 500}, arrived=False)
        assert wait is None or before + wait <= deliveries(runtime)[0].next_at <= now() + wait
    assert deliveries(runtime)[0].state == "given up"
    with runtime.database.read() as session:
        assert session.get_one(Webhook, "whk_1").disabled_at is None


def fail_for_good(runtime: Runtime, job_id: str, age: timedelta) -> None:
    end(runtime, job_id)
    with runtime.database.write() as session:
        row = session.scalars(select(Delivery).where(Delivery.job_id == job_id)).one()
        row.created_at = now() - age
        row.attempts = [{"at": "then", "status": 500, "seconds": 0.1}] * len(BACKOFF)
        session.flush()
        Deliveries(session).record(row.id, {"at": "now", "status": 500}, arrived=False)


def is_disabled(runtime: Runtime) -> bool:
    with runtime.database.read() as session:
        return session.get_one(Webhook, "whk_1").disabled_at is not None


def test_an_endpoint_is_disabled_after_five_days_of_nothing_but_failures(runtime: Runtime) -> None:
    hook(runtime, "https://example.com/")
    fail_for_good(runtime, "prf_1", timedelta(days=4))
    assert not is_disabled(runtime)
    end(runtime, "prf_waits")
    fail_for_good(runtime, "prf_2", timedelta(days=6))
    assert is_disabled(runtime)
    assert {row.state for row in deliveries(runtime)} == {"given up"}
    end(runtime, "prf_3")  # it is told no more
    assert len(deliveries(runtime)) == 3
    with runtime.database.write() as session:  # until something arrives
        row = Deliveries(session).again(deliveries(runtime)[0].id, "whk_1")
        Deliveries(session).record(row.id, {"at": "now", "status": 200}, arrived=True)
    assert not is_disabled(runtime)


def test_an_endpoint_that_takes_something_now_and_then_stays(runtime: Runtime) -> None:
    hook(runtime, "https://example.com/")
    end(runtime, "prf_0")
    with runtime.database.write() as session:
        row = session.scalars(select(Delivery)).one()
        Deliveries(session).record(row.id, {"at": "now", "status": 200}, arrived=True)
    fail_for_good(runtime, "prf_1", timedelta(days=6))
    assert not is_disabled(runtime)


def test_messages_that_are_over_are_forgotten(runtime: Runtime) -> None:
    hook(runtime, "https://example.com/")
    for number in range(3):
        end(runtime, f"prf_{number}")
    old = now() - timedelta(days=31)
    with runtime.database.write() as session:
        session.execute(update(Delivery).values(next_at=old))
        session.execute(update(Delivery).where(Delivery.job_id == "prf_0").values(state="delivered"))
        session.execute(update(Delivery).where(Delivery.job_id == "prf_1").values(state="given up"))
        Deliveries(session).forget(webhooks.KEPT)
    assert [row.job_id for row in deliveries(runtime)] == ["prf_2"]
