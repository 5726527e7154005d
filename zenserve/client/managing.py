"""Endpoints of webhooks, keys, tenants and the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Unpack

from zenserve.client.calls import Calls, delete, get, patch, post
from zenserve.client.flows import Flow, Stream, endpoint, listing
from zenserve.client.resources import (
    AuditEntry,
    Delivery,
    Event,
    Key,
    NewKey,
    NewWebhook,
    Principal,
    Scope,
    Tenant,
    TenantChange,
    Usage,
    Webhook,
)


class Managing(Calls):
    """Endpoints for keys, tenants, webhooks, usage and the audit log."""

    @endpoint
    def whoami(self) -> Flow[Principal]:
        """The owner and the scopes of the key that this client uses."""
        return self._read(Principal, get("whoami"))

    @endpoint
    def create_webhook(self, url: str, events: Sequence[Event] | None = None) -> Flow[NewWebhook]:
        """Have ``url`` told when jobs are over, or of these ``events`` alone. The ``secret`` that signs the
        messages is shown this once.
        """
        return self._read(NewWebhook, post("webhooks", body={"url": url, "events": events and list(events)}))

    @endpoint
    def get_webhook(self, webhook_id: str) -> Flow[Webhook]:
        """A webhook, without its secret."""
        return self._read(Webhook, get("webhooks", webhook_id))

    @listing
    def webhooks(self) -> Stream[Webhook]:
        """The tenant's webhooks."""
        return self._pages(Webhook, "webhooks")

    @endpoint
    def rotate_webhook(self, webhook_id: str) -> Flow[NewWebhook]:
        """Another ``secret``, shown this once. For a day messages are signed with the one of before, too."""
        return self._read(NewWebhook, post("webhooks", webhook_id, "rotate"))

    @endpoint
    def test_webhook(self, webhook_id: str) -> Flow[Delivery]:
        """Send a message that says nothing but that it is a test."""
        return self._read(Delivery, post("webhooks", webhook_id, "test"))

    @endpoint
    def delete_webhook(self, webhook_id: str) -> Flow[None]:
        """Tell that address nothing any more."""
        return self._done(delete("webhooks", webhook_id))

    @listing
    def webhook_deliveries(self, webhook_id: str) -> Stream[Delivery]:
        """The messages that were or will be sent to the webhook, the newest first."""
        return self._pages(Delivery, "webhooks", webhook_id, "deliveries")

    @endpoint
    def redeliver(self, webhook_id: str, delivery_id: str) -> Flow[Delivery]:
        """Send a message again, whatever became of it."""
        return self._read(Delivery, post("webhooks", webhook_id, "deliveries", delivery_id, "redeliver"))

    @endpoint
    def create_key(
        self,
        name: str,
        scopes: Sequence[Scope],
        *,
        expires_in_days: int | None = None,
        tenant_id: str | None = None,
    ) -> Flow[NewKey]:
        """An API key with no more scopes than one's own; ``key`` is shown this once. ``tenant_id``: for
        another tenant, which takes the scope ``admin``.
        """
        body = {
            "name": name,
            "scopes": list(scopes),
            "expires_in_days": expires_in_days,
            "tenant_id": tenant_id,
        }
        return self._read(NewKey, post("keys", body=body))

    @listing
    def keys(self) -> Stream[Key]:
        """The tenant's keys; with the scope ``admin``, all."""
        return self._pages(Key, "keys")

    @endpoint
    def revoke_key(self, key_id: str) -> Flow[None]:
        """Let nobody in with that key any more."""
        return self._done(delete("keys", key_id))

    @endpoint
    def create_tenant(
        self,
        name: str,
        *,
        max_queued: int | None = None,
        max_running: int | None = None,
        retention_days: int | None = None,
    ) -> Flow[Tenant]:
        """Takes the scope ``admin``. What is None has the service's own limit."""
        body = {
            "name": name,
            "max_queued": max_queued,
            "max_running": max_running,
            "retention_days": retention_days,
        }
        return self._read(Tenant, post("tenants", body=body))

    @listing
    def tenants(self) -> Stream[Tenant]:
        """Takes the scope ``admin``."""
        return self._pages(Tenant, "tenants")

    @endpoint
    def update_tenant(self, tenant_id: str, **changes: Unpack[TenantChange]) -> Flow[Tenant]:
        """Change what is given, and nothing else. Takes the scope ``admin``."""
        return self._read(Tenant, patch("tenants", tenant_id, body=changes))

    @endpoint
    def get_tenant(self, tenant_id: str) -> Flow[Tenant]:
        """Takes the scope ``admin``, as all that follows."""
        return self._read(Tenant, get("tenants", tenant_id))

    @endpoint
    def suspend_tenant(self, tenant_id: str) -> Flow[Tenant]:
        """Refuse its keys, and take none of its jobs."""
        return self._read(Tenant, post("tenants", tenant_id, "suspend", repeatable=True))

    @endpoint
    def resume_tenant(self, tenant_id: str) -> Flow[Tenant]:
        """Let it in again."""
        return self._read(Tenant, post("tenants", tenant_id, "resume", repeatable=True))

    @endpoint
    def delete_tenant(self, tenant_id: str) -> Flow[Tenant]:
        """Have the tenant deleted with all that it has, for good. It takes a while."""
        return self._read(Tenant, delete("tenants", tenant_id))

    @listing
    def usage(self, *, since: datetime | None = None, until: datetime | None = None) -> Stream[Usage]:
        """The resources used by each tenant's jobs that ended in this range, by default the last 30 days:
        one's own; with the scope ``admin``, all."""
        return self._pages(Usage, "usage", since=since, until=until)

    @listing
    def audit(self) -> Stream[AuditEntry]:
        """The audit log, the newest entry first: of the tenant; with the scope ``admin``, of all."""
        return self._pages(AuditEntry, "audit")
