"""Webhooks, and the outbox of what they are to be told."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.engine import Row
from sqlalchemy.orm import Session, contains_eager

from zenserve.errors import ConflictError, NotFoundError
from zenserve.service.storage.database import clock
from zenserve.service.storage.paging import Page, Place, Window, page
from zenserve.service.storage.records.jobs import TERMINAL, Job
from zenserve.service.storage.records.webhooks import Delivery, Webhook

SUBJECTS = {"model": "model", "dataset": "dataset", "proof": "proof", "accuracy": "proof", "stream": "stream"}
"""The subject of the message on a job's end, by the job's kind. A shard's end is left to its proof."""
EVENTS = tuple(
    f"{subject}.{state}" for subject in ("model", "dataset", "proof", "stream") for state in TERMINAL
)
TEST = "webhook.test"
BACKOFF = tuple(timedelta(seconds=n) for n in (5, 30, 120, 600, 3600, 4 * 3600, 12 * 3600))
"""The waiting times after each attempt that failed; after one more, the message is given up."""
LEASE = timedelta(seconds=30)
"""The time that a sender has a message to itself: longer than an attempt can take."""
DEAD_AFTER = timedelta(days=5)
MOST_WEBHOOKS = 20


class Webhooks:
    """The webhooks of tenants. What is another tenant's is not there."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, webhook: Webhook) -> None:
        """Raises ``ConflictError`` (``conflict.webhooks``) where the tenant has enough."""
        if len(self.of(webhook.tenant_id)) >= MOST_WEBHOOKS:
            raise ConflictError(
                "conflict.webhooks",
                f"there are {MOST_WEBHOOKS} webhooks, which is the most; delete one first",
            )
        self._session.add(webhook)

    def of(self, tenant_id: str) -> Sequence[Webhook]:
        """Newest first."""
        return self._session.scalars(
            select(Webhook)
            .where(Webhook.tenant_id == tenant_id)
            .order_by(Webhook.created_at.desc(), Webhook.id.desc())
        ).all()

    def get(self, webhook_id: str, tenant_id: str) -> Webhook:
        """Raises ``NotFoundError``."""
        webhook = self._session.get(Webhook, webhook_id)
        if webhook is None or webhook.tenant_id != tenant_id:
            raise NotFoundError("not_found", f"there is no webhook {webhook_id!r}", field="webhook_id")
        return webhook

    def delete(self, webhook_id: str, tenant_id: str) -> None:
        """With its messages and their log. Raises ``NotFoundError``."""
        self.get(webhook_id, tenant_id)
        self._session.execute(delete(Webhook).where(Webhook.id == webhook_id))


class Deliveries:
    """Messages to webhooks, from the transaction in which something happened to the last attempt."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add_for(self, job_ids: Sequence[str]) -> None:
        """Tell that these jobs are over. In the transaction that ends them: then a message exists if, and
        only if, the job has ended. Those that are not over are passed over.
        """
        if not job_ids:
            return
        ended = self._session.execute(
            select(*_TOLD, Webhook.id.label("webhook_id"), Webhook.events)
            .join(Webhook, Webhook.tenant_id == Job.tenant_id)
            .where(
                Job.id.in_(job_ids),
                Job.kind.in_(SUBJECTS),
                Job.state.in_(TERMINAL),
                Webhook.disabled_at.is_(None),
            )
            # A webhook that is deleted at this moment must not take the job's end down with it.
            .with_for_update(read=True, key_share=True, of=Webhook)
        ).all()
        rows = [_message(row, event) for row in ended if (event := _event(row)) in row.events]
        if rows:
            self._session.execute(insert(Delivery), rows)

    def add_test(self, webhook: Webhook) -> Delivery:
        """A message about nothing."""
        row = Delivery(**new_message(webhook.id, "", TEST, {"id": webhook.id}, clock(self._session)))
        self._session.add(row)
        return row

    def page(self, webhook_id: str, window: Window) -> Page[Delivery]:
        """Newest first."""
        query = select(Delivery).where(Delivery.webhook_id == webhook_id).limit(window.limit + 1)
        after = window.condition(Delivery.created_at, Delivery.id)
        if after is not None:
            query = query.where(after)
        rows = self._session.scalars(query.order_by(Delivery.created_at.desc(), Delivery.id.desc())).all()
        return page(rows, window, lambda row: Place(row.created_at, row.id))

    def again(self, delivery_id: str, webhook_id: str) -> Delivery:
        """Make it due, whatever became of it before. Raises ``NotFoundError``."""
        row = self._session.get(Delivery, delivery_id, with_for_update={"of": Delivery})
        if row is None or row.webhook_id != webhook_id:
            raise NotFoundError("not_found", f"there is no delivery {delivery_id!r}", field="delivery_id")
        row.state, row.next_at = "waiting", clock(self._session)
        return row

    def claim(self, limit: int, per_webhook: int, busy: Collection[str]) -> Sequence[Delivery]:
        """Messages that are due, at most so many to each webhook, none to ``busy`` ones. Each is the caller's
        for the time of a lease; after that, whoever comes first sends it again.
        """
        moment = clock(self._session)
        due = (Delivery.state == "waiting") & (Delivery.next_at <= moment)
        place = func.row_number().over(partition_by=Delivery.webhook_id, order_by=Delivery.next_at)
        turns = (
            select(Delivery.id, place.label("place")).where(due, Delivery.webhook_id.not_in(busy)).subquery()
        )
        chosen = select(turns.c.id).where(turns.c.place <= per_webhook)
        rows = self._session.scalars(
            select(Delivery)
            .join(Webhook)
            .options(contains_eager(Delivery.webhook))
            .where(due, Delivery.id.in_(chosen))
            .order_by(Delivery.next_at)
            .limit(limit)
            .with_for_update(skip_locked=True, of=Delivery)
        ).all()
        for row in rows:
            row.next_at = moment + LEASE
        return rows

    def is_due(self) -> bool:
        """Return whether there is a message to claim."""
        query = select(Delivery.id).where(
            Delivery.state == "waiting", Delivery.next_at <= clock(self._session)
        )
        return self._session.scalar(query.limit(1)) is not None

    def record(self, delivery_id: str, attempt: dict[str, Any], *, arrived: bool) -> None:
        """Record the outcome of an attempt.

        An endpoint that takes a message is enabled; one that has taken none for five days is disabled. A
        delivery that was deleted meanwhile is skipped.
        """
        row = self._session.get(Delivery, delivery_id, with_for_update={"of": Delivery})
        if row is None:
            return
        moment = clock(self._session)
        row.attempts = [*row.attempts, attempt]
        if arrived:
            row.state, row.next_at, row.webhook.disabled_at = "delivered", moment, None
        elif row.state == "waiting":  # another may have delivered it after the lease
            self._put_off(row, moment)

    def _put_off(self, row: Delivery, moment: datetime) -> None:
        if len(row.attempts) <= len(BACKOFF):
            row.next_at = moment + BACKOFF[len(row.attempts) - 1]
            return
        row.state = "given up"
        self._session.flush()
        if row.webhook.disabled_at is None and self._is_dead(row.webhook_id, moment):
            row.webhook.disabled_at = moment
            waiting = (Delivery.webhook_id == row.webhook_id) & (Delivery.state == "waiting")
            self._session.execute(update(Delivery).where(waiting).values(state="given up"))

    def _is_dead(self, webhook_id: str, moment: datetime) -> bool:
        """Return whether a message has waited for five days, and none has arrived since it was made."""
        to_it = Delivery.webhook_id == webhook_id
        arrived = self._session.scalar(
            select(func.max(Delivery.next_at)).where(to_it, Delivery.state == "delivered")
        )
        failing = select(func.min(Delivery.created_at)).where(to_it, Delivery.state != "delivered")
        if arrived is not None:
            failing = failing.where(Delivery.created_at > arrived)
        since = self._session.scalar(failing)
        return since is not None and since <= moment - DEAD_AFTER

    def forget(self, age: timedelta) -> None:
        """Delete messages that have been over for longer, and their log."""
        before = clock(self._session) - age
        self._session.execute(delete(Delivery).where(Delivery.state != "waiting", Delivery.next_at < before))


