"""Webhooks: what is told, how it is signed, where it may go, and what becomes of it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import ipaddress
import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from sqlalchemy import select, update

from client.errors import SignatureError
from client.webhooks import verify
from service.api.routes.webhooks import Message
from service.jobs.jobs import Jobs, Terms
from service.runtime import Runtime
from service.scheduler import outbound, webhooks
from service.scheduler.outbound import Outbound, RefusedError, check_url, is_allowed
from service.scheduler.webhooks import Courier
from service.storage.database import now
from service.storage.records.accounts import Tenant
from service.storage.records.jobs import Job
from service.storage.records.webhooks import Delivery, Webhook
from service.storage.repositories import webhooks as repository
from service.storage.repositories.webhooks import BACKOFF, LEASE, Deliveries, Webhooks
from tests.refusals import refuses
from tests.service.support import PATIENCE_SECONDS, add_job, serving, until
from zenerrors import RequestError

LOOPBACK = [ipaddress.ip_network("127.0.0.0/8")]
SIGNING = webhooks.new_secret()

Answer = Callable[[BaseHTTPRequestHandler], None]


def status(code: int, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in {"Content-Length": "0", **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()

    return answer


@dataclass
class Receiver:
    """An endpoint: what came, and what it answers, in order; the last answer again and again."""

    url: str
    answers: list[Answer]
    came: list[tuple[dict[str, str], str]] = field(default_factory=list)


@contextmanager
def receiver(*answers: Answer, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            here.came.append(({name.lower(): value for name, value in self.headers.items()}, body))
            answer = here.answers[min(len(here.came), len(here.answers)) - 1]
            with contextlib.suppress(OSError):
                answer(self)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    here = Receiver(f"http://127.0.0.1:{server.server_port}/hook", list(answers) or [status(204)])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "PERIOD_SECONDS", 0.02)
    monkeypatch.setattr(webhooks, "BREATH_SECONDS", 0.0)
    monkeypatch.setattr(webhooks, "STOP_SECONDS", 0.1)


@pytest.fixture
def open_networks(runtime: Runtime) -> Runtime:
    """A service that may tell this host's loopback addresses."""
    runtime.settings.webhook_networks = list(LOOPBACK)
    return runtime


@pytest.fixture
def each_open(each_runtime: Runtime) -> Runtime:
    """The same on each database."""
    each_runtime.settings.webhook_networks = list(LOOPBACK)
    return each_runtime


def hook(runtime: Runtime, url: str, number: int = 1, tenant: str = "tnt_local", **more: Any) -> str:
    webhook_id = f"whk_{number}"
    events = more.pop("events", ["proof.succeeded", "proof.failed", "proof.canceled"])
    with runtime.database.write() as session:
        session.add(
            Webhook(
                id=webhook_id,
                tenant_id=tenant,
                url=url,
                events=events,
                secret=runtime.vault.seal(SIGNING.encode(), webhooks.place_of(webhook_id)),
                created_at=now(),
                **more,
            )
        )
    return webhook_id


def end(runtime: Runtime, job_id: str = "prf_1", kind: str = "proof") -> None:
    """A job that is over, and told of."""
    add_job(runtime, job_id, kind, Terms(labels={"run": "17"}))
    with runtime.database.write() as session:
        Jobs(session).cancel(job_id)


def deliveries(runtime: Runtime) -> list[Delivery]:
    with runtime.database.read() as session:
        return list(session.scalars(select(Delivery).order_by(Delivery.created_at)))


@contextmanager
def courier(runtime: Runtime) -> Iterator[Courier]:
    sender = Courier(runtime)
    sender.start()
    try:
        yield sender
    finally:
        sender.finish()


def attempts(runtime: Runtime) -> list[list[Any]]:
    return [[a.get("status") or a["error"] for a in row.attempts] for row in deliveries(runtime)]


def test_a_message_says_what_happened_and_is_signed(open_networks: Runtime) -> None:
    with receiver() as endpoint:
        hook(open_networks, endpoint.url)
        end(open_networks)
        with courier(open_networks):
            until(lambda: deliveries(open_networks)[0].state == "delivered")
    [(headers, body)] = endpoint.came
    message = json.loads(body)
    Message.model_validate(message)
    assert message["type"] == "proof.canceled"
    assert message["data"]["id"] == "prf_1"
    assert message["data"]["url"] == "/v1/proofs/prf_1"
    assert message["data"]["labels"] == {"run": "17"}
    assert headers["content-type"] == "application/json"
    # The specification, in its own words: base64(HMAC-SHA256(secret, "id.timestamp.payload")).
    key = base64.b64decode(SIGNING.split("_", 1)[1], validate=True)
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}".encode()
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert abs(time.time() - int(headers["webhook-timestamp"])) < 30
    assert 24 <= len(key) <= 64


