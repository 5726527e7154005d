"""Webhooks: addresses that are told when jobs are over, and the log of what they were told."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from service.api import audit, problems
from service.api.routes.dependencies import Id, JsonRoute, Manager, RuntimeDep, WindowDep
from service.api.schemas import Cause, Listing, listing
from service.beat import outbound, webhooks
from service.jobs.lifecycle import new_id, now
from service.storage.repositories.webhooks import EVENTS, Deliveries, Webhooks
from service.storage.tables import Webhook

router = APIRouter(tags=["webhooks"], route_class=JsonRoute)

Event = Literal[EVENTS]  # type: ignore[valid-type]

messages = APIRouter()
"""What is sent, for the description of the API."""


class WebhookRequest(BaseModel):
    """An address to be told."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(
        max_length=2000, description="`https://…`; nothing that is reached by it may be private."
    )
    events: list[Event] = Field(default=list(EVENTS), min_length=1, max_length=len(EVENTS))


class WebhookView(BaseModel):
    """An address that is told when jobs are over."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    url: str
    events: list[str]
    created_at: datetime
    disabled_at: datetime | None = Field(
        description="Since when it is told nothing: nothing had arrived for five days. The first message that"
        " does, a test or one that is sent again, enables it."
    )


class NewWebhookView(WebhookView):
    """A webhook that was just made."""

    secret: str = Field(
        description="What messages are signed with (https://www.standardwebhooks.com). It is not shown again."
    )


class JobEnd(BaseModel):
    """A job that is over. What it made is not in the message: fetch it with a key."""

    id: str
    state: Literal["succeeded", "failed", "canceled"]
    revision: int
    attempt: int
    problem: Cause | None = Field(description="Why it failed.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime
    url: str = Field(description="Where it is, in this API.", examples=["/v1/proofs/prf_5d1f…"])


class Message(BaseModel):
    """What a webhook is told. The headers `webhook-id`, `webhook-timestamp` and `webhook-signature` say which
    message it is, when it was sent, and that it is from here (https://www.standardwebhooks.com).
    """

    type: Event
    timestamp: datetime
    data: JobEnd


class AttemptView(BaseModel):
    """What became of one attempt."""

    at: datetime
    status: int | None = Field(default=None, description="Of the answer; 2xx means that it arrived.")
    error: str | None = Field(default=None, description="Why there was no answer.")
    seconds: float


class DeliveryView(BaseModel):
    """A message, and what became of it."""

    model_config = ConfigDict(from_attributes=True)

    id: str = Field(description="The `webhook-id`: the same in all attempts.")
    event: str
    job_id: str = Field(description="Empty in a test.")
    body: str
    state: Literal["waiting", "delivered", "given up"]
    attempts: list[AttemptView]
    next_at: datetime = Field(description="When it is tried next, while it waits.")
    created_at: datetime


@router.get("/webhooks", responses=problems.responses())
def list_webhooks(runtime: RuntimeDep, principal: Manager) -> Listing[WebhookView]:
    """The tenant's webhooks, all of them, newest first."""
    with runtime.database.read() as session:
        rows = Webhooks(session).of(principal.tenant_id)
    return Listing(items=[WebhookView.model_validate(row) for row in rows], next_cursor=None)


@router.post("/webhooks", status_code=201, responses=problems.responses(400, 409, 415))
def create_webhook(
    runtime: RuntimeDep, principal: Manager, body: WebhookRequest, request: Request, response: Response
) -> NewWebhookView:
    """Tell an address when models, datasets and proofs are over. The secret is in this answer, and never
    shown again.
    """
    outbound.check_url(body.url, runtime.settings.webhook_networks)
    secret, webhook_id = webhooks.new_secret(), new_id("whk")
    row = Webhook(
        id=webhook_id,
        tenant_id=principal.tenant_id,
        url=body.url,
        events=[event for event in EVENTS if event in body.events],
        secret=runtime.vault.seal(secret.encode(), webhooks.place_of(webhook_id)),
        created_at=now(),
    )
    with runtime.database.write() as session:
        Webhooks(session).add(row)
        audit.note(session, principal, "webhook.create", webhook_id, request)
    response.headers["Location"] = f"/v1/webhooks/{webhook_id}"
    response.headers["Cache-Control"] = "no-store"
    return NewWebhookView(**WebhookView.model_validate(row).model_dump(), secret=secret)


@router.get("/webhooks/{webhook_id}", responses=problems.responses(404))
def get_webhook(runtime: RuntimeDep, principal: Manager, webhook_id: Id) -> WebhookView:
    """A webhook, without its secret."""
    with runtime.database.read() as session:
        return WebhookView.model_validate(Webhooks(session).get(webhook_id, principal.tenant_id))


@router.delete("/webhooks/{webhook_id}", status_code=204, responses=problems.responses(404))
def delete_webhook(runtime: RuntimeDep, principal: Manager, request: Request, webhook_id: Id) -> None:
    """Delete a webhook, what it was still to be told, and its log."""
    with runtime.database.write() as session:
        Webhooks(session).delete(webhook_id, principal.tenant_id)
        audit.note(session, principal, "webhook.delete", webhook_id, request)


@router.post("/webhooks/{webhook_id}/test", status_code=202, responses=problems.responses(404))
def test_webhook(runtime: RuntimeDep, principal: Manager, request: Request, webhook_id: Id) -> DeliveryView:
    """Send a message about nothing, `webhook.test`."""
    with runtime.database.write() as session:
        webhook = Webhooks(session).get(webhook_id, principal.tenant_id)
        row = Deliveries(session).add_test(webhook)
        audit.note(session, principal, "webhook.test", webhook_id, request)
    return DeliveryView.model_validate(row)


@router.get("/webhooks/{webhook_id}/deliveries", responses=problems.responses(404))
def list_deliveries(
    runtime: RuntimeDep, principal: Manager, webhook_id: Id, window: WindowDep
) -> Listing[DeliveryView]:
    """What a webhook was told in the last thirty days, newest first, with every attempt."""
    with runtime.database.read() as session:
        Webhooks(session).get(webhook_id, principal.tenant_id)
        page = Deliveries(session).page(webhook_id, window)
    return listing(page, DeliveryView.model_validate)


@router.post(
    "/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver",
    status_code=202,
    responses=problems.responses(404),
)
def redeliver(
    runtime: RuntimeDep, principal: Manager, request: Request, webhook_id: Id, delivery_id: Id
) -> DeliveryView:
    """Send a message again, now, whatever became of it before: the same one, with the same `webhook-id`."""
    with runtime.database.write() as session:
        Webhooks(session).get(webhook_id, principal.tenant_id)
        row = Deliveries(session).again(delivery_id, webhook_id)
        audit.note(session, principal, "webhook.redeliver", delivery_id, request)
    return DeliveryView.model_validate(row)


@messages.post(
    "job.over", status_code=204, operation_id="job_over", responses={422: {"description": "Never"}}
)
def job_over(body: Message) -> None:
    """A model, dataset or proof is over. Answer with 2xx within ten seconds; else it comes again, for most of
    a day. It may come twice: `webhook-id` tells.
    """