_TOLD = (
    Job.id,
    Job.kind,
    Job.state,
    Job.revision,
    Job.attempt,
    Job.labels,
    Job.problem,
    Job.created_at,
    Job.started_at,
    Job.finished_at,
)


def _event(row: Row[Any]) -> str:
    return f"{SUBJECTS[row.kind]}.{row.state}"


def _message(row: Row[Any], event: str) -> dict[str, Any]:
    """A message about a job. Results are not in it: whoever has a key fetches them."""
    finished: datetime = row.finished_at
    data = {column.key: _plain(getattr(row, column.key)) for column in _TOLD if column.key != "kind"}
    data["labels"] = row.labels or {}
    data["url"] = f"/v1/{SUBJECTS[row.kind]}s/{row.id}"
    return new_message(row.webhook_id, row.id, event, data, finished)


def new_message(
    webhook_id: str, job_id: str, event: str, data: dict[str, Any], moment: datetime
) -> dict[str, Any]:
    """The row of a message that is due at once."""
    body = {"type": event, "timestamp": _plain(moment), "data": data}
    return {
        "id": f"msg_{secrets.token_hex(12)}",
        "webhook_id": webhook_id,
        "job_id": job_id,
        "event": event,
        "body": json.dumps(body, separators=(",", ":"), ensure_ascii=False),
        "state": "waiting",
        "attempts": [],
        "next_at": moment,
        "created_at": moment,
    }


def _plain(value: Any) -> Any:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value
