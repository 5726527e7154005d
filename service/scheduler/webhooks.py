"""Telling callers' own services that jobs are over, as Standard Webhooks (https://www.standardwebhooks.com).

A message is written in the transaction that ends its job (``repositories.webhooks``) and sent from here until
it arrives or is given up. It may arrive twice, with the same ``webhook-id``: a crash after sending looks like
one before.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import httpx

from zenserve.service import log
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler import outbound
from zenserve.service.scheduler.outbound import Outbound, RefusedError
from zenserve.service.storage.database import now
from zenserve.service.storage.records.webhooks import Delivery
from zenserve.service.storage.repositories.webhooks import Deliveries

PERIOD_SECONDS = 0.5
BREATH_SECONDS = 0.05
"""Between rounds, however fast attempts end: it is the database that they all write to."""
STOP_SECONDS = 2.0
AT_ONCE = 128
AT_ONCE_PER_WEBHOOK = 4
KEPT = timedelta(days=30)
"""The time for which messages that are over are kept, with their log."""
CLEARING_SECONDS = 3600.0
OVERLAP = timedelta(days=1)
"""The time for which messages are signed with the previous secret, too, after a new one is made."""

_SECRET_PREFIX = "whsec_"  # noqa: S105  not a secret but the mark of one


def new_secret() -> str:
    """A secret to sign with, in the form in which receivers are told it."""
    return _SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def place_of(webhook_id: str) -> str:
    """Return the place that the webhook's secret is sealed for."""
    return f"webhook:{webhook_id}"


def sign(secrets_: Sequence[str], message_id: str, timestamp: int, body: str) -> dict[str, str]:
    """The headers by which a receiver knows the sender, the message and its time: a signature with each
    secret.
    """
    message = f"{message_id}.{timestamp}.{body}".encode()
    keys = [base64.b64decode(secret.removeprefix(_SECRET_PREFIX)) for secret in secrets_]
    digests = [base64.b64encode(hmac.digest(key, message, hashlib.sha256)).decode() for key in keys]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{digest}" for digest in digests),
    }


class Courier(threading.Thread):
    """Sends what is due, many at once and few to each webhook, so that none waits for another's endpoint."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(name="courier", daemon=True)
        self._runtime = runtime
        self._quit = threading.Event()
        self._sending: dict[asyncio.Task[None], str] = {}
        """Of each attempt that is under way, its webhook."""
        self._next_clearing = 0.0

    def run(self) -> None:
        asyncio.run(self._work())

    def finish(self) -> None:
        """Stop. Attempts under way have a moment to end; others are made again after their lease."""
        self._quit.set()
        self.join()

    async def _work(self) -> None:
        async with Outbound(self._runtime.settings.webhook_networks) as out:
            while not self._quit.is_set():
                try:
                    await self._round(out)
                except Exception:  # the next round tries again; a dead courier would try nothing
                    log.event("courier.failed", level=40, failed=True)
                await self._pause()
            if self._sending:
                await asyncio.wait(self._sending, timeout=STOP_SECONDS)

    async def _round(self, out: Outbound) -> None:
        if time.monotonic() >= self._next_clearing:
            await asyncio.to_thread(self._clear)
            self._next_clearing = time.monotonic() + CLEARING_SECONDS
        room, busy = AT_ONCE - len(self._sending), set(self._sending.values())
        if room:
            for delivery in await asyncio.to_thread(self._claim, room, busy):
                task = asyncio.create_task(self._deliver(out, delivery))
                self._sending[task] = delivery.webhook_id
                task.add_done_callback(self._sending.pop)

    async def _pause(self) -> None:
        """Until an attempt has ended, or for a period."""
        await asyncio.sleep(BREATH_SECONDS)
        waiting = asyncio.create_task(asyncio.sleep(PERIOD_SECONDS))
        await asyncio.wait([waiting, *self._sending], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    async def _deliver(self, out: Outbound, delivery: Delivery) -> None:
        """Try once, and write down what became of it."""
        moment, started = now(), time.monotonic()
        outcome: dict[str, Any]
        try:
            outcome = {"status": await self._send(out, delivery, int(moment.timestamp()))}
        except (RefusedError, TimeoutError, httpx.HTTPError) as error:
            outcome = {"error": outbound.reason_of(error)}
        except Exception:  # a bug, or a secret that does not open any more: it backs off like the rest
            log.event("webhook.broke", level=40, failed=True, id=delivery.id)
            outcome = {"error": "the service failed"}
        outcome["seconds"] = round(time.monotonic() - started, 3)
        try:
            await asyncio.to_thread(self._record, delivery.id, {"at": moment.isoformat(), **outcome})
        except Exception:  # it is sent again after its lease
            log.event("courier.failed", level=40, failed=True)
        log.event("webhook.sent", id=delivery.id, webhook=delivery.webhook_id, **outcome)

    async def _send(self, out: Outbound, delivery: Delivery, timestamp: int) -> int:
        webhook = delivery.webhook
        sealed = [webhook.secret]
        if webhook.previous_secret and webhook.previous_until and now() < webhook.previous_until:
            sealed.append(webhook.previous_secret)
        place = place_of(webhook.id)
        secrets_ = [self._runtime.vault.open(secret, place).decode() for secret in sealed]
        headers = sign(secrets_, delivery.id, timestamp, delivery.body)
        headers |= {"Content-Type": "application/json", "User-Agent": "ZenServe"}
        return await out.post(webhook.url, delivery.body.encode(), headers)

    def _claim(self, room: int, busy: set[str]) -> list[Delivery]:
        with self._runtime.database.read() as session:  # most rounds find nothing, and then write nothing
            if not Deliveries(session).is_due():
                return []
        with self._runtime.database.write() as session:
            return list(Deliveries(session).claim(room, AT_ONCE_PER_WEBHOOK, busy))

    def _record(self, delivery_id: str, attempt: dict[str, Any]) -> None:
        arrived = 200 <= attempt.get("status", 0) < 300
        with self._runtime.database.write() as session:
            Deliveries(session).record(delivery_id, attempt, arrived=arrived)

    def _clear(self) -> None:
        with self._runtime.database.write() as session:
            Deliveries(session).forget(KEPT)
