"""Adding webhooks, trying them and deleting them."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy.orm import Session

from zenserve.service.access import audit
from zenserve.service.access.principal import Principal
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler import outbound, webhooks
from zenserve.service.storage.database import now
from zenserve.service.storage.records.base import new_id
from zenserve.service.storage.records.webhooks import Delivery, Webhook
from zenserve.service.storage.repositories.webhooks import EVENTS, Deliveries, Webhooks


def add(runtime: Runtime, caller: Principal, url: str, events: Collection[str]) -> tuple[Webhook, str]:
    """Return the webhook's row, and its secret, which cannot be shown again. Raises ``RequestError``
    (``request.webhook``), ``ConflictError`` (``conflict.webhooks``).
    """
    outbound.check_url(url, runtime.settings.webhook_networks)
    secret, webhook_id = webhooks.new_secret(), new_id("whk")
    row = Webhook(
        id=webhook_id,
        tenant_id=caller.tenant_id,
        url=url,
        events=[event for event in EVENTS if event in events],
        secret=runtime.vault.seal(secret.encode(), webhooks.place_of(webhook_id)),
        created_at=now(),
    )
    with runtime.database.write() as session:
        Webhooks(session).add(row)
        audit.note(session, caller, "webhook.create", webhook_id)
    return row, secret


def test(session: Session, caller: Principal, webhook: Webhook) -> Delivery:
    """Have a message about nothing sent."""
    row = Deliveries(session).add_test(webhook)
    audit.note(session, caller, "webhook.test", webhook.id, tenant_id=webhook.tenant_id)
    return row


def delete(session: Session, caller: Principal, webhook_id: str, tenant_id: str) -> None:
    """Delete a webhook, what it was still to be told, and its log. Raises ``NotFoundError``."""
    Webhooks(session).delete(webhook_id, tenant_id)
    audit.note(session, caller, "webhook.delete", webhook_id, tenant_id=tenant_id)
