"""Webhooks, and what became of each message to them."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from service.access import audit
from service.api.routes.dependencies import Id, RuntimeDep, WindowDep
from service.dashboard.pages import PageRoute, page, see
from service.dashboard.visitors import Manager, SendingManager
from service.storage.repositories.browsing import Browsing
from service.storage.repositories.webhooks import Deliveries

router = APIRouter(prefix="/webhooks", route_class=PageRoute)


@router.get("")
def list_webhooks(request: Request, runtime: RuntimeDep, visitor: Manager) -> Response:
    with runtime.database.read() as session:
        browsing = Browsing(session, visitor.principal.sight)
        return page(
            request, visitor, "webhooks.html", webhooks=browsing.webhooks(), tenants=browsing.tenant_names()
        )


@router.get("/{webhook_id}")
def show_webhook(
    request: Request, runtime: RuntimeDep, visitor: Manager, webhook_id: Id, window: WindowDep
) -> Response:
    with runtime.database.read() as session:
        browsing = Browsing(session, visitor.principal.sight)
        return page(
            request,
            visitor,
            "webhook.html",
            webhook=browsing.webhook(webhook_id),
            deliveries=browsing.deliveries(webhook_id, window),
            window=window,
            tenants=browsing.tenant_names(),
        )


@router.post("/{webhook_id}/deliveries/{delivery_id}/redeliver")
def redeliver(runtime: RuntimeDep, visitor: SendingManager, webhook_id: Id, delivery_id: Id) -> Response:
    with runtime.database.write() as session:
        webhook = Browsing(session, visitor.principal.sight).webhook(webhook_id)
        Deliveries(session).again(delivery_id, webhook.id)
        audit.note(session, visitor.principal, "webhook.redeliver", delivery_id, tenant_id=webhook.tenant_id)
    return see(f"/admin/webhooks/{webhook_id}")
