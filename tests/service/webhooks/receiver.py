"""Receivers of messages, and webhooks that send them."""

from __future__ import annotations

import contextlib
import ipaddress
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sqlalchemy import select

from tests.service.support import add_job
from zenserve.service.jobs.jobs import Jobs, Terms
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler import webhooks
from zenserve.service.scheduler.webhooks import Courier
from zenserve.service.storage.database import now
from zenserve.service.storage.records.webhooks import Delivery, Webhook

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
