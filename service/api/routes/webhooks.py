"""Webhooks: addresses that are told when jobs are over, and the log of what they were told."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from zenserve.service.access import audit
from zenserve.service.api import openapi, problems
from zenserve.service.api.routes.dependencies import Id, Manager, RuntimeDep, WindowDep
from zenserve.service.api.routes.strict import ApiRoute
from zenserve.service.api.schemas import Cause, Listing, listing
from zenserve.service.scheduler import webhooks
from zenserve.service.storage.database import clock
from zenserve.service.storage.repositories.webhooks import EVENTS, Deliveries, Webhooks
from zenserve.service.submissions import webhooks as submissions

router = APIRouter(tags=["webhooks"], route_class=ApiRoute)

Event = Literal[EVENTS]  # type: ignore[valid-type]

messages = APIRouter()
"""The messages to webhooks, for the description of the API."""


class WebhookRequest(BaseModel):
    """An address to be told."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(
        max_length=2000,
        description="`https://…`; nothing that is reached by it may be private.",
        examples=["https://example.com/told"],
    )
    events: list[Event] = Field(
        default=list(EVENTS),
        min_length=1,
        max_length=len(EVENTS),
        description="What to tell it; everything unless given.",
        examples=[["proof.succeeded"]],
    )


class WebhookView(BaseModel):
    """An address that is told when jobs are over."""

    model_config = ConfigDict(from_attributes=True)

    id: str = Field(description="Names it.", examples=["whk_5d1f0c"])
    url: str = Field(description="Where messages go.", examples=["https://example.com/told"])
    events: list[str] = Field(description="What it is told.", examples=[["proof.succeeded"]])
    created_at: datetime = Field(description="When it was made.", examples=["2026-11-22T10:00:00Z"])
    previous_until: datetime | None = Field(
        description="Until then messages are signed with the secret of before, too: it was rotated.",
        examples=[None],
    )
    disabled_at: datetime | None = Field(
        description="Since when it is told nothing: nothing had arrived for five days. The first message that"
        " does, a test or one that is sent again, enables it."
    )


class NewWebhookView(WebhookView):
    """A webhook that was just made."""

    secret: str = Field(
        description="What messages are signed with (https://www.standardwebhooks.com); not shown again.",
        examples=["whsec_…"],
    )


class JobEnd(BaseModel):
    """A job that is over. What it made is not in the message: fetch it with a key."""

    id: str = Field(description="Of the model, dataset, proof or stream.", examples=["prf_5d1f0c"])
    state: Literal["succeeded", "failed", "canceled"] = Field(
        description="How it ended.", examples=["succeeded"]
    )
    revision: int = Field(description="Of the job; grows with every change.", examples=[9])
    attempt: int = Field(description="The one that it ended in.", examples=[1])
    labels: dict[str, str] = Field(description="As the job has them.", examples=[{"run": "17"}])
    problem: Cause | None = Field(description="Why it failed.")
    created_at: datetime = Field(description="When it was asked for.", examples=["2026-11-22T10:00:00Z"])
    started_at: datetime | None = Field(
        description="When a worker first took it.", examples=["2026-11-22T10:00:00Z"]
    )
    finished_at: datetime = Field(description="When it was over.", examples=["2026-11-22T10:00:00Z"])
    url: str = Field(description="Where it is, in this API.", examples=["/v1/proofs/prf_5d1f…"])


class Message(BaseModel):
    """A message to a webhook.

    The headers `webhook-id`, `webhook-timestamp` and `webhook-signature` give the message's id, the time of
    sending, and the service's signature (https://www.standardwebhooks.com).
    """

    type: Event = Field(description="What happened.", examples=["proof.succeeded"])
    timestamp: datetime = Field(description="When it happened.", examples=["2026-11-22T10:00:00Z"])
    data: JobEnd = Field(description="To what.")


class AttemptView(BaseModel):
    """The outcome of one attempt."""

    at: datetime = Field(description="When it was made.", examples=["2026-11-22T10:00:00Z"])
    status: int | None = Field(default=None, description="Of the answer; 2xx means that it arrived.")
    error: str | None = Field(default=None, description="Why there was no answer.")
    seconds: float = Field(description="How long it took.", examples=[0.2])


class DeliveryView(BaseModel):
    """A message, and what became of it."""

    model_config = ConfigDict(from_attributes=True)

    id: str = Field(description="The `webhook-id`: the same in all attempts.", examples=["msg_5d1f0c"])
    event: str = Field(
        description="What it tells of; `webhook.test` in a test.", examples=["proof.succeeded"]
    )
    job_id: str = Field(description="What it is about; empty in a test.", examples=["prf_5d1f0c"])
    body: str = Field(
        description="As it is sent and signed.",
        examples=['{"type":"proof.succeeded","timestamp":"2026-11-22T10:00:00Z","data":{}}'],
    )
    state: Literal["waiting", "delivered", "given up"] = Field(
        description="Whether it arrived.", examples=["delivered"]
    )
    attempts: list[AttemptView] = Field(description="What became of each, the first one first.")
    next_at: datetime = Field(description="When it is tried next, while it waits.")
    created_at: datetime = Field(
        description="When it was first to be sent.", examples=["2026-11-22T10:00:00Z"]
    )


