"""Webhooks, and what became of each message to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response

from zenserve.errors import RequestError, ZenError
from zenserve.service.access import audit
from zenserve.service.api import problems
from zenserve.service.api.routes.dependencies import Id, RuntimeDep, WindowDep
from zenserve.service.dashboard.pages import PageRoute, page, see
from zenserve.service.dashboard.visitors import Manager, SendingManager, Visitor
from zenserve.service.runtime import Runtime
from zenserve.service.storage.repositories.browsing import Browsing
from zenserve.service.storage.repositories.webhooks import EVENTS, Deliveries
from zenserve.service.submissions import webhooks

router = APIRouter(prefix="/webhooks", route_class=PageRoute)


@router.get("")
def list_webhooks(request: Request, runtime: RuntimeDep, visitor: Manager) -> Response:
    return _webhooks_page(request, runtime, visitor, {"events": EVENTS})


@router.post("")
def add_webhook(
    request: Request,
    runtime: RuntimeDep,
    visitor: SendingManager,
    url: Annotated[str, Form(max_length=2000)] = "",
    event: Annotated[list[str] | None, Form()] = None,
) -> Response:
    """The page that follows shows the secret, once."""
    given = {"url": url.strip(), "events": event or []}
    try:
        if not given["events"]:
            raise RequestError("request.invalid", "event: choose at least one", field="event")
        _, secret = webhooks.add(runtime, visitor.principal, url.strip(), event or [])
    except ZenError as error:
        return _webhooks_page(request, runtime, visitor, given, error)
    return _webhooks_page(request, runtime, visitor, {"events": EVENTS}, fresh=secret)


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


@router.post("/{webhook_id}/test")
def test_webhook(runtime: RuntimeDep, visitor: SendingManager, webhook_id: Id) -> Response:
    with runtime.database.write() as session:
        webhook = Browsing(session, visitor.principal.sight).webhook(webhook_id)
        webhooks.test(session, visitor.principal, webhook)
    return see(f"/admin/webhooks/{webhook_id}")


@router.post("/{webhook_id}/delete")
def delete_webhook(runtime: RuntimeDep, visitor: SendingManager, webhook_id: Id) -> Response:
    with runtime.database.write() as session:
        webhook = Browsing(session, visitor.principal.sight).webhook(webhook_id)
        webhooks.delete(session, visitor.principal, webhook_id, webhook.tenant_id)
    return see("/admin/webhooks")


@router.post("/{webhook_id}/deliveries/{delivery_id}/redeliver")
def redeliver(runtime: RuntimeDep, visitor: SendingManager, webhook_id: Id, delivery_id: Id) -> Response:
    with runtime.database.write() as session:
        webhook = Browsing(session, visitor.principal.sight).webhook(webhook_id)
        Deliveries(session).again(delivery_id, webhook.id)
        audit.note(session, visitor.principal, "webhook.redeliver", delivery_id, tenant_id=webhook.tenant_id)
    return see(f"/admin/webhooks/{webhook_id}")


def _webhooks_page(
    request: Request,
    runtime: Runtime,
    visitor: Visitor,
    given: Mapping[str, Any],
    problem: ZenError | None = None,
    fresh: str | None = None,
) -> Response:
    """``given``: what the form was sent with; ``fresh``: the secret of a webhook that was just added."""
    with runtime.database.read() as session:
        browsing = Browsing(session, visitor.principal.sight)
        return page(
            request,
            visitor,
            "webhooks.html",
            problems.answer(problem).status_code if problem else 200,
            webhooks=browsing.webhooks(),
            tenants=browsing.tenant_names(),
            events=EVENTS,
            given=given,
            problem=problem,
            fresh=fresh,
        )