def test_the_signature_is_that_of_the_specification() -> None:
    """The example of https://www.standardwebhooks.com's libraries."""
    headers = webhooks.sign(
        ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        '{"test": 2432232314}',
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_rotated_secret_signs_beside_the_one_of_before_for_a_day(open_networks: Runtime) -> None:
    def signed() -> tuple[dict[str, str], str]:
        sent = len(endpoint.came)
        httpx.post(f"{url}/v1/webhooks/{first['id']}/test").raise_for_status()
        until(lambda: len(endpoint.came) > sent)
        return endpoint.came[-1]

    def judged(secret: str, headers: dict[str, str], body: str) -> bool:
        try:
            verify(secret, headers, body.encode())
        except SignatureError:
            return False
        return True

    with receiver() as endpoint, serving(open_networks) as url, courier(open_networks):
        first = httpx.post(f"{url}/v1/webhooks", json={"url": endpoint.url}).raise_for_status().json()
        fresh = httpx.post(f"{url}/v1/webhooks/{first['id']}/rotate").raise_for_status().json()
        assert fresh["secret"] != first["secret"]
        both = signed()
        assert [judged(each["secret"], *both) for each in (first, fresh)] == [True, True]
        with open_networks.database.write() as session:
            session.get_one(Webhook, first["id"]).previous_until = now() - timedelta(seconds=1)
        one = signed()
        assert [judged(each["secret"], *one) for each in (first, fresh)] == [False, True]
        shown = httpx.get(f"{url}/v1/webhooks/{first['id']}").json()
    assert shown.keys() & {"secret", "previous_secret"} == set()


# Who is told, and when.


def test_a_message_is_there_if_and_only_if_the_end_of_the_job_was_committed(runtime: Runtime) -> None:
    hook(runtime, "https://example.com/")
    add_job(runtime, "prf_1", "proof")

    def cancel_and_break() -> None:
        with runtime.database.write() as session:
            Jobs(session).cancel("prf_1")
            assert session.scalar(select(Delivery)) is not None
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cancel_and_break()
    assert deliveries(runtime) == []
    with runtime.database.write() as session:
        Jobs(session).cancel("prf_1")
        Jobs(session).cancel("prf_1")
    [row] = deliveries(runtime)
    assert (row.job_id, row.event, row.state) == ("prf_1", "proof.canceled", "waiting")


def test_those_are_told_who_asked_for_it_about_what_is_theirs(runtime: Runtime) -> None:
    with runtime.database.write() as session:
        session.add(Tenant(id="tnt_other", name="other", created_at=now()))
    hook(runtime, "https://example.com/", 1)
    hook(runtime, "https://example.com/", 2, tenant="tnt_other")
    hook(runtime, "https://example.com/", 3, events=["model.canceled"])
    hook(runtime, "https://example.com/", 4, disabled_at=now())
    end(runtime, "prf_1", "proof")
    end(runtime, "prf_2", "accuracy")
    end(runtime, "mdl_1", "model")
    end(runtime, "dst_1", "dataset")
    end(runtime, "shd_1", "shard")
    told = {(row.webhook_id, row.job_id, row.event) for row in deliveries(runtime)}
    assert told == {
        ("whk_1", "prf_1", "proof.canceled"),
        ("whk_1", "prf_2", "proof.canceled"),
        ("whk_3", "mdl_1", "model.canceled"),
    }


def test_a_job_that_ends_twice_is_told_of_twice(runtime: Runtime) -> None:
    hook(runtime, "https://example.com/")
    end(runtime)
    with runtime.database.write() as session:
        session.execute(update(Job).values(state="queued"))
        Jobs(session).cancel("prf_1")
    first, second = deliveries(runtime)
    assert first.id != second.id


# What endpoints do.


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


# Where messages may go.

PRIVATE = [
    "0.0.0.0",  # noqa: S104
    "10.1.2.3",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.192",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_no_private_address_is_told_anything(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    with refuses("request.url"):
        check_url(f"https://{host}/", [])
    assert sent_to(monkeypatch, ["93.184.216.34", address]) == "the host's address is not a public one"


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"])
def test_public_addresses_are(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    check_url(f"https://{host}:8443/path?query", [])
    assert is_allowed(ipaddress.ip_address(address), [])
    assert not is_allowed(ipaddress.ip_address(address), LOOPBACK, plain=True)


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "localhost", "localhost."])
def test_other_ways_to_write_this_host_lead_nowhere(host: str) -> None:
    async def post() -> None:
        async with Outbound([]) as out:
            await out.post(f"https://{host}/", b"", {})

    with pytest.raises(RefusedError):
        asyncio.run(post())


def sent_to(monkeypatch: pytest.MonkeyPatch, addresses: list[str]) -> str | int:
    """What comes of a message to a name that has these addresses."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", (a, 443)) for a in addresses])

    async def post() -> str | int:
        async with Outbound([]) as out:
            try:
                return await out.post("https://hook.example/", b"{}", {})
            except Exception as error:
                return outbound.reason_of(error)

    return asyncio.run(post())


def test_a_name_that_leads_elsewhere_the_second_time_is_looked_up_once(
    open_networks: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: first an address that is allowed, then one that is not."""
    asked: list[str] = []

    def rebinding(host: str, port: int, **_: object) -> list[Any]:
        asked.append(host)
        return [(0, 0, 0, "", ("127.0.0.1" if len(asked) == 1 else "169.254.169.254", port))]

    with receiver() as endpoint:
        port = endpoint.url.split(":")[2]
        hook(open_networks, f"http://rebinding.example:{port}")
        end(open_networks)
        monkeypatch.setattr(socket, "getaddrinfo", rebinding)
        with courier(open_networks):
            until(lambda: deliveries(open_networks)[0].state == "delivered")
    assert asked == ["rebinding.example"]
    assert endpoint.came[0][0]["host"] == f"rebinding.example:{port.split('/')[0]}"


def test_proxies_of_the_environment_are_not_asked(
    open_networks: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver() as endpoint, receiver() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        hook(open_networks, endpoint.url)
        end(open_networks)
        with courier(open_networks):
            until(lambda: deliveries(open_networks)[0].state == "delivered")
    assert proxy.came == []


@pytest.mark.parametrize("name", ["hook.example", "other.example"])
def test_a_certificate_has_to_be_for_the_name(
    open_networks: Runtime, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    certificate, key = self_signed(tmp_path, "hook.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setattr(socket, "getaddrinfo", lambda _, port, **__: [(0, 0, 0, "", ("127.0.0.1", port))])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with receiver(tls=context) as endpoint:
        hook(open_networks, endpoint.url.replace("http://127.0.0.1", f"https://{name}"))
        end(open_networks)
        with courier(open_networks):
            until(lambda: deliveries(open_networks)[0].attempts)
    expected = 204 if name == "hook.example" else "the certificate is not valid for the host"
    assert attempts(open_networks) == [[expected]]


def self_signed(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for a name, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now() - timedelta(days=1))
        .not_valid_after(now() + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return files


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hook",
        "ftp://example.com/",
        "http://example.com/",
        "https://",
        "https:///path",
        "https://user:password@example.com/",
        "https://user@example.com/",
        "https://exa mple.com/",
        "https://example.com:0/",
        "https://example.com:99999/",
        "https://example.com:port/",
        "https://-example.com/",
        "https://[::1",
        "https://2130706433/",
        "https://127.1/",
        f"https://{'a' * 300}.com/",
        "https://example.com/\n",
    ],
)
def test_a_url_that_cannot_be_told_anything_is_refused_at_the_door(url: str) -> None:
    with refuses("request.url", "url"):
        check_url(url, [])


def test_operators_can_allow_private_networks() -> None:
    check_url("http://127.0.0.1:8080/", LOOPBACK)
    check_url("http://receiver:8080/", LOOPBACK)
    with pytest.raises(RequestError):
        check_url("http://10.0.0.1/", LOOPBACK)


# The API.


@pytest.fixture
def web(open_networks: Runtime) -> Iterator[httpx.Client]:
    with serving(open_networks) as url, httpx.Client(base_url=f"{url}/v1") as client:
        yield client


def test_a_webhook_from_its_making_to_its_end(
    open_networks: Runtime, web: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with receiver() as endpoint:
        made = web.post("/webhooks", json={"url": endpoint.url, "events": ["proof.canceled"]})
        assert made.status_code == 201, made.text
        webhook = made.json()
        secret = webhook.pop("secret")
        assert secret.startswith("whsec_")
        assert made.headers["Cache-Control"] == "no-store"
        place = made.headers["Location"].removeprefix("/v1")
        assert web.get(place).json() == webhook
        assert web.get("/webhooks").json() == {"items": [webhook], "next_cursor": None}
        with open_networks.database.read() as session:
            assert secret.encode() not in session.get_one(Webhook, webhook["id"]).secret
        with courier(open_networks):
            test = web.post(f"{place}/test").json()
            until(lambda: len(endpoint.came) == 1)
            end(open_networks)
            until(lambda: len(endpoint.came) == 2)
            until(lambda: {row.state for row in deliveries(open_networks)} == {"delivered"})
            newest, oldest = web.get(f"{place}/deliveries").json()["items"]
            assert (newest["event"], newest["job_id"]) == ("proof.canceled", "prf_1")
            assert (oldest["id"], oldest["event"]) == (test["id"], "webhook.test")
            again = web.post(f"{place}/deliveries/{newest['id']}/redeliver")
            assert (again.status_code, again.json()["state"]) == (202, "waiting")
            until(lambda: len(endpoint.came) == 3)
            until(lambda: len(deliveries(open_networks)[-1].attempts) == 2)
        assert endpoint.came[1][0]["webhook-id"] == endpoint.came[2][0]["webhook-id"] == newest["id"]
        assert endpoint.came[1][1] == endpoint.came[2][1] == newest["body"]
        for headers, body in endpoint.came:
            assert verify(secret, headers, body.encode()).id == headers["webhook-id"]
    assert web.delete(place).status_code == 204
    assert web.get(place).status_code == 404
    assert deliveries(open_networks) == []
    seen = caplog.text + "".join(str(record.__dict__) for record in caplog.records)
    assert secret not in seen
    assert secret.removeprefix("whsec_") not in seen


def test_the_log_of_a_webhook_comes_in_pages(open_networks: Runtime, web: httpx.Client) -> None:
    hook(open_networks, "https://example.com/")
    for number in range(5):
        end(open_networks, f"prf_{number}")
    seen, cursor = [], None
    while True:
        page = web.get(
            "/webhooks/whk_1/deliveries", params={"limit": 2, **({"cursor": cursor} if cursor else {})}
        )
        seen += [item["job_id"] for item in page.json()["items"]]
        if (cursor := page.json()["next_cursor"]) is None:
            break
    assert seen == [f"prf_{number}" for number in reversed(range(5))]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/webhooks/whk_1"),
        ("DELETE", "/webhooks/whk_1"),
        ("POST", "/webhooks/whk_1/test"),
        ("GET", "/webhooks/whk_1/deliveries"),
        ("POST", "/webhooks/whk_1/deliveries/{id}/redeliver"),
        ("POST", "/webhooks/whk_2/deliveries/{id}/redeliver"),
    ],
)
def test_other_tenants_webhooks_are_not_there(
    open_networks: Runtime, web: httpx.Client, method: str, path: str
) -> None:
    with open_networks.database.write() as session:
        session.add(Tenant(id="tnt_other", name="other", created_at=now()))
    hook(open_networks, "https://example.com/", 1, tenant="tnt_other")
    hook(open_networks, "https://example.com/", 2)
    with open_networks.database.write() as session:
        theirs = Deliveries(session).add_test(session.get_one(Webhook, "whk_1"))
    answer = web.request(method, path.format(id=theirs.id))
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert [item["id"] for item in web.get("/webhooks").json()["items"]] == ["whk_2"]
    assert len(deliveries(open_networks)) == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "https://10.0.0.1/"}, "url"),
        ({"url": "https://example.com/" + "a" * 2000}, "url"),
        ({"url": "https://example.com/", "events": []}, "events"),
        ({"url": "https://example.com/", "events": ["proof.begun"]}, "events.0"),
        ({"url": "https://example.com/", "secret": "mine"}, "secret"),
    ],
)
def test_a_webhook_that_cannot_be_is_refused(web: httpx.Client, body: dict[str, Any], field: str) -> None:
    answer = web.post("/webhooks", json=body)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert web.get("/webhooks").json()["items"] == []


def test_a_tenant_has_so_many_webhooks_at_most(web: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "MOST_WEBHOOKS", 1)
    body = {"url": "https://example.com/"}
    assert web.post("/webhooks", json=body).status_code == 201
    refused = web.post("/webhooks", json=body)
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict.webhooks")