@router.get("/webhooks", responses=problems.responses())
def list_webhooks(runtime: RuntimeDep, principal: Manager) -> Listing[WebhookView]:
    """The tenant's webhooks, all of them, newest first."""
    with runtime.database.read() as session:
        rows = Webhooks(session).of(principal.tenant_id)
    return Listing(items=[WebhookView.model_validate(row) for row in rows], next_cursor=None)


@router.post(
    "/webhooks",
    status_code=201,
    responses=problems.responses(400, 409, 415) | {201: openapi.headers("Location", "Cache-Control")},
)
def create_webhook(
    runtime: RuntimeDep, principal: Manager, body: WebhookRequest, response: Response
) -> NewWebhookView:
    """Tell an address when models, datasets and proofs are over. The secret is in this answer, and never
    shown again.
    """
    row, secret = submissions.add(runtime, principal, body.url, body.events)
    response.headers["Location"] = f"/v1/webhooks/{row.id}"
    response.headers["Cache-Control"] = "no-store"
    return NewWebhookView(**WebhookView.model_validate(row).model_dump(), secret=secret)


@router.get("/webhooks/{webhook_id}", responses=problems.responses(404))
def get_webhook(runtime: RuntimeDep, principal: Manager, webhook_id: Id) -> WebhookView:
    """A webhook, without its secret."""
    with runtime.database.read() as session:
        return WebhookView.model_validate(Webhooks(session).get(webhook_id, principal.tenant_id))


@router.delete("/webhooks/{webhook_id}", status_code=204, responses=problems.responses(404))
def delete_webhook(runtime: RuntimeDep, principal: Manager, webhook_id: Id) -> None:
    """Delete a webhook, what it was still to be told, and its log."""
    with runtime.database.write() as session:
        submissions.delete(session, principal, webhook_id, principal.tenant_id)


@router.post("/webhooks/{webhook_id}/rotate", responses=problems.responses(404))
def rotate_webhook(
    runtime: RuntimeDep, principal: Manager, response: Response, webhook_id: Id
) -> NewWebhookView:
    """Sign with another secret, which is in this answer and never shown again. For a day messages carry two
    signatures, by the new secret and by the one of before: time for the receiver to change over.
    """
    secret = webhooks.new_secret()
    with runtime.database.write() as session:
        row = Webhooks(session).get(webhook_id, principal.tenant_id)
        row.previous_secret, row.previous_until = row.secret, clock(session) + webhooks.OVERLAP
        row.secret = runtime.vault.seal(secret.encode(), webhooks.place_of(webhook_id))
        audit.note(session, principal, "webhook.rotate", webhook_id)
    response.headers["Cache-Control"] = "no-store"
    return NewWebhookView(**WebhookView.model_validate(row).model_dump(), secret=secret)


@router.post("/webhooks/{webhook_id}/test", status_code=202, responses=problems.responses(404))
def test_webhook(runtime: RuntimeDep, principal: Manager, webhook_id: Id) -> DeliveryView:
    """Send a message about nothing, `webhook.test`."""
    with runtime.database.write() as session:
        webhook = Webhooks(session).get(webhook_id, principal.tenant_id)
        row = submissions.test(session, principal, webhook)
    return DeliveryView.model_validate(row)


@router.get("/webhooks/{webhook_id}/deliveries", responses=problems.responses(404))
def list_deliveries(
    runtime: RuntimeDep, principal: Manager, webhook_id: Id, window: WindowDep
) -> Listing[DeliveryView]:
    """List the messages to a webhook of the last thirty days, newest first, with every attempt."""
    with runtime.database.read() as session:
        Webhooks(session).get(webhook_id, principal.tenant_id)
        page = Deliveries(session).page(webhook_id, window)
    return listing(page, DeliveryView.model_validate)


@router.post(
    "/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver",
    status_code=202,
    responses=problems.responses(404),
)
def redeliver_message(
    runtime: RuntimeDep, principal: Manager, webhook_id: Id, delivery_id: Id
) -> DeliveryView:
    """Send a message again, now, whatever became of it before: the same one, with the same `webhook-id`."""
    with runtime.database.write() as session:
        Webhooks(session).get(webhook_id, principal.tenant_id)
        row = Deliveries(session).again(delivery_id, webhook_id)
        audit.note(session, principal, "webhook.redeliver", delivery_id)
    return DeliveryView.model_validate(row)


@messages.post("job.over", status_code=204, operation_id="jobOver", responses={422: {"description": "Never"}})
def job_over(body: Message) -> None:
    """A model, dataset or proof is over. Answer with 2xx within ten seconds; else it comes again, for most of
    a day. It may come twice: `webhook-id` tells.
    """
